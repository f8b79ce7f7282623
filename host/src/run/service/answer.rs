//! From what came of a document to an answer in the terms of whoever asked, or to a refusal.

use evaluator_protocol::{
    Answer as Told, Contract, EvalResult, EvalStatus, JsonObject, Reply, Score,
    agenta::http::{ErrorStatus, HttpReply, MAX_REPLY},
    detect,
};
use serde::{Deserialize, de::IgnoredAny};

use super::{
    super::{
        ready::{Given, Ready},
        retry,
    },
    offer::{Served, Service},
    question::{Question, as_it_is, is_no_json},
};
use crate::{
    json::{self, NonFinite, Object, Value},
    verdict::{Answer, Evaluation, Status, Verdict},
};

/// The exit code by which programs of this project's SDK refuse a document.
const REFUSED: i32 = 3;

/// Kinds of errors by which evaluators in this process say that it is the document's fault.
const BLAMES_DOCUMENT: [&str; 3] = ["input", "config", "not_evaluated"];

/// Keys under which a document of AgentV names a file with the answer.
const FILE_KEYS: [&str; 2] = ["output_path", "outputPath"];

/// What came of a document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answered {
    /// The contract of the document, in whose terms the answer is; `None` when it is not known.
    pub contract: Option<Contract>,
    /// One JSON document, or why there is none.
    pub result: Result<String, Refusal>,
    /// Paths of what the document had and the evaluator did not get to see, in the document's own terms.
    pub dropped: Vec<String>,
    /// What is odd about the answer.
    pub warnings: Vec<String>,
    /// The end of what the evaluator wrote to standard error.
    pub stderr: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// Whose fault it is, and which.
    pub status: ErrorStatus,
    /// A stable name of what went wrong: that of a verdict, e.g. `timed_out`, or `bad_document`, `unknown_contract`, `refused`,
    /// `not_evaluated`, `unfit_answer`.
    pub kind: &'static str,
    /// What a person should read.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    #[must_use]
    pub fn new(status: ErrorStatus, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into() }
    }
}

impl Answered {
    /// Nothing has run.
    fn refused(contract: Option<Contract>, refusal: Refusal) -> Self {
        Self::unasked(contract, Err(refusal))
    }

    /// Nothing has run, and this is told all the same.
    fn unasked(contract: Option<Contract>, result: Result<String, Refusal>) -> Self {
        Self { contract, result, dropped: Vec::new(), warnings: Vec::new(), stderr: String::new() }
    }
}

impl Service {
    /// Has a document judged by the evaluator of that name; `None` when there is none.
    ///
    /// Waits until there is a worker for it. Dropping the future gives the document up, and ends what works on it alone.
    pub async fn answer(&self, name: &str, body: &[u8]) -> Option<Answered> {
        let served = self.evaluators.get(name)?;
        if let Some(refusal) = names_a_file(body) {
            return Some(Answered::refused(Some(Contract::AgentV), refusal));
        }
        Some(match served.is_foreign {
            true => self.pass_on(served, body).await,
            false => self.judge(served, body).await,
        })
    }

    /// Has it judged as a document of agentevals.
    async fn judge(&self, served: &Served, body: &[u8]) -> Answered {
        let name = &served.offered.name;
        let question = match Question::read(name, body, &served.defaults) {
            Ok(question) => question,
            Err(error) => {
                let contract = detect(body).ok();
                let (status, kind) = match (&error, is_no_json(&error)) {
                    (_, true) => (ErrorStatus::BadRequest, "bad_document"),
                    (evaluator_protocol::ReadError::Undetected(_), _) => {
                        (ErrorStatus::NotEvaluated, "unknown_contract")
                    }
                    _ => (ErrorStatus::NotEvaluated, "bad_document"),
                };
                return Answered::refused(contract, Refusal::new(status, kind, error.to_string()));
            }
        };
        let contract = Some(contract_of(&question.reply));
        if let Some(unjudged) = question.unjudged {
            let result = tell_result(&question.reply, unjudged);
            return Answered { dropped: question.dropped, ..Answered::unasked(contract, result) };
        }
        let evaluation =
            retry::evaluate(&served.ready, Given::Document(&question.document), &self.permits)
                .await;
        let answer = match &evaluation.verdict {
            Verdict::Answer(answer) => Some(answer.clone()),
            _ => None,
        };
        let stderr = evaluation.end_of_stderr().into_owned();
        let (warnings, result) = match answer {
            Some(answer) => {
                let result = tell(&question.reply, answer);
                (served.ready.report(evaluation, usize::MAX).warnings, result)
            }
            None => (Vec::new(), Err(broken(served, evaluation))),
        };
        Answered { contract, result, dropped: question.dropped, warnings, stderr }
    }

