//! From the bytes of a document to a result.

use std::{
    any::Any,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
};

use evaluator_protocol::{
    Answer, Compatibility, Contract, DecodeErrorKind, Document, EvalResult, ProtocolVersion,
    ReadError,
};

use super::output::{report, say};
use crate::{
    evaluator::Evaluator,
    exit,
    failure::{Failure, Kind, Rejection},
};

/// Variable with the name of the entry, for documents that do not have it: those of AgentV and Agenta.
const ENTRY: &str = "EVALUATOR_NAME";

/// The evaluators that may answer, and the contract of the documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice<'a> {
    evaluators: &'a [Evaluator],
    /// The contract of all documents; with `None` it is detected.
    contract: Option<Contract>,
}

impl<'a> Choice<'a> {
    /// Any of them.
    pub(crate) fn new(evaluators: &'a [Evaluator]) -> Result<Self, String> {
        if evaluators.is_empty() {
            return Err("there is no evaluator in this program".to_owned());
        }
        for (index, evaluator) in evaluators.iter().enumerate() {
            let name = evaluator.name();
            if evaluators[..index].iter().any(|other| other.name() == name) {
                return Err(format!(
                    "two evaluators of this program are called `{name}`; name one with `#[evaluator(name = \"..\")]`"
                ));
            }
        }
        Ok(Self { evaluators, contract: None })
    }

    /// No choice.
    pub(crate) fn one(evaluator: &'a Evaluator) -> Self {
        Self { evaluators: std::slice::from_ref(evaluator), contract: None }
    }

    /// Returns the one of that name.
    pub(super) fn named(self, name: &str) -> Result<Self, String> {
        match self.position(name) {
            Some(index) => Ok(Self { evaluators: &self.evaluators[index..=index], ..self }),
            None => Err(format!(
                "there is no evaluator `{name}` in this program; it has {}",
                self.names()
            )),
        }
    }

    /// Documents of that contract.
    pub(crate) fn of_contract(self, contract: Contract) -> Self {
        Self { contract: Some(contract), ..self }
    }

    pub(super) fn all(self) -> &'a [Evaluator] {
        self.evaluators
    }

    /// Returns the only evaluator, if there is one.
    pub(super) fn only(self) -> Option<&'a Evaluator> {
        match self.evaluators {
            [evaluator] => Some(evaluator),
            _ => None,
        }
    }

    fn position(self, name: &str) -> Option<usize> {
        self.evaluators.iter().position(|evaluator| evaluator.name() == name)
    }

    /// Returns the one that a document is for.
    fn of_document(self, document: &Document) -> Result<&'a Evaluator, Failure> {
        let name = document.metric_name();
        let entry = || env::var(ENTRY).ok().filter(|_| name.is_none());
        let named = |name: &str| Some(&self.evaluators[self.position(name)?]);
        let chosen = self.only().or_else(|| named(name?)).or_else(|| named(&entry()?));
        chosen.ok_or_else(|| {
            let (path, message) = match name {
                Some(name) => (
                    "metric_name",
                    format!(
                        "there is no evaluator `{name}` in this program; it has {} (name the evaluator so in the configuration, or choose with --evaluator)",
                        self.names()
                    ),
                ),
                None => (
                    "",
                    format!(
                        "documents of {} do not say which evaluator they are for; this program has {} (choose with --evaluator)",
                        document.contract(),
                        self.names()
                    ),
                ),
            };
            Rejection::new(path, message).into()
        })
    }

    fn names(self) -> String {
        let names: Vec<String> =
            self.evaluators.iter().map(|evaluator| format!("`{}`", evaluator.name())).collect();
        names.join(", ")
    }
}

/// A failure, and the evaluator whose failure it is, if that was known by then.
#[derive(Debug)]
pub(crate) struct Failed<'a> {
    pub(crate) evaluator: Option<&'a Evaluator>,
    pub(crate) failure: Failure,
}

impl Failed<'_> {
    /// Reports the failure on standard error, and returns the exit code.
    pub(super) fn tell(&self) -> u8 {
        let Self { evaluator, failure } = self;
        // The panic hook has reported the message and its location.
        let message = if failure.is_panic() { "the evaluator panicked" } else { failure.message() };
        report(evaluator.map(Evaluator::name), message);
        for cause in failure.causes() {
            say(&format!("  caused by: {cause}\n"));
        }
        if failure.blames_input() { exit::INPUT } else { exit::FAILED }
    }
}

