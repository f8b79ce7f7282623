// Test drive of the HTML report in a browser, from disk, as a person uses it.
//
//   node drive.mjs EVALUATOR [DIRECTORY]
//
// EVALUATOR is the program that writes the reports; DIRECTORY keeps them (default: a temporary one). CHROMIUM names the browser (default:
// chromium on PATH). The packages of package.json have to be installed next to this file, or in the directory NODE_PACKAGES.
// PARTS selects some of the parts at the end of this file; PICTURES names a directory for a picture of every page, at both widths, in light
// and dark. Every check that fails is printed; the exit code is 1 then.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { ECHO, HARD, LARGE, bookings, evalSet, everyText, rewritten, run, traces } from "./reports.mjs";

const program = resolve(process.argv[2]), directory = resolve(process.argv[3] ?? mkdtempSync(join(tmpdir(), "report-drive-")));
const require = createRequire(join(process.env.NODE_PACKAGES ?? import.meta.dirname, "package.json"));
const { default: puppeteer } = await import(pathToFileURL(require.resolve("puppeteer-core")));
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const vectors = process.env.EVALUATOR_VECTORS_DIR && join(process.env.EVALUATOR_VECTORS_DIR, "html", "xss-payloads.json");
const PAYLOADS = JSON.parse(readFileSync(vectors && existsSync(vectors) ? vectors : join(import.meta.dirname, "../vectors/html/xss-payloads.json"), "utf8"));

let failures = 0, checks = 0;
function check(is, what) {
  checks++;
  if (!is) { failures++; console.log(`FAILED: ${what}`); }
}

// ---- The reports.

const say = (text) => console.log(text);
const paths = {};
function report(name, files, args) {
  paths[name] = join(directory, name, "report.html");
  run(program, join(directory, name), files, [...args, "-o", "html=report.html"]);
  say(`${name}: ${(statSync(paths[name]).size / 1e6).toFixed(1)} MB`);
}
const code = (name, more = "") => `  - {name: ${name}, type: code, path: echo.py${more}}\n`;
const builtin = "  - {name: tool_trajectory_avg_score, type: builtin, threshold: 1}\n  - {name: response_match_score, type: builtin, threshold: 0.8}\n  - {name: tool_call_count_v1, type: builtin, max: 3}\n";
const config = (evaluators) => `group_by: conversation\nevaluators:\n${evaluators}`;
function booked(number, bad, gates) {
  const all = bookings(number, bad);
  return { "traces.jsonl": traces(all), "golden.json": evalSet(all.map((it) => it.golden)), "eval_config.yaml": config(builtin + (gates ?? "")) };
}
const six = bookings(6, 0.3);
report("six", { "a.jsonl": traces(six.slice(0, 3)), "b.jsonl": traces(bookings(6, 0.3).slice(3)).replaceAll("0000000", "1111111"), "golden.json": evalSet(six.map((it) => it.golden)), "echo.py": ECHO,
  "eval_config.yaml": config(builtin + code("says_no") + code("breaks", ", config: {break: 1}")) }, ["run", "a.jsonl", "b.jsonl", "-e", "golden.json", "--transcripts", "all"]);
report("three-hundred", booked(300, 0.1), ["run", "traces.jsonl", "-e", "golden.json", "--transcripts", "all", "--save-run", "new.evalrun", "--gate", "tool_trajectory_avg_score: mean >= 0.95", "--gate", "response_match_score: pass_rate >= 0.9"]);
report("ten-thousand", booked(10000, 0.12), ["run", "traces.jsonl", "-e", "golden.json"]);
report("hard", { "traces.jsonl": traces(HARD), "golden.json": evalSet(HARD.map((it) => ({ ...it, turns: it.turns.map((one) => ({ ...one, answer: one.answer && `${one.answer}!` })) }))), "eval_config.yaml": config(builtin) },
  ["run", "traces.jsonl", "-e", "golden.json", "--transcripts", "all"]);
