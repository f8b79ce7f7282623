//! Runs a case of the corpus and compares what the command prints with what agentevals printed.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, path::Path, sync::LazyLock};

use evaluator_host::json::{NonFinite, Object, Value, parse_python, to_string};
use regex_lite::{Captures, Regex};

use crate::support::{Ran, command, finish};

/// A recorded call of `agentevals run`.
pub(super) struct Case {
    /// Name of the case, and of its golden file.
    pub(super) id: String,
    pub(super) tags: Vec<String>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// Reads `cases.json` of a corpus.
pub(super) fn cases(corpus: &Path) -> Vec<Case> {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let listed = read(&corpus.join("cases.json"));
    let listed = listed.as_array().unwrap().iter();
    listed
        .map(|case| Case {
            id: case.get("id").and_then(Value::as_str).unwrap().to_owned(),
            tags: texts(case.get("tags")),
            args: texts(case.get("args")),
            env: case
                .get("env")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect(),
        })
        .collect()
}

/// Runs the case and returns the differences from its golden file.
pub(super) fn differences(case: &Case, corpus: &Path) -> Vec<String> {
    let golden = read(&corpus.join("goldens").join(format!("{}.json", case.id)));
    let ran = run(case, corpus);
    let stdout = ran.stdout.replace(&*corpus.to_string_lossy(), "<CORPUS>");
    let mut found = Vec::new();
    let code = golden.get("exit_code").and_then(Value::as_i128).unwrap();
    if (code == 0) != (ran.code == Some(0)) {
        found.push(format!("exit code: golden {code}, other {}", ran.code.unwrap_or(-1)));
    }
    match (golden.get("stdout_json"), golden.get("stdout_text").and_then(Value::as_str)) {
        (Some(json), _) => match parse_python(&stdout) {
            Some(ours) => values("$", json, &ours, &mut found),
            None => found.push(format!("stdout is not JSON: {stdout}{}", ran.stderr)),
        },
        (None, Some(text)) => texts(text, &normalized(&stdout), &mut found),
        (None, None) => panic!("{}: the golden file has no output", case.id),
    }
    found
}

fn run(case: &Case, corpus: &Path) -> Ran {
    let mut command = command(corpus, &["run"]);
    command.args(&case.args);
    // agentevals looks for no configuration, and has a default metric.
    if !case.args.iter().any(|arg| ["-c", "--config"].contains(&arg.as_str())) {
        command.arg("--no-config");
    }
    for (name, _) in std::env::vars_os() {
        if ["OTEL_", "AGENTEVALS_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    command.envs([("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb"), ("COLUMNS", "80")]);
    command.envs(case.env.iter().map(|(name, value)| (name, value)));
    finish(command.spawn().unwrap())
}

fn read(path: &Path) -> Value {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_python(&text).unwrap_or_else(|| panic!("{} is not JSON", path.display()))
}

/// Compares values. Keys that only this project writes are additions, not differences.
fn values(path: &str, golden: &Value, ours: &Value, found: &mut Vec<String>) {
    match (golden, ours) {
        (Value::Object(golden), Value::Object(ours)) => objects(path, golden, ours, found),
        (Value::Array(golden), Value::Array(ours)) if path.ends_with(".metrics") => {
            metrics(path, golden, ours, found);
        }
        (Value::Array(golden), Value::Array(ours)) => {
            if golden.len() != ours.len() {
                found.push(format!("{path}: golden length {}, other {}", golden.len(), ours.len()));
            }
            for (index, (golden, ours)) in golden.iter().zip(ours).enumerate() {
                let path = format!("{path}[{index}]");
                match (golden.as_str(), ours.as_str()) {
                    (Some(golden), Some(ours)) if path.starts_with("$.errors[") => {
                        errors(&path, golden, ours, found);
                    }
                    _ => values(&path, golden, ours, found),
                }
            }
        }
        _ if same_scalar(golden, ours) => {}
        _ => found.push(format!("{path}: golden {}, other {}", shown(golden), shown(ours))),
    }
}

fn objects(path: &str, golden: &Object, ours: &Object, found: &mut Vec<String>) {
    for (key, golden) in golden.iter().filter(|(key, _)| *key != "duration_ms") {
        let path = format!("{path}.{key}");
        let Some(ours) = ours.get(key) else {
            found.push(format!("{path}: missing"));
            continue;
        };
        match (golden.as_str(), ours.as_str()) {
            (Some(golden), Some(ours))
                if path.contains(".metrics[") && path.ends_with("].error") =>
            {
                errors(&path, golden, ours, found);
            }
            _ => values(&path, golden, ours, found),
        }
    }
}

/// Compares the metrics of a trace by name: agentevals lists them in the order of completion.
fn metrics(path: &str, golden: &[Value], ours: &[Value], found: &mut Vec<String>) {
    let name =
        |metric: &Value| metric.get("metric_name").and_then(Value::as_str).map(str::to_owned);
    let names = |metrics: &[Value]| {
        let mut names: Vec<_> = metrics.iter().map(name).collect();
        names.sort();
        names
    };
    if names(golden) != names(ours) {
        found.push(format!("{path}: golden {:?}, other {:?}", names(golden), names(ours)));
        return;
    }
    for golden in golden {
        let ours = ours.iter().find(|ours| name(ours) == name(golden)).unwrap();
        values(&format!("{path}[{}]", name(golden).unwrap_or_default()), golden, ours, found);
    }
}

/// The value as it stands in a difference.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => to_string(other, NonFinite::Literal),
    }
}

/// Compares scalars as Python does, numbers to 1e-9.
fn same_scalar(golden: &Value, ours: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        Value::BigInt(digits) => digits.parse().ok(),
        _ => None,
    };
    match (golden, ours) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(golden), Value::Bool(ours)) => golden == ours,
        (Value::String(golden), Value::String(ours)) => golden == ours,
        _ => match (number(golden), number(ours)) {
            (Some(golden), Some(ours)) => {
                let largest = golden.abs().max(ours.abs()).max(1.0);
                golden == ours
                    || (golden.is_nan() && ours.is_nan())
                    || (golden - ours).abs() <= 1e-9 * largest
            }
            _ => false,
        },
    }
}

