//! Reports of conversations and of evaluations.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evaluator_json::{Object, Value};
use evaluator_statistics::Estimate;
use evaluator_traces::conversation::{Labels, PerformanceMetrics};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{
    EventContext, Status, TargetProxyReport,
    digest::Digest,
    encoding,
    error_type::{EXTRACTION_FAILED, ErrorType, NOT_RUN},
};

/// A suite, in the report of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteReport {
    /// Name.
    pub name: String,
    /// File.
    pub file: String,
    /// Form of the file, e.g. the generation of the program that it was written for.
    pub form: String,
    /// Warnings about files, with their positions.
    pub warnings: Vec<String>,
}

/// Calls of a run to models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct JudgeUsage {
    /// Calls, each answered by a server or by a recording, or failed.
    pub calls: u64,
    /// Requests that were sent, repetitions included.
    pub requests: u64,
    /// Calls whose replies were recorded before the run.
    pub replayed: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// Tokens of the requests; those of recorded replies are from their recording.
    pub input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// Calls whose answer has no number of tokens.
    pub uncounted: u64,
    /// Cost as a decimal number, if the models have prices; that of recorded replies is from their recording.
    pub cost: Option<String>,
    /// Currency of the cost.
    pub currency: Option<String>,
    /// Models that servers reported, by the requested model, where they differ.
    pub reported: BTreeMap<String, Vec<String>>,
}

impl JudgeUsage {
    /// Adds the calls of another part of the run. Returns their cost if it cannot be added, e.g. one in another currency.
    pub(crate) fn append(&mut self, part: Self) -> Option<String> {
        let Self { calls, requests, replayed, failed, input_tokens, output_tokens, .. } = part;
        for (sum, count) in [
            (&mut self.calls, calls),
            (&mut self.requests, requests),
            (&mut self.replayed, replayed),
            (&mut self.failed, failed),
            (&mut self.input_tokens, input_tokens),
            (&mut self.output_tokens, output_tokens),
            (&mut self.uncounted, part.uncounted),
        ] {
            *sum = sum.saturating_add(count);
        }
        for (model, names) in part.reported {
            let known = self.reported.entry(model).or_default();
            known.extend(names);
            known.sort();
            known.dedup();
        }
        let cost = part.cost?;
        let Some(known) = &self.cost else {
            (self.cost, self.currency) = (Some(cost), part.currency);
            return None;
        };
        let [one, other] = [known, &cost].map(|it| it.parse::<Decimal>().ok());
        let sum = one.zip(other).and_then(|(one, other)| one.checked_add(other));
        match sum.filter(|_| self.currency == part.currency) {
            Some(sum) => {
                self.cost = Some(sum.normalize().to_string());
                None
            }
            None => Some(format!("{cost} {}", part.currency.unwrap_or_default())),
        }
    }
}

/// Reason why a run ended before everything was evaluated. As text, it is a clause of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, derive_more::Display)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Partial {
    /// It was cancelled.
    #[display("the run was cancelled before everything was evaluated")]
    Cancelled,
    /// It was configured to stop at the first failure or error, and stopped.
    #[display("the run stopped at the first failure or error (fail-fast)")]
    FailFast,
    /// It was killed, or is still running.
    #[display("the run file ends before everything was evaluated")]
    Unfinished,
    /// Its gates were decided.
    #[display("the run ended when all gates were decided")]
    Decided,
    /// Parts of it are missing.
    #[display("parts of the run are missing, or not known to be all")]
    Incomplete,
}

/// Report of one conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConversationReport {
    /// Trace id of the conversation's first trace.
    pub trace_id: Arc<str>,
    /// File of that trace, as it was given; `None` if it is not known or the traces came from the standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_file: Option<Arc<str>>,
    /// Id of the golden case that the conversation was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_case_id: Option<Arc<str>>,
    /// Value of the attribute that identifies cases, if the conversation was not compared with a golden case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<Arc<str>>,
    /// Value of the attribute for clusters. Cases with the same one are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Arc<str>>,
    /// Values of attributes by which the report can be sliced, see [`Report::slices`](super::Report::slices).
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Digest of what evaluators see of the recording; `None` in runs that are not saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// Number of spans that were dropped, because they are exact copies of others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dropped_copies: usize,
    /// What joins the traces of the conversation, if they were grouped before the run, which read one conversation a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// Ids of the traces that it joins, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<Arc<str>>,
    /// Those of the attributes that identify cases and clusters that have several values; the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub several_values: Vec<String>,
    /// First characters of the first prompt, see [`prompt_of`](Self::prompt_of).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Arc<str>>,
    /// Number of turns.
    pub turns: usize,
    /// Warnings about the recording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Different failures of turns: the message, and the span.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_turns: Vec<String>,
    /// Evaluations in the order of the configuration.
    pub evaluations: Vec<EvaluationReport>,
    /// Latencies, tokens and counts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "encoding::performance"
    )]
    pub performance: Option<PerformanceMetrics>,
    /// Data of evaluation events, if the run was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventContext>,
}