report("errors", { "traces.jsonl": traces(bookings(12)), "echo.py": ECHO, "eval_config.yaml": config(code("breaks", ", config: {break: 1}") + code("breaks_too", ", config: {break: 1}")) }, ["run", "traces.jsonl"]);
report("empty", { "traces.jsonl": '{"resourceSpans": []}\n' }, ["run", "traces.jsonl", "-m", "tool_call_count_v1"]);
const fileName = (payload) => `${payload.replaceAll("/", "∕").replaceAll("\0", "").slice(0, 80)}.jsonl`;
const attacked = PAYLOADS.map((text) => ({ id: text, turns: [{ user: text, answer: text, calls: [{ name: text, args: { [text]: text, nested: [{ [text]: text }] }, result: { [text]: text } }] }] }));
const attackedFiles = Object.fromEntries(attacked.map((it, at) => [fileName(PAYLOADS[at]), traces(attacked.slice(0, at + 1)).trim().split("\n").at(-1) + "\n"]));
report("payloads", { ...attackedFiles, "golden.json": evalSet(attacked.map((it) => ({ ...it, turns: [{ ...it.turns[0], answer: `${it.turns[0].answer} golden` }] }))), "echo.py": ECHO,
  "eval_config.yaml": config(`${builtin}${code("echo")}${code("breaks", ", config: {break: 1}")}${PAYLOADS.map((text) => `  - ${JSON.stringify({ name: text, type: "code", path: "echo.py" })}\n`).slice(0, 5).join("")}`) },
["run", ...Object.keys(attackedFiles).map((it) => `./${it}`), "-e", "golden.json", "--transcripts", "all"]);
run(program, join(directory, "comparison"), booked(300, 0.1), ["run", "traces.jsonl", "-e", "golden.json", "--transcripts", "all", "--save-run", "base.evalrun", "-o", "summary=base.txt"]);
run(program, join(directory, "comparison"), booked(300, 0.13), ["run", "traces.jsonl", "-e", "golden.json", "--transcripts", "all", "--save-run", "new.evalrun", "-o", "summary=new.txt"]);
report("comparison", {}, ["compare", "base.evalrun", "new.evalrun", "--no-regressions"]);

// Recordings of two cases. In the new run, whose transcripts are not kept, the agent calls too many tools in the second recording of the first one.
function recordings(calls) {
  const all = bookings(8, 0).map(({ id, turns: [turn] }, at) => ({ id, turns: [at === 1 ? { ...turn, calls: [...turn.calls, ...Array(calls).fill(turn.calls[0])] } : turn] }));
  return traces(all).trim().split("\n").map((line, at) => {
    const it = JSON.parse(line), value = { stringValue: `item-${at >> 2}` };
    it.resourceSpans[0].resource = { attributes: [{ key: "item", value }, { key: "desk", value: { stringValue: `desk-${at >> 2}` } }] };
    return JSON.stringify(it);
  }).join("\n");
}
for (const [name, calls, kept] of [["base", 0, "all"], ["new", 2, "none"]]) {
  run(program, join(directory, "recordings"), { "traces.jsonl": recordings(calls), "eval_config.yaml": config("  - {name: tool_call_count_v1, type: builtin, max: 2}\n") },
    ["run", "traces.jsonl", "--case-key", "item", "--cluster", "desk", "--by", "desk", "--transcripts", kept, "--save-run", `${name}.evalrun`, "-o", `summary=${name}.txt`]);
}
report("recordings", {}, ["compare", "base.evalrun", "new.evalrun", "--no-regressions"]);

// Images of an agent, of its user and of a tool. Everything that is no image of a known kind stays text.
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", SVG = btoa("<svg xmlns='http://www.w3.org/2000/svg' onload='window.__pwned=1'/>".repeat(3));
const blob = (modality, mime_type, content) => ({ type: "blob", modality, mime_type, content });
const pictured = [{ id: "parts", turns: [{ user: "What is this?", answer: "This.", shown: [blob("image", "image/png", PIXEL), { type: "uri", modality: "image", uri: "https://example.invalid/part.png" }, blob("audio", "audio/wav", btoa("sound"))],
  drawn: [blob("image", "image/png", GIF), blob("image", "image/svg+xml", SVG), { type: "file", modality: "image", file_id: "file-7" }] }] },
{ id: "pictures", turns: [{ user: `Look: data:image/png;base64,${PIXEL} and https://example.invalid/a.png`, answer: `Drawn: data:image/svg+xml;base64,${SVG}`,
  calls: [{ name: "draw", args: { like: btoa(atob(PIXEL) + "\0".repeat(3000)) }, result: { content: [{ type: "image", mimeType: "image/svg+xml", data: GIF }] } }] }] },
...PAYLOADS.map((text, at) => {
  // The beginning of an image and then something else; something else that is said to be an image; both.
  const fake = btoa(`\x89PNG\r\n\x1a\n\0${unescape(encodeURIComponent(text)).repeat(9)}`), wrong = btoa(unescape(encodeURIComponent(text)).repeat(9));
  return { id: `picture-${at}`, turns: [{ shown: [blob("image", text, fake), blob(text, "image/png", wrong), { type: "uri", modality: "image", uri: text }, { type: "file", file_id: text, mime_type: text }], user: `data:image/png;base64,${fake}`, answer: `data:text/html;base64,${wrong} data:image/png,${text} data:${text};base64,${fake}`, calls: [{ name: "draw", args: { wrong }, result: { type: "image", source: { media_type: text, data: fake } } }] }] };
})];
report("images", { "traces.jsonl": traces(pictured), "eval_config.yaml": config(builtin) }, ["run", "traces.jsonl", "--transcripts", "all"]);

