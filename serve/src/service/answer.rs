//! Answers documents from outside: in the form of the host that sent the document, or with an error.

use evaluator_host::verdict::{Answer, Evaluation, Status, Verdict};
use evaluator_hosts::{Question, complete, foreign_contract, host_of};
use evaluator_json::{self as json, NonFinite, Value};
use evaluator_protocol::{
    Contract, EvalResult, EvalStatus, ReadError, Reply, Score, agenta::http::ErrorStatus, detect,
};

use super::{
    Refusal,
    offer::{Served, Service},
    screen::refusal,
};

/// Exit code with which programs of this project's SDK reject a document.
const REFUSED: i32 = 3;

/// Kinds of errors with which linked evaluators reject a document.
const BLAMES_DOCUMENT: [&str; 3] = ["input", "config", "not_evaluated"];

/// Result of one document.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Contract of the document and its answer; `None` if it is not known.
    pub contract: Option<Contract>,
    /// One JSON document, or an error.
    pub result: Result<String, Refusal>,
    /// Paths in the document that the evaluator did not receive.
    pub dropped: Vec<String>,
    /// Warnings about the answer.
    pub warnings: Vec<String>,
    /// End of the evaluator's standard error.
    pub stderr: String,
}

impl Answered {
    /// A result without an evaluation.
    fn unevaluated(contract: Option<Contract>, result: Result<String, Refusal>) -> Self {
        Self { contract, result, dropped: Vec::new(), warnings: Vec::new(), stderr: String::new() }
    }
}

impl Service {
    /// Evaluates a document with the evaluator `name`; `None` if it does not exist.
    ///
    /// Waits for a free worker. Dropping the future cancels the evaluation.
    pub async fn answer(&self, name: &str, body: &[u8]) -> Option<Answered> {
        let served = self.evaluators.get(name)?;
        if let Some(refusal) = refusal(body) {
            return Some(Answered::unevaluated(detect(body).ok(), Err(refusal)));
        }
        Some(match served.is_foreign {
            true => self.evaluate_unconverted(served, body).await,
            false => self.evaluate_converted(served, body).await,
        })
    }

    /// Evaluates the document as one of the default contract.
    async fn evaluate_converted(&self, served: &Served, body: &[u8]) -> Answered {
        let question = match Question::read(&served.offered.name, body, &served.defaults) {
            Ok(question) => question,
            Err(error) => {
                let kind = match &error {
                    ReadError::Undetected(_) => "unknown_contract",
                    _ => "bad_document",
                };
                let refusal = Refusal::new(ErrorStatus::NotEvaluated, kind, error.to_string());
                return Answered::unevaluated(detect(body).ok(), Err(refusal));
            }
        };
        let (contract, reply) = (question.contract, &question.reply);
        let answered = match question.unjudged {
            Some(unjudged) => {
                Answered::unevaluated(Some(contract), write_result(contract, reply, unjudged))
            }
            None => {
                let evaluation = served.resident.evaluate(&question.document).await;
                let evaluation = evaluation.for_turns(question.turns);
                answered(served, Some(contract), evaluation, |answer, _| {
                    write(contract, reply, answer)
                })
            }
        };
        Answered { dropped: question.dropped, ..answered }
    }

    /// Evaluates the document with an evaluator that reads it as it is and answers in its own contract.
    async fn evaluate_unconverted(&self, served: &Served, body: &[u8]) -> Answered {
        let own = served.offered.contract.parse::<Contract>().ok();
        let detected = detect(body).ok();
        if let (Some(own), Some(other)) = (own, detected.filter(|it| Some(*it) != own)) {
            let message = format!(
                "{} takes documents of {} only, and this is one of {}",
                served.offered.name,
                host_of(own).title,
                host_of(other).title
            );
            let refusal = Refusal::new(ErrorStatus::NotEvaluated, "other_contract", message);
            return Answered::unevaluated(detected, Err(refusal));
        }
        let contract = own.or(detected);
        let body = match contract {
            Some(contract) => complete(body, contract, &served.defaults),
            None => body.to_vec(),
        };
        let evaluation = served.resident.evaluate(&body).await;
        answered(served, contract, evaluation, |_, text| unconverted(contract, text))
    }
}

/// Returns the result of an evaluation. `write` converts an answer and its text, which is empty for the default contract.
fn answered(
    served: &Served,
    contract: Option<Contract>,
    mut evaluation: Evaluation,
    write: impl FnOnce(Answer, Vec<u8>) -> Result<String, Refusal>,
) -> Answered {
    let stderr = evaluation.end_of_stderr().into_owned();
    let text = std::mem::take(&mut evaluation.answer);
    let answer = match &evaluation.verdict {
        Verdict::Answer(answer) => Some(answer.clone()),
        _ => None,
    };
    let (warnings, result) = match answer {
        Some(answer) => (served.resident.report(evaluation).warnings, write(answer, text)),
        None => (Vec::new(), Err(broken(served, evaluation))),
    };
    Answered { contract, result, dropped: Vec::new(), warnings, stderr }
}

/// Writes an answer for the host that sent the document.
fn write(contract: Contract, reply: &Reply, answer: Answer) -> Result<String, Refusal> {
    match contract {
        Contract::Agentevals => Ok(json::to_string(&document(answer), NonFinite::Null)),
        _ => write_result(contract, reply, result(answer)?),
    }
}

/// Writes a result for the host that sent the document.
fn write_result(contract: Contract, reply: &Reply, result: EvalResult) -> Result<String, Refusal> {
    let answer = reply
        .answer(result)
        .map_err(|why| Refusal::new(ErrorStatus::NotEvaluated, "not_evaluated", why.to_string()))?;
    let answer = reply.settle(answer).map_err(|why| unfit(why.to_string()))?;
    match foreign_contract(contract) {
        Some(foreign) => (foreign.write)(&answer).map_err(unfit),
        None => serde_json::to_string(&answer).map_err(|error| unfit(error.to_string())),
    }
}

/// Returns the error of an answer that the host cannot read.
fn unfit(message: String) -> Refusal {
    Refusal::new(ErrorStatus::Failed, "unfit_answer", message)
}

/// Returns the answer as a document of the default contract.
fn document(answer: Answer) -> Value {
    let Answer { score, status, per_invocation_scores, details, .. } = answer;
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
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
}

/// Returns the answer with the types of the default contract, whose scores are strict.
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

/// Returns the error of an evaluation without an answer.
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
    if kind == "shutting_down" {
        let message = "the server is shutting down, and the evaluation was not finished";
        return Refusal::new(status, kind, message);
    }
    if let (ErrorStatus::Failed, Some(reason)) = (status, served.outdated()) {
        return Refusal::new(ErrorStatus::Unavailable, Service::OUTDATED, reason);
    }
    let report = served.resident.report(evaluation);
    let message = report.error.unwrap_or_default();
    Refusal { headline: report.headline, ..Refusal::new(status, kind, message) }
}

/// Returns an answer that is not converted.
fn unconverted(contract: Option<Contract>, text: Vec<u8>) -> Result<String, Refusal> {
    let max = contract.and_then(foreign_contract).map_or(usize::MAX, |foreign| foreign.max_answer);
    if text.len() > max {
        let (bytes, host) = (text.len(), contract.map_or("", |contract| host_of(contract).title));
        return Err(unfit(format!("the answer has {bytes} bytes, and {host} reads {max} at most")));
    }
    String::from_utf8(text).map_err(|error| unfit(format!("the answer is not UTF-8: {error}")))
}
