//! Foreign hosts: documents and answers, conformance test, exports.

use evaluator_protocol::{Contract, DecodeError, Document};

use super::{
    answer::{Answer, BadAnswer},
    conform::Suite,
    export::Exporter,
    question::{self, Defaults, Question},
};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{Object, Value},
};

/// A system that calls evaluators.
#[derive(Debug)]
pub struct ForeignHost {
    /// Name in commands, e.g. `agentv`.
    pub name: &'static str,
    /// Name as its authors write it, e.g. `AgentV`.
    pub title: &'static str,
    /// Contract whose documents its evaluators read.
    pub contract: Contract,
    /// Documents and answers of [`contract`](Self::contract), if it is this host's own and not the default one.
    pub(crate) foreign: Option<&'static ForeignContract>,
    /// Conformance test.
    pub(crate) suite: Option<Suite>,
    /// Generator of the files with which the host runs an evaluator.
    pub(crate) exporter: Option<Exporter>,
}

/// Documents and answers of a host other than agentevals.
#[derive(Debug)]
pub struct ForeignContract {
    /// Keys that only answers of this contract have.
    pub(crate) answer_keys: &'static [&'static str],
    /// Whether answers may be a number or a boolean instead of an object.
    pub(crate) bare_answers: bool,
    /// Keys that only documents of this contract have.
    pub(crate) document_keys: &'static [&'static str],
    /// Keys of documents that are not common names: a script in which one occurs reads documents of this contract.
    pub(crate) source_keys: &'static [&'static str],
    /// Keys that a document has only if something is given, each with what to give.
    pub(crate) optional_keys: &'static [(&'static str, &'static str)],
    /// Python functions that the host calls; `None` if it starts programs.
    pub(crate) functions: Option<Functions>,
    /// Whether documents contain the name of the evaluator.
    pub names_evaluator: bool,
    /// Whether the status of an answer counts, and not its score.
    pub states_status: bool,
    /// Maximum size of an answer, in bytes.
    pub max_answer: usize,
    /// Returns the document that the host would write for a conversation.
    pub document: fn(&Settings, &Conversation, Option<&EvalCase>) -> Value,
    /// Reads an answer as the host does. The number is that of the turns that were judged.
    pub answer: fn(Value, usize) -> Result<Answer, BadAnswer>,
    /// Adds settings that a document does not contain. Returns `None` if the document has another value in their place.
    pub(crate) add_defaults: fn(&mut Object, &Defaults) -> Option<()>,
    /// Converts a document to the default contract, and adds settings that it does not contain. The text is the name of the
    /// evaluator.
    pub(crate) question: fn(Document, &str, &Defaults) -> Result<Question, DecodeError>,
    /// Writes an answer for the host, as JSON. Fails if the host cannot read it.
    pub write: fn(&evaluator_protocol::Answer) -> Result<String, String>,
    /// Returns true if a client is this host and reads errors as plain text only, given the path of its request, the contract
    /// of its document if that is known, and the beginning of the document.
    pub(crate) wants_plain_text: fn(&str, Option<Contract>, &[u8]) -> bool,
}

impl ForeignContract {
    /// Returns a contract without keys, whose host starts programs.
    pub(super) const fn new(
        document: fn(&Settings, &Conversation, Option<&EvalCase>) -> Value,
        answer: fn(Value, usize) -> Result<Answer, BadAnswer>,
        add_defaults: fn(&mut Object, &Defaults) -> Option<()>,
    ) -> Self {
        Self {
            answer_keys: &[],
            bare_answers: false,
            document_keys: &[],
            source_keys: &[],
            optional_keys: &[],
            functions: None,
            names_evaluator: false,
            states_status: false,
            max_answer: usize::MAX,
            document,
            answer,
            add_defaults,
            question: |document, name, defaults| Question::convert(document, name, defaults, false),
            write: question::to_json,
            wants_plain_text: |_, _, _| false,
        }
    }
}

/// Python functions that a host calls.
#[derive(Debug)]
pub(crate) struct Functions {
    /// Name of the function, if all have the same.
    pub(super) name: Option<&'static str>,
    /// Its parameters, in messages.
    pub(super) parameters: &'static str,
    /// Returns true if the host would call a function with this name and these parameters.
    pub(super) is_called: fn(&str, &[String]) -> bool,
}

/// Settings of an evaluator that a document contains.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the evaluator.
    pub metric_name: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// Its `config`.
    pub config: Object,
}

impl Settings {
    /// Settings of the evaluator `metric_name`.
    pub fn new(metric_name: impl Into<String>, threshold: f64, config: Object) -> Self {
        Self { metric_name: metric_name.into(), threshold, config }
    }
}
