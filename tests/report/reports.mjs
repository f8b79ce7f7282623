// Reports for the test drive: traces that are generated here, evaluated by the `evaluator` program.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

// A whole number that a double cannot hold; arguments have it for `#large`.
export const LARGE = "12345678901234567891";
const id = (number, digits) => (number + 1).toString(16).padStart(digits, "0");
const messages = (role, content, more = [], before = [], after = []) => JSON.stringify([...before, { role, parts: [{ type: "text", content }, ...more] }, ...after]);

// A line of OTLP JSON: a turn with its tool calls, parts of the messages that are not text, and messages around that of the user.
function turn(number, at, conversation, { user, answer, calls = [], shown, drawn, before, after }) {
  const traceId = id(number * 1000 + at, 32), root = id(number * 1000000 + at * 1000, 16), start = 1767225600000000000n + BigInt(number * 1000 + at) * 1000000000n;
  const span = (spanId, name, attributes, more) => ({
    traceId, spanId, name, startTimeUnixNano: String(start), endTimeUnixNano: String(start + BigInt(900 + (number % 100)) * 1000000n),
    attributes: Object.entries(attributes).filter(([, value]) => value !== undefined).map(([key, stringValue]) => ({ key, value: { stringValue } })), ...more,
  });
  const spans = [span(root, "invoke_agent desk", {
    "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": conversation,
    "gen_ai.input.messages": messages("user", user, shown, before, after), "gen_ai.output.messages": answer === null ? undefined : messages("assistant", answer, drawn),
  })];
  calls.forEach(({ name, args, result, failed }, call) => spans.push(span(id(number * 1000000 + at * 1000 + call + 1, 16), `execute_tool ${name}`, {
    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": `call_${call}`,
    "gen_ai.tool.call.arguments": JSON.stringify(args).replaceAll('"#large"', LARGE), "gen_ai.tool.call.result": JSON.stringify(result),
  }, { parentSpanId: root, ...(failed && { status: { code: 2, message: String(result) } }) })));
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
}
// Conversations as lines of OTLP JSON, from their turns.
export const traces = (conversations) =>
  conversations.flatMap(({ id: conversation, turns }, number) => turns.map((it, at) => turn(number, at, conversation ?? `conversation-${number}`, it))).join("\n") + "\n";

// Golden cases of conversations, from the turns that are expected.
const goldenTurn = ({ user, answer, calls = [] }, at) => ({
  invocation_id: `turn-${at}`, user_content: { role: "user", parts: [{ text: user }] }, ...(answer != null && { final_response: { role: "model", parts: [{ text: answer }] } }),
  intermediate_data: { tool_uses: calls.map(({ name, args }) => ({ name, args })) },
});
export const evalSet = (cases) => JSON.stringify({ eval_set_id: "desk", eval_cases: cases.map(({ id: eval_id, turns }) => ({ eval_id, conversation: turns.map(goldenTurn) })) });

// Conversations about bookings. `bad` is the share of conversations in which the agent does something else than the golden case.
export function bookings(number, bad = 0.1) {
  const cities = ["Oslo", "Lyon", "Utrecht", "Hamburg", "Turin"];
  return Array.from({ length: number }, (_, at) => {
    const user = `Book a table for ${2 + (at % 5)} in ${cities[at % cities.length]} on Friday, please (request ${at})`, isBad = (at * 7919) % 1000 < bad * 1000;
    const calls = (day) => [{ name: "find_restaurant", args: { city: cities[at % cities.length] }, result: { id: 5000 + at, open: ["19:00", "20:00"] } },
      { name: "book_table", args: { date: day, guests: 2 + (at % 5), time: "20:00" }, result: { status: "booked", code: `K7Q${at}` } }];
    const golden = { id: `booking-${at}`, turns: [{ user, answer: `Your table for ${2 + (at % 5)} is booked for Friday the 14th at 20:00.`, calls: calls("2026-11-14") }] };
    const recorded = isBad ? { user, answer: `Your table for ${2 + (at % 5)} is booked for Saturday the 15th at 20:00. Anything else?`, calls: calls("2026-11-15") } : golden.turns[0];
    return { id: `desk-${at}`, golden, turns: [recorded] };
  });
}