/// Texts of errors whose end is Python's or pydantic's: only what stands before it has to agree.
static CUTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"^(Failed to load trace file '.*?': )",
        r"^(Failed to load eval set '.*?': )",
        r"^(Turn extraction failed: )",
        r"^(Custom evaluator '.*?' produced invalid JSON: )",
        r"^(Custom evaluator '.*?' exited with code 1): .*can't find '__main__'",
        r"^()(?:Error serializing to JSON|'utf-8' codec can't)",
    ]
    .map(|pattern| Regex::new(&format!("(?s){pattern}")).unwrap())
    .into()
});

/// Ends of trace file errors that are agentevals' own and have to agree as a whole.
const WHOLE: [&str; 5] =
    ["Could not detect", "line ", "Invalid Jaeger", "Unknown trace format", "not an OTLP"];

/// Returns the part of an error's text that has to agree, and whether that is all of it.
fn stable_part(text: &str) -> (&str, bool) {
    for cut in CUTS.iter() {
        let Some(start) = cut.captures(text).and_then(|captures| captures.get(1)) else { continue };
        let rest = &text[start.end()..];
        if text.starts_with("Failed to load trace") && WHOLE.iter().any(|own| rest.starts_with(own))
        {
            break;
        }
        return (start.as_str(), false);
    }
    (text, true)
}

fn agree(golden: &str, ours: &str) -> bool {
    match stable_part(golden) {
        (whole, true) => ours == whole,
        (start, false) => ours.starts_with(start.trim_end()),
    }
}

fn errors(path: &str, golden: &str, ours: &str, found: &mut Vec<String>) {
    if !agree(golden, ours) {
        found.push(format!("{path}: golden '{golden}', other '{ours}'"));
    }
}

/// Compares the text of tables and summaries, up to the first line that differs.
fn texts(golden: &str, ours: &str, found: &mut Vec<String>) {
    let lines =
        |text: &str| -> Vec<String> { text.trim_end().lines().map(str::to_owned).collect() };
    let (golden, ours) = (lines(golden), lines(ours));
    let at = |lines: &[String], index: usize| {
        lines.get(index).map_or_else(|| "<end>".to_owned(), String::clone)
    };
    for index in 0..golden.len().max(ours.len()) {
        let (golden, ours) = (at(&golden, index), at(&ours, index));
        let [bare, ours_bare] = [&golden, &ours].map(|line| line.trim_start_matches([' ', '-']));
        if golden != ours && (stable_part(bare).1 || !agree(bare, ours_bare)) {
            found.push(format!("line {}: golden '{golden}', other '{ours}'", index + 1));
            return;
        }
    }
}

/// Removes what differs between runs of the same program: durations, widths of columns, the order of metrics.
fn normalized(text: &str) -> String {
    static ROW: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*\[(PASS|FAIL|----|--|\?\?\?\?)\]").unwrap());
    static DURATION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(^|[^\w.])(\d+m \d+s|\d+ms|\d+\.\d+s)([^\w]|$)").unwrap());
    static AT_END: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[(\d+m \d+s|\d+ms|\d+\.\d+s)\]$").unwrap());
    static RULE: LazyLock<Regex> = LazyLock::new(|| Regex::new("-{2,}").unwrap());
    static BLANKS: LazyLock<Regex> = LazyLock::new(|| Regex::new("[ \t]+").unwrap());
    let mut lines: Vec<String> = Vec::new();
    let mut rows: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_row = ROW.is_match(line);
        let line = if is_row {
            DURATION.replace(line, |found: &Captures<'_>| format!("{}<T>{}", &found[1], &found[3]))
        } else {
            line.into()
        };
        let line = AT_END.replace(&line, "[<T>]").into_owned();
        let line = RULE.replace_all(&line, "--").into_owned();
        let line = BLANKS.replace_all(&line, " ").trim_end().to_owned();
        if is_row {
            rows.push(line);
            continue;
        }
        rows.sort();
        lines.append(&mut rows);
        // At most one empty line between two others.
        if !(line.is_empty() && lines.last().is_some_and(String::is_empty)) {
            lines.push(line);
        }
    }
    rows.sort();
    lines.append(&mut rows);
    lines.join("\n")
}
