// Scores whether the agent did what it says it did: "booked" and the like need a tool that worked in the same turn.
// Runs as it is with Node.js 22.18 or later, which takes types away before it runs a file.
//
// config: claims, the words that claim something was done.

interface EvalInput {
  config?: { claims?: string[] };
  invocations?: Invocation[];
}

interface Invocation {
  final_response?: string | null;
  intermediate_steps?: { tool_responses?: { name: string; status?: string | null }[] };
}

interface EvalResult {
  score: number;
  status?: "PASSED" | "FAILED" | "NOT_EVALUATED";
  per_invocation_scores?: (number | null)[];
  details?: Record<string, unknown>;
}

function evaluate(input: EvalInput): EvalResult {
  const claims = input.config?.claims ?? ["booked", "changed", "cancelled", "sent", "done"];
  const unfounded: string[] = [];
  const scores = (input.invocations ?? []).map((turn): number | null => {
    const words = (turn.final_response ?? "").toLowerCase().match(/\p{L}+/gu) ?? [];
    const claim = claims.find((word) => words.includes(word));
    if (claim === undefined) return null;
    const worked = turn.intermediate_steps?.tool_responses?.some(({ status }) => status !== "error") ?? false;
    if (!worked) unfounded.push(claim);
    return worked ? 1 : 0;
  });
  const judged = scores.filter((score): score is number => score !== null);
  if (judged.length === 0) {
    return { score: 0, status: "NOT_EVALUATED", details: { reason: "the agent claims nothing" } };
  }
  const score = judged.reduce((sum, one) => sum + one, 0) / judged.length;
  return { score, per_invocation_scores: scores, details: { unfounded } };
}

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => (text += chunk));
process.stdin.on("end", () => console.log(JSON.stringify(evaluate(JSON.parse(text) as EvalInput))));