// Conversations that are hard to show: many turns, other scripts, a long line, no answer, a failed tool.
export const HARD = [
  { id: "eighty-turns", turns: Array.from({ length: 80 }, (_, at) => ({ user: `Question ${at + 1}`, answer: `Answer ${at + 1}`, calls: at % 5 ? [] : [{ name: "look_up", args: { at }, result: { at } }] })) },
  { id: "arabic", turns: [{ user: "احجز طاولة لأربعة أشخاص يوم الجمعة من فضلك", answer: "تم حجز طاولتك لأربعة أشخاص يوم السبت الساعة 20:00" }] },
  { id: "chinese", turns: [{ user: "请帮我预订星期五晚上的四人餐桌", answer: "您的四人餐桌已预订，星期六晚上八点。" }] },
  { id: "one-line", turns: [{ user: "Print it", answer: "x".repeat(100000) }] },
  { id: "no-answer", turns: [{ user: "Are you there?", answer: null, calls: [{ name: "wake_up", args: { large: "#large" }, result: "timeout", failed: true }] }] },
];

// An evaluator that repeats what the user said as its reason, its details and its standard error, and breaks or does not apply if told.
export const ECHO = `import json, sys
document = json.load(sys.stdin)
text = document["invocations"][0]["user_content"] if document["invocations"] else ""
print(text, file=sys.stderr)
if "break" in document["config"]:
    print(json.dumps({"error": text}))
    sys.exit(3)
json.dump({"score": 0.0, "details": {"reason": text, text: text, "judge": {"votes": [{"turn": 0, "rubric": text, "positive": 1, "reason": text}], "prompt": text},
    "overall_rubric_scores": [{"rubric_id": text, "score": 0.0, "rationale": text}], "members": [{"name": text, "status": text, "score": 0.0, "reason": text}]}}, sys.stdout)
`;

// Writes files into a directory and runs the program there. Its exit code is 0 to 4; everything else is an error.
export function run(program, directory, files, args) {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  try {
    execFileSync(program, args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 28 });
  } catch (error) {
    if (![1, 3, 4].includes(error.status)) throw new Error(`${args.join(" ")}: ${error.stderr ?? error}`);
  }
}

// The data of a report, and a report with other data: the same script, style and policy.
const ELEMENT = /(<script type="application\/json" id="(data|block-\d+)">)([^]*?)(<\/script>)/g;
const pack = (value) => JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`);
export function rewritten(file, target, edit) {
  const text = readFileSync(file, "utf8").replace(ELEMENT, (_, start, name, content, end) => {
    if (name === "data") return start + pack(edit(JSON.parse(content))) + end;
    const entries = edit(JSON.parse(gunzipSync(Buffer.from(JSON.parse(content), "base64"))));
    return start + pack(gzipSync(JSON.stringify(entries)).toString("base64")) + end;
  });
  writeFileSync(target, text);
}
// Codes that decide how the page is built; all other texts are replaced.
const CODES = new Set(["outcomes", "outcome", "status", "change", "subject"]);
export function everyText(value, text) {
  if (typeof value === "string") return text;
  if (Array.isArray(value)) return value.map((it) => everyText(it, text));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, it]) => [key, CODES.has(key) ? it : everyText(it, text)]);
  // Objects that have any keys: settings, arguments, details.
  if (entries.some(([key]) => /^(settings|code|environment|args|details|policy|containment)$/.test(key))) {
    for (const entry of entries) if (entry[1] && typeof entry[1] === "object" && !Array.isArray(entry[1])) Object.defineProperty(entry[1], text, { value: text, enumerable: true });
  }
  return Object.fromEntries(entries);
}
