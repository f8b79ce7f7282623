//! Runs of agentevals 0.11.0, recorded in `tests/parity`: the same arguments give the same results.

mod compare;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::support::has;

/// Cases in which this program differs from agentevals 0.11.0, each with the reason.
const DIFFERENT: [(&str, &str); 7] = [
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
        "cf_executor_docker",
        "on purpose: an unknown executor is that evaluator's error, not the loss of the trace",
    ),
    (
        "cf_remote_bad_source",
        "on purpose: an unknown source is that evaluator's error, not the loss of the trace",
    ),
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
        .filter(|(case, _)| !DIFFERENT.iter().any(|(known, _)| known == *case))
        .map(|(case, differences)| format!("{case}\n  {}", differences.join("\n  ")))
        .collect();
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    let outdated: Vec<&str> =
        DIFFERENT.iter().map(|(case, _)| *case).filter(|case| !failed.contains_key(case)).collect();
    assert!(outdated.is_empty(), "these are as in agentevals now: {outdated:?}");
}
