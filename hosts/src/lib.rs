//! Foreign hosts: the systems that call evaluators. Each is one directory and one row of [`HOSTS`].
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | capability | files in the host's directory | used by |
//! |---|---|---|
//! | [`ForeignContract`] | `mod.rs`, `document.rs`, `answer.rs` | `contract:` in a configuration, `evaluator serve` |
//! | `conform::Suite` | `conform.rs`, `data/` | `evaluator conform` |
//! | `export::Exporter` | `mod.rs` and its templates | `evaluator export` |
//!
//! All capabilities are optional. A host that only exports needs a directory with `mod.rs` and its row; a host with a
//! contract of its own also needs [`Contract`] and its documents in `evaluator-protocol`. Command line values, messages and
//! conformance reports follow from [`HOSTS`].
//!
//! The typed documents of a contract are in `evaluator-protocol`, because the SDK needs them without this crate.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
mod answer;
mod call;
pub mod conform;
pub mod export;
pub mod library;
mod members;
mod model;
mod promptfoo;
mod question;
mod recognize;
mod serve;

use evaluator_json as json;
use evaluator_launch::{executor, files, process, runtime};
use evaluator_protocol::Contract;
use evaluator_traces::{conversation, eval_set};

#[doc(hidden)]
pub use agentevals::answer::{ANSWER_KEYS, answer_from};
#[doc(hidden)]
pub use agentv::snake_case;
pub use answer::{Answer, BadAnswer, Status};
#[doc(hidden)]
pub use answer::{invalid, number, parse_document, parse_strict_document, unexpected};
#[doc(hidden)]
pub use call::Driver;
pub use call::{Call, function_contracts};
pub(crate) use model::Functions;
pub use model::{ForeignContract, ForeignHost, Settings};
#[doc(hidden)]
pub use question::{Defaults, Question};
pub use recognize::{Defined, Mismatch, functions_of};
#[doc(hidden)]
pub use recognize::{foreign_answer, is_javascript, missing_key_hint, uncalled_function};
#[doc(hidden)]
pub use serve::{complete, wants_plain_text};

/// All foreign hosts. The first one with a contract is the host that defines it.
pub static HOSTS: &[&ForeignHost] =
    &[&agentevals::HOST, &agentv::HOST, &adk::HOST, &agenta::HOST, &promptfoo::HOST];

/// Returns the host that defines a contract.
pub fn host_of(contract: Contract) -> &'static ForeignHost {
    HOSTS.iter().copied().find(|host| host.contract == contract).unwrap_or(&agentevals::HOST)
}

/// Returns the documents and answers of a contract; `None` for the default contract.
pub fn foreign_contract(contract: Contract) -> Option<&'static ForeignContract> {
    host_of(contract).foreign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contract_has_a_host_of_the_same_name() {
        for &contract in Contract::ALL {
            let host = host_of(contract);
            assert_eq!((host.contract, host.name), (contract, contract.name()));
            assert_eq!(host.foreign.is_none(), contract == Contract::Agentevals);
        }
    }
}
