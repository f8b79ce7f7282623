//! The whole corpus of recorded agentevals runs, where this machine has it.

#![expect(clippy::disallowed_methods, reason = "the comparison is a program of its own")]

use std::{collections::BTreeMap, path::Path, process::Command};

/// A run in which nothing was scored fails.
const NOTHING_SCORED: &str = "on purpose: a run in which nothing was scored is not a success";
/// Reports on stdout end with what is to be known of the run as a whole; everything above is the same.
const NOTES: &str =
    "on purpose: warnings and golden cases without a recording are in every form of the report";
const WITHOUT_SCORE: &str =
    "on purpose: what is not evaluated has no score, whatever number stands beside it";

const ERROR_MARK: &str = "on purpose: an error has a mark and a word of its own";

/// Cases in which this program differs from agentevals 0.11.0, each with a text that all of its first differences have, and
/// the reason.
const DIFFERENT: [(&str, &str, &str); 31] = [
    (
        "tr_a04_jaeger_tag_types",
        "hello bytes",
        "on purpose: bytes are text in `output` too, not Python's way to write bytes",
    ),
    (
        "traj_camel_any",
        "",
        "on purpose: an unknown key of an entry is an error, it may be a misspelt threshold",
    ),
    ("cf_extra_keys", "", "on purpose: unknown keys are errors, whichever level they are on"),
    (
        "cf_trace_format_bad",
        "",
        "on purpose: a format nobody knows is a configuration error, and nothing runs",
    ),
    (
        "cf_output_unknown_is_table",
        "",
        "on purpose: an output format nobody knows is a configuration error",
    ),
    (
        "cf_no_ext",
        "",
        "on purpose: files without an extension can be evaluators, if they are executable",
    ),
    (
        "cf_executor_docker",
        "",
        "on purpose: an unknown executor is that evaluator's error, not the loss of the trace",
    ),
    (
        "cf_remote_bad_source",
        "",
        "on purpose: an unknown source is that evaluator's error, not the loss of the trace",
    ),
    ("noset_a02_jaeger_basic", "exit code: golden 0, other 1", NOTHING_SCORED),
    ("noset_i01_session_name_three_traces", "exit code: golden 0, other 1", NOTHING_SCORED),
    ("us_emit_disabled", "exit code: golden 0, other 1", NOTHING_SCORED),
    ("cf_output_key", "exit code: golden 0, other 1", NOTHING_SCORED),
    ("cf_credential_ref", "exit code: golden 0, other 1", NOTHING_SCORED),
    (
        "grp_multi_turn_set_trace",
        ".eval_status: golden 'PASSED', other 'FAILED'",
        "on purpose: an evaluation fails where golden turns are not recorded",
    ),
    ("out_table_knob_results", "[--] not_evaluated N/A NOT_EVALUATED", WITHOUT_SCORE),
    ("out_summary_knob_results", "[--] not_evaluated: N/A (NOT_EVALUATED)", WITHOUT_SCORE),
    ("out_summary_knob_error", "[ERR ] exit3_stderr: ERROR - ", ERROR_MARK),
    ("up_table_helm_2", "golden '<end>'", NOTES),
    ("up_table_tempo_export_with_batches", "golden '<end>'", NOTES),
    ("out_table_a01_otlp_basic_parts", "golden '<end>'", NOTES),
    ("out_table_a03_jaeger_multi_trace", "golden '<end>'", NOTES),
    ("out_table_e06_duplicates_and_cycles", "golden '<end>'", NOTES),
    ("out_table_k05_traj_wrong_args", "golden '<end>'", NOTES),
    ("out_table_traj_fail_three", "golden '<end>'", NOTES),
    ("out_summary_a01_otlp_basic_parts", "golden '<end>'", NOTES),
    ("out_summary_a03_jaeger_multi_trace", "golden '<end>'", NOTES),
    ("out_summary_f15_non_genai", "[ERR ] (all): ERROR - ", ERROR_MARK),
    ("out_summary_f24_usage_variants", "golden '<end>'", NOTES),
    ("out_summary_k06_traj_none", "golden '<end>'", NOTES),
    ("out_summary_k09_traj_two_turns", "golden '<end>'", NOTES),
    ("out_summary_traj_fail_three", "golden '<end>'", NOTES),
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
    assert!(passed > 190, "only {passed} cases passed: {text}\n{complaint}");

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
        .filter(|(case, lines)| {
            let known = DIFFERENT.iter().find(|(known, ..)| known == *case);
            // The first line names the case.
            known.is_none_or(|(_, text, _)| lines[1..].iter().any(|line| !line.contains(text)))
        })
        .map(|(_, lines)| lines.join("\n"))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    let outdated: Vec<&str> = DIFFERENT
        .iter()
        .map(|(case, ..)| *case)
        .filter(|case| !failed.contains_key(case))
        .collect();
    assert!(outdated.is_empty(), "these are as in agentevals now: {outdated:?}");
}
