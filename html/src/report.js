"use strict";
// The page reads the element `data` (columns of conversations) and, for a case, `block-N` (16 conversations, gzip and base64). Texts of the
// data become text nodes and values of attributes, never markup, addresses or styles. The fragment of the address is the page's state.
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const C = D.conversations, E = D.evaluators, compared = D.comparison, root = document.documentElement;
const ROWS = 100;

// Elements.

// Characters that are invisible or change the direction of text: shown with their code.
const HIDDEN = /([\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}])/u;
function addText(node, text) {
  text.split(HIDDEN).forEach((part, at) => {
    if (at % 2 === 0) return node.append(part);
    const mark = elWith("span.hidden-character", { "data-code": part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") });
    mark.textContent = part;
    node.append(mark);
  });
}
const SVG = new Set(["svg", "line", "rect", "circle", "text"]);
// Creates an element from its tag with classes, e.g. `div.soft`, and its children: elements, texts or arrays.
const el = (selector, ...children) => elWith(selector, {}, ...children);
// The same with attributes; a function is a listener.
function elWith(selector, attributes, ...children) {
  const [tag, ...classes] = selector.split(".");
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "href" && !value.startsWith("#")) throw new Error("links stay on the page");
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}
function add(node, child) {
  if (child == null || child === false) return;
  if (Array.isArray(child)) child.forEach((it) => add(node, it));
  else if (child instanceof Node) node.append(child);
  else addText(node, String(child));
}
const soft = (...children) => el("div.soft", children);
const glyph = (text) => elWith("span", { "aria-hidden": "true" }, text);
const spoken = (text) => el("span.spoken", text);
const card = (title, ...children) => el("section.card", title && el("h2", title), children);
const button = (label, click, more) => elWith("button", { type: "button", click, ...more }, label);
const details = (title, content, open) => elWith("details", { open }, el("summary", title), content);

// A text in its own direction; a long one has a button for the rest.
function prose(text, style = "", draw = (it) => it, limit = 6000) {
  const whole = String(text ?? ""), node = elWith("div" + style, { dir: "auto" });
  const show = (most) => {
    const isCut = whole.length > most;
    node.replaceChildren();
    add(node, draw(isCut ? whole.slice(0, limit / 2) : whole));
    if (isCut) add(node, [" … ", button(`Show all ${count(whole.length)} characters`, () => show(Infinity))]);
  };
  show(limit);
  return node;
}
const json = (value) => prose(typeof value === "string" ? value : JSON.stringify(value, null, 2), ".pre");

// A table in an area that scrolls. A head is a text or an element.
function table(caption, heads, rows, style = "") {
  return elWith("div.scroll", { tabindex: "0", role: "group", "aria-label": caption }, el("table" + style, el("caption.spoken", caption),
    el("thead", el("tr", heads.map((it) => (it instanceof Node ? it : head(it))))), rows instanceof Node ? rows : el("tbody", rows)));
}
const head = (label, style = "") => elWith("th" + style, { scope: "col" }, label);
const row = (first, ...cells) => el("tr", elWith("th", { scope: "row" }, first), cells.map((it) => (it?.tagName === "TD" ? it : el("td", it))));
const numeric = (...children) => el("td.num", children);

// List of names and values; objects are lists in it.
function facts(entries) {
  const known = (Array.isArray(entries) ? entries : Object.entries(entries)).filter(([, it]) => it != null && it !== "" && it.length !== 0);
  return el("dl", known.map(([name, value]) => [el("dt", String(name).replaceAll("_", " ")), el("dd", fact(value))]));
}
function fact(value) {
  if (value instanceof Node) return value;
  if (Array.isArray(value)) return el("ul", value.map((it) => el("li", fact(it))));
  if (isObject(value)) return Object.keys(value).length ? facts(value) : "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (/^[0-9a-f]{64}$/.test(value)) return el("code", value.slice(0, 12), spoken(value.slice(12)));
  return typeof value === "number" ? count(value) : prose(value);
}
const notes = () => D.notes?.length > 0 && fact(D.notes);
const isObject = (value) => value && typeof value === "object" && !JSON.isRawJSON?.(value);

// Numbers and words.

const count = (number) => number.toLocaleString("en", { maximumFractionDigits: 3 });
const fixed = (number, digits = 3) => (typeof number === "number" ? number.toFixed(digits) : "–");
const signed = (number) => (number < 0 ? "−" : number > 0 ? "+" : "±") + Math.abs(number).toFixed(3);
const many = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
function time(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  return ms < 120000 ? `${(ms / 1000).toFixed(1)} s` : `${count(Math.round(ms / 60000))} min`;
}
const measure = (gate) => `${gate.measure.replace("_", " ")} ≥ ${gate.limit}`;
const clusters = (it, { worth_cases: worth }) => (it.clusters ? ` in ${many(it.clusters, "cluster")}${worth ? `, worth about ${count(worth)}` : ""}` : "");
const interval = (it) => `${fixed(it.value)} [${fixed(it.lower)}, ${fixed(it.upper)}]`;

// Verdicts, outcomes and changes: style, glyph (next to every colour), word.
const KINDS = {
  passed: ["pass", "✓"], failed: ["fail", "✗"], error: ["broke", "!", "broke"], errored: ["broke", "!", "broke"], not_evaluated: ["none", "–", "not evaluated"],
  not_run: ["none", "·", "not run"], none: ["none", "", "not asked"], pass: ["pass", "✓"], fail: ["fail", "✗"], inconclusive: ["open", "?"],
  regressed: ["fail", "▼"], broke: ["broke", "!"], flaky: ["open", "≈"], missing: ["open", "−"], worse: ["fail", "↓"],
  fixed: ["pass", "▲"], mended: ["pass", "✓"], better: ["pass", "↑"], new: ["none", "+"],
};
const CHANGES = ["regressed", "broke", "flaky", "missing", "worse", "fixed", "mended", "better", "new"];
const CODES = { 0: "passed", 1: "failed", 2: "error", 3: "not_evaluated", 4: "not_run", "-": "none" };
// Words of the run and of gates are in capitals.
function kindOf(name) {
  const [style, sign, word] = Object.hasOwn(KINDS, name.toLowerCase()) ? KINDS[name.toLowerCase()] : ["broke", "■"];
  return [style, sign, name === name.toUpperCase() ? name : word ?? name];
}
function badge(name, size = "") {
  const [style, sign, word] = kindOf(name);
  return el(`span.badge.${style}${size}`, glyph(sign), " ", word);
}
const verdict = (name) => badge(name.toUpperCase());

// Figures.

const figure = (style, [width, height], words, ...shapes) =>
  elWith("svg" + style, { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, shapes);
// Interval of a mean on an axis, with its limit or 0.
function plot({ value, lower, upper }, [low, high], mark, style, words) {
  const width = 220, at = (it) => 6 + ((Math.min(high, Math.max(low, it)) - low) / (high - low)) * (width - 12);
  const label = (it, anchor, text = it) => elWith("text", { x: at(it), y: 30, "text-anchor": anchor }, text);
  return figure(".plot", [width, 32], words,
    elWith("line.axis", { x1: 6, x2: width - 6, y1: 11, y2: 11 }),
    elWith("rect.band", { x: at(lower), y: 7, width: Math.max(2, at(upper) - at(lower)), height: 8, rx: 4 }),
    mark != null && elWith("line" + style, { x1: at(mark), x2: at(mark), y1: 1, y2: 21 }),
    elWith("circle.point", { cx: at(value), cy: 11, r: 4 }), label(low, "start"), label(high, "end"),
    at(mark) > 40 && at(mark) < width - 40 && label(mark, "middle", mark ? `≥ ${mark}` : 0));
}
// Difference on an axis that all evaluators have.
const reach = Math.min(1, Math.ceil(Math.max(0.05, ...(compared?.evaluators ?? []).flatMap(({ difference: it }) => (it ? [-it.lower, it.upper] : []))) * 10) / 10);
function difference({ difference: it, p }) {
  if (!it) return soft("not compared");
  const words = `[${signed(it.lower)}, ${signed(it.upper)}]`;
  return [plot({ value: it.mean, ...it }, [-reach, reach], 0, ".zero", `difference ${signed(it.mean)}, interval ${words}`),
    soft(el("b" + (it.upper < 0 ? ".down" : it.lower > 0 ? ".up" : ""), signed(it.mean)), ` ${words}`, p != null && ` p ${fixed(p)}`)];
}
// Scores of an evaluator in tenths; of one that only says yes or no, the two shares.
function histogram(it) {
  const scores = it.scores.filter((score, at) => score != null && /[01]/.test(it.outcomes[at])), bins = new Array(10).fill(0);
  scores.forEach((score) => bins[Math.min(9, Math.floor(score * 10 + 1e-9))]++);
  if (!scores.length) return soft("no scores");
  if (scores.every((score) => score === 0 || score === 1)) {
    const words = `${count(bins[9])} × 1, ${count(bins[0])} × 0`, share = (bins[9] / scores.length) * 120;
    return [figure(".histogram", [120, 40], words, elWith("rect.bin", { y: 14, width: share, height: 14 }),
      elWith("rect.bin.low", { x: share, y: 14, width: 120 - share, height: 14 })), soft(words)];
  }
  const most = Math.max(...bins);
  return figure(".histogram", [120, 40], `scores in tenths from 0 to 1: ${bins.join(", ")}`, elWith("line.axis", { x2: 120, y1: 38.5, y2: 38.5 }),
    bins.map((number, at) => {
      const height = number && Math.max(1.5, (number / most) * 36), isLow = it.threshold != null && (at + 1) / 10 <= it.threshold + 1e-9;
      return elWith(isLow ? "rect.bin.low" : "rect.bin", { x: at * 12 + 0.5, y: 38 - height, width: 11, height });
    }));
}

// Addresses.

const decode = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s), [page, ...name] = path.split("/");
  return { page, name: name.length ? decode(name.join("/")) : null, query: new URLSearchParams(query) };
}
function address(page, name, query) {
  const text = new URLSearchParams([...(query ?? [])].filter(([, value]) => value)).toString();
  return `#/${page}${name == null ? "" : `/${encodeURIComponent(name)}`}${text && `?${text}`}`;
}
// The query with other values, on its first page.
const changed = (query, values) => new URLSearchParams({ ...Object.fromEntries(query), page: "", ...values });
const listQuery = (query) => new URLSearchParams([...query].filter(([key]) => /^(q|only|by|sort|page|s\..*)$/.test(key)));
const choice = (label, isChosen, ...target) => elWith("a", { href: address(...target), "aria-current": isChosen && "true" }, label);
const link = (label, ...target) => choice(label, false, ...target);
const listLink = (label, query) => link(label, "", null, new URLSearchParams(query));
const caseLink = (at, query, label = C.names[at]) => elWith("a.case", { href: address("c", C.names[at], query) }, label);
const evaluatorLink = (name) => elWith("a.mono", { href: address("evaluators", name) }, name);
const beside = new URLSearchParams("vs=base");

