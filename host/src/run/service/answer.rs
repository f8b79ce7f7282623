//! From what came of a document to an answer in the terms of whoever asked, or to a refusal.

use evaluator_protocol::{
    Answer as Told, Contract, EvalResult, EvalStatus, ReadError, Reply, Score,
    agenta::http::{ErrorStatus, HttpReply, MAX_REPLY},
    detect,
};

use super::{
    super::{
        ready::{Given, Ready},
        retry,
    },
    offer::{Served, Service},
    question::{Question, completed},
    screen::refusal,
};
use crate::{
    json::{self, NonFinite, Object, Value},
    pool::Document,
    verdict::{Answer, Evaluation, Status, Verdict},
};

/// The exit code by which programs of this project's SDK refuse a document.
const REFUSED: i32 = 3;

/// Kinds of errors by which evaluators in this process say that it is the document's fault.
const BLAMES_DOCUMENT: [&str; 3] = ["input", "config", "not_evaluated"];

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
        if let Some(refusal) = refusal(body) {
            return Some(Answered::refused(detect(body).ok(), refusal));
        }
        Some(match served.is_foreign {
            true => self.pass_on(served, body).await,
            false => self.judge(served, body).await,
        })
    }

    /// Has it judged as a document of agentevals.
    async fn judge(&self, served: &Served, body: &[u8]) -> Answered {
        let question = match Question::read(&served.offered.name, body, &served.defaults) {
            Ok(question) => question,
            Err(error) => {
                let kind = match &error {
                    ReadError::Undetected(_) => "unknown_contract",
                    _ => "bad_document",
                };
                let refusal = Refusal::new(ErrorStatus::NotEvaluated, kind, error.to_string());
                return Answered::refused(detect(body).ok(), refusal);
            }
        };
        let contract = Some(contract_of(&question.reply));
        if let Some(unjudged) = question.unjudged {
            let result = tell_result(&question.reply, unjudged);
            return Answered { dropped: question.dropped, ..Answered::unasked(contract, result) };
        }
        let evaluation = self.evaluate(served, &question.document).await;
        let evaluation = evaluation.for_turns(question.turns);
        let answered =
            told(served, contract, evaluation, |answer, _| tell(&question.reply, answer));
        Answered { dropped: question.dropped, ..answered }
    }

    /// Has a document judged by an evaluator that reads it as it is, and answers in terms of its own.
    async fn pass_on(&self, served: &Served, body: &[u8]) -> Answered {
        let contract = detect(body).ok().or_else(|| served.offered.contract.parse().ok());
        let body = match contract {
            Some(contract) => completed(body, contract, &served.defaults),
            None => body.to_vec(),
        };
        let evaluation = self.evaluate(served, &Document::from(body.as_slice())).await;
        told(served, contract, evaluation, |_, text| passed_on(contract, text))
    }

    async fn evaluate(&self, served: &Served, document: &Document) -> Evaluation {
        retry::evaluate(&served.ready, Given::Document(document), &self.permits).await
    }
}

/// What came of a document. `tell` is given an answer and, if that is passed on as it is, its text.
fn told(
    served: &Served,
    contract: Option<Contract>,
    mut evaluation: Evaluation,
    tell: impl FnOnce(Answer, Vec<u8>) -> Result<String, Refusal>,
) -> Answered {
    let stderr = evaluation.end_of_stderr().into_owned();
    let text = std::mem::take(&mut evaluation.answer);
    let answer = match &evaluation.verdict {
        Verdict::Answer(answer) => Some(answer.clone()),
        _ => None,
    };
    let (warnings, result) = match answer {
        Some(answer) => (served.ready.report(evaluation).warnings, tell(answer, text)),
        None => (Vec::new(), Err(broken(served, evaluation))),
    };
    Answered { contract, result, dropped: Vec::new(), warnings, stderr }
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
    ready.report(evaluation).error.unwrap_or_default()
}

/// An answer that is passed on as it is.
fn passed_on(contract: Option<Contract>, text: Vec<u8>) -> Result<String, Refusal> {
    let unfit = |message: String| Refusal::new(ErrorStatus::Failed, "unfit_answer", message);
    let length = text.len();
    if contract == Some(Contract::Agenta) && length > MAX_REPLY {
        let message =
            format!("the answer has {length} bytes, and Agenta reads {MAX_REPLY} at most");
        return Err(unfit(message));
    }
    String::from_utf8(text).map_err(|error| unfit(format!("the answer is not UTF-8: {error}")))
}