// A run in which only pictures differ from its base: one of a message by itself, one within a text; and one in which nothing does.
const redrawn = (image) => {
  const earlier = [{ role: "user", parts: [{ type: "text", content: "Hello" }, blob("image", "image/png", PIXEL)] }, { role: "assistant", parts: [{ type: "text", content: "Hi" }] }];
  const result = [{ role: "tool", parts: [{ type: "tool_call_response", id: "call_0", response: "drawn" }, blob("image", "image/gif", GIF)] }];
  return traces([{ id: "tool", turns: [{ user: "Draw it", answer: "There.", before: earlier, after: result, calls: [{ name: "draw", args: {}, result: "drawn" }], drawn: [blob("image", "image/png", image)] }] },
    { id: "within", turns: [{ user: `Is it data:image/png;base64,${image} or not?`, answer: "It is." }] }, { id: "same", turns: [{ user: "Draw it", answer: "There.", shown: [blob("image", "image/png", PIXEL)] }] }]);
};
for (const [name, image] of [["base", PIXEL], ["new", btoa(atob(PIXEL) + "\0".repeat(90))]]) {
  run(program, join(directory, "redrawn"), { "traces.jsonl": redrawn(image), "eval_config.yaml": config(builtin) }, ["run", "traces.jsonl", "--transcripts", "all", "--case-key", "gen_ai.conversation.id", "--save-run", `${name}.evalrun`, "-o", `summary=${name}.txt`]);
}
report("redrawn", {}, ["compare", "base.evalrun", "new.evalrun"]);

// A judge, with its questions and replies.
const judged = bookings(3, 0), reply = (score) => JSON.stringify(JSON.stringify({ reasoning: "It is polite enough.", score }));
report("judged", { "traces.jsonl": traces(judged), "replies.jsonl": [1, 1, 0, 1, 0, 0, 1, 1, 1].map(reply).join("\n"),
  "eval_config.yaml": config("  - {name: polite, type: llm_judge, criteria: It is polite., judge: {model: 'fake:replies.jsonl', samples: 3}}\n") }, ["run", "traces.jsonl", "--transcripts", "all", "--save-run", "a.evalrun"]);

// Labels of people for a run, every fifth of which disagrees.
const labels = Array.from({ length: 60 }, (_, at) => `booking-${at},${(at * 7919) % 1000 < 100 !== (at % 5 === 0) ? "fail" : "pass"},Ana,"${PAYLOADS[at % PAYLOADS.length].replaceAll('"', '""').replaceAll("\0", "")}"\n`);
report("agreement", { "labels.csv": `case,label,rater,comment\n${labels.join("")}` }, ["agree", "labels.csv", "../three-hundred/new.evalrun", "--min-kappa", "0.9"]);

// A run that was cut off: the run file ends in the middle of a record.
{
  const whole = join(directory, "judged", "a.evalrun"), file = join(directory, "partial", "a.evalrun"), content = readFileSync(whole);
  mkdirSync(join(directory, "partial"), { recursive: true });
  writeFileSync(file, content.subarray(0, content.lastIndexOf(0x0a, content.length * 0.7) + 40));
}
report("partial", {}, ["report", "a.evalrun"]);

// Damaged conversations, and what an evaluator notices.
report("mutation", { "traces.jsonl": traces(bookings(20, 0)), "always.py": "print('{\"score\": 1}')\n", "eval_config.yaml": config(`${builtin}  - {name: always, type: code, path: always.py}\n`), "golden.json": evalSet(bookings(20, 0).map((it) => it.golden)) },
  ["mutate", "traces.jsonl", "-e", "golden.json", "--sample", "30"]);

// ---- The browser.

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
say(await browser.version());
// Opens a report. What leaves the page or is reported by the browser is a failure, at any time.
async function open(name, { hash = "", width = 1400, scheme = "light", bypass = false, file = paths[name] } = {}) {
  const page = await browser.newPage(), address = pathToFileURL(file).href;
  const where = () => `${name} ${page.url().slice(address.length, address.length + 60)}`;
  page.on("request", (it) => check(it.url().split("#")[0] === address || PICTURE.test(it.url()), `${where()}: request of ${it.url().slice(0, 100)}`));
  page.on("dialog", (it) => { check(false, `${where()}: dialog`); it.dismiss(); });
  page.on("pageerror", (it) => check(false, `${where()}: ${it.message}`));
  page.on("console", (it) => check(!["error", "warn"].includes(it.type()), `${where()}: console: ${it.text()}`));
  page.on("framenavigated", (it) => check(it.url().split("#")[0] === address, `${where()}: navigated to ${it.url()}`));
  if (bypass) await page.setBypassCSP(true);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(address + hash);
  await ready(page);
  return page;
}
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[\w+/]+=*$/;
const RESULTS = ["agreement", "mutation"];
const ready = (page) => page.waitForFunction(() => document.documentElement.dataset.ready === "1", { timeout: 30000 });
async function go(page, hash) {
  await page.evaluate((it) => { if (location.hash !== it && document.querySelector("nav.pages")) { delete document.documentElement.dataset.ready; location.hash = it; } }, hash);
  await ready(page);
}
const text = (page, selector = "main") => page.$eval(selector, (it) => it.textContent);
const rows = (page) => page.$$eval("table.list tbody tr", (it) => it.length);
const names = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).conversations?.names);
const caseHash = (name) => `#/c/${encodeURIComponent(name)}`;
async function pagesOf(page) {
  const all = await page.$$eval("nav.pages a", (links) => links.map((it) => it.hash)), [first, ...others] = (await names(page)) ?? [];
  return first === undefined ? (all.length ? all : [""]) : [...all, caseHash(first), ...(others.length ? [caseHash(others.at(-1))] : []), caseHash("no such case")];
}