// The list.

const outcomes = Array.from({ length: C.count }, (_, at) => E.map((it) => it.outcomes[at]).join(""));
// The worst change of each conversation's case, by row.
const changes = new Map(), allChanges = (compared?.evaluators ?? []).flatMap((it) => it.changes);
for (const { row: worst, rows = [worst], change } of allChanges) {
  for (const at of rows) if (at != null && !(CHANGES.indexOf(changes.get(at) ?? "new") < CHANGES.indexOf(change))) changes.set(at, change);
}
// Rows in which an evaluator disagrees with itself, or whose case passes in some conversations only.
const flaky = new Set(E.flatMap((it) => Object.keys(it.repeats ?? {}).map(Number)));
// Of each evaluator, the number of the latter.
const mixed = new Map(E.map((it) => [it, 0])), cases = new Map();
outcomes.forEach((_, at) => { const id = C.case?.[at] ?? C.eval_case_id?.[at]; if (id != null) cases.has(id) ? cases.get(id).push(at) : cases.set(id, [at]); });
for (const it of E) {
  for (const rows of cases.values()) {
    if (!rows.some((at) => it.outcomes[at] === "0") || !rows.some((at) => it.outcomes[at] === "1")) continue;
    mixed.set(it, mixed.get(it) + 1);
    rows.forEach((at) => flaky.add(at));
  }
}
const FILTERS = [["", "All"], ["failed", "Failed"], ["broke", "Broke"], ["none", "Not evaluated"], ["passed", "Passed"],
  ...(compared ? [["regressed", "Regressed"], ["changed", "Changed"]] : []), ...(flaky.size ? [["flaky", "Flaky"]] : [])];
const WANTED = {
  failed: (all) => all.includes("1"), broke: (all) => all.includes("2"), none: (all) => all.includes("3"), passed: (all) => /^[^12]*0[^12]*$/.test(all),
  regressed: (_, at) => changes.get(at) === "regressed", changed: (_, at) => changes.has(at), flaky: (_, at) => flaky.has(at),
};
const slices = [...(C.slices ?? [])];
if (C.files?.length > 1 && C.files.length <= 200) slices.push({ name: "file", values: C.files, of: C.file });

