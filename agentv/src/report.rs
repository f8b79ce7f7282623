//! Results of a run, and their form as JSON.

use std::{num::NonZeroU64, path::PathBuf, time::Duration};

use evaluator_json::{Value, parse_python};
use evaluator_models::Usage;
use serde::Serialize;

use crate::{
    grade::Row,
    json_text::{count, list, members as object, text},
    model::{Generation, Warning},
};

/// Status of a test or an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The score is high enough.
    Passed,
    /// It is not.
    Failed,
    /// There is no score, because something broke.
    Error,
}

impl Status {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }
}

/// Tokens of the calls of an evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Tokens that were sent.
    pub input: u64,
    /// Tokens that were received.
    pub output: u64,
    /// Tokens that were sent and cached.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cached, reasoning } = usage;
        Self { input, output, cached, reasoning }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a model gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Texts {
    /// Instructions about the reply.
    pub system: String,
    /// Question.
    pub user: String,
}

/// Calls of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JudgeUse {
    /// Name of the target.
    pub target: String,
    /// Provider and model.
    pub model: String,
    /// Questions, also those whose reply could not be read.
    pub attempts: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Tokens.
    pub usage: Tokens,
    /// Answers that were in a recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<NonZeroU64>,
    /// Cost, if there are prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Prompt, if the options of the run ask for prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Texts>,
}

/// Calls of a program to models.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProxyUse {
    /// Calls.
    pub call_count: u64,
    /// Maximum number of calls.
    pub max_calls: u64,
    /// Calls without an answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_calls: u64,
    /// Requests that were not accepted, e.g. beyond the maximum.
    #[serde(skip_serializing_if = "is_zero")]
    pub refused_requests: u64,
    /// Tokens.
    pub tokens: Tokens,
    /// Cost, if the models have prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Models that were asked.
    pub models: Vec<String>,
    /// What the program may have ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Result of an evaluator.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EvaluatorResult {
    /// Name.
    pub name: String,
    /// Type in the spelling of AgentV 4.
    #[serde(rename = "type")]
    pub kind: String,
    /// Status.
    pub status: Status,
    /// Score, unless the status is an error.
    pub score: Option<f64>,
    /// AgentV's word for the result: `pass`, `borderline` from 0.6 to 0.8, `fail`, `error`.
    pub verdict: &'static str,
    /// Weight in the mean; `None` for members of a composite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Score below which the test has the score 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<f64>,
    /// Observations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// Reason of the score or of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Required rubrics that were missed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
    /// Calls of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeUse>,
    /// Calls of a program to models.
    #[serde(rename = "target_proxy", skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyUse>,
    /// Results that were combined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<EvaluatorResult>,
}

/// Result of a test.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TestResult {
    /// Id.
    pub id: String,
    /// Status.
    pub status: Status,
    /// Score, unless the status is an error.
    pub score: Option<f64>,
    /// Score from which on the test passes.
    pub threshold: f64,
    /// Reason why there is no output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Results of the evaluators; none if there is no output.
    pub evaluators: Vec<EvaluatorResult>,
    /// Time from the start of the test to its end. Not in the JSON, which is the same for every run.
    #[serde(skip)]
    pub duration: Duration,
}

/// Result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Eval file.
    pub file: PathBuf,
    /// Name of the suite.
    pub suite: String,
    /// Generation of the file.
    pub generation: Generation,
    /// Results in the order of the file.
    pub results: Vec<TestResult>,
    /// Warnings about files.
    pub warnings: Vec<Warning>,
    /// Warnings about the run as a whole.
    pub notes: Vec<String>,
    /// What could not be written or saved.
    pub errors: Vec<String>,
}

impl Report {
    /// Returns the number of tests of a status.
    #[must_use]
    pub fn count(&self, status: Status) -> usize {
        self.results.iter().filter(|result| result.status == status).count()
    }

    /// Returns the worst status of the run.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.count(Status::Error) > 0 || !self.errors.is_empty() || self.results.is_empty() {
            Status::Error
        } else if self.count(Status::Failed) > 0 {
            Status::Failed
        } else {
            Status::Passed
        }
    }

    /// Returns all warnings that are not of one test, with their positions.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.warnings.iter().map(Warning::to_string).chain(self.notes.iter().cloned())
    }

    /// Returns the report as JSON.
    ///
    /// # Errors
    ///
    /// A result cannot be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<Value> {
        let generation = match self.generation {
            Generation::V2 => "2",
            Generation::V4 => "4",
        };
        let summary = object([
            ("tests", count(self.results.len())),
            ("passed", count(self.count(Status::Passed))),
            ("failed", count(self.count(Status::Failed))),
            ("errors", count(self.count(Status::Error))),
        ]);
        let results = parse_python(&serde_json::to_string(&self.results)?).unwrap_or_default();
        Ok(object([
            ("eval_file", text(&self.file.to_string_lossy())),
            ("suite", text(&self.suite)),
            ("generation", text(generation)),
            ("status", text(self.status().name())),
            ("summary", summary),
            ("results", results),
            ("warnings", list(self.warnings().map(Value::from))),
            ("errors", list(self.errors.iter().map(|error| text(error)))),
        ]))
    }
}

impl TestResult {
    /// Changes every text that a test, a program or a model had a part in.
    pub(crate) fn redact(&mut self, redact: &dyn Fn(&str) -> String) {
        let texts = self.error.iter_mut().chain(&mut self.warnings);
        texts.for_each(|text| *text = redact(text));
        self.evaluators.iter_mut().for_each(|it| it.redact(redact));
    }
}

impl EvaluatorResult {
    fn redact(&mut self, redact: &dyn Fn(&str) -> String) {
        let mut texts: Vec<&mut String> = self.reason.iter_mut().chain(&mut self.missed).collect();
        for row in &mut self.rows {
            texts.push(&mut row.text);
            texts.extend(&mut row.evidence);
        }
        if let Some(judge) = &mut self.judge {
            texts.extend(&mut judge.warnings);
            texts.extend(judge.prompt.iter_mut().flat_map(|it| [&mut it.system, &mut it.user]));
        }
        texts.extend(self.proxy.iter_mut().filter_map(|proxy| proxy.warning.as_mut()));
        texts.into_iter().for_each(|text| *text = redact(text));
        self.members.iter_mut().for_each(|member| member.redact(redact));
    }
}