// ---- As a person uses it.

async function read() {
  const page = await open("six");
  check(/^FAILED|^ERROR/.test(await page.title()), `the title begins with the verdict: ${await page.title()}`);
  check(/says_no/.test(await text(page)), "the overview names the evaluator that fails");
  check(await page.$eval("main", (it) => [...it.querySelectorAll("h2")].some((head) => head.textContent === "First failing case")), "the overview shows the first failing case");
  check(/breaks.*6 times/.test(await text(page)), "errors are shown apart from failures, with their number");
  await page.click("section.card a.case");
  await ready(page);
  check((await page.$$(".turn")).length === 1 && /book_table/.test(await text(page)), "the first failing case has its conversation");
  check(/failed/.test(await text(page, ".evaluation h3")), "what failed comes first");
  await page.goBack();
  await ready(page);
  check((await rows(page)) === 6, "going back leads to the list");
  check((await page.evaluate(() => document.activeElement.textContent)) === "booking-0", "the focus is on the case that was left");
  check((await page.$$eval("main .card .bar span a", (all) => all.slice(0, 3).map((it) => it.textContent).join())) === "16,8,6", "the evaluations are counted by outcome");
  await page.$$eval("main .card .bar span a", (all) => all[2].click());
  await page.waitForFunction(() => /only=error/.test(location.hash));
  check((await rows(page)) === 6, "a count leads to the list");
  check(/Shares that passed by file/.test(await text(page)), "shares that passed are shown by file");
  await page.select('[id="s.file"]', "b.jsonl");
  await ready(page);
  check((await rows(page)) === 3 && /s\.file=b\.jsonl/.test(page.url()), "a slice is chosen by its value, which is in the address");
  await page.close();
}
async function filter() {
  const page = await open("three-hundred");
  check((await rows(page)) === 100, "a page of the list has 100 rows");
  await page.click("#page-Next");
  await ready(page);
  check(/page=2/.test(page.url()) && (await page.evaluate(() => document.activeElement.id)) === "page-Next", "the page is in the address, and the focus stays");
  await page.type("#search", "request 17)");
  check((await rows(page)) === 1 && /q=request\+17/.test(page.url()), "the search finds one conversation, and is in the address");
  await page.reload();
  await ready(page);
  check((await rows(page)) === 1, "the address leads to the same list");
  await go(page, "#/?only=failed&by=tool_trajectory_avg_score&sort=e.response_match_score");
  const failed = await page.evaluate(() => [...JSON.parse(document.getElementById("data").textContent).evaluators[0].outcomes].filter((it) => it === "1").length);
  check((await rows(page)) === failed && failed > 0, `the filter shows the ${failed} failed conversations`);
  check((await page.$$eval("table.list tbody tr", (all) => all.every((it) => it.querySelectorAll("td")[1].textContent.includes("failed")))), "all of them failed");
  await page.click('[id="e.response_match_score"]');
  await ready(page);
  check(/sort=-e/.test(page.url()) && (await page.$('th[aria-sort="descending"]')) !== null, "a click on a head turns the order around");
  await page.select("#sort", "name");
  await ready(page);
  check((await text(page, "table.list tbody th")) === "booking-0" || (await rows(page)) === failed, "the list is sorted by name");
  await go(page, "#/?q=nothing like this");
  check(/No conversation matches/.test(await text(page, "[role=status]")), "an empty list says so");
  await go(page, "#/c/%E0%A4%A?only=%");
  check(/There is no such case/.test(await text(page)), "an address that cannot be decoded is no case");
  await page.close();
}
async function keys() {
  const page = await open("three-hundred");
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("j");
  const first = await focused();
  await page.keyboard.press("j");
  const second = await focused();
  await page.keyboard.press("k");
  check(first !== second && first === (await focused()), "j and k move through the list");
  await page.keyboard.press("Enter");
  await ready(page);
  check((await text(page, "h2.title")) === first, "Enter opens the conversation");
  await page.keyboard.press("j");
  await page.waitForFunction((name) => document.querySelector("h2.title")?.textContent === name, {}, second);
  await page.keyboard.press("Escape");
  await page.waitForSelector("table.list");
  await page.keyboard.press("/");
  check((await page.evaluate(() => document.activeElement.id)) === "search", "/ leads to the search");
  await page.keyboard.type("jk?");
  check((await page.$eval("#search", (it) => it.value)) === "jk?", "keys are text in the search");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  check(await page.$eval("dialog", (it) => it.open), "? opens the list of keys");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog").open);
  await page.keyboard.press("e");
  await page.waitForFunction(() => location.hash === "#/evaluators");
  await page.keyboard.press("/");
  await page.waitForSelector("#search");
  await go(page, "#/");
  await page.focus("a.skip");
  await page.keyboard.press("Enter");
  check((await page.evaluate(() => document.activeElement.id)) === "main" && page.url().endsWith("#/"), "the skip link leads to the report");
  // One tab stop for each area that scrolls, and a visible focus.
  check(await page.$$eval(".scroll", (all) => all.every((it) => it.tabIndex === 0 && it.getAttribute("aria-label"))), "areas that scroll are reached by the keyboard");
  await page.keyboard.press("Tab");
  check((await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle)) !== "none", "the focus is visible");
  await page.close();
}
async function compare() {
  const page = await open("comparison");
  check(/regressed/.test(await text(page)), "the overview shows what regressed");
  await go(page, "#/compare");
  const link = await page.$$eval("h3", (all) => all.find((it) => it.textContent.includes("regressed"))?.parentElement.querySelector("a.case")?.hash);
  check(link !== undefined && /vs=base/.test(link), "a regressed case has a link");
  await go(page, link);
  check(/Friday the 14th/.test(await text(page, ".answers")) && /Saturday the 15th/.test(await text(page, ".answers")), "both answers are side by side");
  check((await page.$$("mark")).length > 0, "the differences are marked");
  await go(page, "#/?slice=file");
  check(!/Differences by/.test(await text(page)), "a comparison that is not sliced has no slices");
  await go(page, "#/compare");
  await page.select("#by", "response_match_score");
  await ready(page);
  check(/by=response_match_score/.test(page.url()) && (await page.$$eval("table tbody .mono", (all) => all.every((it) => it.textContent === "response_match_score"))), "the comparison is filtered by evaluator");
  await page.reload();
  await ready(page);
  check((await page.$eval("#by", (it) => it.value)) === "response_match_score" && (await page.evaluate(() => document.title)).startsWith("FAILED"), "the filter is in the address");
  await go(page, "#/?only=regressed");
  check((await rows(page)) > 0 && (await rows(page)) < 100, "the list can be filtered by what regressed");
  await page.close();
}
async function repeated() {
  const page = await open("recordings");
  check(/n = 2 in 2 clusters/.test(await text(page)), "the number of clusters is next to the number of cases");
  const links = await page.$$eval("a.case[href*='vs=base']", (all) => all.map((it) => it.hash));
  check(links.length === 1, "a changed case with several recordings is one case");
  await go(page, links[0]);
  check(/failed/.test(await text(page, ".evaluation h3")), "the recording that fails is the one that is linked");
  check(/new run is not in the report/.test(await text(page)) && /This is the base/.test(await text(page)) && (await page.$$(".turn")).length === 1, "the base is shown alone where the new run has no transcript");
  check(/desk-0/.test(await text(page, ".case-page")), "the page of a conversation has its attributes");
  await go(page, "#/compare");
  const slices = await page.$$eval("table", (all) => [...all.find((it) => it.caption.textContent === "Differences by desk").tBodies[0].rows].map((it) => it.textContent));
  check(slices.length === 2 && slices.every((it) => /^desk-[01]4 conversationstool_call_count_v1/.test(it)), `differences are shown by attribute: ${slices}`);
  await go(page, "#/?only=changed");
  check((await rows(page)) === 4, "all recordings of a changed case are changed");
  await go(page, "#/?only=flaky");
  check((await rows(page)) === 4, "recordings of one case that disagree are flaky");
  await page.close();
}
async function print() {
  const page = await open("six", { hash: caseHash(six[0].id.replace("desk", "booking")) });
  await page.emulateMediaType("print");
  check((await page.$$eval("details", (all) => all.length)) > 0, "there are details");
  const isShown = () => page.$$eval("details > :last-child", (all) => all.every((it) => it.checkVisibility({ contentVisibilityAuto: true })));
  check(await isShown(), "nothing is folded on paper");
  check(await page.$$eval("button", (all) => all.every((it) => it.offsetWidth === 0)), "there are no buttons on paper");
  check((await page.pdf()).length > 10000, "it can be printed");
  await page.emulateMediaType("screen");
  check(!(await isShown()), "on a screen it is");
  await page.close();
}
async function hard() {
  const page = await open("hard");
  await go(page, caseHash("eighty-turns"));
  check((await page.$$(".turn")).length === 80, "80 turns are shown");
  await go(page, caseHash("arabic"));
  check((await page.$eval(".said div", (it) => getComputedStyle(it).direction)) === "rtl", "Arabic text runs from right to left");
  await go(page, caseHash("chinese"));
  check(/星期六/.test(await text(page)), "Chinese text is shown");
  await go(page, caseHash("one-line"));
  check((await text(page, "article")).length < 20000, "a long text is cut");
  await page.$$eval("article button", (all) => all[0].click());
  check((await text(page, "article")).length > 100000, "a button shows the whole text");
  await go(page, caseHash("no-answer"));
  check(/no answer/.test(await text(page)) && (await text(page)).includes(`large=${LARGE}`), "no answer is shown as such, and large numbers with all digits");
  await page.close();
  const empty = await open("empty");
  check(/There are no conversations/.test(await text(empty)), "an empty run says so");
  await empty.close();
  const errors = await open("errors");
  check(/^ERROR/.test(await errors.title()) && /What broke/.test(await text(errors)), "a run with errors only is an error, not a failure of the agent");
  await errors.close();
}

