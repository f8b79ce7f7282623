//! The last lines of a run, on stderr: its outcome, with all denominators.

use std::{fmt::Write as _, io};

use evaluator_host::{
    conversation::GroupedBy,
    report::{
        Comparison, GateResult, GateVerdict, Inconclusive, JudgeUsage, NotEvaluated, Report,
        run_file::Shard,
    },
    verdict::{Balance, Standing, Tally},
};
use serde_json::{Map, Value, json};

use super::{
    changes::compared,
    plain::one_line,
    stderr::{Level, line, line_with},
    words::{self, counted, unrecorded},
};
use crate::exit;

/// Writes the last lines of a run. With `verbose`, contradictions were shown one by one before.
///
/// `code` is the exit code: it is worse than what the report says if the report could not be written.
pub(crate) fn verdict(report: &Report, code: u8, verbose: bool) {
    // If the report cannot be read to its end, the sentence names the reason.
    for remark in remarks(report, verbose).unwrap_or_default().lines() {
        line(Level::Warning, remark);
    }
    for gate in report.decide_gates().unwrap_or_default() {
        let level = if gate.verdict == GateVerdict::Pass { Level::Info } else { Level::Warning };
        line(level, &format!("gate {}", one_line(&gate.to_string())));
    }
    for (evaluator, claim) in report.comparison.iter().flat_map(Comparison::claims) {
        let level = if claim.verdict == GateVerdict::Pass { Level::Info } else { Level::Warning };
        line(level, &format!("claim {}", one_line(&format!("{evaluator}: {claim}"))));
    }
    let text = match report.standing().exit_code() == code {
        true => sentence(report),
        false => format!("ERROR: {}; not everything could be written", counts(report)),
    };
    last_line(&text, code, run(report));
}

/// Writes the last line of a run of a shard.
pub(crate) fn part_verdict(report: &Report, shard: Shard, code: u8) {
    let conversations = counted(report.conversations.len() as u64, "conversation");
    let mut text = format!("PART {shard}: {conversations}");
    if !report.errors.is_empty() {
        let errors = counted(report.error_count() as u64, "error");
        let _ = write!(text, "; {errors} outside of any conversation");
    }
    match report.partial {
        Some(partial) => {
            let _ = write!(text, "; the part is not whole: {partial}");
        }
        None => text += "; nothing is decided before the parts are reported together",
    }
    let mut counts = run(report);
    if code == exit::OK {
        counts["outcome"] = "part".into();
    }
    last_line(&text, code, counts);
}

/// Writes the last line of a command that ends without the report of a run.
pub(crate) fn no_verdict(code: u8) {
    let text = match code {
        exit::USAGE => "NOT RUN: nothing was evaluated",
        exit::INTERRUPTED => "STOPPED: everything was killed",
        _ => "ERROR: there is no report",
    };
    last_line(text, code, json!({}));
}

/// Writes the last line of a run. `counts` are further keys of its JSON form.
pub(super) fn last_line(text: &str, code: u8, counts: Value) {
    let outcome = match code {
        exit::OK => "passed",
        exit::FAILED => "failed",
        exit::INCONCLUSIVE => "inconclusive",
        exit::USAGE => "not_run",
        exit::INTERRUPTED => "stopped",
        _ => "error",
    };
    let mut run = json!({"outcome": outcome, "exit_code": code});
    for (name, count) in counts.as_object().into_iter().flatten() {
        run[name] = count.clone();
    }
    let level = if code == exit::OK { Level::Info } else { Level::Error };
    line_with(level, text, Map::from_iter([("run".to_owned(), run)]));
}

/// Returns the counts as an object.
fn run(report: &Report) -> Value {
    let mut run = json!({
        "conversations": report.conversations.len(),
        "dropped_out": report.conversations.dropped_out(),
        "errors_outside": report.error_count(),
        "partial": report.partial.is_some(),
    });
    for (name, count) in report.tally().named() {
        run[name] = count.into();
    }
    run
}