/// Reads a document and has it judged.
pub(crate) fn answer_document<'a>(
    choice: Choice<'a>,
    document: &[u8],
) -> Result<Answer, Failed<'a>> {
    let failed = |evaluator| move |failure| Failed { evaluator, failure };
    let document = read(choice, document)
        .map_err(|error| unreadable(choice, error))
        .map_err(failed(choice.only()))?;
    let evaluator = choice.of_document(&document).map_err(failed(None))?;
    judge(evaluator, document).map_err(failed(Some(evaluator)))
}

fn read(choice: Choice<'_>, document: &[u8]) -> Result<Document, ReadError> {
    match choice.contract {
        Some(contract) => Document::read_as(contract, document).map_err(ReadError::Decode),
        None => Document::read(document),
    }
}

/// Has a document judged and the result put in the terms of the host that sent it.
fn judge(evaluator: &Evaluator, document: Document) -> Result<Answer, Failure> {
    if let Document::Agentevals(input) = &document {
        check_version(evaluator, &input.protocol_version)?;
    }
    let reply = document.reply();
    let answer = match unjudged(evaluator, &document) {
        Some(result) => Answer::Agentevals(result),
        None => match call(evaluator, document) {
            // A conversation without golden turns, or a host that does not send them, is not an error of the evaluator.
            Err(failure) if failure.is_absence() => {
                Answer::Agentevals(EvalResult::not_evaluated(failure.message()))
            }
            answer => answer?,
        },
    };
    match answer {
        Answer::Agentevals(result) => {
            reply.answer(result).map_err(|why| Failure::of(Kind::NotEvaluated, why.to_string()))
        }
        // It was written in those terms.
        answer => {
            let unusable = |why: String| Failure::of(Kind::Answer, why);
            reply.check(&answer).map_err(|why| unusable(why.to_string()))?;
            reply.settle(answer).map_err(|why| unusable(why.to_string()))
        }
    }
}

/// Returns the answer to a document in which an evaluator of the default contract finds no turns.
fn unjudged(evaluator: &Evaluator, document: &Document) -> Option<EvalResult> {
    document.unjudged().filter(|_| evaluator.contract() == Contract::Agentevals.name())
}

fn unreadable(choice: Choice<'_>, error: ReadError) -> Failure {
    match error {
        ReadError::Decode(error) if error.kind == DecodeErrorKind::Empty => {
            let own = choice.only().map(Evaluator::contract);
            let expected = match own.filter(|own| *own != Contract::Agentevals.name()) {
                Some(own) => format!("of {own}"),
                None => "with at least a `metric_name`".to_owned(),
            };
            let message = format!(
                "standard input is empty; expected a JSON document {expected} (see --help)"
            );
            Failure::of(Kind::Input, message)
        }
        ReadError::Decode(error) => Rejection::from(error).into(),
        error => Rejection::new("", error.to_string()).into(),
    }
}

fn check_version(evaluator: &Evaluator, version: &ProtocolVersion) -> Result<(), Failure> {
    static WARNING: Once = Once::new();
    let ours = ProtocolVersion::CURRENT;
    if ours.reads(version) != Compatibility::UnknownMajor {
        return Ok(());
    }
    if evaluator.is_strict() {
        let reason = format!(
            "version {version} is not known; `{}` is strict and reads {}.x only",
            evaluator.name(),
            ours.major()
        );
        return Err(Rejection::new("protocol_version", reason).into());
    }
    // One warning says it all, however many documents of a stream it holds for.
    WARNING.call_once(|| {
        tracing::warn!("protocol version {version} is not known (this program reads {}.x); its documents may be misread", ours.major());
    });
    Ok(())
}

fn call(evaluator: &Evaluator, document: Document) -> Result<Answer, Failure> {
    // Unwind safe: the evaluator shares no state with this crate, and its arguments are dropped.
    catch_unwind(AssertUnwindSafe(|| evaluator.call(document)))
        .unwrap_or_else(|payload| Err(Failure::of(Kind::Panic, panic_message(&*payload))))
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("the evaluator panicked: {}", text.unwrap_or("(no message)"))
}