// Images are shown after a click, and nothing else is.
async function images() {
  const page = await open("images"), all = await names(page);
  await go(page, caseHash(all[0]));
  const parts = await page.$$eval(".said .group > .soft", (all) => all.map((it) => it.textContent));
  check(parts.join() === "[image/png, 1 KB],[image, https://example.invalid/part.png],[audio/wav, 1 KB],[image/gif, 1 KB],[image/svg+xml, 1 KB],[file-7, image]", `each part has its type and size: ${parts.join()}`);
  const buttonsOf = await page.$$eval(".said button", (all) => all.map((it) => it.textContent).join());
  check(buttonsOf === "Show image (image/png, 1 KB),Show image (image/gif, 1 KB)" && (await page.$("img")) === null, `images of parts are shown after a click: ${buttonsOf}`);
  await page.$$eval(".said button", (all) => all.forEach((it) => it.click()));
  await page.waitForFunction(() => [...document.querySelectorAll("img")].every((it) => it.complete && it.naturalWidth === 1));
  await isClean(page, "parts");
  await go(page, caseHash(all[1]));
  const buttons = () => page.$$eval("article button", (all) => all.map((it) => it.textContent).filter((it) => it.startsWith("Show image")));
  check((await buttons()).join() === "Show image (image/png, 1 KB),Show image (image/png, 4 KB),Show image (image/gif, 1 KB)", `each image has a button: ${await buttons()}`);
  check((await page.$("img")) === null && /example\.invalid\/a\.png/.test(await text(page)) && (await text(page)).includes(`svg+xml;base64,${SVG}`), "no image is shown before, and others stay text");
  check(!(await text(page)).includes(PIXEL), "the text of an image is not shown");
  for (let at = 0; at < 3; at++) await page.$$eval("article button", (all) => all.find((it) => it.textContent.startsWith("Show image")).click());
  await page.waitForFunction(() => [...document.querySelectorAll("img")].every((it) => it.complete));
  check(String(await page.$$eval("img", (all) => all.map((it) => it.naturalWidth))).replace(/^1,\d+,1$/, "shown") === "shown", `images are shown after a click: ${await page.$$eval("img", (all) => all.map((it) => [it.src.slice(0, 40), it.naturalWidth]))}`);
  await isClean(page, "images");
  for (const at of PAYLOADS.keys()) {
    await go(page, caseHash(all[at + 2]));
    check((await buttons()).every((it) => it.startsWith("Show image (image/png, ")) && (await buttons()).length >= 2, `picture ${at} is known by its first bytes: ${await buttons()}`);
    await page.$$eval("article button", (all) => all.forEach((it) => it.click()));
    await page.waitForFunction(() => [...document.querySelectorAll("img")].every((it) => it.complete));
    await isClean(page, `picture ${at}`);
  }
  await page.close();
}
async function redrawnPictures() {
  const page = await open("redrawn"), all = await names(page);
  await go(page, `${caseHash(all[0])}?vs=base`);
  const said = await page.$$eval(".said", (bubbles) => bubbles.map((it) => it.textContent));
  check(/^UserIn earlier messages:\[image\/png, 1 KB\]/.test(said[0]), `images of earlier messages are shown: ${said[0]}`);
  check(/Before the answer:\[image\/gif, 1 KB\]/.test(await text(page, ".steps")), "images of tools are shown");
  check(said.filter((it) => it.includes("The picture differs.")).length === 2 && said.slice(-2).every((it) => /There\..*The picture differs\.$/.test(it)), `the page says that only the picture of the answer differs: ${said}`);
  await page.$$eval("article button", (buttons) => buttons.forEach((it) => it.click()));
  await page.waitForFunction(() => document.querySelectorAll("img").length === 4 && [...document.querySelectorAll("img")].every((it) => it.complete));
  await isClean(page, "redrawn");
  await go(page, `${caseHash(all[1])}?vs=base`);
  check((await page.$$eval(".said.user", (bubbles) => bubbles.filter((it) => it.textContent.includes("The picture differs.")).length)) === 2, "the page says that a picture in a text differs");
  await go(page, `${caseHash(all[2])}?vs=base`);
  check((await page.$$(".said")).length === 3 && !/picture differs/.test(await text(page)), "the same picture does not differ");
  await page.close();
}
async function judge() {
  const page = await open("judged");
  await go(page, caseHash((await names(page))[1]));
  const shown = await text(page, ".evaluation");
  check(/What the judge was asked/.test(shown) && /It is polite\./.test(shown) && /request 1\)/.test(shown), "the question of the judge is shown");
  check(/What it replied/.test(shown) && /1 positive, 2 negative/.test(shown) && /It is polite enough/.test(shown), "its votes and replies are shown");
  await go(page, "#/evaluators");
  check(/calls of modelscalls9/.test(await text(page)) && /settings.*judge/.test(await text(page)), `an evaluator has its calls and settings: ${await text(page)}`);
  await page.close();
}

