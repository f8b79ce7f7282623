//! Runs of agentevals 0.11.0, recorded in `tests/parity`: the same arguments give the same results.

mod compare;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::support::has;

/// A run in which nothing was scored fails.
const NOTHING_SCORED: &str = "on purpose: a run in which nothing was scored is not a success";
/// Reports on stdout end with what is to be known of the run as a whole; everything above is the same.
const NOTES: &str =
    "on purpose: warnings and golden cases without a recording are in every form of the report";
const WITHOUT_SCORE: &str =
    "on purpose: what is not evaluated has no score, whatever its `score` contains";

const ERROR_MARK: &str = "on purpose: an error has a mark and a word of its own";

/// Cases in which this program differs from agentevals 0.11.0, each with a text that all of its first differences have, and
/// the reason.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "tr_a04_jaeger_tag_types",
        "hello bytes",
        "on purpose: bytes are text in `output` too, not Python's way to write bytes",
    ),
    (
        "es_no_user_single_onegroup",
        "",
        "on purpose: content that was not recorded is unknown, and what is unknown is not evaluated",
    ),
    (
        "traj_camel_any",
        "",
        "on purpose: an unknown key of an entry is an error, it may be a misspelt threshold",
    ),
    (
        "me_unknown_metric",
        "",
        "on purpose: a metric of the command line that does not exist is a usage error, and nothing runs",
    ),
    ("cf_extra_keys", "", "on purpose: unknown keys are errors, whichever level they are on"),
    (
        "cf_trace_format_bad",
        "",
        "on purpose: an unknown format is a configuration error, and nothing runs",
    ),
    (
        "cf_output_unknown_is_table",
        "",
        "on purpose: an unknown output format is a configuration error",
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
    (
        "cf_knob_results",
        "$.traces[0].metrics[",
        "on purpose: scores of turns whose number is not that of the turns are an error",
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
    ("out_table_k05_traj_wrong_args", "golden '<end>'", NOTES),
    ("out_table_traj_fail_three", "golden '<end>'", NOTES),
    ("out_summary_a01_otlp_basic_parts", "golden '<end>'", NOTES),
    ("out_summary_a03_jaeger_multi_trace", "golden '<end>'", NOTES),
    ("out_summary_f15_non_genai", "[ERR ] (all): ERROR - ", ERROR_MARK),
    ("out_summary_f24_usage_variants", "golden '<end>'", NOTES),
    ("out_summary_k06_traj_none", "golden '<end>'", NOTES),
    ("out_summary_k09_traj_two_turns", "golden '<end>'", NOTES),
    ("out_summary_traj_fail_three", "golden '<end>'", NOTES),
    ("ld_directory", "", "on purpose: a directory stands for the trace files in it"),
    (
        "ld_force_otlp_ints",
        "",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "ld_force_otlp_mixed_list",
        "",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "tr_e13_spans_null",
        "",
        "on purpose: parts of a file that cannot be used are an error, not a smaller denominator",
    ),
    (
        "out_table_e06_duplicates_and_cycles",
        "",
        "on purpose: spans with one id and different content are an error",
    ),
    (
        "tr_e06_duplicates_and_cycles",
        "",
        "on purpose: spans with one id and different content are an error",
    ),
    (
        "tr_b04_otlp_messages_plain_string",
        "",
        "on purpose: a message attribute that is not JSON is an error, not an agent without an answer",
    ),
    (
        "out_table_c13_truncated",
        "",
        "on purpose: the error names the option of this command, `--format`",
    ),
    (
        "out_table_errors_and_results",
        "",
        "on purpose: the error names the option of this command, `--format`",
    ),
    (
        "tr_c08_jsonl_unknown_first",
        "",
        "on purpose: the error names the option of this command, `--format`",
    ),
    ("tr_c12_whitespace", "", "on purpose: the error names the option of this command, `--format`"),
    (
        "tr_c14_unknown_object",
        "",
        "on purpose: the error names the option of this command, `--format`",
    ),
    (
        "tr_c15_list_of_ints",
        "",
        "on purpose: the error names the option of this command, `--format`",
    ),
    ("tr_c17_bom", "", "on purpose: the error names the option of this command, `--format`"),
    ("tr_c19_empty_list", "", "on purpose: the error names the option of this command, `--format`"),
];

/// Runs every case of the corpus in the directory `EVALUATOR_PARITY_DIR`, by default `tests/parity`.
#[test]
fn results_are_those_of_agentevals() {
    let corpus = match std::env::var_os("EVALUATOR_PARITY_DIR") {
        Some(chosen) => PathBuf::from(chosen),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/parity"),
    };
    let corpus =
        corpus.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    if !has("python3") {
        return;
    }
    let mut cases = compare::cases(&corpus);
    // Quirks follow from Python itself; Node.js is not installed everywhere.
    cases.retain(|case| !case.tags.iter().any(|tag| tag == "quirk" || tag == "node"));
    assert!(cases.len() > 200, "only {} cases in {}", cases.len(), corpus.display());

    let next = AtomicUsize::new(0);
    let work = || {
        let mut failed = BTreeMap::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let differences = compare::differences(case, &corpus);
            if !differences.is_empty() {
                failed.insert(case.id.as_str(), differences);
            }
        }
        failed
    };
    let failed: BTreeMap<&str, Vec<String>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });

    let unexpected: Vec<String> = failed
        .iter()
        .filter(|(case, differences)| {
            let known = DIFFERENT.iter().find(|(known, ..)| known == *case);
            known.is_none_or(|(_, text, _)| differences.iter().any(|it| !it.contains(text)))
        })
        .map(|(case, differences)| format!("{case}\n  {}", differences.join("\n  ")))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    let outdated: Vec<&str> = DIFFERENT
        .iter()
        .map(|(case, ..)| *case)
        .filter(|known| cases.iter().any(|case| case.id == *known) && !failed.contains_key(known))
        .collect();
    assert!(outdated.is_empty(), "these are as in agentevals now: {outdated:?}");
}
