//! Foreign hosts: the systems that call evaluators. Each is one directory and one row of [`HOSTS`].
//!
//! | capability | files in the host's directory | used by |
//! |---|---|---|
//! | [`ForeignContract`] | `mod.rs`, `document.rs`, `answer.rs` | `contract:` in a configuration, `evaluator serve` |
//! | [`conform::Suite`] | `conform.rs`, `data/` | `evaluator conform` |
//! | [`export::Exporter`] | `export.rs` and its templates | `evaluator export` |
//!
//! All capabilities are optional. The typed documents of a contract are in `evaluator-protocol`, because the SDK needs them
//! without this crate.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
mod answer;
mod call;
pub mod conform;
pub mod export;
mod members;
mod promptfoo;
mod recognize;
mod serve;

use std::fmt;

use evaluator_json as json;
use evaluator_launch::{files, process, runtime};
use evaluator_protocol::Contract;
use evaluator_traces::{
    conversation::{self, Conversation},
    eval_set::{self, EvalCase},
};

use json::{Object, Value};

pub use answer::{Answer, BadAnswer, Status};
#[doc(hidden)]
pub use answer::{answer_from, document, invalid, number, strict_document, unexpected};
#[doc(hidden)]
pub use call::Driver;
pub use call::{Call, function_contracts};
pub use recognize::{Defined, Mismatch, functions_of};
#[doc(hidden)]
pub use recognize::{foreign, missing_key_hint};
#[doc(hidden)]
pub use serve::{Defaults, Question, complete, wants_plain_text};

/// A system that calls evaluators.
#[derive(Debug)]
#[non_exhaustive]
pub struct ForeignHost {
    /// Name in commands, e.g. `agentv`.
    pub name: &'static str,
    /// Name as its authors write it, e.g. `AgentV`.
    pub title: &'static str,
    /// Contract whose documents its evaluators read.
    pub contract: Contract,
    /// Documents and answers of [`contract`](Self::contract), if it is this host's own and not the default one.
    pub(crate) foreign: Option<&'static dyn ForeignContract>,
    /// Conformance test.
    pub(crate) suite: Option<conform::Suite>,
    /// Generator of the files with which the host runs an evaluator.
    pub(crate) exporter: Option<export::Exporter>,
}

/// All foreign hosts. The first one with a contract is the host that defines it.
pub static HOSTS: [&ForeignHost; 5] =
    [&agentevals::HOST, &agentv::HOST, &adk::HOST, &agenta::HOST, &promptfoo::HOST];

/// Returns the host that defines a contract.
#[must_use]
pub fn host_of(contract: Contract) -> &'static ForeignHost {
    HOSTS.into_iter().find(|host| host.contract == contract).unwrap_or(&agentevals::HOST)
}

/// Returns the documents and answers of a contract; `None` for the default contract.
#[must_use]
pub fn foreign_contract(contract: Contract) -> Option<&'static dyn ForeignContract> {
    host_of(contract).foreign
}

/// Documents and answers of a host other than agentevals.
pub trait ForeignContract: fmt::Debug + Send + Sync {
    /// Returns the keys that identify this contract.
    fn keys(&self) -> &'static Keys;

    /// Returns the document that the host would write for a conversation.
    fn document(
        &self,
        settings: &Settings,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Value;

    /// Reads an answer as the host does. `turns` is the number of turns that were judged.
    ///
    /// # Errors
    ///
    /// [`BadAnswer`]: the host would not take the answer as a judgement.
    fn answer(&self, answer: Value, turns: usize) -> Result<Answer, BadAnswer>;

    /// Adds settings that a document does not contain. Returns `None` if the document has another value where its settings
    /// belong.
    fn add_defaults(&self, document: &mut Object, defaults: &Defaults) -> Option<()>;

    /// Reads a document for an evaluator of the default contract, completed by the settings of its entry. `name` is the
    /// evaluator's.
    ///
    /// # Errors
    ///
    /// [`DecodeError`](evaluator_protocol::DecodeError): the document has a field that cannot be converted.
    fn question(
        &self,
        document: evaluator_protocol::Document,
        name: &str,
        defaults: &Defaults,
    ) -> Result<Question, evaluator_protocol::DecodeError> {
        Question::convert(document, name, defaults, false)
    }

    /// Writes an answer for the host, as JSON.
    ///
    /// # Errors
    ///
    /// The reason why the host cannot read it.
    fn write(&self, answer: &evaluator_protocol::Answer) -> Result<String, String> {
        serve::to_json(answer)
    }

    /// Checks that the host reads an answer of this many bytes.
    ///
    /// # Errors
    ///
    /// The limit that it exceeds.
    fn check_size(&self, _bytes: usize) -> Result<(), String> {
        Ok(())
    }

    /// Returns true if a caller that sent `beginning` to `path` is this host and reads errors as plain text only.
    fn wants_plain_text(
        &self,
        _path: &str,
        _contract: Option<Contract>,
        _beginning: &[u8],
    ) -> bool {
        false
    }

    /// Returns the Python functions that the host calls; `None` if it starts programs.
    fn functions(&self) -> Option<&'static Functions> {
        None
    }

    /// Returns true if the documents contain the name of the evaluator.
    fn names_evaluator(&self) -> bool {
        false
    }

    /// Returns true if an answer's own status counts and not its score.
    fn states_status(&self) -> bool {
        false
    }
}

/// Keys that identify a foreign contract.
#[derive(Debug)]
#[non_exhaustive]
pub struct Keys {
    /// Keys that only answers of this contract have.
    pub(crate) answer: &'static [&'static str],
    /// Whether answers may be a number or a boolean instead of an object.
    pub(crate) bare_answers: bool,
    /// Keys that only documents of this contract have.
    pub(crate) document: &'static [&'static str],
    /// Keys of documents that are not common names: a script in which one occurs reads documents of this contract.
    pub(crate) source: &'static [&'static str],
    /// Keys that a document has only if something is given, each with what to give.
    pub(crate) optional: &'static [(&'static str, &'static str)],
}

/// Python functions that a host calls.
pub struct Functions {
    /// Name of the function, if all have the same.
    pub(crate) name: Option<&'static str>,
    /// Returns true if the host would call a function with this name and these parameters.
    pub(crate) is_called: fn(&str, &[String]) -> bool,
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Settings of an evaluator that a document contains.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contract_has_a_host_of_the_same_name() {
        for contract in Contract::ALL {
            let host = host_of(contract);
            assert_eq!((host.contract, host.name), (contract, contract.name()));
            assert_eq!(host.foreign.is_none(), contract == Contract::Agentevals);
        }
    }
}