async function results() {
  const page = await open("agreement");
  check(/^(FAILED|INCONCLUSIVE): /.test(await page.title()) && /tool_trajectory_avg_score against people/.test(await text(page)), "an agreement is shown by evaluator");
  check(/Disagreements, the worst first/.test(await text(page)) && /Ana: /.test(await text(page)), "disagreements have what people say");
  await isClean(page, "agreement");
  await page.close();
  const mutation = await open("mutation");
  check(/always: 0 of 30 killed/.test(await mutation.title()) && /Damage of always by operator/.test(await text(mutation)), "damage is shown by evaluator");
  await isClean(mutation, "mutation");
  await mutation.close();
}

// ---- Text from outside.

const TAGS = new Set("a article b button caption circle code dd details dialog div dl dt footer h1 h2 h3 header i img input label li line main mark nav option p rect section select span summary svg table tbody td text th thead tr ul".split(" "));
// The page has only elements that the script creates, without handlers, styles and addresses elsewhere; nothing ran.
async function isClean(page, what) {
  const found = await page.evaluate((tags, picture) => ({
    ran: window.__pwned !== undefined,
    elements: [...document.querySelectorAll("body *")].filter((it) => it.parentElement !== document.body || !["SCRIPT", "NOSCRIPT"].includes(it.tagName)).map((it) => it.localName).filter((it) => !tags.includes(it)),
    attributes: [...document.querySelectorAll("body *")].flatMap((it) => [...it.attributes]).filter((it) => /^on|^style$|^srcset|^formaction$/.test(it.name) || (it.name === "src" && !new RegExp(picture).test(it.value)) || (it.name === "href" && !it.value.startsWith("#"))).map((it) => it.name),
    damaged: document.querySelector("main h2")?.textContent === "This page cannot be shown" && document.querySelector("main").textContent.slice(0, 200),
  }), [...TAGS], PICTURE.source);
  check(!found.ran && !found.elements.length && !found.attributes.length && !found.damaged, `${what}: ${JSON.stringify(found)}`);
}
async function attack(bypass) {
  const how = bypass ? "without the policy" : "with the policy";
  const page = await open("payloads", { bypass });
  const all = await names(page);
  check(all.length === PAYLOADS.length, `each payload has a conversation: ${all.length}`);
  for (const hash of await pagesOf(page)) { await go(page, hash); await isClean(page, `${how}, ${hash}`); }
  for (const payload of PAYLOADS) {
    // What has no sign of its own is not kept in names: those of evaluators, files and cases are made by other rules.
    await go(page, `#/?q=${encodeURIComponent(payload)}`);
    check((await page.$eval("#search", (it) => it.value)) === payload.replaceAll(/[\r\n]/g, "") && (await rows(page)) > 0, `${how}: the search finds ${payload}`);
    await page.$eval("table.list a.case", (it) => it.click());
    await ready(page);
    await isClean(page, `${how}, case ${payload}`);
    const said = await page.$$eval(".said > div", (boxes) => boxes.map((it) => it.textContent));
    check(said.filter((it) => it === payload).length >= 2, `${how}: user and agent are shown literally: ${payload}`);
    check((await page.$$eval(".call b", (names) => names.map((it) => it.textContent))).includes(payload), `${how}: the name of a tool is shown literally: ${payload}`);
    check((await page.$$eval(".evaluation > div", (boxes) => boxes.map((it) => it.textContent))).includes(payload.trim()), `${how}: the reason of an evaluator is shown literally: ${payload}`);
    check((await page.$$eval(".evaluation .pre", (boxes) => boxes.map((it) => it.textContent))).some((it) => it.includes(payload.trim())), `${how}: standard error is shown literally: ${payload}`);
    await go(page, caseHash(payload + "!"));
    check((await text(page)).includes(payload + "!"), `${how}: the name in the address is shown literally: ${payload}`);
    await isClean(page, `${how}, address ${payload}`);
    await go(page, `#${payload}`);
    await isClean(page, `${how}, fragment ${payload}`);
  }
  await page.close();
  // The same in every text of the data, whatever the program would write there.
  for (const [at, payload] of PAYLOADS.entries()) {
    for (const source of ["six", "comparison", "judged", ...RESULTS]) {
      const file = join(directory, source, `payload-${at}.html`);
      rewritten(paths[source], file, (value) => everyText(value, payload));
      const page = await open(source, { file, bypass });
      for (const hash of [...(await pagesOf(page)), `${caseHash(payload)}?vs=base`]) { await go(page, hash); await isClean(page, `${how}, every text is ${payload}, ${source} ${hash.slice(0, 20)}`); }
      check((await text(page, "h1")) === payload, `${how}: the sentence is shown literally: ${payload}`);
      await page.close();
    }
  }
}

