//! Everything of a report but its cases, as one object of JSON.

use std::{
    borrow::Cow,
    io::{self, Write},
    slice,
};

use evaluator_results::{Gate, GateResult, GateVerdict, Partial, Report, run_file::TOOL};
use serde_json::{Map, Value, json};

use super::{
    cases::Cases,
    comparison, reason,
    rows::{Column, KEYS, MEASURED, Rows, Slice, Threshold, push},
    text::{self, rounded},
    words::{self, Words},
};

/// Number of conversations that need attention.
const ATTENTION: usize = 10;

/// Number of problems that are shown on top of the page.
const PROBLEMS: usize = 20;

/// Maximum number of values of an attribute that can be chosen.
const SLICES: usize = 200;

/// Keys of a report that are its policy.
const POLICY: [&str; 6] = [
    "require_all_cases",
    "require_evaluated",
    "required_share",
    "allow_unevaluated",
    "max_error_rate",
    "inconclusive",
];

/// Writes the element with the data.
pub(crate) fn write(
    report: &Report,
    words: &Words<'_>,
    rows: &Rows,
    cases: &Cases,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Words { verdict, sentence, headline, .. } = words;
    let gates = report.decide_gates()?;
    let gates: Vec<Value> = gates.iter().map(decided).collect();
    let head = json!({
        "version": 1,
        "verdict": verdict,
        "sentence": sentence,
        "headline": headline,
        "shares": shares(&rows.evaluators),
        "problems": problems(report),
        "notes": cases.notes(report),
        "footer": footer(report, words),
        "labels": labels(report),
        "gates": gates,
        "attention": attention(report, rows)?,
        "errors": rows.errors,
        "run": run(report, rows.count),
        "comparison": compared(report, words, rows)?,
    });
    let head = text::json(&head)?;
    let head = head.strip_suffix('}').unwrap_or(&head);
    write!(out, "<script type=\"application/json\" id=\"data\">{head},\n\"evaluators\":[")?;
    evaluators(report, rows, out)?;
    out.write_all(b"],\n\"conversations\":")?;
    conversations(rows, out)?;
    out.write_all(b"}</script>\n")
}

/// Returns a gate with the reason of its verdict.
fn decided(gate: &GateResult) -> Value {
    let mut value = Value::from(&gate.to_json());
    value["because"] = match (&gate.undecided, gate.verdict) {
        (Some(undecided), _) => undecided.to_string().into(),
        (None, GateVerdict::Pass) => "the whole interval reaches the limit".into(),
        (None, _) => "the whole interval is below the limit".into(),
    };
    value
}

/// Returns the number of evaluations of each outcome that there is.
fn shares(columns: &[Column]) -> Vec<(&'static str, usize)> {
    let outcomes = || columns.iter().flat_map(|it| it.outcomes.bytes());
    let kinds = ["passed", "failed", "error", "not_evaluated", "not_run"].into_iter().zip(b'0'..);
    let all = kinds.map(|(kind, digit)| (kind, outcomes().filter(|it| *it == digit).count()));
    all.filter(|(_, number)| *number > 0).collect()
}

/// Returns how intervals are computed, and what wrote the file.
fn footer(report: &Report, words: &Words<'_>) -> String {
    let compared = match words.comparison.or(report.comparison.as_ref()) {
        Some(_) => " p: sign flips or McNemar's test, adjusted by Holm; it decides nothing.",
        None => "",
    };
    let from = words::foreign_tool(report);
    let from = from.map_or_else(String::new, |tool| format!(" from results of {tool}"));
    format!(
        "Intervals: Clopper-Pearson for pass rates of cases with one conversation each and no clusters, else as if about two more \
         cases (or clusters) had been seen at the worst end (bounded_mean).{compared} This file loads nothing; made by {TOOL}{from}."
    )
}

/// Returns the comparison with an earlier run; null without one.
fn compared(report: &Report, words: &Words<'_>, rows: &Rows) -> io::Result<Value> {
    let Some(compared) = words.comparison.or(report.comparison.as_ref()) else {
        return Ok(Value::Null);
    };
    let mut value = comparison::to_json(compared, rows)?;
    let name = |report: &Report| labels(report).first().map(|[_, name]| name.to_string());
    value["verdict"] = compared.verdict().as_str().into();
    value["allowed"] = compared.differences.as_slice().into();
    value["said"] = words.said.as_slice().into();
    value["base_label"] = words.base.and_then(name).into();
    value["new_label"] = name(report).into();
    if let Some(base) = words.base {
        value["base_run"] = run(base, base.conversations.len());
    }
    Ok(value)
}

