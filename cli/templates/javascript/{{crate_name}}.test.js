const assert = require("node:assert/strict");
const { spawnSync } = require("node:child_process");
const { test } = require("node:test");

const program = require.resolve("./{{crate_name}}.js");
const { evaluate } = require(program);

test("answered turns score", () => {
  const input = { invocations: [{ final_response: "Hello!" }, { final_response: null }] };
  assert.deepEqual(evaluate(input), { score: 0.5, per_invocation_scores: [1, 0] });
});

test("an empty conversation is not judged", () => {
  assert.equal(evaluate({}).status, "NOT_EVALUATED");
});

test("the program reads a document and writes one", () => {
  const input = JSON.stringify({ metric_name: "{{crate_name}}", invocations: [{ final_response: "¡Hola!" }] });
  const { stdout, status } = spawnSync(process.execPath, [program], { input, encoding: "utf8" });
  assert.equal(status, 0);
  assert.equal(JSON.parse(stdout).score, 1);
});
