// The page of `agree` or of `mutate`: the element `data` has the result in the form of `-o json`.
const R = D.result, isAgreement = D.subject === "agreement";
const number = (it) => numeric(it ? count(it) : "");
// An estimate with its interval, on an axis from `low` to 1.
function estimate(it, name, low = 0) {
	if (!it) return soft("–");
	if (it.se === 0) return soft(fixed(it.value));
	const shown = { ...it, value: it.value ?? it.rate };
	return plotted(shown, [low, 1], null, "", name, it.n != null && ` n = ${count(it.n)}`, it.of != null && ` ${it.killed} of ${it.of}`);
}
const listed = (title, all, draw, most = 100) => all?.length > 0 && details(`${title}: ${count(all.length)}`, [all.slice(0, most).map(draw), all.length > most && soft(`the first ${most}; \`-o json\` has all`)], all.length <= 5);

// Agreement.

const RATES = { kappa: "kappa", weighted_kappa: "weighted kappa", agreement: "agreement", true_positive_rate: "passes that it passes", true_negative_rate: "failures that it fails", precision: "its passes that are right", auroc: "AUROC" };
function agreement(it) {
	const { confusion: cells, min_kappa: asked, with: other } = it, reference = other ?? "people", rates = Object.keys(RATES).filter((key) => it[key]);
	return el("section.card", el("h2", it.name, ` against ${reference}`),
		asked && el("div.items", verdict(asked.verdict), ` kappa ≥ ${asked.limit}: ${asked.reason}`),
		el("div.two",
			el("div", cells && table(`Verdicts of ${it.name}, by those of ${reference}`, ["Evaluator", numericHead(`${other ? "It" : "People"}: pass`), numericHead("fail")], [
				row(`${it.name}: pass`, numeric(count(cells.true_positives)), numeric(tinted(cells.false_positives, false, count(cells.false_positives)))),
				row(`${it.name}: fail`, numeric(tinted(cells.false_negatives, false, count(cells.false_negatives))), numeric(count(cells.true_negatives)))]),
			facts([["best threshold", it.best_threshold && interval(it.best_threshold)], ...members(it, "compared threshold f1 balanced_accuracy mcc correlation raters errors not_evaluated not_run ties without_reference")])),
			rates.length > 0 && table(`Rates of ${it.name}`, ["Rate", "Value and interval"], rates.map((key) => row(RATES[key], estimate(it[key], RATES[key], key.endsWith("kappa") ? -1 : 0))))),
		listed("Disagreements, the worst first", it.disagreements, (one) => el("article.evaluation", { "aria-label": one.case },
			el("h3", badge(one.passed ? "passed" : "failed"), one.case, el("span.num", fixed(one.score))), prose(one.prompt, ".soft"),
			el("div.answers", el("div", soft(it.name), prose(one.reason ?? "no reason")), one.comments.map((by) => el("div", soft(by.rater ?? reference, ": ", by.label), prose(by.comment ?? "no reason")))))));
}

// Mutation.

const COUNTS = ["mutants", "killed", "noticed", "survived", "allowed", "false_alarms", "broke"];
function difference(text) {
	return el("div.pre", text.trimEnd().split("\n").map((line) => [el({ "-": "span.down", "+": "span.up" }[line[0]] ?? "span", line), "\n"]));
}
const shown = (it) => el("article.evaluation", { "aria-label": `${it.mutant} of ${it.case}` },
	el("h3", it.mutant, el("span.soft", it.case), el("span.num", `${fixed(it.before)} → ${fixed(it.after)}`)), soft(`expected: ${it.expected}`), it.error && prose(it.error, ".down"), difference(it.diff), copyable(it.again));
function mutation(it) {
	const counted = (one, name, more) => row([name, more && soft(more)], ...COUNTS.map((key) => number(one[key])), estimate(one.kill_rate, `kill rate of ${name}`));
	return el("section.card", el("h2.mono", it.evaluator),
		it.refusal ? prose(it.refusal, ".down") : [table(`Damage of ${it.evaluator} by operator`, ["operator", ...COUNTS.map((key) => numericHead(words(key))), "kill rate"],
			[...it.operators.map((one) => counted(one, one.operator, listOf(`has to: ${one.expect}`, one.not_applicable > 0 && `not applicable ${count(one.not_applicable)}`))), counted(it, "all")], ".top"),
		listed("Not killed, the smallest difference first", it.survivors, shown, 50), listed("Violated", it.violated, shown, 50), listed("Broke", it.broken, shown, 50)],
		facts([["kind", it.kind ?? "not known"], ["undamaged", it.conversations],
			["relations", it.relations?.map((one) => `${one.relation}: ${one.violations ? `violated in ${one.violations} of ${one.checked}` : `holds in ${one.checked}`}${one.broke ? `, broke in ${one.broke}` : ""}`)]]));
}

document.body.prepend(
	banner(D.sentence, soft(isAgreement ? listOf(...[R.labels?.files].flat()) : `seed ${R.seed}, at most ${many(R.sample, "mutant")} of an evaluator`), el("div.bar", theme()), R.notes?.length > 0 && soft(fact(R.notes))),
	el("main", R.evaluators.map(isAgreement ? agreement : mutation),
		isAgreement && R.labels && card("Labels", facts(Object.entries(R.labels).filter(([, it]) => it)))),
	el("footer", D.footer));
root.dataset.ready = "1";