/// Returns facts apart from the counts, in lines.
fn remarks(report: &Report, verbose: bool) -> io::Result<String> {
    let mut text = String::new();
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    if let Some(grouping) = report.grouping.filter(|it| verbose || it.is_noteworthy()) {
        let _ = writeln!(text, "grouping: {grouping}");
    }
    if let Some(judges) = &report.judges {
        let _ = writeln!(text, "judges: {}", asked(judges));
    }
    for contradiction in report.contradictions()?.iter().filter(|_| !verbose) {
        let _ = writeln!(text, "warning: {}", words::contradiction(report, contradiction));
    }
    text += &not_evaluated(report)?;
    for missing in report.missing_scores() {
        let _ = writeln!(text, "{}: {missing}", one_line(&missing.scores.name));
    }
    let cases = unrecorded(report);
    if !cases.is_empty() {
        let _ = writeln!(text, "golden cases without a recording: {}", cases.join(", "));
    }
    Ok(text)
}

/// Returns what judges were asked, and what it cost.
fn asked(judges: &JudgeUsage) -> String {
    let mut text = counted(judges.calls, "call");
    if judges.replayed > 0 {
        let share = judges.replayed.saturating_mul(100) / judges.calls.max(1);
        let _ = write!(text, " ({share} % replayed)");
    }
    if judges.failed > 0 {
        let _ = write!(text, ", {} failed", judges.failed);
    }
    if judges.requests > 0 {
        let _ = write!(text, ", {} sent", counted(judges.requests, "request"));
    }
    let _ = write!(text, ", {} + {} tokens", judges.input_tokens, judges.output_tokens);
    if judges.uncounted > 0 {
        let _ =
            write!(text, " (not counted by the server in {})", counted(judges.uncounted, "call"));
    }
    if let Some(cost) = &judges.cost {
        let currency = judges.currency.as_deref().map(one_line).unwrap_or_default();
        let _ = write!(text, ", cost {cost} {currency}");
    }
    let mut text = text.trim_end().to_owned();
    for (model, reported) in &judges.reported {
        let reported = reported.join(", ");
        let _ = write!(text, "; {} was answered by {}", one_line(model), one_line(&reported));
    }
    text
}

/// Returns the grouping of traces, unless each trace is a conversation.
pub(super) fn grouping(report: &Report) -> Option<GroupedBy> {
    report.grouping.filter(|grouping| grouping.is_by_conversation())
}

/// The outcome of a run in words.
pub(super) struct Outcome {
    /// The outcome in a word, in capital letters.
    pub(super) word: &'static str,
    /// What gates and the comparison with a baseline decide; empty without them.
    pub(super) decisions: String,
    /// All counts, and the facts that decide the outcome.
    pub(super) counts: String,
    /// Whether the counts decided the outcome, and not gates or the comparison.
    pub(super) by_counts: bool,
}

impl Outcome {
    /// Returns what the outcome rests on.
    pub(super) fn facts(&self) -> String {
        match &*self.decisions {
            "" => self.counts.clone(),
            decisions => format!("{decisions}; {}", self.counts),
        }
    }
}

/// Returns the outcome in a word, and the counts.
pub(crate) fn sentence(report: &Report) -> String {
    let outcome = outcome(report);
    format!("{}: {}", outcome.word, outcome.facts())
}

/// Returns the outcome of a run in words.
pub(super) fn outcome(report: &Report) -> Outcome {
    let balance = report.balance();
    let standing = balance.standing();
    let word = match standing {
        Standing::Failed if balance.fails_as_unevaluated() => "NOTHING EVALUATED",
        Standing::Failed => "FAILED",
        Standing::Inconclusive => "INCONCLUSIVE",
        Standing::Passed if balance.tally.scored() == 0 => "NOTHING EVALUATED",
        Standing::Passed => "PASSED",
        _ => "ERROR",
    };
    let undecided = balance.undecided_gates + balance.undecided_claims;
    let failed = balance.failed_gates + balance.failed_claims;
    let by_counts = match standing {
        Standing::Failed => {
            failed == 0 && (undecided == 0 || balance.inconclusive != Inconclusive::Fail)
        }
        Standing::Passed | Standing::Inconclusive => false,
        _ => true,
    };
    Outcome { word, decisions: decisions(report, &balance), counts: counts(report), by_counts }
}

