//! Traces that real agent frameworks wrote are read as what happened.
//!
//! `tests/producers/traces` holds them: `NAME.trace.json`, and in `NAME.expected.json` what the recording script wrote
//! down meanwhile. `tests/producers/README.md` explains both and how they are recorded.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod agentevals;
mod compare;
mod emptied;
mod page;
mod recording;

use std::{
    env,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use recording::Recording;

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
        let wrong: Vec<String> = self
            .recordings
            .iter()
            .filter(|(.., differences)| !differences.is_empty())
            .map(|(recording, _, differences)| {
                format!("{}\n    {}", recording.name, differences.join("\n    "))
            })
            .collect();
        assert!(
            wrong.is_empty(),
            "{} of {} recordings are not read correctly:\n{}",
            wrong.len(),
            self.recordings.len(),
            wrong.join("\n")
        );
    }
}

/// Reads every recording of the directory `EVALUATOR_PRODUCERS_DIR`, by default `tests/producers/traces`. The page
/// `docs/reference/frameworks.md` is about the latter; `PRODUCERS=overwrite` writes it again.
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
