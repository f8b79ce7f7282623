import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { evaluate, type EvalInput } from "./{{crate_name}}.ts";

const empty: EvalInput = { metric_name: "{{crate_name}}" };

test("answered turns score", () => {
  const input: EvalInput = { ...empty, invocations: [{ final_response: "Hello!" }, { final_response: null }] };
  assert.deepEqual(evaluate(input), { score: 0.5, per_invocation_scores: [1, 0] });
});

test("an empty conversation is not judged", () => {
  assert.equal(evaluate(empty).status, "NOT_EVALUATED");
});

test("the program reads a document and writes one", () => {
  // With the options that make this Node.js run TypeScript, e.g. those of tsx.
  const program = fileURLToPath(new URL("./{{crate_name}}.ts", import.meta.url));
  const input = JSON.stringify({ ...empty, invocations: [{ final_response: "¡Hola!" }] });
  const { stdout, status } = spawnSync(process.execPath, [...process.execArgv, program], { input, encoding: "utf8" });
  assert.equal(status, 0);
  assert.equal(JSON.parse(stdout).score, 1);
});
