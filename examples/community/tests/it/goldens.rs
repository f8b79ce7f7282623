//! The answers of the Python originals, and those of the programs here to the same documents.
//!
//! `goldens/EVALUATOR/CASE.in` is a document, `CASE.golden.json` what the original did with it. Cases of `_sdk` are about
//! documents and not about an evaluator; `contains` gets them.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// Cases in which the original is wrong, with what the program here answers and why.
fn on_purpose(case: &str) -> Option<Value> {
    Some(match case {
        // The original looks for tool calls of a type that they do not have, finds none, and never matches.
        "tool_sequence_match/1_never_matches" => json!({
            "score": 0.5,
            "status": null,
            "per_invocation_scores": [1.0, 0.0],
            "details": {
                "issues": ["b: expected ['search', 'calculator'], got ['calculator'] (require_order=True)"]
            },
        }),
        "tool_sequence_match/6_non_string_names" => json!({
            "score": 0.0,
            "status": null,
            "per_invocation_scores": [0.0],
            "details": {
                "issues": ["a: expected ['1', 'None', \"it's\"], got ['1'] (require_order=False)"]
            },
        }),
        _ => return None,
    })
}

/// The program of an evaluator, built by cargo for this test.
fn program(evaluator: &str) -> &'static str {
    match evaluator {
        "contains" | "_sdk" => env!("CARGO_BIN_EXE_contains"),
        "equals" => env!("CARGO_BIN_EXE_equals"),
        "is_json" => env!("CARGO_BIN_EXE_is_json"),
        "levenshtein_ratio" => env!("CARGO_BIN_EXE_levenshtein_ratio"),
        "regex_match" => env!("CARGO_BIN_EXE_regex_match"),
        "response_quality" => env!("CARGO_BIN_EXE_community_response_quality"),
        "tool_coverage" => env!("CARGO_BIN_EXE_tool_coverage"),
        "tool_sequence_match" => env!("CARGO_BIN_EXE_tool_sequence_match"),
        other => panic!("there is no program for the cases in goldens/{other}"),
    }
}

/// Has a program judge a document: whether it ended well, and what it wrote.
fn judge(program: &str, document: &[u8]) -> (bool, String) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the programs under test write less than a pipe holds"
    )]
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(document).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the programs under test start no others")]
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// Where two answers differ. Numbers are the same within 1e-9: sums are rounded in different orders.
fn difference(path: &str, golden: &Value, ours: &Value) -> Vec<String> {
    match (golden, ours) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() <= 1e-9 { Vec::new() } else { vec![format!("{path}: {a} != {b}")] }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => (0..a.len())
            .flat_map(|index| difference(&format!("{path}[{index}]"), &a[index], &b[index]))
            .collect(),
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .flat_map(|(key, value)| difference(&format!("{path}.{key}"), value, &b[key]))
            .collect(),
        _ if golden == ours => Vec::new(),
        _ => vec![format!("{path}: {golden} != {ours}")],
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn the_programs_answer_as_the_originals_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for directory in entries(&root) {
        let evaluator = directory.file_name().unwrap().to_str().unwrap().to_owned();
        for document in entries(&directory).iter().filter(|path| path.extension().unwrap() == "in")
        {
            let case = format!("{evaluator}/{}", document.file_stem().unwrap().to_str().unwrap());
            let golden = fs::read_to_string(document.with_extension("golden.json")).unwrap();
            let golden: Value = serde_json::from_str(&golden).unwrap();
            seen += 1;

            let (succeeded, answer) = judge(program(&evaluator), &fs::read(document).unwrap());

            if succeeded != (golden["exit_code"] == 0) {
                wrong.push(format!("{case}: succeeded: {succeeded}, unlike the original"));
            } else if !succeeded {
                assert_eq!(answer, "", "{case}");
            } else {
                let same_as_original =
                    |answer: &Value| difference("", &golden["stdout_json"], answer);
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let differences = match on_purpose(&case) {
                    Some(_) if same_as_original(&answer).is_empty() => {
                        vec!["is listed as different and is not".to_owned()]
                    }
                    Some(expected) => difference("", &expected, &answer),
                    None => same_as_original(&answer),
                };
                wrong.extend(differences.iter().map(|difference| format!("{case}{difference}")));
            }
        }
    }
    assert!(seen >= 29, "only {seen} cases");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