const haystacks = [];
const haystack = (at) => (haystacks[at] ??= [C.names, C.prompt, C.why, C.eval_case_id, C.case, C.trace_id].map((it) => it?.[at]).join("\n").toLowerCase());
const ORDERS = { "": "Worst first", input: "As recorded", name: "By name", turns: "Most turns", latency_ms: "Slowest", tokens: "Most tokens" };
// All rows in an order.
const orders = new Map();
function ordered(sort) {
  if (orders.has(sort)) return orders.get(sort);
  const rows = Array.from({ length: C.count }, (_, at) => at), column = E.find((it) => sort === `e.${it.name}` || sort === `-e.${it.name}`);
  const by = (key) => { const keys = rows.map(key); rows.sort((a, b) => keys[a] - keys[b] || a - b); };
  if (column) {
    // What broke comes first, no score last.
    const sign = sort.startsWith("-") ? -1 : 1;
    by((at) => ({ 2: -2, 0: sign * (column.scores[at] ?? 1), 1: sign * (column.scores[at] ?? 0) })[column.outcomes[at]] ?? 2);
  } else if (sort === "name") {
    const { compare } = new Intl.Collator("en", { numeric: true });
    rows.sort((a, b) => compare(C.names[a], C.names[b]));
  } else if (Object.hasOwn(ORDERS, sort) && Array.isArray(C[sort])) by((at) => -(C[sort][at] ?? -1));
  else if (sort !== "input") {
    // Furthest below the thresholds, then what broke, then what was not evaluated.
    by((at) => { const all = outcomes[at]; return -(C.shortfall?.[at] ?? 0) * 1e6 - WANTED.failed(all) * 1e5 - WANTED.broke(all) * 1e3 - WANTED.none(all); });
  }
  orders.set(sort, rows);
  return rows;
}
function found(query) {
  const get = (key) => query.get(key) ?? "", text = get("q").toLowerCase(), by = E.find((it) => it.name === get("by"));
  const wanted = Object.hasOwn(WANTED, get("only")) && WANTED[get("only")], codes = by ? by.outcomes : outcomes;
  const chosen = slices.map((it) => [it.of, it.values.indexOf(query.get(`s.${it.name}`))]).filter(([, value]) => value >= 0);
  return ordered(get("sort")).filter((at) => (!wanted || wanted(codes[at], at)) && (!text || haystack(at).includes(text))
    && chosen.every(([of, value]) => of[at] === value));
}
const isScored = (outcome) => outcome === "passed" || outcome === "failed";
function scoreCell(it, at) {
  const outcome = CODES[it.outcomes[at]], [style, sign, word] = kindOf(outcome), repeats = it.repeats?.[at];
  if (outcome === "none") return el("td", spoken(word));
  const score = isScored(outcome) && it.scores[at] != null;
  return el("td", el(`span.cell.${style}`, glyph(sign), score && spoken(word), el("b", score ? fixed(it.scores[at], 2) : word), repeats && el("i", repeats.join("/"))));
}
function conversations(query) {
  const status = elWith("p.soft", { role: "status" }), body = el("tbody"), pager = elWith("nav.bar", { "aria-label": "Pages of conversations" });
  let state = listQuery(query);
  const go = (next) => { keepFocus(); location.hash = address("", null, next); };
  const set = (key, value) => go(changed(state, { [key]: value }));
  const search = elWith("input", { type: "search", id: "search", placeholder: "Name, prompt, reason", input: (event) => {
    state = changed(state, { q: event.target.value });
    history.replaceState(null, "", address("", null, state));
    draw();
  } });
  search.value = state.get("q") ?? "";
  const select = (label, key, options) => {
    const node = elWith("select", { id: key, change: (event) => set(key, event.target.value) }, options.map(([value, text = value]) => elWith("option", { value }, text)));
    node.value = state.get(key) ?? "";
    return el("label", label, " ", node);
  };
  const sort = state.get("sort") ?? "";
  const byScore = (it) => {
    const up = `e.${it.name}`, down = `-${up}`, next = sort === up ? down : sort === down ? "" : up;
    return elWith("th", { scope: "col", "aria-sort": sort === up ? "ascending" : sort === down ? "descending" : null },
      button(it.name, () => set("sort", next), { id: up, class: "plain mono", title: "Sort" }), glyph(sort === up ? " ↑" : sort === down ? " ↓" : ""));
  };
  function draw() {
    const rows = found(state), pages = Math.ceil(rows.length / ROWS), page = Math.max(1, Math.min(pages, parseInt(state.get("page"), 10) || 1));
    status.textContent = !C.count ? "There are no conversations in this run." : !rows.length ? "No conversation matches."
      : `${count(rows.length)} of ${many(C.count, "conversation")}${pages > 1 ? `, page ${page} of ${pages}` : ""}`;
    body.replaceChildren(...rows.slice((page - 1) * ROWS, page * ROWS).map((at) => row(
      [caseLink(at, state), changes.has(at) && [" ", badge(changes.get(at))], flaky.has(at) && [" ", badge("flaky")]],
      el("td.words", [C.prompt, C.why].map((it) => it?.[at] && elWith("div.one-line", { dir: "auto" }, it[at]))), ...E.map((it) => scoreCell(it, at)))));
    const turn = (label, to) => button(label, () => set("page", to), { id: label, disabled: to < 1 || to > pages });
    pager.replaceChildren();
    if (pages > 1) add(pager, [turn("Previous", page - 1), `page ${page} of ${pages}`, turn("Next", page + 1)]);
  }
  draw();
  const sorts = Object.entries(ORDERS).filter(([key]) => !/^[tl]/.test(key) || C[key]);
  if (!Object.hasOwn(ORDERS, sort)) sorts.push([sort, "By a score"]);
  return card("Conversations",
    elWith("div.bar", { role: "search" }, el("label", "Find ", search),
      elWith("div.group", { role: "group", "aria-label": "Outcome" }, FILTERS.map(([key, label]) =>
        button(label, () => set("only", key), { id: `only-${key}`, "aria-pressed": String((state.get("only") ?? "") === key) }))),
      E.length > 1 && select("of", "by", [["", "any evaluator"], ...E.map((it) => [it.name])]),
      slices.map((it) => select(it.name, `s.${it.name}`, [["", "all"], ...it.values.map((value) => [value])])), select("Sort", "sort", sorts),
      address("", null, state).length > 2 && link("Clear", "")),
    status, table("Scores of conversations by evaluator", ["Conversation", "First prompt, and why it failed", ...E.map(byScore)], body, ".list"), pager);
}