/// Returns what identifies the run for people: the names of its files.
fn labels(report: &Report) -> Vec<[Cow<'_, str>; 2]> {
    let names = report.files.iter().filter_map(|file| file.file_name());
    names.map(|name| ["run".into(), name.to_string_lossy()]).collect()
}

/// Returns the errors outside of any conversation, each with its cause.
fn errors(report: &Report) -> impl Iterator<Item = Cow<'_, str>> {
    report.errors_with_causes().map(|(error, cause)| match cause {
        Some(cause) => format!("{error} ({cause})").into(),
        None => error.into(),
    })
}

/// Returns what makes a report incomplete, in sentences.
fn problems(report: &Report) -> Vec<Cow<'_, str>> {
    let mut problems: Vec<Cow<'_, str>> = errors(report).take(PROBLEMS).collect();
    if report.errors.len() > PROBLEMS {
        problems.push(format!("{} errors in all", report.error_count()).into());
    }
    // A run that ended because it was decided has everything that it needs.
    let partial = report.partial.filter(|partial| *partial != Partial::Decided);
    problems.extend(partial.map(|partial| partial.to_string().into()));
    problems
}

/// Returns the worst conversations, the worst first, with the reason of its worst evaluation.
fn attention(report: &Report, rows: &Rows) -> io::Result<Vec<Value>> {
    let shortfall = |row: &usize| rows.shortfalls[*row];
    let mut worst: Vec<usize> = (0..rows.count).filter(|row| shortfall(row) > 0.0).collect();
    worst.sort_by(|one, other| shortfall(other).total_cmp(&shortfall(one)));
    worst.truncate(ATTENTION);
    let mut attention = Vec::new();
    for row in worst {
        let Some(conversation) = report.conversations.get(row) else { continue };
        let conversation = conversation?;
        let failed = conversation.evaluations.iter().filter_map(|it| Some((it.shortfall()?, it)));
        // Of equal ones, the first.
        let worst = failed.reduce(|one, other| if other.0 > one.0 { other } else { one });
        if let Some((_, evaluation)) = worst {
            let of_column = |it: &Column| it.name == evaluation.name;
            let evaluator = rows.evaluators.iter().position(of_column);
            let reason = reason::of_failure(evaluation);
            let mut item = json!({"row": row, "evaluator": evaluator, "reason": reason});
            if let Some(repro) = report.repro(&conversation, evaluation) {
                item["repro"] = repro.into();
            }
            attention.push(item);
        }
    }
    Ok(attention)
}

/// Returns everything about the run as a whole.
fn run(report: &Report, conversations: usize) -> Value {
    let mut run = Map::new();
    if let Some(Ok(Value::Object(header))) = report.header.as_deref().map(serde_json::to_value) {
        let is_shown = |key: &str| {
            !["format", "version", "evaluators", "gates", "earlier", "report"].contains(&key)
        };
        run.extend(header.into_iter().filter(|(key, _)| is_shown(key)));
    }
    if let Some(golden) = run.get_mut("golden")
        && let Some(cases) = golden.get("cases").and_then(Value::as_object).map(Map::len)
    {
        golden["cases"] = cases.into();
    }
    run.insert("conversations".to_owned(), conversations.into());
    run.insert("transcripts".to_owned(), report.conversations.transcripts().into());
    let mut policy = Map::new();
    if let Ok(Value::Object(members)) = serde_json::to_value(report) {
        for (key, value) in members {
            let is_policy = POLICY.contains(&&*key);
            (if is_policy { &mut policy } else { &mut run }).insert(key, value);
        }
    }
    if !report.errors.is_empty() {
        run.insert("errors".to_owned(), errors(report).collect::<Vec<_>>().into());
    }
    run.remove("causes");
    if let Some(grouping) = report.grouping {
        run.insert("grouping".to_owned(), grouping.to_string().into());
    }
    if let Some(partial) = report.partial {
        run.insert("partial".to_owned(), partial.to_string().into());
    }
    // A result of another tool was made under other rules.
    if words::foreign_tool(report).is_none() {
        run.insert("policy".to_owned(), policy.into());
    }
    run.retain(|_, value| !is_empty(value));
    Value::Object(run)
}

/// Returns true for nothing, and for what consists of nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
        _ => false,
    }
}

