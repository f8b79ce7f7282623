//! Results of evaluators, and the form of a report as JSON.

use std::{
    io::{self, Write},
    num::NonZeroU64,
};

use evaluator_host::{
    report::{
        ConversationReport, EVALUATORS, EvaluationOutcome, EvaluationReport, Report,
        TargetProxyReport,
    },
    verdict::Standing,
};
use evaluator_json::{Value, to_pretty_inside};
use evaluator_models::{Message, RecordId, Usage};
use serde::{Serialize, Serializer};

use crate::{
    grade::Row,
    json_text::{list, number, object, present, text},
};

/// Status of an evaluator.
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

/// What a model gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Texts {
    /// Instructions about the reply.
    pub system: String,
    /// Question.
    pub user: String,
}

impl Texts {
    /// Returns the texts of messages.
    pub(crate) fn of(messages: &[Message]) -> Self {
        let text = |at: usize| messages.get(at).map(|it| it.content.clone()).unwrap_or_default();
        Self { system: text(0), user: text(1) }
    }
}

/// Calls of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub usage: Usage,
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
    /// Answers in the cassette.
    #[serde(skip)]
    pub recordings: Vec<RecordId>,
}

/// Calls of a program to models.
#[derive(Clone, Debug)]
pub struct ProxyUse {
    /// Calls.
    pub asked: TargetProxyReport,
    /// Failed calls that the program may have ignored.
    pub warning: Option<String>,
}

impl Serialize for ProxyUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = self.asked.clone().into_json();
        if let (Value::Object(members), Some(warning)) = (&mut value, &self.warning) {
            members.insert("warning".to_owned(), text(warning));
        }
        value.serialize(serializer)
    }
}

/// Result of an evaluator.
#[derive(Clone, Debug, Serialize)]
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

/// Writes the report of an eval file as JSON, one test after the other, without a line feed at the end.
///
/// # Errors
///
/// Writing fails, or a test cannot be read back.
pub fn write_json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let suite = report.suite.clone().unwrap_or_default();
    let tally = report.tally();
    let status = match report.standing() {
        Standing::Passed => "passed",
        Standing::Inconclusive => "inconclusive",
        Standing::Failed => "failed",
        _ => "error",
    };
    let number = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let mut summary = vec![
        ("tests", number(tally.total())),
        ("passed", number(tally.passed)),
        ("failed", number(tally.failed)),
        ("errors", number(tally.errored)),
    ];
    if tally.not_run > 0 {
        summary.push(("not_run", number(tally.not_run)));
    }
    out.write_all(b"{")?;
    member(out, "\n", "eval_file", &text(&suite.file))?;
    member(out, ",\n", "suite", &text(&suite.name))?;
    member(out, ",\n", "generation", &text(&suite.form))?;
    member(out, ",\n", "status", &text(status))?;
    member(out, ",\n", "summary", &object(summary))?;
    out.write_all(b",\n")?;
    out.write_all(b"  \"results\": [")?;
    let mut separator = "\n    ";
    for test in &report.conversations {
        out.write_all(separator.as_bytes())?;
        out.write_all(to_pretty_inside(&result(test?), 2).as_bytes())?;
        separator = ",\n    ";
    }
    out.write_all(if report.conversations.is_empty() { b"]" } else { b"\n  ]" })?;
    for (key, value) in report.decisions()? {
        value.map_or(Ok(()), |value| member(out, ",\n", key, &value))?;
    }
    if let Some(slices) = report.slices_json()? {
        member(out, ",\n", "slices", &slices)?;
    }
    let warnings = suite.warnings.iter().chain(&report.warnings);
    member(out, ",\n", "warnings", &list(warnings.map(|warning| text(warning))))?;
    member(out, ",\n", "errors", &list(report.errors.iter().map(|error| text(error))))?;
    out.write_all(b"\n}")
}

fn member(out: &mut dyn Write, separator: &str, key: &str, value: &Value) -> io::Result<()> {
    write!(out, "{separator}  \"{key}\": {}", to_pretty_inside(value, 1))
}

/// Returns the result of a test.
fn result(test: ConversationReport) -> Value {
    let graded = test.evaluations.into_iter().next();
    let id = [("id", Some(text(&test.trace_id)))];
    present(id.into_iter().chain(graded.into_iter().flat_map(members)))
}

/// Returns the members of the result of a test, or of one of its repeats.
fn members(mut graded: EvaluationReport) -> [(&'static str, Option<Value>); 7] {
    let repeats: Vec<Value> =
        graded.repeats.drain(..).map(|repeat| present(members(repeat))).collect();
    let status = match graded.outcome() {
        EvaluationOutcome::Passed => "passed",
        EvaluationOutcome::NotRun => "not_run",
        EvaluationOutcome::Error => "error",
        _ => "failed",
    };
    let evaluators = graded.details.and_then(|mut details| details.swap_remove(EVALUATORS));
    let evaluators = evaluators.unwrap_or_else(|| list([]));
    // Otherwise the reason is that of an evaluator.
    let is_whole = evaluators.as_array().is_some_and(<[Value]>::is_empty);
    let error = match graded.error_type {
        Some("cancelled") if graded.duration.is_none() => {
            Some("the run was stopped before this test".to_owned())
        }
        Some("cancelled") if is_whole => Some("the run was stopped".to_owned()),
        _ => graded.error.filter(|_| is_whole),
    };
    let warnings = (!graded.warnings.is_empty())
        .then(|| list(graded.warnings.iter().map(|warning| text(warning))));
    [
        ("status", Some(text(status))),
        ("score", Some(number(graded.score))),
        ("threshold", Some(number(graded.threshold))),
        ("error", error.map(Value::from)),
        ("warnings", warnings),
        (EVALUATORS, Some(evaluators)),
        ("repeats", (!repeats.is_empty()).then(|| list(repeats))),
    ]
}

/// Returns the reason of an evaluator that did not pass, else the observations that it missed.
pub(crate) fn reason_of(result: &EvaluatorResult) -> String {
    let missed = result.rows.iter().filter(|row| !row.passed).map(|row| &*row.text);
    result.reason.clone().unwrap_or_else(|| missed.collect::<Vec<_>>().join("; "))
}

impl EvaluatorResult {
    /// Returns the answers in the cassette that it and its members refer to.
    pub(crate) fn recordings(&self) -> Vec<RecordId> {
        let own = self.judge.iter().flat_map(|judge| judge.recordings.clone());
        let asked = self.proxy.iter().flat_map(|proxy| proxy.asked.recordings.clone());
        let members = self.members.iter().flat_map(Self::recordings);
        own.chain(asked).chain(members).collect()
    }

    /// Changes every text that a test, a program or a model had a part in.
    pub(crate) fn redact(&mut self, redact: &dyn Fn(&str) -> String) {
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