// Overview.

const baseName = compared?.base_label ?? "the base";
const gatesOf = (it) => D.gates.filter((gate) => gate.evaluator === it.name);
// Verdict of an evaluator without a gate, and the number that decides it.
const standing = (it) => (it.failed ? "failed" : it.errors ? "error" : it.passed ? "passed" : "not_evaluated");
const results = (it) => (it.failed ? `${count(it.failed)} of ${count(it.passed + it.failed)} failed` : it.passed ? `${count(it.passed)} passed` : "nothing scored");
const below = (it) => (it.threshold == null ? "" : `, threshold ${it.threshold}`);
const because = (gate) => gate.undecided ?? `the whole interval ${gate.verdict === "pass" ? "reaches" : "is below"} the limit`;

const claims = (isShown) => (compared?.evaluators ?? []).flatMap((by) => by.claims.filter(isShown).map((it) =>
  el("li", verdict(it.verdict), el("div", evaluatorLink(by.name), ` ${it.claim}: ${it.reason}`))));
function attention() {
  const items = [], more = (mark, ...children) => items.push(el("li", mark, el("div", children)));
  const ofGates = (name) => D.gates.filter((it) => it.verdict === name).forEach((it) =>
    more(verdict(name), evaluatorLink(it.evaluator), ` ${measure(it)}: `, it.value != null && el("b", interval(it)), soft(because(it))));
  ofGates("fail");
  items.push(...claims((it) => it.verdict !== "pass"));
  const regressed = new Map(allChanges.filter((it) => it.change === "regressed").map((it) => [it.case, it.row])), [begun] = regressed.values();
  if (begun != null) more(badge("regressed"), `${many(regressed.size, "case")} against ${baseName}, first `, caseLink(begun, beside));
  for (const it of E) if (it.failed && !gatesOf(it).length) more(badge("failed"), evaluatorLink(it.name), `: ${results(it)}${below(it)}`);
  ofGates("inconclusive");
  const first = D.attention?.[0], by = E[first?.evaluator];
  const broken = D.errors?.length > 0 && card("What broke", el("ul.items", D.errors.map((it) => el("li", badge("error"), el("div", E[it.evaluator] && evaluatorLink(E[it.evaluator].name),
    ` ${many(it.count, "time")}: ${it.headline ?? it.error_type}`, it.row != null && [" · ", caseLink(it.row)])))));
  const failed = items.length ? el("ul.items", items) : !broken && el("p", !C.count ? "Nothing was evaluated." : D.problems?.length ? "No evaluation failed." : "No evaluation failed or broke.");
  return [el("div.two", failed && card("What needs attention", failed),
    first && card("First failing case", el("p", caseLink(first.row), by && [" · ", evaluatorLink(by.name), el("b", ` ${fixed(by.scores[first.row], 2)}`), below(by)]),
      prose(C.prompt?.[first.row], ".soft"), prose(first.reason))), broken];
}
function counts() {
  const all = ["passed", "failed", "errored", "not_evaluated", "not_run"].map((name) => [name, D.tally[name]]).filter(([, it]) => it);
  const total = all.reduce((sum, [, it]) => sum + it, 0), words = all.map(([name, it]) => `${count(it)} ${kindOf(name)[2]}`).join(", ");
  let end = 0;
  const share = ([name, it]) => { const width = (it / total) * 1000; end += width; return elWith(`rect.${kindOf(name)[0]}`, { x: end - width, width: Math.max(2, width), height: 10 }); };
  return total > 0 && elWith("section.card", { "aria-label": "Numbers of evaluations" }, figure(".share", [1000, 10], words, all.map(share)),
    el("div.bar", all.map(([name, it]) => el("span", badge(name), " ", el("b", count(it)))), D.tally.errors_tolerated && el("span.soft", "errors are tolerated"),
      el("span.soft", `of ${many(total, "evaluation")} of ${many(C.count, "conversation")}`)));
}
function evaluatorsTable() {
  const rows = E.flatMap((it) => (gatesOf(it).length ? gatesOf(it) : [null]).map((gate) => [it, gate, gate ? gate.value != null && gate : it.mean]));
  const lowest = Math.min(1, ...rows.flatMap(([, gate, shown]) => [shown ? shown.lower : 1, gate?.limit ?? 1])) - 0.02;
  const axis = [lowest < 0.3 ? 0 : Math.floor(lowest * 10) / 10, 1];
  return card("Evaluators", rows.length ? table("Evaluators with their gates and intervals", ["Evaluator", "Gate", "Mean and interval", "Verdict", "Scores", ...(compared ? [`Against ${baseName}`] : [])],
    rows.map(([it, gate, shown]) => row([evaluatorLink(it.name), soft([it.kind, it.threshold != null && `threshold ${it.threshold}`].filter(Boolean).join(", "))],
      gate ? [measure(gate), gate.confidence != null && soft(`${gate.confidence * 100} % confidence`)] : "each evaluation",
      shown ? [plot(shown, axis, gate?.limit, ".limit", `${gate ? measure(gate) : "mean"}: ${interval(shown)}`), soft(`${interval(shown)} n = ${count(gate?.cases ?? it.cases)}${clusters(gate ?? it, it)}`)] : soft("no scores"),
      [gate ? [verdict(gate.verdict), soft(because(gate))] : [badge(standing(it)), soft(results(it))], it.errors > 0 && soft(`broke ${many(it.errors, "time")}`)],
      histogram(it), ...(compared ? [difference(compared.evaluators.find((one) => one.name === it.name) ?? {})] : []))), ".top") : el("p", "No evaluator was asked."));
}
function sliceTable(query) {
  if (!slices.length || !E.length) return null;
  const it = slices.find((slice) => slice.name === query.get("slice")) ?? slices[0], sums = it.values.map((value) => ({ value, size: 0, worst: 1, of: E.map(() => [0, 0]) }));
  it.of.forEach((value, at) => {
    if (value < 0) return;
    sums[value].size++;
    E.forEach(({ outcomes }, number) => { if (/[01]/.test(outcomes[at])) sums[value].of[number][outcomes[at]]++; });
  });
  const share = ([passed, failed]) => (passed + failed ? passed / (passed + failed) : 1);
  sums.forEach((sum) => { sum.worst = Math.min(...sum.of.map(share)); });
  return card("Slices", slices.length > 1 && el("div.bar", slices.map((slice) => choice(slice.name, slice === it, "", null, changed(query, { slice: slice.name })))),
    table(`Shares that passed by ${it.name}, worst first`, [it.name, head("Conversations", ".num"), ...E.map((one) => head(one.name, ".num"))],
      sums.sort((a, b) => a.worst - b.worst).slice(0, 20).map(({ value, size, of }) => row(listLink(value, [[`s.${it.name}`, value]]), numeric(count(size)),
        ...of.map((one) => numeric(one[0] + one[1] > 0 ? `${(share(one) * 100).toFixed(1)} %` : "–", el("span.soft", ` ${one[0]}/${one[0] + one[1]}`)))))),
    sums.length > 20 && soft(`the worst 20 of ${count(sums.length)}`));
}