/// Writes the evaluators: sums, identity and columns of each.
fn evaluators(report: &Report, rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
    let (sums, noise) = (report.evaluators(Gate::CONFIDENCE)?, report.noise()?);
    let header = report.header.as_deref().map(|header| serde_json::to_value(&header.evaluators));
    let header = header.transpose()?;
    let entries = header.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (number, column) in rows.evaluators.iter().enumerate() {
        let mut members = json!({"name": column.name});
        let entry = entries.iter().find(|entry| entry["name"] == *column.name);
        let sums = sums.iter().find(|sums| sums.name == column.name);
        let sums = sums.map(|sums| Value::from(&sums.to_json()));
        for more in entry.into_iter().chain(&sums) {
            for (key, value) in more.as_object().into_iter().flatten() {
                members[key] = value.clone();
            }
        }
        match column.threshold {
            Threshold::One(threshold) => members["threshold"] = threshold.into(),
            Threshold::Several => members["threshold"] = Value::Null,
            Threshold::Unknown => {}
        }
        if let Some(contained) = &column.containment {
            members["executor"] = contained.executor.as_str().into();
            members["containment"] = serde_json::to_value(contained)?;
        }
        members["bins"] = column.bins.as_slice().into();
        members["shares"] = serde_json::to_value(shares(slice::from_ref(column)))?;
        members["low"] = column.low(members["threshold"].as_f64()).into();
        if let Some(times) = column.times() {
            let times = times.map(|it| rounded(it, 2).parse().unwrap_or(it));
            members["times"] = times.as_slice().into();
        }
        if let Some(noise) = noise.iter().find(|it| it.name == column.name) {
            let text = noise.to_string();
            members["noise"] = text.strip_prefix(&format!("{}: ", column.name)).into();
        }
        if column.usage.calls > 0 {
            members["usage"] = serde_json::to_value(&column.usage)?;
        }
        if !column.repeats.is_empty() {
            members["repeats"] = serde_json::to_value(&column.repeats)?;
        }
        let members = text::json(&members)?;
        let members = members.strip_suffix('}').unwrap_or(&members);
        let separator = if number > 0 { ",\n" } else { "\n" };
        write!(
            out,
            "{separator}{members},\n\"outcomes\":\"{}\",\n\"scores\":[{}]}}",
            column.outcomes, column.scores
        )?;
    }
    Ok(())
}

/// Returns true for the characters of elements without a value.
fn is_null(character: char) -> bool {
    "null,".contains(character)
}

/// Writes the columns of conversations.
fn conversations(rows: &Rows, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"count\":{},\n\"files\":{}", rows.count, text::json(&rows.files)?)?;
    let columns = KEYS.iter().zip(&rows.columns);
    // What no conversation has is not known.
    let is_known = |it: &str| it.is_empty() || !it.trim_matches(is_null).is_empty();
    for (key, column) in columns.filter(|(_, column)| is_known(column)) {
        write!(out, ",\n\"{key}\":[{}]", text::in_script(column))?;
    }
    let is_useful = |it: &&Slice| (2..=SLICES).contains(&it.values.len());
    let slices: Vec<&Slice> = rows.slices.values().filter(is_useful).collect();
    if !slices.is_empty() {
        write!(out, ",\n\"slices\":{}", text::json(&slices)?)?;
    }
    if !rows.flaky.is_empty() {
        write!(out, ",\n\"flaky\":{}", text::json(&rows.flaky)?)?;
    }
    for (key, column) in MEASURED.iter().zip(&rows.measured) {
        write!(out, ",\n\"{key}\":[{column}]")?;
    }
    // Furthest below the thresholds, then what broke, then what was not evaluated.
    let mut badness = vec![0.0_f64; rows.count];
    for column in &rows.evaluators {
        for (sum, digit) in badness.iter_mut().zip(column.outcomes.bytes()) {
            *sum += match digit {
                b'2' => 0.01,
                b'3' => 0.0001,
                _ => 0.0,
            };
        }
    }
    let mut column = String::new();
    for (sum, shortfall) in badness.iter().zip(&rows.shortfalls) {
        // A failure is worse than any number of errors.
        let failed = if *shortfall > 0.0 { 1.0 } else { 0.0 };
        push(&mut column, &rounded(shortfall + failed + sum.min(0.99), 4));
    }
    write!(out, ",\n\"badness\":[{column}]}}")
}
