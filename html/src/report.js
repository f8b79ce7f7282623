// The page of a run: `data` has columns of conversations, `block-N` 16 of them. The fragment of the address is the state.
const C = D.conversations, E = D.evaluators, compared = D.comparison;
const ROWS = 100;

const chance = (p) => fixed(p).replace("0.000", "< 0.001");
// Difference on an axis that all evaluators have.
function difference({ difference: it, p }) {
	if (!it) return soft("not compared");
	const words = `[${signed(it.lower)}, ${signed(it.upper)}]`;
	return [plot({ value: it.mean, ...it }, [-compared.reach, compared.reach], 0, ".zero", `difference ${signed(it.mean)}, interval ${words}`),
		soft(tinted(it.upper < 0, it.lower > 0, signed(it.mean)), ` ${words}`, p != null && ` p ${chance(p)}`)];
}
function histogram({ bins, low }) {
	const most = Math.max(...bins);
	if (!most) return soft("no scores");
	return figure(".histogram", [120, 40], `scores in tenths from 0 to 1: ${bins.join(", ")}`, el("line.axis", { x2: 120, y1: 38.5, y2: 38.5 }),
		bins.map((number, at) => {
			const height = number && Math.max(1.5, (number / most) * 36);
			return el(at < low ? "rect.bin.fail" : "rect.bin", { x: at * 12 + 0.5, y: 38 - height, width: 11, height });
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
const choice = (label, isChosen, ...target) => el("a", { href: address(...target), "aria-current": isChosen && "true" }, label);
const link = (label, ...target) => choice(label, false, ...target);
const listLink = (label, query) => link(label, "", null, new URLSearchParams(query));
const caseLink = (at, query, label = C.names[at]) => el("a.case", { href: address("c", C.names[at], query) }, label);
const evaluatorLink = (name) => el("a.mono", { href: address("evaluators", name) }, name);
const promptOf = (at) => el("div.soft", { dir: "auto" }, withoutImages(C.prompt?.[at] ?? ""));
const beside = [["vs", "base"]];
const goTo = (page, query) => { keepFocus(); location.hash = address(page, null, query); };
const select = (label, key, chosen, options, set) => el("label", label, " ", el("select", { id: key, change: (event) => set(key, event.target.value) },
	options.map(([value, text = value]) => el("option", { value, selected: value === chosen }, text))));
const byEvaluator = (all, chosen, set) => all.length > 1 && select("Evaluator", "by", chosen, [["", "any"], ...all.map((it) => [it.name])], set);
// The rows of a page, and buttons for the others.
function paged(name, all, key, wanted, set) {
	const pages = Math.ceil(all.length / ROWS), page = Math.max(1, Math.min(pages, parseInt(wanted, 10) || 1));
	const turn = (label, to) => button(label, () => set(key, to), { id: `${key}-${label}`, disabled: to < 1 || to > pages });
	return [all.slice((page - 1) * ROWS, page * ROWS),
		pages > 1 && el("nav.bar", { "aria-label": `Pages of ${name}` }, turn("Previous", page - 1), `page ${page} of ${pages}`, turn("Next", page + 1))];
}

// The list.

const outcomes = Array.from({ length: C.count }, (_, at) => E.map((it) => it.outcomes[at]).join(""));
// Worst change of each conversation's case, by row.
const changes = new Map(Object.entries(compared?.rows ?? {}).map(([at, it]) => [+at, it]));
const flaky = new Set(C.flaky);
// Key, label and test of each filter.
const FILTERS = [["", "All", () => true], ["failed", "Failed", (all) => all.includes("1")], ["error", "Broke", (all) => all.includes("2")],
	["not_evaluated", "Not evaluated", (all) => /[34]/.test(all)], ["passed", "Passed", (all) => /^[^12]*0[^12]*$/.test(all)],
	...(compared ? [["regressed", "Regressed", (_, at) => changes.get(at) === "regressed"], ["changed", "Changed", (_, at) => changes.has(at)]] : []),
	...(flaky.size ? [["flaky", "Flaky", (_, at) => flaky.has(at)]] : [])];
const slices = C.slices ?? [];

const haystacks = [];
const haystack = (at) => (haystacks[at] ??= ["names", "prompt", "why", "eval_case_id", "case", "trace_id"].map((key) => C[key]?.[at]).join("\n").toLowerCase());
const ORDERS = { __proto__: null, "": "Worst first", input: "As recorded", name: "By name", turns: "Most turns", latency_ms: "Slowest", tokens: "Most tokens" };
const orders = new Map();
function ordered(sort) {
	if (orders.has(sort)) return orders.get(sort);
	const rows = Array.from({ length: C.count }, (_, at) => at), column = named(E, /^-?e\.(.*)/s.exec(sort)?.[1]);
	const by = (key) => { const keys = rows.map(key); rows.sort((a, b) => keys[a] - keys[b]); };
	if (column) {
		// What broke comes first, no score last.
		const sign = sort.startsWith("-") ? -1 : 1;
		by((at) => ({ 2: -2, 0: sign * (column.scores[at] ?? 1), 1: sign * (column.scores[at] ?? 0) })[column.outcomes[at]] ?? 2);
	} else if (sort === "name") {
		const { compare } = new Intl.Collator("en", { numeric: true });
		rows.sort((a, b) => compare(C.names[a], C.names[b]));
	} else if (ORDERS[sort] && Array.isArray(C[sort])) by((at) => -(C[sort][at] ?? -1));
	else if (sort !== "input") by((at) => -C.badness[at]);
	orders.set(sort, rows);
	return rows;
}
function found(query) {
	const get = (key) => query.get(key) ?? "", text = get("q").toLowerCase(), by = named(E, get("by"));
	const [, , wanted] = FILTERS.find(([key]) => key === get("only")) ?? FILTERS[0], codes = by ? by.outcomes : outcomes;
	const chosen = slices.map((it) => [it.of, it.values.indexOf(query.get(`s.${it.name}`))]).filter(([, value]) => value >= 0);
	return ordered(get("sort")).filter((at) => wanted(codes[at], at) && (!text || haystack(at).includes(text))
		&& chosen.every(([of, value]) => of[at] === value));
}
const isScored = (outcome) => /^(passed|failed)$/.test(outcome);
function scoreCell(it, at) {
	const outcome = CODES[it.outcomes[at]], [style, sign, word] = kindOf(outcome), repeats = it.repeats?.[at];
	if (outcome === "none") return el("td", spoken(word));
	const score = isScored(outcome) && it.scores[at] != null;
	return el("td", el(`span.cell.${style}`, glyph(sign), score && spoken(word), el("b", score ? fixed(it.scores[at], 2) : word), repeats && el("i", repeats.join("/"))));
}
function conversations(query) {
	const status = el("p.soft", { role: "status" }), body = el("tbody"), pages = el("div");
	let state = listQuery(query);
	const get = (key) => state.get(key) ?? "", sort = get("sort");
	const set = (key, value) => goTo("", changed(state, { [key]: value }));
	const search = el("input", { type: "search", id: "search", placeholder: "Name, prompt, reason", value: get("q"), input: (event) => {
		state = changed(state, { q: event.target.value });
		history.replaceState(null, "", address("", null, state));
		draw();
	} });
	const byScore = (it) => {
		const up = `e.${it.name}`, down = `-${up}`, [order, arrow, next] = { [up]: ["ascending", " ↑", down], [down]: ["descending", " ↓", ""] }[sort] ?? [null, "", up];
		return el("th", { scope: "col", "aria-sort": order }, button(it.name, () => set("sort", next), { id: up, class: "plain mono" }), glyph(arrow));
	};
	function draw() {
		const rows = found(state), [shown, pager] = paged("conversations", rows, "page", get("page"), set);
		status.textContent = !C.count ? "There are no conversations." : !rows.length ? "No conversation matches." : `${count(rows.length)} of ${many(C.count, "conversation")}`;
		body.replaceChildren(...shown.map((at) => row(
			[caseLink(at, state), changes.has(at) && [" ", badge(changes.get(at))], flaky.has(at) && [" ", badge("flaky")]],
			el("td.words", [C.prompt, C.why].map((it) => it?.[at] && el("div.one-line", { dir: "auto" }, it[at]))), ...E.map((it) => scoreCell(it, at)))));
		pages.replaceChildren();
		add(pages, pager);
	}
	draw();
	const sorts = Object.entries(ORDERS).filter(([key]) => !/^[tl]/.test(key) || C[key]);
	if (!ORDERS[sort]) sorts.push([sort, "By a score"]);
	return card("Conversations",
		el("div.bar", { role: "search" }, el("label", "Find ", search),
			el("div.group", { role: "group", "aria-label": "Outcome" }, FILTERS.map(([key, label]) =>
				button(label, () => set("only", key), { id: `only-${key}`, "aria-pressed": String(get("only") === key) }))),
			byEvaluator(E, get("by"), set), slices.map((it) => select(it.name, `s.${it.name}`, get(`s.${it.name}`), [["", "all"], ...it.values.map((value) => [value])], set)), select("Sort", "sort", sort, sorts, set),
			address("", null, state).length > 2 && link("Clear", "")),
		status, table("Scores of conversations", ["Conversation", "First prompt, and why it failed", ...E.map(byScore)], body, ".list"), pages);
}

// Overview.

const baseName = compared?.base_label ?? "the base";
const gatesOf = (it) => D.gates.filter((gate) => gate.evaluator === it.name);
// Verdict of an evaluator without a gate, and the number that decides it.
const standing = (it) => (it.failed ? "failed" : it.errors ? "error" : it.passed ? "passed" : "not_evaluated");
const results = (it) => (it.failed ? `${count(it.failed)} of ${count(it.passed + it.failed)} failed` : it.passed ? `${count(it.passed)} passed` : "nothing scored");
const below = (it) => (it.threshold == null ? "" : `, threshold ${it.threshold}`);

// Evaluations by outcome: a bar that shows even a single one, links to the list.
function shares(all, by = "") {
	const sum = all.reduce((sum, [, number]) => sum + number, 0);
	let end = 0;
	const parts = all.map(([kind, number]) => {
		const x = end;
		end += Math.max(sum / 300, number);
		return el(`rect.${kindOf(kind)[0]}`, { x, width: end - x, height: 1 });
	});
	return [figure(".shares", [end, 1], all.map(([kind, number]) => `${number} ${kindOf(kind)[2]}`).join(", "), parts),
		el("div.bar", all.map(([kind, number]) => el("span", badge(kind), " ", listLink(count(number), { only: kind, by }))), soft(`of ${many(sum, "evaluation")}`))];
}
const item = (mark, ...children) => el("li", mark, el("div", children));
const claims = (all, isShown) => (all ?? []).flatMap((by) => by.claims.filter(isShown).map((it) => item(verdict(it.verdict), evaluatorLink(by.name), ` ${it.claim}: ${it.reason}`)));
function attention() {
	const ofGates = (name) => D.gates.filter((it) => it.verdict === name).map((it) =>
		item(verdict(name), evaluatorLink(it.evaluator), ` ${measure(it)}: `, it.value != null && el("b", interval(it)), soft(it.because)));
	const [regressed, begun] = compared?.regressed ?? [];
	const items = [...ofGates("fail"), ...claims(compared?.evaluators, (it) => it.verdict !== "pass"),
		...(regressed ? [item(badge("regressed"), `${many(regressed, "case")} against ${baseName}, first `, caseLink(begun, beside))] : []),
		...E.filter((it) => it.failed && !gatesOf(it).length).map((it) => item(badge("failed"), evaluatorLink(it.name), `: ${results(it)}${below(it)}`)), ...ofGates("inconclusive")];
	const first = D.attention[0], by = E[first?.evaluator];
	const broken = D.errors.length > 0 && card("What broke", el("ul.items", D.errors.map((it) =>
		item(badge("error"), evaluatorLink(E[it.evaluator].name), ` ${many(it.count, "time")}: ${it.headline} · `, caseLink(it.row)))));
	const failed = items.length ? el("ul.items", items) : !broken && (C.count ? "No evaluation failed." : "Nothing was evaluated.");
	return [D.shares.length > 0 && card(null, shares(D.shares)), el("div.two", failed && card("What needs attention", failed),
		first && card("First failing case", el("p", caseLink(first.row), by && [" · ", evaluatorLink(by.name), el("b", ` ${fixed(by.scores[first.row], 2)}`), below(by)]),
			promptOf(first.row), prose(first.reason), first.repro && copyable(first.repro))), broken];
}
function evaluatorsTable() {
	const rows = E.flatMap((it) => (gatesOf(it).length ? gatesOf(it) : [null]).map((gate) => [it, gate, gate ? gate.value != null && gate : it.mean]));
	const lowest = Math.min(...rows.flatMap(([, gate, shown]) => [shown ? shown.lower : 1, gate?.limit ?? 1])), axis = [Math.max(0, Math.floor(lowest * 10 - 0.2) / 10), 1];
	return card("Evaluators", table("Evaluators and gates", ["Evaluator", "Gate", "Mean and interval", "Verdict", "Scores", ...(compared ? [`Against ${baseName}`] : [])],
		rows.map(([it, gate, shown]) => row([evaluatorLink(it.name), soft(listOf(it.kind, it.threshold != null && `threshold ${it.threshold}`))],
			gate ? [measure(gate), gate.confidence != null && soft(`${gate.confidence * 100} % confidence`)] : "each evaluation",
			shown ? plotted(shown, axis, gate?.limit, ".limit", gate ? measure(gate) : "mean", ` n = ${count(gate?.cases ?? it.cases)}${clusters(gate ?? it, it)}`) : soft("no scores"),
			[gate ? [verdict(gate.verdict), soft(gate.because)] : [badge(standing(it)), soft(results(it))], it.errors > 0 && soft(`broke ${many(it.errors, "time")}`)],
			histogram(it), ...(compared ? [difference(named(compared.evaluators, it.name) ?? {})] : []))), ".top"));
}
// Slices by the attribute that is chosen.
function sliced(all, page, query, draw) {
	const chosen = named(all, query.get("slice")) ?? all[0];
	return chosen && card("Slices", all.length > 1 && el("div.bar", all.map((it) => choice(it.name, it === chosen, page, null, changed(query, { slice: it.name })))), draw(chosen));
}
const firstOf = (most, all, order) => all.length > most && soft(`the ${order} ${most} of ${count(all.length)}`);
function sliceTable({ name, values, sums }) {
	const share = ([passed, scored]) => numeric(scored ? `${fixed((passed / scored) * 100, 1)} %` : "–", el("span.soft", ` ${passed}/${scored}`));
	return [table(`Shares that passed by ${name}`, [name, numericHead("Conversations"), ...E.map((it) => numericHead(it.name))],
		sums.map(([at, size, of]) => row(listLink(values[at], [[`s.${name}`, values[at]]]), numeric(count(size)), ...of.map(share)))), firstOf(20, values, "worst")];
}

// Comparison.

const setOf = (query) => (key, value) => goTo("compare", changed(query, { [key]: value }));
// All cases that changed, by page; without a query the first of them.
function changeLists(evaluators, query) {
	const all = evaluators.flatMap((by) => by.changes.map((it) => ({ by, ...it }))), set = setOf(query);
	const lists = Object.keys(KINDS).map((kind) => [kind, all.filter((it) => it.change === kind)]).filter(([, found]) => found.length);
	return card(`Cases against ${baseName}`, el("div.two", lists.map(([kind, found]) => {
		const [shown, pages] = query ? paged(`cases: ${kind}`, found, kind, query.get(kind), set) : [found.slice(0, 6), found.length > 6 && link(`all ${count(found.length)}`, "compare")];
		return el("div", el("h3", badge(kind), ` ${count(found.length)}`), table(`Cases: ${kind}`, ["Case", "Evaluator", numericHead("Scores")],
			shown.map((it) => row(it.row == null ? it.case : caseLink(it.row, beside, it.case),
				el("span.mono", it.by.name), numeric(`${fixed(it.base, 2)} → `, tinted(it.new < it.base, it.new > it.base, fixed(it.new, 2)))))), pages);
	})), !lists.length && "No case changed.");
}
function comparison(_, query) {
	const chosen = query.get("by"), only = named(compared.evaluators, chosen), evaluators = only ? [only] : compared.evaluators;
	const numbers = ["Base → new", "p (Holm)", "Detectable loss", "Unchanged"].map(numericHead);
	return [card(`${compared.new_label ?? "The new run"} against ${baseName}`, el("div.bar", byEvaluator(compared.evaluators, chosen, setOf(query))),
		compared.allowed.length > 0 && el("div.problem", el("h3", "Not the same was measured"), fact(compared.allowed)),
		compared.said.length > 0 && soft("Other differences: ", fact(compared.said)), compared.same_recordings && el("p", "The recordings are the same: differences do not come from the agent."),
		table("Differences by evaluator", ["Evaluator", "Difference and interval", ...numbers], evaluators.map((it) => row(evaluatorLink(it.name), difference({ ...it, p: null }),
			numeric(`${fixed(it.base)} → ${fixed(it.new)}`), numeric(chance(it.p)), numeric(fixed(it.detectable)), numeric(count(it.unchanged)))), ".top"),
		el("ul.items", claims(evaluators, () => true)),
		facts(members(compared, "only_in_base only_in_new"))),
		changeLists(evaluators, query), sliced((compared.slices ?? []).map((it) => ({ name: it.by, ...it })), "compare", query, (it) => differencesBy(it, evaluators))];
}
function differencesBy({ by, values, overlapping, left_out: leftOut }, shown) {
	return [table(`Differences by ${by}`, [by, "Evaluator", "Difference and interval", numericHead("Base → new"), "Cases that changed"], values.slice(0, 20).flatMap(({ value, conversations: size, evaluators }) =>
		evaluators.filter((it) => named(shown, it.name)).map((it) => row([value ?? "(none)", soft(many(size, "conversation"))], evaluatorLink(it.name), [difference(it), it.too_few_cases && soft("too few cases to say")],
			numeric(`${fixed(it.base)} → ${fixed(it.new)}`), ["regressed", "broke", "fixed"].map((kind) => it[kind] > 0 && [badge(kind), ` ${count(it[kind])} `])))), ".top"), firstOf(20, values, "largest"),
		facts([["conversations with several values", overlapping || null], ["with further values", leftOut || null]])];
}

// A case.

// Keeps whole numbers that a double cannot hold.
const exact = (_, value, context) => (Number.isInteger(value) && !Number.isSafeInteger(value) && JSON.rawJSON?.(context.source)) || value;
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
// Longest common subsequence as pairs of indices; what is too long between common ends counts as different.
function common(left, right) {
	let start = 0, endLeft = left.length, endRight = right.length;
	const pairs = [], tail = [];
	while (start < endLeft && start < endRight && left[start] === right[start]) pairs.push([start, start++]);
	while (endLeft > start && endRight > start && left[endLeft - 1] === right[endRight - 1]) tail.unshift([--endLeft, --endRight]);
	const rows = endLeft - start, columns = endRight - start, lengths = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
	if (rows * columns > 4e6) return [...pairs, ...tail];
	for (let i = rows - 1; i >= 0; i--) {
		for (let j = columns - 1; j >= 0; j--) {
			lengths[i][j] = left[start + i] === right[start + j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
		}
	}
	for (let i = 0, j = 0; i < rows && j < columns;) {
		if (left[start + i] === right[start + j]) pairs.push([start + i++, start + j++]);
		else if (lengths[i + 1][j] >= lengths[i][j + 1]) i++;
		else j++;
	}
	return [...pairs, ...tail];
}
const WORD = /\s+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}_]+|[^]/gu;
// Marks the words that the other text does not have, unless little is common.
function marked(text, other, style) {
	if (other == null || text === other || text.length + other.length > 1e5) return text;
	const left = text.match(WORD) ?? [], right = other.match(WORD) ?? [], kept = new Set(common(left, right).map(([at]) => at));
	if (kept.size < Math.min(left.length, right.length) * 0.3) return text;
	return left.map((word, at) => (kept.has(at) || !word.trim() ? word : el("mark" + style, word)));
}
const argumentsOf = (call) => Object.entries(call?.args ?? {}).map(([key, it]) => `${key}=${JSON.stringify(it)}`).join(", ");
// Calls of both sides, those of the same name next to each other.
function aligned(calls, others) {
	const rows = [], names = [calls, others].map((all) => all.map((it) => it.name));
	let left = 0, right = 0;
	for (const [i, j] of [...common(...names), [calls.length, others.length]]) {
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
	const shown = (it, theirs, mark) => el("div.code", it ? [el("b", it.name), "(", prose(argumentsOf(it), "", (text) => marked(text, isSame || !theirs ? null : withoutImages(argumentsOf(theirs)), mark), 3000, "span"), ")"] : el("i", mark === ".ours" ? "not called" : "no such call"));
	return el(`div.call${style}`, glyph(sign), spoken(`${word}: `), shown(call, other, ".ours"), side && shown(other, call, ".theirs"),
		response && el(`div.code.output${isError ? ".down" : ""}`, glyph(isError ? "✗" : "⇒"), spoken(isError ? "error: " : "result: "),
			prose(response.output || (response.response == null ? "" : JSON.stringify(response.response)), "", undefined, 1500)));
}
// Images are shown after a click, URLs stay text.
function attachment({ kind, media_type: type = kind, name, size: bytes, url, data }) {
	const images = [];
	withoutImages(data ?? "", images);
	return el("div.group", el("span.soft", "[", listOf(name, type, bytes != null && size(bytes), url), "]"), images);
}
// Attachments of a turn, and whether the other side has the same, as far as both are in the file.
function besides(kind, turn, other, isOtherImage) {
	const key = `${kind}_attachments`, all = turn[key] ?? [], theirs = turn.trace_id == null || other?.trace_id == null ? all : other[key] ?? [];
	const isSame = all.length === theirs.length && all.every((it, at) => {
		const unknown = !(it.data && theirs[at].data) && { data: null };
		return canonical({ ...it, ...unknown }) === canonical({ ...theirs[at], ...unknown });
	});
	return [all.map(attachment), (isOtherImage || !isSame) && el("p.differs", "The picture differs.")];
}
const TEXTS = { user: "user_content", final: "final_response" };
function bubble(who, style, kind, turn, other, mark) {
	const [text, theirs] = [turn, other].map((it) => it?.[TEXTS[kind]]), plain = theirs && withoutImages(theirs);
	return el(`div.said${style}`, el("span.who", who), kind === "user" && turn.earlier_attachments && [soft("In earlier messages:"), besides("earlier", turn, other)],
		text ? prose(text, "", (it) => marked(it, plain, mark)) : !turn[`${kind}_attachments`] && el("i", text === "" ? "an empty text" : "no answer"),
		besides(kind, turn, other, text && text !== theirs && plain === withoutImages(text)));
}
function turnCard(turn, other, at, of, evaluations, side) {
	const { tool_calls: calls = [], tool_responses: all = [] } = turn?.intermediate_steps ?? {}, { tool_calls: others = [] } = other?.intermediate_steps ?? {}, responses = [...all];
	const responseOf = (call) => {
		const index = call ? responses.findIndex((it) => (call.id != null && it.id != null ? it.id === call.id : it.name === call.name)) : -1;
		return index < 0 ? null : responses.splice(index, 1)[0];
	};
	const low = evaluations.filter(({ per_invocation_scores: scores, threshold }) => scores?.length > 1 && scores[at] != null && scores[at] < threshold);
	const rows = aligned(calls, others), name = `Turn ${at + 1} of ${of}`, isAskedOtherwise = (key) => other[key] && canonical(turn?.[key]) !== canonical(other[key]);
	return el("article.turn", { "aria-label": name },
		el("h3", name, low.map((it) => el("span.badge.fail", glyph("✗ "), `${it.name} ${fixed(it.per_invocation_scores[at], 2)}`))),
		turn ? bubble("User", ".user", "user", turn, other, ".ours") : el("p.down", `Only ${side === "golden" ? "the golden case" : "the base"} has this turn.`),
		other && ["user_content", "user_attachments"].some(isAskedOtherwise) && bubble(`User, ${SIDES[side].toLowerCase()}`, ".user.other", "user", other, turn, ".theirs"),
		rows.length > 0 && el(side ? "div.both" : "div", side && el("div.call.soft", el("span"), el("span", "Called"), el("span", SIDES[side])), rows.map((pair) => callRow(pair, responseOf(pair[0]), side))),
		responses.map((it) => callRow([{ name: it.name }], it)), turn?.step_attachments && el("div.steps", soft("Before the answer:"), besides("step", turn, other)),
		el(other ? "div.answers" : "div", turn && bubble("Agent", "", "final", turn, other, ".ours"),
			other && (other.final_response != null || side === "base") && bubble(`${SIDES[side]} answer`, ".other", "final", other, turn, ".theirs")));
}
function transcript(entry, at, query) {
	const recorded = entry?.transcript, golden = recorded?.expected_invocations, base = entry?.base?.transcript?.invocations, wanted = query.get("vs");
	const lacks = (what) => [el("p", `The transcript of ${what} is not in the report.`), notes()];
	if (!recorded) {
		return card("Conversation", lacks(base ? "the new run" : "this conversation"), base && ["This is the base:", base.map((it, turn) => turnCard(it, null, turn, base.length, entry.base.evaluations))]);
	}
	const sides = { ...(golden?.length > 0 && { golden }), ...(base && { base }) }, side = wanted === "none" ? null : Object.hasOwn(sides, wanted) ? wanted : Object.keys(sides)[0];
	const turns = recorded.invocations ?? [], others = sides[side] ?? [], of = Math.max(turns.length, others.length);
	const see = (key) => choice(key, (side ?? "none") === key, "c", C.names[at], changed(query, { vs: key, page: query.get("page") ?? "" }));
	return card("Conversation", side !== undefined && el("div.bar", "Next to it: ", [...Object.keys(sides), "none"].map(see)), entry.base && !base && lacks("the base"),
		!of && "It has no turns.", Array.from({ length: of }, (_, turn) => turnCard(turns[turn], others[turn], turn, of, entry.evaluations, others[turn] ? side : null)));
}
// Details of another form are only shown as JSON.
const ifShaped = (draw, it) => { try { return draw(it); } catch { return null; } };
// What a judge said: votes and scores of rubrics.
function judged({ name, details: { judge, overall_rubric_scores: overall = [], per_invocation: turns = [] } }) {
	const cast = (vote) => listOf(...members(vote, "positive negative no_score unreadable failed").map(([key, it]) => it && `${it} ${words(key)}`));
	const rubrics = [...overall.map((it) => ["all turns", it]), ...turns.flatMap((turn, at) => turn.rubric_scores.map((it) => [`turn ${at + 1}`, it]))];
	return [judge.votes.length > 0 && table(`Votes of ${name}`, ["Turn", "Votes", "Reason"], judge.votes.map((vote) => row([`${vote.turn + 1}`, vote.rubric && `, ${vote.rubric}`],
		[cast(vote), vote.scores && soft(`scores ${vote.scores.join(", ")}`)], prose(vote.reason)))),
		rubrics.length > 0 && table(`Rubrics of ${name}`, ["Rubric", numericHead("Score"), "Rationale"], rubrics.map(([where, it]) => row([it.rubric_id, soft(where)], numeric(fixed(it.score, 2)), prose(it.rationale)))),
		judge.agreement != null && soft(`agreement of the votes ${fixed(judge.agreement, 2)}${judge.close ? ": one vote decided" : ""}`)];
}
function asked(prompts, replies) {
	const said = (who, text) => [soft(who), prose(text, ".pre")];
	return [prompts.length > 0 && details("What the judge was asked", prompts.map(({ turn, name, messages }) =>
		messages.map(({ role, text, parts }) => said(`turn ${turn + 1}, ${name}, ${role}${parts ? `, with ${many(parts, "part")}` : ""}`, text)))),
	replies.length > 0 && details("What it replied", replies.map((it) => said(`turn ${it.turn + 1}, ${it.prompt}${it.model ? `, ${it.model}` : ""}`, it.text ?? it.error)))];
}
// Results that the evaluation combines.
function combined({ name, details: it }) {
	const all = [...(it.evaluators ?? []), ...(it.members ?? [])];
	return all.length > 0 && table(`Parts of ${name}`, ["Part", "Outcome", numericHead("Score"), "Reason"],
		all.map((one) => row(one.name, badge(isScored(one.status) ? one.status : "error"), numeric(fixed(one.score, 2)), prose(one.reason ?? one.rows?.map((it) => `${it.passed ? "✓" : "✗"} ${it.text}`).join("; ")))));
}
function evaluation(it, base, prompts = []) {
	const reasons = [...new Set([it.failure_reason, it.reason, it.difference].filter(Boolean))], isLow = it.score != null && it.score < it.threshold;
	const rest = listOf(it.duration_ns != null && time(it.duration_ns / 1e6), it.attempts > 1 && `${it.attempts} attempts`, it.containment && `contained by ${it.containment.executor}`,
		it.target_proxy && many(it.target_proxy.call_count ?? 0, "call of models"));
	return el("div.evaluation", el("h3", badge(it.outcome), evaluatorLink(it.name), isScored(it.outcome) && el("span.num", fixed(it.score), it.threshold != null && ` ${isLow ? "<" : "≥"} ${it.threshold}`)),
		reasons.map((text) => prose(text)), it.error && [el("p.down", listOf(it.error_type, !it.error.includes(it.headline) && it.headline)), prose(it.error, ".pre")],
		it.outcome === "failed" && !reasons.length && soft("No reason is in the report."),
		base && soft("Base: ", badge(base.outcome), ` ${fixed(base.score)} `, base.reason && prose(base.reason)), ifShaped(combined, it), ifShaped(judged, it),
		ifShaped(() => asked(prompts, it.details?.judge?.replies ?? []), it),
		it.warnings?.length > 0 && soft("Warnings: ", fact(it.warnings)), it.stderr && details("Standard error", prose(it.stderr, ".pre"), true),
		it.repeats?.length > 0 && soft("Repeats: ", it.repeats.map((one) => `${one.error ? "broke" : words(one.status.toLowerCase())} ${fixed(one.score, 2)}`).join(", ")),
		isObject(it.details) && Object.keys(it.details).length > 0 && details("Details", prose(JSON.stringify(it.details, null, 2), ".pre")), soft(rest), it.repro?.map(copyable));
}
async function caseView(name, query) {
	const at = [C.names, C.trace_id, C.eval_case_id, C.case].reduce((found, ids) => (found < 0 ? ids?.indexOf(name) ?? -1 : found), -1);
	const list = listQuery(query), back = link("← Conversations", "", null, list);
	if (at < 0) return [back, card("There is no such case", el("b", { dir: "auto" }, name))];
	const rows = found(list), here = rows.indexOf(at), entry = await entryOf(at), latency = C.latency_ms?.[at];
	const to = (step, label, style) => { const it = rows[here < 0 ? 0 : here + step]; return it == null ? el("span.soft", label) : el(`a.${style}`, { href: address("c", C.names[it], query) }, label); };
	const order = ["not_evaluated", "error", "failed"], evaluations = [...(entry?.evaluations ?? [])].sort((a, b) => order.indexOf(b.outcome) - order.indexOf(a.outcome));
	const known = [["trace", C.trace_id?.[at]], ["golden case", C.eval_case_id?.[at]], ["case", C.case?.[at]], ["file", C.files?.[C.file?.[at]]], ["turns", C.turns?.[at]],
		["slowest turn", latency != null && time(latency)], ["tool calls", C.tool_calls?.[at]],
		...members(entry?.performance, "llm_calls input_tokens output_tokens"), ["recording", entry?.content],
		...Object.entries(entry?.labels ?? {}), ...members(entry, "cluster failed_turns warnings")];
	const bare = () => E.filter((it) => it.outcomes[at] !== "-").map((it) => evaluation({ ...it, outcome: CODES[it.outcomes[at]], score: it.scores[at], repeats: null, containment: null }));
	return [el("nav.bar", { "aria-label": "Cases" }, back, to(-1, "‹ previous", "previous"), to(1, "next ›", "next"),
		here >= 0 && el("span.soft", `${count(here + 1)} of ${count(rows.length)}`)),
		el("h2.title", C.names[at]), changes.has(at) && badge(changes.get(at)), !entry?.transcript && promptOf(at),
		el("div.case-page", el("div", transcript(entry, at, query)), el("div",
			card("Evaluations", entry ? evaluations.map((it) => evaluation(it, named(entry.base?.evaluations, it.name), entry.transcript?.prompts?.[it.name])) : bare()), card("This conversation", facts(known))))];
}

// Evaluators and run.

function evaluatorCard(it, isChosen) {
	const { usage } = it, times = it.times?.map(time);
	return el(`section.card${isChosen ? ".chosen" : ""}`, el("h2.mono", it.name), el("div.two",
		el("div", facts([["kind", it.kind], ["contract", it.contract ?? (/^(code|linked)$/.test(it.kind) && "agentevals")],
			["threshold", it.threshold],
			["pass rate", it.pass_rate && interval(it.pass_rate)],
			["pass rate, corrected", it.corrected_pass_rate ? interval(it.corrected_pass_rate) : it.uncorrected],
			...members(it, "counted_as_zero")]), histogram(it)),
		el("div", facts([["time", times && `median ${times[1]}, 95 % within ${times[2]}, longest ${times[3]}, in all ${times[0]}`],
			["calls of models", usage && facts(members(usage, "calls replayed input_tokens output_tokens"))],
			["cost", usage?.cost != null && `${count(usage.cost)} ${D.run.judges?.currency ?? ""}`], ["noise", it.noise],
			["containment", it.containment ?? (it.kind === "code" && "none")], ["fingerprint", it.fingerprint ?? "none"]]),
			["code", "settings", "environment"].map((part) => Object.keys(it[part] ?? {}).length > 0 && details(`Digests of ${part}`, facts(it[part]))))),
	shares(it.shares, it.name));
}
function run() {
	const all = Object.entries({ ...D.run, trace_files: C.files, base: compared?.base_run });
	return el("div.two", card("Run", facts(all.filter(([, it]) => !isObject(it)))), all.filter(([, it]) => isObject(it) && Object.keys(it).length).map(([name, it]) => card(name[0].toUpperCase() + words(name).slice(1), fact(it))));
}

// The frame.

const PAGES = { "": ["Overview", (_, query) => [attention(), E.length > 0 && evaluatorsTable(), compared && changeLists(compared.evaluators), E.length > 0 && sliced(slices, "", query, sliceTable), conversations(query)]],
	...(compared && { compare: ["Comparison", comparison] }),
	evaluators: ["Evaluators", (name) => (E.length ? E.map((it) => evaluatorCard(it, it.name === name)) : card("Evaluators", "No evaluator was asked."))], run: ["Run", run] };
const main = el("main", { id: "main", tabindex: "-1" });
const links = Object.entries(PAGES).map(([page, [label]]) => link(label, page));
const help = document.querySelector("dialog"), openHelp = () => help.showModal();
help.querySelector("button").addEventListener("click", () => help.close());
const about = [...D.labels.map((it) => it.join(" ")), many(C.count, "conversation"), many(E.length, "evaluator"), compared && `compared with ${baseName}`, D.run.started].filter(Boolean);
document.body.prepend(
	el("a.skip", { href: "#main", click: (event) => { event.preventDefault(); main.focus(); } }, "Skip to the report"),
	banner(D.headline[0], [soft(D.headline[1]), soft(about.join(" · "))], D.problems.length > 0 && el("div.problem", fact(D.problems)),
		el("div.bar", el("nav.pages", { "aria-label": "Pages" }, links), theme(), button("Keys", openHelp))),
	main,
	el("footer", notes(), D.footer));

let focusOn = null, opened = null, drawn = 0;
// Keeps the focus on the same element of the next page.
function keepFocus() { focusOn = document.activeElement?.id; }
async function show() {
	const turn = ++drawn, { page, name, query } = place(), known = Object.hasOwn(PAGES, page) ? page : "";
	delete root.dataset.ready;
	let content;
	try {
		content = await (page === "c" && name != null ? caseView : PAGES[known][1])(name, query);
	} catch (error) {
		content = card("This page cannot be shown", `The data of the report are damaged: ${error.message}`);
	}
	if (turn !== drawn) return;
	main.replaceChildren();
	add(main, content);
	links.forEach((it) => (it.ariaCurrent = it.hash === address(known) ? "page" : null));
	document.title = `${page === "c" && name != null ? `${name} · ` : ""}${D.verdict}: ${D.sentence}`;
	const kept = document.getElementById(focusOn), left = [...main.querySelectorAll("table.list a.case")].find((it) => it.textContent === opened);
	focusOn = null;
	opened = page === "c" ? name : null;
	if (kept ?? left) (kept ?? left).focus({ preventScroll: kept !== null });
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
	rows[Math.max(0, here + by)]?.focus();
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
	else if (!isTyping && help.querySelector("input").checked && Object.hasOwn(ACTIONS, event.key)) { event.preventDefault(); ACTIONS[event.key](); }
});
addEventListener("hashchange", show);
show();
