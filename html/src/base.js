// What all pages have. Texts of the data become text nodes and values of attributes, never markup, addresses or styles.
const D = JSON.parse(document.getElementById("data").textContent), root = document.documentElement;

// Elements.

// Invisible characters, and those that change the direction of text, are shown with their code.
const HIDDEN = /([\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}])/u;
function addText(node, text) {
	text.split(HIDDEN).forEach((part, at) => {
		if (at % 2 === 0) return node.append(part);
		const mark = el("span.hidden-character", { "data-code": part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") });
		mark.textContent = part;
		node.append(mark);
	});
}
const SVG = /^(svg|line|rect|circle|text)$/;
// Creates an element: tag with classes, e.g. `div.soft`, attributes, if any, of which functions are listeners, children.
function el(selector, ...children) {
	const [tag, ...classes] = selector.split("."), attributes = children[0]?.constructor === Object ? children.shift() : {};
	const node = SVG.test(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
	if (classes.length) node.setAttribute("class", classes.join(" "));
	for (const [name, value] of Object.entries(attributes)) {
		if (value == null || value === false) continue;
		if (typeof value === "function") node.addEventListener(name, value);
		else if (name === "href" && !value.startsWith("#")) throw new Error("links stay on the page");
		else if (name === "src" && !/^data:image\/(png|jpeg|gif|webp);base64,[\w+/]+=*$/.test(value)) throw new Error("images are in the file");
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
const glyph = (text) => el("span", { "aria-hidden": "true" }, text);
const spoken = (text) => el("span.spoken", text);
const card = (title, ...children) => el("section.card", title && el("h2", title), children);
const banner = (title, more, ...children) => el("header", el("div.verdict", badge(D.verdict, ".large"), el("div", el("h1", { dir: "auto" }, title), more)), children);
const theme = () => button("Light or dark", toggle);
const button = (label, click, more) => el("button", { type: "button", click, ...more }, label);
const details = (title, content, open) => el("details", { open }, el("summary", title), content);

// Images in base64, known by their first bytes.
const IMAGE = /(?<![\w+/])(?:data:[\w/+.;=-]{1,80};base64,)?((?:iVBORw0KGgo|\/9j\/|R0lGOD[dl]h|UklGR[\w+/]{7}RUJQ)[\w+/]{40,}={0,2})/g;
const IMAGE_TYPES = { i: "png", "/": "jpeg", R: "gif", U: "webp" };
// Replaces images by what they are. `found` gets a button for each, which shows it.
const withoutImages = (text, found) => text.replace(IMAGE, (_, data) => {
	const type = `image/${IMAGE_TYPES[data[0]]}`, what = `${type}, ${size((data.length * 3) / 4)}`;
	found?.push(button(`Show image (${what})`, ({ currentTarget }) => currentTarget.replaceWith(el("img", { src: `data:${type};base64,${data}`, alt: what }))));
	return `[${what}]`;
});
// A text in its own direction, cut if it is long.
function prose(text, style = "", draw = (it) => it, limit = 6000, tag = "div") {
	const images = [], whole = withoutImages(String(text ?? ""), images), node = el(tag + style, { dir: "auto" });
	const show = (most) => {
		const isCut = whole.length > most;
		node.replaceChildren();
		add(node, draw(isCut ? whole.slice(0, limit / 2) : whole));
		if (isCut) add(node, [" … ", button(`Show all ${count(whole.length)} characters`, () => show(Infinity))]);
		if (images.length) add(node, el("div.bar", images));
	};
	show(limit);
	return node;
}
const tinted = (isDown, isUp, text) => el(`b${isDown ? ".down" : isUp ? ".up" : ""}`, text);

function copyable(text) {
	const code = el("div.pre", text);
	return el("div.copy", code, button("Copy", async ({ currentTarget: it }) => {
		try { await navigator.clipboard.writeText(text); it.textContent = "Copied"; } catch { getSelection().selectAllChildren(code); it.textContent = "Selected"; }
	}));
}

// A table in an area that scrolls. A head is a text or an element.
function table(caption, heads, rows, style = "") {
	return el("div.scroll", { tabindex: "0", role: "group", "aria-label": caption }, el("table" + style, el("caption.spoken", caption),
		el("thead", el("tr", heads.map((it) => (it instanceof Node ? it : head(it))))), rows instanceof Node ? rows : el("tbody", rows)));
}
const head = (label, style = "") => el("th" + style, { scope: "col" }, label);
const numericHead = (label) => head(label, ".num");
const words = (key) => key.replace(/^[a-z_\d]+$/, (it) => it.replaceAll("_", " "));
const row = (first, ...cells) => el("tr", el("th", { scope: "row" }, first), cells.map((it) => (it?.tagName === "TD" ? it : el("td", it))));
const numeric = (...children) => el("td.num", children);

// List of names and values; objects are lists in it.
function facts(entries) {
	const all = Array.isArray(entries) ? entries.filter(([, it]) => it !== false) : Object.entries(entries);
	return el("dl", all.map(([name, value]) => value != null && value.length !== 0 && [el("dt", words(name)), el("dd", fact(value))]));
}
function fact(value) {
	if (value instanceof Node) return value;
	if (Array.isArray(value)) return value.length === 1 ? fact(value[0]) : el("ul", value.map((it) => el("li", fact(it))));
	if (isObject(value)) return Object.keys(value).length ? facts(value) : "none";
	if (typeof value === "boolean") return value ? "yes" : "no";
	if (/^[0-9a-f]{64}$/.test(value)) return el("code", value.slice(0, 12), spoken(value.slice(12)));
	return typeof value === "number" ? count(value) : prose(value);
}
const notes = () => D.notes.length > 0 && fact(D.notes);
const named = (all, name) => all?.find((it) => it.name === name);
const isObject = (value) => value && typeof value === "object" && !JSON.isRawJSON?.(value);

// Numbers and words.

const count = (number) => number.toLocaleString("en", { maximumFractionDigits: 3 });
const fixed = (number, digits = 3) => (typeof number === "number" ? number.toFixed(digits) : "–");
const signed = (number) => (number < 0 ? "−" : number > 0 ? "+" : "±") + Math.abs(number).toFixed(3);
const size = (bytes) => `${count(Math.ceil(bytes / 1000))} KB`;
const many = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;
function time(ms) {
	const [unit, of] = ms < 1 ? ["µs", 0.001] : ms < 1000 ? ["ms", 1] : ms < 120000 ? ["s", 1000] : ["min", 60000];
	return `${count(+(ms / of).toPrecision(3))} ${unit}`;
}
// Some members of an object as facts, without those that are 0.
const members = (it, names) => names.split(" ").map((name) => [name, it?.[name] || null]);
const measure = (gate) => `${words(gate.measure)} ≥ ${gate.limit}`;
const clusters = (it, { worth_cases: worth }) => (it.clusters ? ` in ${many(it.clusters, "cluster")}${worth ? `, worth about ${count(worth)}` : ""}` : "");
const interval = (it) => `${fixed(it.value)} [${fixed(it.lower)}, ${fixed(it.upper)}]`;
const listOf = (...parts) => parts.filter(Boolean).join(", ");

// Verdicts, outcomes and changes, the worst first: style, glyph, word.
const KINDS = {
	__proto__: null,
	passed: ["pass", "✓"], failed: ["fail", "✗"], error: ["broke", "!", "broke"], not_evaluated: ["none", "–", "not evaluated"],
	not_run: ["none", "·", "not run"], none: ["none", "", "not asked"], pass: ["pass", "✓"], fail: ["fail", "✗"], inconclusive: ["open", "?"],
	regressed: ["fail", "▼"], broke: ["broke", "!"], flaky: ["open", "≈"], missing: ["open", "−"], worse: ["fail", "↓"],
	fixed: ["pass", "▲"], mended: ["pass", "✓"], better: ["pass", "↑"], new: ["none", "+"],
};
const CODES = { 0: "passed", 1: "failed", 2: "error", 3: "not_evaluated", 4: "not_run", "-": "none" };
// Words of the run and of gates are in capitals.
function kindOf(name) {
	const [style, sign, word] = KINDS[name.toLowerCase()] ?? ["broke", "■"];
	return [style, sign, name === name.toUpperCase() ? name : word ?? name];
}
function badge(name, size = "") {
	const [style, sign, word] = kindOf(name);
	return el(`span.badge.${style}${size}`, glyph(sign), " ", word);
}
const verdict = (name) => badge(name.toUpperCase());

// Figures.

const figure = (style, [width, height], words, ...shapes) =>
	el("svg" + style, { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words }, shapes);
// Interval of a mean on an axis, with its limit or 0.
function plot({ value, lower, upper }, [low, high], mark, style, words) {
	const width = 220, at = (it) => 6 + ((Math.min(high, Math.max(low, it)) - low) / (high - low)) * (width - 12);
	const label = (it, anchor, text = it) => el("text", { x: at(it), y: 30, "text-anchor": anchor }, text);
	return figure(".plot", [width, 32], words,
		el("line.axis", { x1: 6, x2: width - 6, y1: 11, y2: 11 }),
		el("rect.band", { x: at(lower), y: 7, width: Math.max(2, at(upper) - at(lower)), height: 8, rx: 4 }),
		mark != null && el("line" + style, { x1: at(mark), x2: at(mark), y1: 1, y2: 21 }),
		el("circle.point", { cx: at(value), cy: 11, r: 4 }), label(low, "start"), label(high, "end"),
		at(mark) > 40 && at(mark) < width - 40 && label(mark, "middle", mark ? `≥ ${mark}` : 0));
}

const plotted = (it, axis, mark, style, name, ...more) => [plot(it, axis, mark, style, `${name}: ${interval(it)}`), soft(interval(it), more)];

function toggle() {
	const isDark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	root.style.colorScheme = isDark ? "light" : "dark";
}