// Comparison.

function changeLists(most, name) {
  const chosen = compared.evaluators.filter((it) => !name || it.name === name), all = chosen.flatMap((by) => by.changes.map((it) => ({ by, ...it })));
  const lists = CHANGES.map((kind) => [kind, all.filter((it) => it.change === kind)]).filter(([, found]) => found.length);
  return card(`Cases against ${baseName}`, el("div.two", lists.map(([kind, found]) => el("div", el("h3", badge(kind), ` ${count(found.length)}`),
    table(`Cases: ${kind}`, ["Case", "Evaluator", head("Scores", ".num")], found.slice(0, most).map((it) => row(it.row == null ? it.case : caseLink(it.row, beside, it.case),
      el("span.mono", it.by.name), numeric(`${fixed(it.base, 2)} → `, el("b" + (it.new < it.base ? ".down" : it.new > it.base ? ".up" : ""), fixed(it.new, 2)))))),
    found.length > most && link(`all ${count(found.length)}`, "compare")))),
    soft(`${many(chosen.reduce((sum, it) => sum + it.unchanged, 0), "result")} did not change.`));
}
function comparison(_, query) {
  const by = query.get("by") ?? "", numbers = ["Base → new", "p (Holm)", "Detectable loss", "Unchanged"].map((it) => head(it, ".num"));
  return [card(`${compared.new_label ?? "The new run"} against ${baseName}`,
    compared.allowed?.length > 0 && el("div.problem", el("h3", "Not the same was measured"), fact(compared.allowed)),
    compared.said?.length > 0 && soft("Other differences: ", fact(compared.said)), compared.same_recordings && el("p", "The recordings are the same: differences do not come from the agent."),
    table("Differences by evaluator", ["Evaluator", "Difference and interval", ...numbers], compared.evaluators.map((it) => row(evaluatorLink(it.name), difference({ ...it, p: null }),
      numeric(`${fixed(it.base)} → ${fixed(it.new)}`), numeric(fixed(it.p)), numeric(fixed(it.detectable)), numeric(count(it.unchanged)))), ".top"),
    el("ul.items", claims(() => true)),
    facts([["only in the base", compared.only_in_base], ["only in the new run", compared.only_in_new]])),
    el("div.bar", "Of ", ["", ...compared.evaluators.map((it) => it.name)].map((name) => choice(name || "all evaluators", name === by, "compare", null, changed(query, { by: name })))),
    changeLists(Infinity, by)];
}

// A case.