    /// Has a document judged by an evaluator that reads it as it is.
    async fn pass_on(&self, served: &Served, body: &[u8]) -> Answered {
        let own = served.offered.contract.parse().ok();
        let contract = detect(body).ok().or(own);
        let body = match contract {
            Some(contract) => as_it_is(body, contract, &served.defaults),
            None => body.to_vec(),
        };
        let Some(program) = served.ready.program() else {
            let reason = "only programs read documents as they are";
            return Answered::refused(
                contract,
                Refusal::new(ErrorStatus::Failed, "metric_failed", reason),
            );
        };
        match served.ready.printed(program, &body, &self.permits).await {
            Ok((printed, stderr)) => {
                let result = passed_on(contract, &printed);
                let (dropped, warnings) = (Vec::new(), Vec::new());
                Answered { contract, result, dropped, warnings, stderr }
            }
            Err(evaluation) => {
                let stderr = evaluation.end_of_stderr().into_owned();
                let refusal = broken(served, *evaluation);
                Answered { stderr, ..Answered::refused(contract, refusal) }
            }
        }
    }
}

/// AgentV leaves long answers in a file of its own, beside the judge. Whoever asks over a network has no such file, and must
/// not have one of this machine judged: nobody but its user may say which files are read.
fn names_a_file(body: &[u8]) -> Option<Refusal> {
    #[derive(Deserialize)]
    struct Keys {
        output_path: Option<IgnoredAny>,
        #[serde(rename = "outputPath")]
        camel_case: Option<IgnoredAny>,
    }
    // Hardly any document has such a key, and most are read faster for nothing but keys. A repeated one cannot be.
    if let Ok(Keys { output_path: None, camel_case: None }) = serde_json::from_slice(body) {
        return None;
    }
    let document: JsonObject = serde_json::from_slice(body).ok()?;
    let key =
        FILE_KEYS.into_iter().find(|key| document.get(*key).is_some_and(|it| !it.is_null()))?;
    let message =
        format!("{key}: files are not read for requests; send the answer itself, as `output`");
    Some(Refusal::new(ErrorStatus::NotEvaluated, "bad_document", message))
}

fn contract_of(reply: &Reply) -> Contract {
    match reply {
        Reply::AgentV => Contract::AgentV,
        Reply::Adk { .. } => Contract::Adk,
        Reply::Agenta { .. } => Contract::Agenta,
        _ => Contract::Agentevals,
    }
}

/// What is told of an answer.
fn tell(reply: &Reply, answer: Answer) -> Result<String, Refusal> {
    if *reply == Reply::Agentevals {
        return Ok(json::to_string(&document(answer), NonFinite::Null));
    }
    tell_result(reply, result(answer)?)
}

/// What is told of a result in the terms of another host.
fn tell_result(reply: &Reply, result: EvalResult) -> Result<String, Refusal> {
    let unfit = |message: String| Refusal::new(ErrorStatus::Failed, "unfit_answer", message);
    let told = reply
        .answer(result)
        .map_err(|why| Refusal::new(ErrorStatus::NotEvaluated, "not_evaluated", why.to_string()))?;
    match reply.settle(told).map_err(|why| unfit(why.to_string()))? {
        Told::Agenta(outputs) => {
            let reply = HttpReply::answer(&outputs);
            if reply.status == 200 { Ok(reply.body) } else { Err(unfit(reply.body)) }
        }
        told => serde_json::to_string(&told)
            .map_err(|error| unfit(format!("the answer cannot be written as JSON: {error}"))),
    }
}

