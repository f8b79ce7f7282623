// An evaluator: reads a conversation from standard input, writes a score to standard output.

import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What an evaluator is given; fields it does not use may be left out here. */
export interface EvalInput {
  metric_name: string;
  threshold?: number;
  config?: Record<string, unknown>;
  invocations?: Invocation[];
  expected_invocations?: Invocation[] | null;
}

/** One turn: what the user said, what the agent did and what it answered. */
export interface Invocation {
  invocation_id?: string;
  user_content?: string;
  final_response?: string | null;
  intermediate_steps?: {
    tool_calls?: { name: string; args?: Record<string, unknown>; id?: string | null }[];
    tool_responses?: { name: string; output?: string; status?: string | null; response?: unknown }[];
  };
}

/** What an evaluator answers. Scores lie in 0..=1; without a status the host compares score and threshold. */
export interface EvalResult {
  score: number;
  status?: "PASSED" | "FAILED" | "NOT_EVALUATED";
  per_invocation_scores?: (number | null)[];
  details?: Record<string, unknown>;
}

/** Scores the share of turns that the agent answered. */
export function evaluate(input: EvalInput): EvalResult {
  const scores = (input.invocations ?? []).map((turn): number => ((turn.final_response ?? "").trim() ? 1 : 0));
  if (scores.length === 0) {
    return { score: 0, status: "NOT_EVALUATED", details: { reason: "the conversation has no turns" } };
  }
  const score = scores.reduce((sum, one) => sum + one, 0) / scores.length;
  return { score, per_invocation_scores: scores };
}

async function main(): Promise<void> {
  let text = "";
  process.stdin.setEncoding("utf8");
  for await (const chunk of process.stdin) text += chunk;
  // An exception ends the program with its stack and is reported as an error, not as a low score.
  console.log(JSON.stringify(evaluate(JSON.parse(text) as EvalInput)));
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