// Keeps whole numbers that a double cannot hold.
const exact = (_, value, context) => (Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source && JSON.rawJSON ? JSON.rawJSON(context.source) : value);
let unpacked = [-1, null];
async function entryOf(at) {
  const number = Math.floor(at / 16), node = document.getElementById(`block-${number}`);
  if (!node) return null;
  if (unpacked[0] !== number) {
    const bytes = Uint8Array.from(atob(JSON.parse(node.textContent)), (it) => it.charCodeAt(0));
    unpacked = [number, JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text(), exact)];
  }
  return unpacked[1].find((it) => it.number === at) ?? null;
}
// JSON text with sorted keys.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`;
}
// Longest common subsequence as pairs of indices, ends first; what is too long in between counts as different.
function common(left, right, isEqual) {
  let start = 0, endLeft = left.length, endRight = right.length;
  const pairs = [], tail = [];
  while (start < endLeft && start < endRight && isEqual(left[start], right[start])) pairs.push([start, start++]);
  while (endLeft > start && endRight > start && isEqual(left[endLeft - 1], right[endRight - 1])) tail.unshift([--endLeft, --endRight]);
  const rows = endLeft - start, columns = endRight - start, lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  if (rows * columns > 4e6) return [...pairs, ...tail];
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      lengths[i][j] = isEqual(left[start + i], right[start + j]) ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (isEqual(left[start + i], right[start + j])) pairs.push([start + i++, start + j++]);
    else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
    else j++;
  }
  return [...pairs, ...tail];
}
const WORD = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}_]+|[^]/gu;
// Marks the words that the other text does not have, unless little is common.
function marked(text, other, style) {
  if (other == null || text === other || text.length + other.length > 1e5) return text;
  const left = text.match(WORD) ?? [], right = other.match(WORD) ?? [], kept = new Set(common(left, right, (a, b) => a === b).map(([at]) => at));
  if (kept.size < Math.min(left.length, right.length) * 0.3) return text;
  const parts = [];
  left.forEach((word, at) => { const is = kept.has(at); if (parts.at(-1)?.[0] === is) parts.at(-1)[1] += word; else parts.push([is, word]); });
  return parts.map(([is, words]) => (is || !words.trim() ? words : el("mark" + style, words)));
}
// Marks the arguments that the other call does not have.
function callText(call, other, style) {
  const theirs = other?.args ?? {};
  const argument = ([key, it]) => {
    const text = JSON.stringify(it), has = Object.hasOwn(theirs, key);
    if (!other || (has && canonical(theirs[key]) === canonical(it))) return `${key}=${text}`;
    const isText = typeof it === "string" && typeof theirs[key] === "string";
    return has ? [`${key}=`, isText ? marked(text, JSON.stringify(theirs[key]), style) : el("mark" + style, text)] : el("mark" + style, `${key}=${text}`);
  };
  return [el("b", call.name), "(", Object.entries(call.args ?? {}).map((it, at) => [at > 0 && ", ", argument(it)]), ")"];
}
// Calls of both sides, those of the same name next to each other.
function aligned(calls, others) {
  const rows = [];
  let left = 0, right = 0;
  for (const [i, j] of [...common(calls, others, (a, b) => a.name === b.name), [calls.length, others.length]]) {
    while (left < i) rows.push([calls[left++]]);
    while (right < j) rows.push([, others[right++]]);
    if (i < calls.length) rows.push([calls[left++], others[right++]]);
  }
  return rows;
}
const SIDES = { golden: "Golden", base: "Base" };
function callRow([call, other], response, side) {
  const isSame = !side || (call && other && canonical(call.args ?? {}) === canonical(other.args ?? {})), isError = response?.status === "error";
  const [sign, word, style] = isSame ? ["→", "called", ""] : !other ? ["+", "not expected", ".extra"] : !call ? ["−", "not called", ".absent"] : ["≠", "other arguments", ".differs"];
  const shown = (it, theirs, mark) => el("div.code", it ? prose("", "", () => callText(it, theirs, mark)) : el("i", mark === ".ours" ? "not called" : "no such call"));
  return el(`div.call${style}`, glyph(sign), spoken(`${word}: `), shown(call, other, ".ours"), side && shown(other, call, ".theirs"),
    response && el(`div.code.output${isError ? ".down" : ""}`, glyph(isError ? "✗" : "⇒"), spoken(isError ? "error: " : "result: "),
      prose(response.output || (response.response == null ? "" : JSON.stringify(response.response)), "", undefined, 1500)));
}
function bubble(who, style, text, theirs, mark) {
  return el(`div.said${style}`, el("span.who", who), text ? prose(text, "", (it) => marked(it, theirs, mark)) : el("i", text === "" ? "an empty text" : "no answer"));
}
function turnCard(turn, other, at, of, evaluations, side) {
  const { tool_calls: calls = [], tool_responses: all = [] } = turn?.intermediate_steps ?? {}, { tool_calls: others = [] } = other?.intermediate_steps ?? {}, responses = [...all];
  const responseOf = (call) => {
    const index = call ? responses.findIndex((it) => (call.id != null && it.id != null ? it.id === call.id : it.name === call.name)) : -1;
    return index < 0 ? null : responses.splice(index, 1)[0];
  };
  const low = evaluations.filter((it) => it.per_invocation_scores?.length > 1 && it.per_invocation_scores[at] != null && it.per_invocation_scores[at] < it.threshold);
  const rows = aligned(calls, others), ours = turn?.final_response, theirs = other?.final_response, name = `Turn ${at + 1} of ${of}`;
  return elWith("article.turn", { "aria-label": name },
    el("h3", name, low.map((it) => el("span.badge.fail", glyph("✗ "), `${it.name} ${fixed(it.per_invocation_scores[at], 2)}`))),
    turn ? bubble("User", ".user", turn.user_content, other?.user_content, ".ours") : el("p.down", `Only ${side === "golden" ? "the golden case" : "the base"} has this turn.`),
    other && turn?.user_content !== other.user_content && bubble(`User, ${SIDES[side].toLowerCase()}`, ".user.other", other.user_content, turn?.user_content, ".theirs"),
    rows.length > 0 && el(side ? "div.both" : "div", side && el("div.call.soft", el("span"), el("span", "Called"), el("span", SIDES[side])), rows.map((pair) => callRow(pair, responseOf(pair[0]), side))),
    responses.map((it) => callRow([{ name: it.name }], it)),
    el(other ? "div.answers" : "div", turn && bubble("Agent", "", ours, theirs, ".ours"), other && (theirs != null || side === "base") && bubble(`${SIDES[side]} answer`, ".other", theirs, ours, ".theirs")));
}
function transcript(entry, at, query) {
  const recorded = entry?.transcript, golden = recorded?.expected_invocations, base = entry?.base?.transcript?.invocations, wanted = query.get("vs");
  const lacks = (what) => [el("p", `The transcript of ${what} is not in the report.`), !D.foreign && soft("`evaluator run --transcripts all` stores all of them.")];
  if (!recorded) {
    return card("Conversation", lacks(base ? "the new run" : "this conversation"), base ? [el("p", "This is the base:"), base.map((it, turn) => turnCard(it, null, turn, base.length, entry.base.evaluations))] : notes());
  }
  const sides = { ...(golden?.length > 0 && { golden }), ...(base && { base }) }, side = wanted === "none" ? null : Object.hasOwn(sides, wanted) ? wanted : Object.keys(sides)[0];
  const turns = recorded.invocations ?? [], others = sides[side] ?? [], of = Math.max(turns.length, others.length);
  const see = (key, label) => choice(label, (side ?? "none") === key, "c", C.names[at], changed(query, { vs: key, page: query.get("page") ?? "" }));
  return card("Conversation", side !== undefined && el("div.bar", "Next to it: ", Object.keys(sides).map((key) => see(key, key)), see("none", "nothing")), entry.base && !base && lacks("the base"),
    !of && el("p", "It has no turns."), Array.from({ length: of }, (_, turn) => turnCard(turns[turn], others[turn], turn, of, entry.evaluations, others[turn] ? side : null)));
}
function copyable(text) {
  const code = el("div.pre", text);
  return el("div.copy", code, button("Copy", async ({ currentTarget: it }) => {
    try { await navigator.clipboard.writeText(text); it.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); it.textContent = "Selected"; }
  }));
}
// Details of another form are only shown as JSON.
const ifShaped = (draw, it) => { try { return draw(it); } catch { return null; } };
// What a judge said: votes, scores of rubrics, and its prompts where they are stored.
function judged({ name, details: { judge, overall_rubric_scores: overall = [], per_invocation: turns = [] } }) {
  const cast = (vote) => ["positive", "negative", "no_score", "unreadable", "failed"].filter((key) => vote[key]).map((key) => `${vote[key]} ${key.replace("_", " ")}`).join(", ");
  const rubrics = [...overall.map((it) => ["all turns", it]), ...turns.flatMap((turn, at) => turn.rubric_scores.map((it) => [`turn ${at + 1}`, it]))];
  const prompts = [judge.prompts ?? judge.prompt ?? []].flat();
  return [judge.votes.length > 0 && table(`Votes of ${name}`, ["Turn", "Votes", "Reason"], judge.votes.map((vote) => row([`${vote.turn + 1}`, vote.rubric && `, ${vote.rubric}`],
    [cast(vote), vote.scores && soft(`scores ${vote.scores.join(", ")}`)], prose(vote.reason)))),
    rubrics.length > 0 && table(`Rubrics of ${name}`, ["Rubric", head("Score", ".num"), "Rationale"], rubrics.map(([where, it]) => row([it.rubric_id, soft(where)], numeric(fixed(it.score, 2)), prose(it.rationale)))),
    judge.agreement != null && soft(`agreement of the votes ${fixed(judge.agreement, 2)}${judge.close ? ": one vote decided" : ""}`),
    prompts.length > 0 && details("What the judge was asked", prompts.map(json))];
}
// Results that the evaluation combines.
function members({ name, details: it }) {
  const all = [...(it.evaluators ?? []), ...(it.members ?? [])];
  return all.length > 0 && table(`Parts of ${name}`, ["Part", "Outcome", head("Score", ".num"), "Reason"],
    all.map((one) => row(one.name, badge(isScored(one.status) ? one.status : "error"), numeric(fixed(one.score, 2)), prose(one.reason ?? one.rows?.map((it) => `${it.passed ? "✓" : "✗"} ${it.text}`).join("; ")))));
}
function evaluation(it, base) {
  const reasons = [...new Set([it.failure_reason, it.reason, it.difference].filter(Boolean))], low = (score) => score != null && score < it.threshold;
  const rest = [it.duration_ns != null && time(it.duration_ns / 1e6), it.attempts > 1 && `${it.attempts} attempts`, it.containment && `contained by ${it.containment.executor}`,
    it.target_proxy && many(it.target_proxy.call_count ?? 0, "call of models")];
  return el("div.evaluation", el("h3", badge(it.outcome), evaluatorLink(it.name), isScored(it.outcome) && el("span.num", fixed(it.score), it.threshold != null && ` ${low(it.score) ? "<" : "≥"} ${it.threshold}`)),
    reasons.map((text) => prose(text)), it.error && [el("p.down", el("b", it.error_type), ` ${it.headline ?? ""}`), prose(it.error, ".pre")],
    it.outcome === "failed" && !reasons.length && soft("No reason is in the report."),
    base && soft("Base: ", badge(base.outcome), ` ${fixed(base.score)} `, base.reason && prose(base.reason)), ifShaped(members, it), ifShaped(judged, it),
    it.warnings?.length > 0 && soft("Warnings: ", fact(it.warnings)), it.stderr && details("Standard error", prose(it.stderr, ".pre"), true),
    it.per_invocation_scores?.length > 1 && soft("By turn: ", it.per_invocation_scores.map((score, at) => [at > 0 && ", ", el(low(score) ? "b.down" : "span", fixed(score, 2))])),
    it.repeats?.length > 0 && soft("Repeats: ", it.repeats.map((one) => `${one.error ? "broke" : one.status.toLowerCase().replace("_", " ")} ${fixed(one.score, 2)}`).join(", ")),
    isObject(it.details) && Object.keys(it.details).length > 0 && details("Details", json(it.details)), soft(rest.filter(Boolean).join(" · ")), it.repro?.map(copyable));
}
async function caseView(name, query) {
  const at = [C.names, C.trace_id, C.eval_case_id, C.case].reduce((found, ids) => (found < 0 ? ids?.indexOf(name) ?? -1 : found), -1);
  const list = listQuery(query), back = link("← Conversations", "", null, list);
  if (at < 0) return [elWith("nav.bar", { "aria-label": "Back" }, back), card("There is no such case", el("p", "No conversation has the name ", elWith("b", { dir: "auto" }, name), "."))];
  const rows = found(list), here = rows.indexOf(at), entry = await entryOf(at), { latency, tokens, counts: calls } = entry?.performance ?? {};
  const to = (target, label, style) => (target == null ? el("span.soft", label) : elWith(`a.${style}`, { href: address("c", C.names[target], query) }, label));
  const order = ["failed", "error", "not_evaluated", "passed"], evaluations = [...(entry?.evaluations ?? [])].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome));
  const known = [["trace", C.trace_id?.[at]], ["golden case", C.eval_case_id?.[at]], ["case", C.case?.[at]], ["file", C.files?.[C.file?.[at]]], ["turns", C.turns?.[at]],
    ["slowest turn", latency?.overall?.max != null && time(latency.overall.max)], ["model calls", calls?.llm_calls], ["tool calls", calls?.tool_calls],
    ["tokens", tokens?.total > 0 && `${count(tokens.total_prompt)} in, ${count(tokens.total_output)} out`], ["recording", entry?.content],
    ["cluster", entry?.cluster], ...Object.entries(entry?.labels ?? {}), ["against the base", changes.has(at) && badge(changes.get(at))],
    ["failed turns", entry?.failed_turns], ["warnings", entry?.warnings]].filter(([, value]) => value !== false);
  const bare = () => E.filter((it) => it.outcomes[at] !== "-").map((it) => evaluation({ ...it, outcome: CODES[it.outcomes[at]], score: it.scores[at], repeats: null, containment: null }));
  return [elWith("nav.bar", { "aria-label": "Cases" }, back, to(here < 0 ? rows[0] : rows[here - 1], "‹ previous", "previous"), to(here < 0 ? rows[0] : rows[here + 1], "next ›", "next"),
    here >= 0 && el("span.soft", `${count(here + 1)} of ${count(rows.length)}`)),
    el("h2.title", C.names[at]), prose(C.prompt?.[at], ".soft"),
    el("div.case-page", el("div", transcript(entry, at, query)), el("div",
      card("Evaluations", entry ? evaluations.map((it) => evaluation(it, entry.base?.evaluations?.find((one) => one.name === it.name))) : bare()), card("This conversation", facts(known))))];
}

