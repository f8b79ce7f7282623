//! Traces that real agent frameworks wrote are read as what happened.
//!
//! `tests/producers/traces` holds them: `NAME.trace.json`, and in `NAME.expected.json` what the recording script wrote
//! down meanwhile. `tests/producers/README.md` explains both and how they are recorded.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod agentevals;
mod compare;
mod page;
mod recording;

use std::{
    env,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use recording::Recording;

/// Recordings that are not read correctly yet, by the beginnings of their names.
const NOT_YET: &[&str] = &[
    "agno-traceloop",
    "anthropic-openinference",
    "anthropic-traceloop-0.69.0",
    "autogen",
    "crewai-openinference",
    "crewai-traceloop",
    "dspy-openinference",
    "google-adk-1_S2",
    "google-adk-events_S2",
    "google-genai-semconv_S2",
    "haystack-openinference",
    "langfuse",
    "langgraph-langsmith",
    "langgraph-openinference",
    "langgraph-traceloop",
    "litellm_",
    "llama-index-openinference",
    "llama-index-traceloop",
    "openai-agents-logfire",
    "pydantic-ai-1-v1",
    "pydantic-ai-1-v2",
    "pydantic-ai-1-v3",
    "pydantic-ai-v2",
    "pydantic-ai-v3-1.40.0",
    "semantic-kernel_S4",
    "semantic-kernel-1.36.0",
    "smolagents-openinference",
    "strands_",
    "strands-1.10.0",
];

/// Every recording, with what an evaluator saw of it and how that differs from what happened.
struct Results {
    recordings: Vec<(Recording, recording::Seen, Vec<String>)>,
}

/// Directory of this repository's own recordings.
fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/producers/traces")
}

/// Reads recordings, in places that `place` prepares.
fn read(recordings: &[Recording], place: impl Fn() -> recording::Place + Sync) -> Results {
    let next = AtomicUsize::new(0);
    let work = || {
        let place = place();
        let mut found = Vec::new();
        while let Some(recording) = recordings.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seen = place.read(recording);
            let differences = compare::differences(&seen, &recording.expected);
            found.push((recording.clone(), seen, differences));
        }
        found
    };
    let mut recordings: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    recordings.sort_by(|(one, ..), (other, ..)| one.name.cmp(&other.name));
    Results { recordings }
}

impl Results {
    /// Fails with all differences of all recordings.
    fn check(&self) {
        let is_known = |name: &str| NOT_YET.iter().any(|known| name.starts_with(known));
        let total = self.recordings.len();
        let wrong = || self.recordings.iter().filter(|(.., differences)| !differences.is_empty());
        let unexpected: Vec<String> = wrong()
            .filter(|(recording, ..)| !is_known(&recording.name))
            .map(|(recording, _, differences)| {
                format!("{}\n    {}", recording.name, differences.join("\n    "))
            })
            .collect();
        assert!(
            unexpected.is_empty(),
            "{} of {total} recordings are not read correctly:\n{}",
            unexpected.len(),
            unexpected.join("\n")
        );
        let outdated: Vec<&&str> = NOT_YET
            .iter()
            .filter(|known| !wrong().any(|(recording, ..)| recording.name.starts_with(**known)))
            .collect();
        assert!(outdated.is_empty(), "read correctly now, remove from NOT_YET: {outdated:?}");
    }
}

/// Reads every recording of the directory `EVALUATOR_PRODUCERS_DIR`, by default `tests/producers/traces`. The page
/// `docs/frameworks.md` is about the latter; `PRODUCERS=overwrite` writes it again.
#[test]
fn conversations_are_what_happened() {
    let chosen = env::var_os("EVALUATOR_PRODUCERS_DIR").map(PathBuf::from);
    let directory = chosen.clone().unwrap_or_else(own);
    let directory =
        directory.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let results = read(&recording::list(&directory), recording::Place::new);
    assert!(!results.recordings.is_empty(), "{} has no recordings", directory.display());
    let outdated = chosen.is_none().then(|| page::complaint(&results.recordings, &directory));
    results.check();
    if let Some(Some(complaint)) = outdated {
        panic!("{complaint}");
    }
}