/// Returns what gates and the comparison with a baseline decide, and what undecided ones mean.
fn decisions(report: &Report, balance: &Balance) -> String {
    let compared = report.comparison.as_ref().map(compared);
    let gates = Some(gates(report)).filter(|gates| !gates.is_empty());
    let parts: Vec<String> = gates.into_iter().chain(compared).collect();
    if parts.is_empty() {
        return String::new();
    }
    let policy = match (balance.undecided_gates + balance.undecided_claims, balance.inconclusive) {
        (0, _) | (_, Inconclusive::Stays) => "",
        (_, Inconclusive::Pass) => ", which passes (--inconclusive pass)",
        (_, Inconclusive::Fail) => ", which fails (--inconclusive fail)",
    };
    format!("{}{policy}", parts.join("; "))
}

/// Returns how many gates pass, fail and are undecided, with the names of the latter.
fn gates(report: &Report) -> String {
    let results = report.decide_gates().unwrap_or_default();
    let mut parts = Vec::new();
    for (verdict, singular, plural) in [
        (GateVerdict::Pass, "passes", "pass"),
        (GateVerdict::Fail, "fails", "fail"),
        (GateVerdict::Inconclusive, "undecided", "undecided"),
    ] {
        let mut named = results.iter().filter(|gate| gate.verdict == verdict).peekable();
        if named.peek().is_none() {
            continue;
        }
        let names: Vec<String> = named.map(|gate| named_gate(gate, &results)).collect();
        let noun = match (parts.is_empty(), names.len()) {
            (true, 1) => " gate",
            (true, _) => " gates",
            (false, _) => "",
        };
        let word = if names.len() == 1 { singular } else { plural };
        let names_of = match verdict {
            GateVerdict::Pass => String::new(),
            _ => format!(" ({})", names.join("; ")),
        };
        parts.push(format!("{}{noun} {word}{names_of}", names.len()));
    }
    parts.join(", ")
}

/// Returns the evaluator of a gate, what is measured if the evaluator has several gates, and why it is undecided.
fn named_gate(result: &GateResult, all: &[GateResult]) -> String {
    let gate = &result.gate;
    let mut name = one_line(&gate.evaluator).into_owned();
    if all.iter().filter(|it| it.gate.evaluator == gate.evaluator).count() > 1 {
        name = format!("{name} {} >= {}", gate.measure, gate.limit);
    }
    match &result.undecided {
        Some(undecided) => format!("{name}: {undecided}"),
        None => name,
    }
}