// Evaluators and run.

function evaluatorCard(it, isChosen) {
  const times = (it.duration_ms ?? []).filter((ms) => ms != null).sort((a, b) => a - b), rank = (share) => time(times[Math.max(0, Math.ceil(share * times.length) - 1)]);
  const flickers = Object.keys(it.repeats ?? {}).length, digests = ["code", "settings", "environment"].filter((part) => isObject(it[part]) && Object.keys(it[part]).length);
  return el(`section.card${isChosen ? ".chosen" : ""}`, el("h2.mono", it.name), el("div.two",
    el("div", facts([["kind", it.kind], ["contract", it.contract], ["runs in", it.executor], ["threshold", it.threshold],
      ["gates", gatesOf(it).map((gate) => el("div", verdict(gate.verdict), ` ${measure(gate)}`, soft(because(gate))))],
      ["mean", it.mean && `${interval(it.mean)} of ${many(it.cases, "case")}${clusters(it, it)}`], ["passed", it.pass_rate && `${count(it.passed)} of ${count(it.passed + it.failed)}: ${interval(it.pass_rate)}`],
      ["counted as 0", it.counted_as_zero], ["broke", it.errors], ["not evaluated", it.not_evaluated], ["not run", it.not_run]].filter(([, value]) => value !== 0)), histogram(it)),
    el("div", facts([["time", times.length > 0 ? `${time(times.reduce((sum, ms) => sum + ms, 0))} in all, median ${rank(0.5)}, 95 % within ${rank(0.95)}, longest ${rank(1)}` : null],
      ["models", it.models], ["flickers", flickers ? `repeats of ${many(flickers, "conversation")} disagree` : null],
      ["agent flickers", mixed.get(it) ? `${mixed.get(it)} of ${many(cases.size, "case")} pass in one conversation and fail in another` : null],
      ["containment", it.containment], ["fingerprint", it.fingerprint ?? "none"]]),
      digests.map((part) => details(`${part}: ${many(Object.keys(it[part]).length, "digest")}`, facts(it[part]))))),
  el("div.bar", [["failed", it.failed], ["broke", it.errors], ["none", it.not_evaluated, "not evaluated"]].map(([key, number, label = key]) =>
    number > 0 && listLink(`${count(number)} ${label}`, { only: key, by: it.name }))));
}
function run() {
  const { errors, causes, warnings, unrecorded_cases: unrecorded, judges, suite, settings, policy, environment, trace_files: files = C.files, ...rest } = D.run;
  const parts = { "Errors outside of any conversation": errors?.map((text, at) => [text, causes?.[at]].filter(Boolean)), Warnings: warnings, "Golden cases without a recording": unrecorded,
    Settings: settings, Policy: policy, "Models that were asked": judges, Tests: suite, Environment: environment, "Trace files": files, "The base": compared?.base_run };
  return [card("Run", facts(rest)), Object.entries(parts).map(([title, it]) => isObject(it) && Object.keys(it).length > 0 && card(title, fact(it)))];
}

