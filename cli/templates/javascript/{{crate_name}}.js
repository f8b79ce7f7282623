// An evaluator: reads a conversation from standard input, writes a score to standard output.

/** Scores the share of turns that the agent answered. */
function evaluate(input) {
  const scores = (input.invocations ?? []).map((turn) => ((turn.final_response ?? "").trim() ? 1 : 0));
  if (scores.length === 0) {
    return { score: 0, status: "NOT_EVALUATED", details: { reason: "the conversation has no turns" } };
  }
  const score = scores.reduce((sum, one) => sum + one, 0) / scores.length;
  return { score, per_invocation_scores: scores };
}

async function main() {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) text += chunk;
  // An exception ends the program with its stack and is reported as an error, not as a low score.
  console.log(JSON.stringify(evaluate(JSON.parse(text))));
}

module.exports = { evaluate };
if (require.main === module) main();