/// The answer as one of agentevals, with everything that the evaluator has said.
fn document(answer: Answer) -> Value {
    let Answer { score, status, per_invocation_scores, details } = answer;
    let number = |score: Option<f64>| score.map_or(Value::Null, Value::Float);
    let text = |status: Status| Value::String(status.as_str().to_owned());
    let fields = [
        ("score", number(score)),
        ("status", status.map_or(Value::Null, text)),
        (
            "per_invocation_scores",
            Value::Array(per_invocation_scores.into_iter().map(number).collect()),
        ),
        ("details", details.map_or(Value::Null, Value::Object)),
    ];
    Value::Object(
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Object>(),
    )
}

/// The answer with the types of the contract, whose scores are those of hosts that are less forgiving.
fn result(answer: Answer) -> Result<EvalResult, Refusal> {
    let score_at = |path: &str, score: f64| {
        Score::new(score).map_err(|error| {
            Refusal::new(ErrorStatus::Failed, "bad_answer", format!("{path}: {error}"))
        })
    };
    let Some(score) = answer.score else {
        return Err(Refusal::new(ErrorStatus::NotEvaluated, "not_evaluated", "not evaluated"));
    };
    let mut result = EvalResult::new(score_at("score", score)?);
    result.status = answer.status.map(|status| match status {
        Status::Passed => EvalStatus::Passed,
        Status::Failed => EvalStatus::Failed,
        Status::NotEvaluated => EvalStatus::NotEvaluated,
    });
    let scores = answer.per_invocation_scores.into_iter().enumerate();
    result.per_invocation_scores = scores
        .map(|(index, score)| {
            let path = format!("per_invocation_scores[{index}]");
            score.map(|score| score_at(&path, score)).transpose()
        })
        .collect::<Result<_, _>>()?;
    result.details = answer
        .details
        .map(|details| details.iter().map(|(key, value)| (key.clone(), value.into())).collect());
    Ok(result)
}

/// Why there is no answer, of an evaluation that came to none.
fn broken(served: &Served, evaluation: Evaluation) -> Refusal {
    let kind = evaluation.verdict.error_type().unwrap_or("lost");
    let (status, kind) = match &evaluation.verdict {
        Verdict::TimedOut { .. } => (ErrorStatus::TimedOut, kind),
        Verdict::Cancelled | Verdict::NotRun => (ErrorStatus::Unavailable, "shutting_down"),
        Verdict::SpawnFailed { transient: true, .. } => (ErrorStatus::Unavailable, kind),
        Verdict::Exited { code } if *code == REFUSED && served.speaks_sdk => {
            (ErrorStatus::NotEvaluated, "refused")
        }
        Verdict::Reported { kind, .. } if BLAMES_DOCUMENT.contains(&kind.as_str()) => {
            (ErrorStatus::NotEvaluated, "refused")
        }
        _ => (ErrorStatus::Failed, kind),
    };
    let message = explained(&served.ready, evaluation);
    Refusal::new(status, kind, message)
}

fn explained(ready: &Ready, evaluation: Evaluation) -> String {
    if matches!(evaluation.verdict, Verdict::Cancelled | Verdict::NotRun) {
        return "the server is going down, and the evaluation was not finished".to_owned();
    }
    ready.report(evaluation, usize::MAX).error.unwrap_or_default()
}

/// What an evaluator has printed that answers in the document's terms itself.
fn passed_on(contract: Option<Contract>, printed: &[u8]) -> Result<String, Refusal> {
    let bad = |reason: String| Refusal::new(ErrorStatus::Failed, "bad_answer", reason);
    let text = str::from_utf8(printed.trim_ascii())
        .map_err(|error| bad(format!("the answer is not UTF-8: {error}")))?;
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| bad(format!("the answer is not JSON: {error}")))?;
    if text == "null" {
        return Err(bad("the answer is null, which says nothing".to_owned()));
    }
    if contract == Some(Contract::Agenta) && text.len() > MAX_REPLY {
        let length = text.len();
        return Err(bad(format!(
            "the answer has {length} bytes, and Agenta reads {MAX_REPLY} at most"
        )));
    }
    Ok(text.to_owned())
}
