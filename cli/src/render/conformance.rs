//! What each host would record of a program.

use std::{ffi::OsString, fmt::Write as _};

use evaluator_host::conform::{
    CaseReport, Conformance, Fate, Host, HostReport, Manner, Recorded, Standing,
};
use serde_json::{Value, json};

/// Columns that a case's name and what the program did take.
const NAME: usize = 26;
const MANNER: usize = 10;

/// Characters of a message that are shown.
const MESSAGE: usize = 140;

/// A line for each case under each host, and what it amounts to.
pub(crate) fn conformance_text(conformance: &Conformance, asked: &[Host]) -> String {
    let mut text = String::new();
    for report in &conformance.hosts {
        let standing = match report.standing() {
            Standing::Conforms => "conforms",
            Standing::DoesNotConform => "DOES NOT CONFORM",
            Standing::NotAnswered => "answers none of its documents",
        };
        let _ = writeln!(text, "{}: {standing}", report.host);
        // Of a host that the program is not made for, one line says all, unless somebody wants to know.
        if report.standing() != Standing::NotAnswered || asked.contains(&report.host) {
            for case in &report.cases {
                case_lines(&mut text, case);
            }
            text.push('\n');
        } else if let Some(case) = report.cases.first() {
            case_lines(&mut text, case);
            text.push('\n');
        }
    }
    let (conform, not, none) = counts(conformance);
    let _ = writeln!(
        text,
        "{conform} hosts it conforms to, {not} it does not, {none} whose documents it does not answer"
    );
    text
}

fn counts(conformance: &Conformance) -> (usize, usize, usize) {
    let of =
        |standing| conformance.hosts.iter().filter(|report| report.standing() == standing).count();
    (of(Standing::Conforms), of(Standing::DoesNotConform), of(Standing::NotAnswered))
}

fn case_lines(text: &mut String, case: &CaseReport) {
    let manner = match case.manner {
        Manner::Answered => "answered",
        Manner::Refused => "refused",
        Manner::Broke => "broke",
        Manner::NotPlayed => "not played",
    };
    let mark = if case.problem.is_some() { "!" } else { " " };
    let recorded = case.recorded.as_ref().map(recorded_text).unwrap_or_default();
    let line = format!("{mark} {:NAME$}  {manner:MANNER$}  {recorded}", case.name);
    let _ = writeln!(text, "{}", line.trim_end());
    if let Some(problem) = &case.problem {
        let _ = writeln!(text, "    {}", told(problem));
    }
}

/// What is recorded, in a line: what it amounts to, the score, the host's word, the rows, the message.
fn recorded_text(recorded: &Recorded) -> String {
    let mut parts = vec![fate(recorded.fate).to_owned()];
    if let Some(score) = recorded.score {
        parts.push(format!("score {score}"));
    }
    if let Some(status) = recorded.status {
        parts.push(status.to_owned());
    }
    match recorded.rows.len() {
        0 => {}
        1 => parts.push("1 row".to_owned()),
        rows => parts.push(format!("{rows} rows")),
    }
    let message = recorded.message.as_ref().map(|message| format!(": {}", told(message)));
    parts.join(", ") + &message.unwrap_or_default()
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Recorded => "recorded",
        Fate::Lost => "LOST",
        Fate::Error => "an error",
        Fate::LooksFailed => "an error that is a failure",
        Fate::LooksPassed => "SHOWN AS PASS",
        Fate::HostDies => "THE HOST MAY DIE",
    }
}

/// Of several lines the last says most: that is where the message of a traceback stands.
fn told(message: &str) -> String {
    let lines: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let line = match lines.as_slice() {
        [] => "",
        [only] => only,
        [.., last] => last,
    };
    let mut shown: String = line.trim().chars().take(MESSAGE).collect();
    if line.trim().chars().count() > MESSAGE {
        shown.push_str("...");
    }
    shown
}

/// The same for programs, whole.
pub(crate) fn conformance_json(
    command: &[OsString],
    conformance: &Conformance,
    asked: &[Host],
) -> String {
    let words: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let hosts: Vec<Value> =
        conformance.hosts.iter().map(|report| host_json(report, asked)).collect();
    let (conforms, does_not, not_answered) = counts(conformance);
    let document = json!({
        "command": words,
        "conforms": conformance.holds_for(asked),
        "hosts": hosts,
        "summary": {
            "conforms": conforms,
            "does_not_conform": does_not,
            "not_answered": not_answered,
            "total": conformance.hosts.len(),
        },
    });
    format!("{document:#}\n")
}

fn host_json(report: &HostReport, asked: &[Host]) -> Value {
    let counts = match asked {
        [] => report.standing() != Standing::NotAnswered,
        asked => asked.contains(&report.host),
    };
    json!({
        "host": report.host.name(),
        "system": report.host.system(),
        "title": report.host.title(),
        "standing": report.standing().as_str(),
        "counts": counts,
        "cases": report.cases.iter().map(case_json).collect::<Vec<_>>(),
    })
}

fn case_json(case: &CaseReport) -> Value {
    json!({
        "case": case.name,
        "kind": case.kind.as_str(),
        "manner": case.manner.as_str(),
        "recorded": case.recorded.as_ref().map(recorded_json),
        "problem": case.problem,
    })
}

fn recorded_json(recorded: &Recorded) -> Value {
    // Scores that are no numbers of JSON are words, so that they are not mistaken for none.
    let number = |number: Option<f64>| match number {
        Some(number) if !number.is_finite() => json!(number.to_string()),
        number => json!(number),
    };
    let rows: Vec<Value> = recorded
        .rows
        .iter()
        .map(|row| {
            json!({
                "text": row.text,
                "passed": row.passed,
                "score": number(row.score),
                "note": row.note,
            })
        })
        .collect();
    json!({
        "fate": recorded.fate.as_str(),
        "score": number(recorded.score),
        "status": recorded.status,
        "rows": rows,
        "message": recorded.message,
        "remark": recorded.remark,
    })
}
