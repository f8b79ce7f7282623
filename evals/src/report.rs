//! Results of a run, and their form as JSON.

use std::path::PathBuf;

use evaluator_json::Value;

use crate::{
    grade::Row,
    json_text::{count, list, members as object, number, text, whole},
    model::{Generation, Warning},
};

/// Status of a test or an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What asking a model took.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JudgeUse {
    /// Name of the target.
    pub target: String,
    /// Provider and model.
    pub model: String,
    /// Questions, also those whose reply could not be read.
    pub attempts: u32,
    /// Requests that were sent.
    pub requests: u32,
    /// Answers that were in a recording.
    pub replayed: u32,
    /// Tokens that were sent.
    pub input_tokens: u64,
    /// Tokens that were received.
    pub output_tokens: u64,
    /// Cost, if there are prices.
    pub cost: Option<String>,
    /// Instructions and text of the question.
    pub prompt: Option<(String, String)>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Calls of a program to models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyUse {
    /// Calls.
    pub calls: u64,
    /// Maximum number of calls.
    pub max_calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Tokens that were sent.
    pub input_tokens: u64,
    /// Tokens that were received.
    pub output_tokens: u64,
    /// Models that were asked.
    pub models: Vec<String>,
    /// What the program may have ignored.
    pub warning: Option<String>,
}

/// Result of an evaluator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvaluatorResult {
    /// Name.
    pub name: String,
    /// Type in the spelling of AgentV 4.
    pub kind: String,
    /// Status.
    pub status: Status,
    /// Score, unless the status is an error.
    pub score: Option<f64>,
    /// Weight in the mean; `None` for members of a composite.
    pub weight: Option<f64>,
    /// Score below which the test has the score 0.
    pub required: Option<f64>,
    /// Observations.
    pub rows: Vec<Row>,
    /// Reason of the score or of the error.
    pub reason: Option<String>,
    /// Required rubrics that were missed.
    pub missed: Vec<String>,
    /// What asking a model took.
    pub judge: Option<JudgeUse>,
    /// Calls of a program to models.
    pub proxy: Option<ProxyUse>,
    /// Results that were combined.
    pub members: Vec<EvaluatorResult>,
}

/// Result of a test.
#[derive(Clone, Debug)]
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
    pub error: Option<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Results of the evaluators; none if there is no output.
    pub evaluators: Vec<EvaluatorResult>,
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

    /// Returns the report as JSON. Prompts are shown with `verbose`.
    #[must_use]
    pub fn to_json(&self, verbose: bool) -> Value {
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
        let warnings = self.warnings.iter().map(warning).chain(self.notes.iter().cloned());
        object([
            ("eval_file", text(&self.file.to_string_lossy())),
            ("suite", text(&self.suite)),
            ("generation", text(generation)),
            ("status", text(self.status().name())),
            ("summary", summary),
            ("results", list(self.results.iter().map(|result| result.to_json(verbose)))),
            ("warnings", list(warnings.map(|warning| text(&warning)))),
            ("errors", list(self.errors.iter().map(|error| text(error)))),
        ])
    }
}

/// Returns a warning with its position on one line.
#[must_use]
pub fn warning(warning: &Warning) -> String {
    let Warning { file, problem } = warning;
    let place = problem.place.map(|place| format!("{}:{}: ", place.line, place.column));
    let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!(
        "{}:{}{}{hint}",
        file.display(),
        place.unwrap_or_else(|| " ".to_owned()),
        problem.message
    )
}

impl TestResult {
    fn to_json(&self, verbose: bool) -> Value {
        let mut members = vec![
            ("id", text(&self.id)),
            ("status", text(self.status.name())),
            ("score", number(self.score)),
            ("threshold", Value::Float(self.threshold)),
        ];
        members.extend(self.error.as_ref().map(|error| ("error", text(error))));
        if !self.warnings.is_empty() {
            members.push(("warnings", list(self.warnings.iter().map(|warning| text(warning)))));
        }
        let evaluators = self.evaluators.iter().map(|evaluator| evaluator.to_json(verbose));
        members.push(("evaluators", list(evaluators)));
        object(members)
    }
}

impl EvaluatorResult {
    /// Returns AgentV's word for the result: `borderline` from 0.6 to 0.8.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.status, self.score) {
            (Status::Passed, _) => "pass",
            (Status::Error, _) => "error",
            (Status::Failed, Some(score)) if (0.6..0.8).contains(&score) => "borderline",
            (Status::Failed, _) => "fail",
        }
    }

    fn to_json(&self, verbose: bool) -> Value {
        let mut members = vec![
            ("name", text(&self.name)),
            ("type", text(&self.kind)),
            ("status", text(self.status.name())),
            ("score", number(self.score)),
            ("verdict", text(self.verdict())),
        ];
        members.extend(self.weight.map(|weight| ("weight", Value::Float(weight))));
        members.extend(self.required.map(|least| ("required", Value::Float(least))));
        if !self.rows.is_empty() {
            members.push(("rows", list(self.rows.iter().map(row))));
        }
        members.extend(self.reason.as_ref().map(|reason| ("reason", text(reason))));
        if !self.missed.is_empty() {
            members.push(("missed", list(self.missed.iter().map(|id| text(id)))));
        }
        members.extend(self.judge.as_ref().map(|judge| ("judge", judge.to_json(verbose))));
        members.extend(self.proxy.as_ref().map(|proxy| ("target_proxy", proxy.to_json())));
        if !self.members.is_empty() {
            let inner = self.members.iter().map(|member| member.to_json(verbose));
            members.push(("members", list(inner)));
        }
        object(members)
    }
}

impl JudgeUse {
    fn to_json(&self, verbose: bool) -> Value {
        let usage =
            object([("input", whole(self.input_tokens)), ("output", whole(self.output_tokens))]);
        let mut members = vec![
            ("target", text(&self.target)),
            ("model", text(&self.model)),
            ("attempts", whole(self.attempts.into())),
            ("requests", whole(self.requests.into())),
            ("usage", usage),
        ];
        if self.replayed > 0 {
            members.push(("replayed", whole(self.replayed.into())));
        }
        members.extend(self.cost.as_ref().map(|cost| ("cost", text(cost))));
        if !self.warnings.is_empty() {
            members.push(("warnings", list(self.warnings.iter().map(|warning| text(warning)))));
        }
        if let Some((system, user)) = self.prompt.as_ref().filter(|_| verbose) {
            members.push(("prompt", object([("system", text(system)), ("user", text(user))])));
        }
        object(members)
    }
}

impl ProxyUse {
    fn to_json(&self) -> Value {
        let tokens =
            object([("input", whole(self.input_tokens)), ("output", whole(self.output_tokens))]);
        let mut members = vec![
            ("call_count", whole(self.calls)),
            ("max_calls", whole(self.max_calls)),
            ("failed", whole(self.failed)),
            ("token_usage", tokens),
            ("models", list(self.models.iter().map(|model| text(model)))),
        ];
        members.extend(self.warning.as_ref().map(|warning| ("warning", text(warning))));
        object(members)
    }
}

fn row(row: &Row) -> Value {
    let mut members = vec![("text", text(&row.text)), ("passed", Value::Bool(row.passed))];
    members.extend(row.evidence.as_ref().map(|evidence| ("evidence", text(evidence))));
    object(members)
}
