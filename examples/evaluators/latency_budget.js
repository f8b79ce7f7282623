// Scores whether the user had to wait too long for any answer. Needs nothing but Node.js.
//
// config: max_ms, the time in milliseconds that one turn may take (default 5000).

function evaluate(input) {
  const maxMs = input.config?.max_ms ?? 5000;
  if (typeof maxMs !== "number" || maxMs <= 0) {
    throw new Error(`config.max_ms: expected a positive number, got ${JSON.stringify(maxMs)}`);
  }
  // The figures are those of the whole conversation, repeated on every turn.
  const latency = input.invocations?.[0]?.performance_metrics?.latency?.overall;
  if (!latency?.count) {
    return { score: 0, status: "NOT_EVALUATED", details: { reason: "the trace has no timings" } };
  }
  return {
    score: Math.min(1, maxMs / latency.max),
    details: { slowest_turn_ms: latency.max, max_ms: maxMs },
  };
}

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => (text += chunk));
process.stdin.on("end", () => console.log(JSON.stringify(evaluate(JSON.parse(text)))));