/// Report of one evaluator on one conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvaluationReport {
    /// Name of the evaluator; `(all)` stands for all of them, if the conversation could not be evaluated at all.
    pub name: String,
    /// The score, if there is one; finite.
    pub score: Option<f64>,
    /// Score from which on the evaluation passes; `None` if no evaluator was called.
    pub threshold: Option<f64>,
    /// The status. [`Status::NotEvaluated`] if there is an error; see [`outcome`](Self::outcome).
    pub status: Status,
    /// Reason why the evaluation fails regardless of its score, e.g. golden turns that are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Score of each turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_invocation_scores: Vec<Option<f64>>,
    /// Duration; `None` if nothing was started.
    #[serde(rename = "duration_ns", with = "encoding::nanoseconds")]
    pub duration: Option<Duration>,
    /// Error of the evaluator: one paragraph in the wording of agentevals, with the end of its standard error where that
    /// explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error as a clause that follows the name of the evaluator, for text reports. `None` if `error` is such a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Stable name of the kind of error, e.g. `timed_out`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "encoding::error_type"
    )]
    pub error_type: Option<ErrorType>,
    /// End of its standard error, if there is an error and standard error is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Number of attempts; above 1 only where retries were requested.
    pub attempts: u32,
    /// Warnings about the answer, e.g. that its status contradicts the score, or that earlier attempts failed. They do not
    /// affect the outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The evaluator's details.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "encoding::details")]
    pub details: Option<Object>,
    /// What a judge was asked, a JSON object for each question. Only transcripts have it.
    #[serde(skip)]
    pub prompts: Vec<Value>,
    /// Calls of its program to models; `None` if the entry offers it no models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_proxy: Option<TargetProxyReport>,
    /// Containment of its program; `None` if it was not contained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub containment: Option<Arc<Contained>>,
    /// The repeats that the evaluation [combines](Self::combine); empty if it was not repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<EvaluationReport>,
}

/// Name that stands for all evaluators of a conversation that cannot be evaluated.
pub const ALL_EVALUATORS: &str = "(all)";

/// Containment of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Contained {
    /// Name of the executor.
    pub executor: String,
    /// Level of a sandbox: `full` or `partial`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Version of Landlock that restricts the program; `None` if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    /// Namespaces of its own, e.g. `user`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Whether it may use IPv4 and IPv6.
    pub network: bool,
    /// Whether it reaches the proxy of its models without network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub proxy: bool,
    /// Id of the image of its container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl ConversationReport {
    /// Creates the report of a conversation without turns and evaluations.
    pub fn new(trace_id: Arc<str>) -> Self {
        Self { trace_id, ..Self::default() }
    }

    /// Returns the id of the case: the golden case, else the value of the attribute that identifies cases, else the trace id.
    pub fn case(&self) -> &Arc<str> {
        self.named_case().unwrap_or(&self.trace_id)
    }

    /// Returns the id of the case, of which there may be other conversations; `None` if the conversation is a case of its own.
    pub fn named_case(&self) -> Option<&Arc<str>> {
        self.eval_case_id.as_ref().or(self.case.as_ref())
    }

    /// Returns true if the traces of the conversation were read: it was not given up before, and its file could be read.
    pub(crate) fn was_read(&self) -> bool {
        let of_none = |it: &EvaluationReport| {
            it.name == ALL_EVALUATORS && it.error_type != Some(EXTRACTION_FAILED)
        };
        self.turns > 0 || self.evaluations.iter().any(of_none)
    }

    /// Returns what a report shows of the first prompt of a conversation: 100 characters.
    pub fn prompt_of(text: &str) -> Arc<str> {
        text.chars().take(100).collect::<String>().into()
    }
}

impl EvaluationReport {
    /// Creates the report of an evaluation with the status `NOT_EVALUATED`, without a score or an error.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), attempts: 1, ..Self::default() }
    }

    /// Returns false if the run stopped before the evaluation.
    pub fn was_run(&self) -> bool {
        self.error_type != Some(NOT_RUN)
    }
}

/// Returns true for what is left out when it is serialized.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Width of an interval above which a slice has too few cases to say much: half of the scale of scores.
const WIDE: f64 = 0.5;

/// The conversations of a run by the values of an attribute, with `E` for each evaluator.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Slices<E> {
    /// Name of the attribute.
    pub by: String,
    /// The slices, those with the most conversations first.
    #[serde(rename = "values")]
    pub slices: Vec<Slice<E>>,
    /// Number of conversations with several values. They are in the slice of each.
    #[serde(skip_serializing_if = "is_default")]
    pub overlapping: u64,
    /// Number of conversations with values that have no slice, since there are more than a thousand of them.
    #[serde(skip_serializing_if = "is_default")]
    pub left_out: u64,
}

/// Conversations with the same value of an attribute.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Slice<E> {
    /// The value; `None` for conversations without one.
    pub value: Option<String>,
    /// Number of conversations.
    pub conversations: u64,
    /// The evaluators over the cases of these conversations.
    pub evaluators: Vec<E>,
}

/// Returns true if an estimate rests on too few cases to say much about a slice.
pub(crate) fn has_too_few_cases(estimate: Option<&Estimate>) -> bool {
    estimate.is_none_or(|it| it.interval.upper - it.interval.lower > WIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(calls: u64, cost: Option<&str>, currency: &str) -> JudgeUsage {
        let reported = [("m".to_owned(), vec![currency.to_owned()])].into();
        let (cost, currency) = (cost.map(str::to_owned), Some(currency.to_owned()));
        JudgeUsage { calls, cost, currency, reported, ..JudgeUsage::default() }
    }

    #[test]
    fn costs_of_parts_are_added_to_the_last_digit() {
        let mut all = JudgeUsage::default();
        for (part, expected) in [
            (usage(1, None, "EUR"), None),
            (usage(2, Some("0.1"), "EUR"), Some("0.1")),
            (usage(3, Some("0.20"), "EUR"), Some("0.3")),
        ] {
            assert_eq!(all.append(part), None);
            assert_eq!(all.cost.as_deref(), expected);
        }
        assert_eq!((all.calls, all.currency.as_deref()), (6, Some("EUR")));
        assert_eq!(all.append(usage(1, Some("1"), "USD")).as_deref(), Some("1 USD"));
        assert_eq!((all.calls, all.cost.as_deref()), (7, Some("0.3")));
        assert_eq!(all.reported["m"], ["EUR", "USD"]);
    }
}
