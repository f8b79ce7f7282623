//! The whole corpus of recorded agentevals runs, where this machine has it.

#![expect(clippy::disallowed_methods, reason = "the comparison is a program of its own")]

use std::{collections::BTreeMap, path::Path, process::Command};

/// Cases in which this program differs from agentevals 0.11.0, each with the reason.
const DIFFERENT: [(&str, &str); 23] = [
    (
        "tr_a04_jaeger_tag_types",
        "on purpose: bytes are text in `output` too, not Python's way to write bytes",
    ),
    (
        "traj_camel_any",
        "on purpose: an unknown key of an entry is an error, it may be a misspelt threshold",
    ),
    ("cf_extra_keys", "on purpose: unknown keys are errors, whichever level they are on"),
    (
        "cf_trace_format_bad",
        "on purpose: a format nobody knows is a configuration error, and nothing runs",
    ),
    (
        "cf_output_unknown_is_table",
        "on purpose: an output format nobody knows is a configuration error",
    ),
    (
        "cf_no_ext",
        "on purpose: files without an extension can be evaluators, if they are executable",
    ),
    (
        "cf_executor_docker",
        "on purpose: an unknown executor is that evaluator's error, not the loss of the trace",
    ),
    (
        "cf_remote_bad_source",
        "on purpose: an unknown source is that evaluator's error, not the loss of the trace",
    ),
    ("ld_directory", "on purpose: a directory stands for the trace files in it"),
    (
        "ld_force_otlp_ints",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "ld_force_otlp_mixed_list",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "tr_e13_spans_null",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "out_table_e06_duplicates_and_cycles",
        "on purpose: spans with one id and different content are an error",
    ),
    (
        "tr_e06_duplicates_and_cycles",
        "on purpose: spans with one id and different content are an error",
    ),
    (
        "tr_b04_otlp_messages_plain_string",
        "on purpose: a message attribute that is not JSON is an error, not an agent without an answer",
    ),
    (
        "out_table_c13_truncated",
        "on purpose: the error names the option of this command, `--format`",
    ),
    (
        "out_table_errors_and_results",
        "on purpose: the error names the option of this command, `--format`",
    ),
    (
        "tr_c08_jsonl_unknown_first",
        "on purpose: the error names the option of this command, `--format`",
    ),
    ("tr_c12_whitespace", "on purpose: the error names the option of this command, `--format`"),
    ("tr_c14_unknown_object", "on purpose: the error names the option of this command, `--format`"),
    ("tr_c15_list_of_ints", "on purpose: the error names the option of this command, `--format`"),
    ("tr_c17_bom", "on purpose: the error names the option of this command, `--format`"),
    ("tr_c19_empty_list", "on purpose: the error names the option of this command, `--format`"),
];

#[test]
fn results_are_those_of_agentevals() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/parity");
    let folder = match std::env::var_os("EVALUATOR_PARITY_DIR") {
        Some(chosen) => chosen.into(),
        None => folder,
    };
    let script = folder.join("compare.py");
    if !script.is_file() {
        eprintln!("SKIPPED: there is no corpus at {}", folder.display());
        return;
    }
    let mut command = Command::new("python3");
    command.arg(script).arg(env!("CARGO_BIN_EXE_evaluator"));
    // Quirks follow from Python itself; what needs node is not there everywhere.
    command.args(["--exit", "nonzero", "--skip-tag", "quirk", "--skip-tag", "node"]);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: python3 cannot be started: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let passed = text.lines().filter(|line| line.starts_with("pass ")).count();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(passed > 200, "only {passed} cases passed: {text}\n{complaint}");

    // Each failed case with what differs, which stands on the lines below it.
    let mut failed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        match line.strip_prefix("FAIL ") {
            Some(case) => current = Some(case.trim()),
            None if !line.starts_with(' ') => current = None,
            None => {}
        }
        if let Some(case) = current {
            failed.entry(case).or_default().push(line);
        }
    }
    let unexpected: Vec<String> = failed
        .iter()
        .filter(|(case, _)| !DIFFERENT.iter().any(|(known, _)| known == *case))
        .map(|(_, lines)| lines.join("\n"))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    let outdated: Vec<&str> =
        DIFFERENT.iter().map(|(case, _)| *case).filter(|case| !failed.contains_key(case)).collect();
    assert!(outdated.is_empty(), "these are as in agentevals now: {outdated:?}");
}