/// Returns all counts, and the facts that decide the outcome.
fn counts(report: &Report) -> String {
    let balance = report.balance();
    let tally = balance.tally;
    let not_run = match tally.not_run {
        0 => String::new(),
        count => format!(", {count} not run"),
    };
    let Tally { passed, failed, errored, not_evaluated, .. } = tally;
    let mut text = format!("{passed} passed, {failed} failed, {errored} errored");
    let _ = match &report.suite {
        Some(_) => write!(text, "{not_run} ({})", counted(tally.total(), "test")),
        None => write!(
            text,
            ", {not_evaluated} not evaluated{not_run} ({} in {}), {} scored of {} in total",
            counted(tally.total(), "evaluation"),
            counted(report.conversations.len() as u64, "conversation"),
            tally.scored(),
            tally.total(),
        ),
    };
    let dropped_out = report.conversations.dropped_out();
    if dropped_out > 0 {
        let conversations = counted(dropped_out, "conversation");
        let _ = write!(text, "; {conversations} dropped out of an evaluator");
    }
    if !report.errors.is_empty() {
        let errors = counted(report.error_count() as u64, "error");
        let _ = write!(text, "; {errors} outside of any conversation");
    }
    if !report.unrecorded_cases.is_empty() {
        let cases = counted(report.unrecorded_cases.len() as u64, "golden case");
        let required = match report.missing_cases() {
            [] => " (--require-all-cases fails a run for them)",
            _ => ", and each must have one",
        };
        let _ = write!(text, "; {cases} without a recording{required}");
    }
    if !report.left_out.is_empty() {
        let _ = write!(text, "; {} of trace files left out", report.left_out.counted());
    }
    text += &contained(report);
    if let Some(reused) = report.reused {
        let total = counted(report.conversations.asked() as u64, "result");
        let _ = write!(text, "; {reused} of {total} from an earlier run");
    }
    if balance.fails_as_unevaluated() {
        text += "; a run that scores nothing fails (--allow-unevaluated lets it pass)";
    }
    text += &tolerance(report, &balance);
    if let Some(partial) = report.partial {
        let _ = write!(text, "; partial: {partial}");
    }
    if report.is_unchecked {
        text += "; parts that are missing are not noticed (--expect any)";
    }
    if let Some(error) = report.conversations.unreadable() {
        let _ = write!(text, "; the report is not whole: {}", one_line(error));
    }
    text
}

/// Returns how many evaluators were contained, and by what, if any was.
fn contained(report: &Report) -> String {
    let (evaluators, executors) = report.conversations.contained();
    let names = match executors.len() {
        0 => return String::new(),
        1 => executors.keys().map(|name| (*name).to_owned()).collect(),
        _ => executors.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>(),
    };
    let (evaluators, count) =
        (counted(evaluators as u64, "evaluator"), executors.values().sum::<usize>());
    format!("; {evaluators}, {count} contained ({})", one_line(&names.join(", ")))
}

/// Returns whether errors are tolerated, if some may be.
fn tolerance(report: &Report, balance: &Balance) -> String {
    if balance.max_error_rate <= 0.0 || balance.errors() == 0 {
        return String::new();
    }
    let errors = counted(balance.errors(), "error");
    let (share, most) = (balance.error_rate(), balance.max_error_rate);
    let share = format!("a share of {share:.4}, and up to {most} is tolerated");
    if balance.tolerates_errors() {
        format!("; {errors} tolerated ({share})")
    } else {
        let mut never_worked = report.conversations.evaluators_that_never_worked();
        let never_worked = never_worked.next().map(|name| match never_worked.count() {
            0 => format!("{name} broke and scored nothing"),
            more => format!("{name} and {more} more broke and scored nothing"),
        });
        let reasons = [
            (balance.partial, "the run is partial"),
            (balance.unreadable, "results were lost"),
            (balance.unusable_eval_set, "the eval set could not be used"),
            (balance.unsaved, "the run file could not be written"),
            (balance.unreliable, "an evaluator cannot be relied on"),
            (balance.tally.scored() == 0, "nothing was scored"),
            (balance.unusable_files > 0, "those outside of any conversation never are"),
            (never_worked.is_some(), never_worked.as_deref().unwrap_or_default()),
        ];
        let why = reasons.iter().find(|(holds, _)| *holds);
        let why = why.map_or("they are too many", |(_, why)| why);
        format!("; {errors} not tolerated, because {why} ({share})")
    }
}

/// Returns the reasons why metrics did not evaluate, a line for each metric and reason.
fn not_evaluated(report: &Report) -> io::Result<String> {
    let mut text = String::new();
    for NotEvaluated { evaluator, reasons, others, .. } in report.conversations.not_evaluated()? {
        let metric = one_line(&evaluator);
        for (reason, count) in reasons {
            let reason = one_line(&reason);
            let conversations = counted(count, "conversation");
            let _ = writeln!(text, "{metric}: {conversations} not evaluated: {reason}");
        }
        if others > 0 {
            let conversations = counted(others, "conversation");
            let _ = writeln!(text, "{metric}: {conversations} not evaluated for other reasons");
        }
    }
    Ok(text)
}