// The frame.

const PAGES = { "": ["Overview", (_, query) => [attention(), counts(), evaluatorsTable(), compared && changeLists(6), sliceTable(query), conversations(query)]],
  ...(compared && { compare: ["Comparison", comparison] }),
  evaluators: ["Evaluators", (name) => (E.length ? E.map((it) => evaluatorCard(it, it.name === name)) : card("Evaluators", el("p", "No evaluator was asked.")))], run: ["Run", run] };
const main = elWith("main", { id: "main", tabindex: "-1" });
const links = Object.entries(PAGES).map(([page, [label]]) => link(label, page));
function toggle() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}
let keysWork = true;
const keyNames = Object.entries(PAGES).map(([, [label]]) => [label[0].toLowerCase(), label.toLowerCase()]);
const help = elWith("dialog", { "aria-labelledby": "keys" }, elWith("h2", { id: "keys" }, "Keys"),
  facts([["j, k", "next, previous conversation"], ["Enter", "open it"], ["/", "find"], ["Esc", "back to the list, or out of the search"], ...keyNames, ["t", "light or dark"], ["?", "this list"]]),
  el("p", el("label", elWith("input", { type: "checkbox", checked: true, change: (event) => { keysWork = event.target.checked; } }), " Single keys work")), button("Close", () => help.close()));
const openHelp = () => help.showModal();
// What decided the run comes first.
const [decision, numbers] = D.sentence.split(/; (?=\d+ passed, )/);
const about = [...(D.labels ?? []).map((it) => it.join(" ")), many(C.count, "conversation"), many(E.length, "evaluator"), compared && `compared with ${baseName}`, D.run.started].filter(Boolean);
document.body.prepend(
  elWith("a.skip", { href: "#main", click: (event) => { event.preventDefault(); main.focus(); } }, "Skip to the report"),
  el("header", el("div.verdict", badge(D.verdict, ".large"), el("div", elWith("h1", { dir: "auto" }, decision), soft(numbers), soft(about.join(" · ")))),
    D.problems?.length > 0 && el("div.problem", fact(D.problems)),
    el("div.bar", elWith("nav.pages", { "aria-label": "Pages" }, links), button("Light or dark", toggle), button("Keys", openHelp))),
  main,
  el("footer", notes(), el("p", "Intervals: Clopper-Pearson for pass rates of cases with one conversation each and no clusters, else as if about two more cases (or clusters) had been seen at the worst end (bounded_mean). ",
    compared && "p: sign flips or McNemar's test, adjusted by Holm; it decides nothing. ", `This file loads nothing; made by ${D.made_by}${D.foreign ? ` from results of ${D.foreign}` : ""}.`)),
  help);

let focusOn = null, drawn = 0;
// Keeps the focus on the same element of the next page.
function keepFocus() { focusOn = document.activeElement?.id; }
async function show() {
  const turn = ++drawn, { page, name, query } = place(), known = Object.hasOwn(PAGES, page) ? page : "";
  delete root.dataset.ready;
  let content;
  try {
    content = await (page === "c" && name != null ? caseView : PAGES[known][1])(name, query);
  } catch (error) {
    content = card("This page cannot be shown", el("p", `The data of the report are damaged: ${error.message}`));
  }
  if (turn !== drawn) return;
  main.replaceChildren();
  add(main, content);
  links.forEach((it) => (it.hash === address(known) ? it.setAttribute("aria-current", "page") : it.removeAttribute("aria-current")));
  document.title = `${page === "c" && name != null ? `${name} · ` : ""}${D.verdict}: ${D.sentence}`;
  const kept = focusOn && document.getElementById(focusOn);
  focusOn = null;
  if (kept) kept.focus({ preventScroll: true });
  else {
    if (drawn > 1) main.focus({ preventScroll: true });
    scrollTo(0, 0);
    main.querySelector(".chosen")?.scrollIntoView();
  }
  root.dataset.ready = "1";
}
function step(by) {
  if (place().page === "c") return main.querySelector(by > 0 ? "a.next" : "a.previous")?.click();
  const rows = [...main.querySelectorAll("table.list a.case")], here = rows.indexOf(document.activeElement);
  rows[here < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, here + by))]?.focus();
}
async function find() {
  if (!document.getElementById("search")) {
    history.pushState(null, "", address("", null, listQuery(place().query)));
    await show();
  }
  document.getElementById("search").select();
}
const ACTIONS = { j: () => step(1), k: () => step(-1), t: toggle, "/": find, "?": openHelp };
links.forEach((it) => { ACTIONS[it.textContent[0].toLowerCase()] = () => it.click(); });
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const isTyping = /^(INPUT|SELECT)$/.test(document.activeElement?.tagName), { page, query } = place();
  if (event.key === "Escape") isTyping ? main.focus() : page && (location.hash = address("", null, listQuery(query)));
  else if (!isTyping && keysWork && Object.hasOwn(ACTIONS, event.key)) { event.preventDefault(); ACTIONS[event.key](); }
});
// On paper, nothing is folded.
addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((it) => { it.open = true; it.dataset.folded = ""; }));
addEventListener("afterprint", () => document.querySelectorAll("[data-folded]").forEach((it) => { it.open = false; delete it.dataset.folded; }));
addEventListener("hashchange", show);
show();
})();
