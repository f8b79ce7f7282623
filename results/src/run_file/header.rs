//! The first record of a run file.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, RandomState},
    process,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    format::{FORMAT, VERSION},
    part::Part,
};
use crate::{
    Gate,
    certificate::Certificate,
    digest::{Digest, Digester, ENCODING},
    run_warnings::Subjects,
};

/// Program that writes run files.
pub const TOOL: &str = concat!("evaluator ", env!("CARGO_PKG_VERSION"));

/// The first record: the evaluators, settings and conversations of the run. `R` is a [`Report`](crate::Report), see
/// [`Header`](super::Header).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunHeader<R> {
    /// Name of the format.
    pub format: String,
    /// Version of the format.
    pub version: u64,
    /// Version of the encoding of digests; 0 in files that were written before it was recorded.
    pub encoding: u64,
    /// Id of the run, a random UUID; `None` in files that were written before there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Program that wrote the file, e.g. `evaluator 0.1.0`.
    pub tool: String,
    /// The part of a run that the file has; `None` for a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Time at which the first evaluation could start: RFC 3339, UTC.
    pub started: Option<String>,
    /// Digest of everything that decides verdicts but the traces. `None` in runs that are not saved.
    pub plan: Option<Digest>,
    /// Options of the command that led to the evaluators and settings. `None` if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// Settings of the run, by their keys in a configuration.
    pub settings: BTreeMap<String, Value>,
    /// Digest of `settings` and of the evaluators' names, thresholds and handling of missing turns.
    pub config: Option<Digest>,
    /// The golden cases, if there are any.
    pub golden: Option<Golden>,
    /// The evaluators of the run.
    pub evaluators: Vec<EvaluatorEntry>,
    /// Gates of evaluators. No digest contains them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Seed by which cases were shuffled, if the run ended as soon as all gates were decided. No digest contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Conversations in the traces; 0 if they came while others were evaluated.
    pub conversations: usize,
    /// Digest of the trace ids of all conversations, in order. `None` in runs that are not saved.
    pub inputs: Option<Digest>,
    /// Number of lines after this one with evaluations of earlier runs.
    pub earlier: usize,
    /// The report at the start of the first evaluation.
    pub report: R,
}

impl<R: Default> RunHeader<R> {
    /// Creates the header of a run of this program.
    pub fn new() -> Self {
        let (format, tool) = (FORMAT.to_owned(), TOOL.to_owned());
        Self { format, version: VERSION, encoding: ENCODING, tool, ..Self::default() }
    }
}

impl<R> RunHeader<R> {
    /// Returns what the warnings of the run are about.
    pub(super) fn subjects(&self) -> Subjects {
        // How many conversations a run reads in vain that ends with its gates is chance.
        let attribute = |key: &str| {
            let value = self.settings.get(key).filter(|_| self.seed.is_none());
            value.and_then(|it| it.as_str()).map(str::to_owned)
        };
        let is_program = |it: &&EvaluatorEntry| matches!(&*it.kind, "code" | "linked");
        let programs = self.evaluators.iter().filter(is_program).map(|it| it.name.clone());
        Subjects {
            case_key: attribute("case_key"),
            cluster: attribute("cluster"),
            programs: programs.collect(),
        }
    }

    /// Returns the evaluator with this name.
    pub fn entry(&self, name: &str) -> Option<&EvaluatorEntry> {
        self.evaluators.iter().find(|entry| entry.name == name)
    }

    /// Returns false for what a result of another tool says in place of a header.
    pub fn is_of_run_file(&self) -> bool {
        self.format == FORMAT
    }
}

/// Golden cases that conversations are compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    /// Id of the eval set.
    pub id: String,
    /// Digest of each case, by its id; empty if there is a digest of all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cases: BTreeMap<String, Digest>,
    /// Digest of all cases, in place of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

impl Golden {
    /// Returns the digest of all cases.
    pub fn digest(&self) -> Digest {
        let of_cases = || Digester::new("golden cases").json("cases", &self.cases).finish();
        self.digest.unwrap_or_else(of_cases)
    }

    /// Replaces the cases by their digest: of many parts, not each has all of them.
    #[must_use]
    pub fn without_cases(self) -> Self {
        let digest = Some(self.digest());
        Self { cases: BTreeMap::new(), digest, ..self }
    }
}

/// An evaluator of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluatorEntry {
    /// Name of the evaluator.
    pub name: String,
    /// `builtin`, `judge`, `grader`, `code` or `linked`; `broken` for one that cannot run.
    pub kind: String,
    /// Contract of its documents, if its entry names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// Number of evaluations of each conversation.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub repeat: u32,
    /// `None` if changes of the evaluator would not be noticed, and in runs that are not saved.
    pub fingerprint: Option<Digest>,
    /// What the fingerprint consists of. Empty without one.
    #[serde(flatten)]
    pub parts: FingerprintParts,
    /// Its certificate, if the configuration names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Arc<Certificate>>,
}

impl EvaluatorEntry {
    /// Returns what decides verdicts on every machine: all but what may differ between machines.
    pub fn planned(&self) -> Self {
        let FingerprintParts { code, settings, .. } = self.parts.clone();
        let parts = FingerprintParts { code, settings, ..FingerprintParts::default() };
        Self { parts, fingerprint: None, ..self.clone() }
    }
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is that of serde")]
fn is_once(repeat: &u32) -> bool {
    *repeat <= 1
}

/// Everything that decides about the answers of an evaluator, as digests by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FingerprintParts {
    /// Its files, by their paths relative to the directory of the configuration.
    pub code: BTreeMap<String, Digest>,
    /// The settings of its entry, by their keys.
    pub settings: BTreeMap<String, Digest>,
    /// What may differ between machines: the interpreter, installed packages, the compiled program.
    pub environment: BTreeMap<String, Digest>,
}

impl FingerprintParts {
    /// Returns the fingerprint: the digest of all parts.
    pub fn fingerprint(&self) -> Digest {
        let Self { code, settings, environment } = self;
        Digester::new("evaluator")
            .json("code", code)
            .json("settings", settings)
            .json("environment", environment)
            .finish()
    }
}

/// Returns a random UUID (version 4). The hashers of the standard library have random seeds, which is random enough to
/// tell runs and processes apart.
pub fn random_id() -> String {
    let random = |salt: u8| RandomState::new().hash_one((salt, process::id()));
    let (high, low) = (random(0), random(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}