// ---- For everyone, and on every screen.

async function accessible() {
  for (const name of ["six", "comparison", "recordings", "judged", "hard", "images", "redrawn", "errors", "empty", "partial", ...RESULTS]) {
    for (const width of [1400, 400]) {
      for (const scheme of ["light", "dark"]) {
        const page = await open(name, { width, scheme, bypass: true });
        await page.evaluate(axe);
        const [, , ...cases] = (await names(page)) ?? [];
        for (const hash of [...(await pagesOf(page)), ...cases.slice(0, 2).map(caseHash)]) {
          await go(page, hash);
          if (name === "images") await page.$$eval("article button", (all) => all.forEach((it) => it.click()));
          const where = `${name} ${hash} at ${width} pixels, ${scheme}`;
          const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }).then((it) => it.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 150)}`)));
          check(found.length === 0, `axe, ${where}: ${found.join("; ")}`);
          const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          check(inner <= outer, `${where}: ${inner} pixels are wider than the window`);
        }
        await page.close();
      }
    }
  }
  const page = await open("six", { bypass: true });
  await page.keyboard.press("?");
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }).then((it) => it.violations.map((one) => one.id)));
  check(found.length === 0, `axe, list of keys: ${found}`);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog").open);
  const before = await page.$eval("main", (it) => getComputedStyle(it).color);
  await page.keyboard.press("t");
  check((await page.$eval("main", (it) => getComputedStyle(it).color)) !== before, "t changes light and dark");
  await page.close();
}
// Pictures for people to look at, which nothing checks.
async function pictures() {
  mkdirSync(process.env.PICTURES, { recursive: true });
  for (const name of ["six", "comparison", "recordings", "judged", "hard", "images", "redrawn", "errors", "empty", "partial", ...RESULTS]) {
    for (const width of [1400, 400]) {
      for (const scheme of ["light", "dark"]) {
        const page = await open(name, { width, scheme });
        const cases = name === "hard" || name === "images" ? ((await names(page)) ?? []).slice(0, 5).map(caseHash) : [];
        for (const [at, hash] of [...new Set([...(await pagesOf(page)), ...cases])].entries()) {
          await go(page, hash);
          for (const it of await page.$$("article button")) if ((await it.evaluate((one) => one.textContent)).startsWith("Show image")) await it.click();
          await page.screenshot({ path: join(process.env.PICTURES, `${name}-${at}-${width}-${scheme}.png`), fullPage: true, captureBeyondViewport: true });
        }
        await page.close();
      }
    }
  }
}
// Figures, no checks: a machine that is busy is not a defect.
async function figures() {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(paths["ten-thousand"]).href);
  await page.waitForSelector("table.list tbody tr");
  const shown = await page.evaluate(() => performance.now());
  const filtered = await page.evaluate(() => {
    const search = document.getElementById("search"), times = [];
    for (const typed of ["request 1", "oslo", "request 99", ""]) {
      const began = performance.now();
      search.value = typed;
      search.dispatchEvent(new Event("input"));
      document.querySelector("table.list").offsetHeight;
      times.push(Math.round(performance.now() - began));
    }
    return times;
  });
  say(`10,000 conversations: first table after ${Math.round(shown)} ms (budget 2,000), filters ${filtered.join(", ")} ms (budget 100)`);
  await page.close();
}

const PARTS = { read, filter, keys, compare, repeated, print, hard, images, redrawnPictures, judge, results, accessible, ...(process.env.PICTURES && { pictures }), figures, "attack with the policy": () => attack(false), "attack without the policy": () => attack(true) };
const only = process.env.PARTS?.split(",");
for (const [name, part] of Object.entries(PARTS)) {
  if (only && !only.includes(name)) continue;
  const before = failures;
  await part().catch((error) => check(false, `${name}: ${error.stack}`));
  say(`${failures === before ? "passed" : "FAILED"}: ${name}`);
}
await browser.close();
say(`${checks} checks, ${failures} failed`);
process.exit(failures ? 1 : 0);
