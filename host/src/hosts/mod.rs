//! Contracts of other hosts, for entries that name one: documents in their terms, and answers read as those hosts read them.
//!
//! | file | what |
//! |---|---|
//! | `terms` | `Terms`: the contract of an entry; writes documents and reads answers |
//! | `agentv`, `adk`, `agenta` | one contract each: its document and its answer |
//! | `members` | builds JSON objects |
//! | `foreign` | recognizes answers of other hosts where no contract is named |
//! | `source` | recognizes evaluators of other hosts in source files |
//! | `driver` | calls such functions: the command, and `call.py` |

mod adk;
mod agenta;
mod agentv;
mod driver;
mod foreign;
mod members;
mod source;
mod terms;
#[cfg(test)]
mod tests;

pub use driver::Call;
pub(crate) use driver::Driver;
pub(crate) use foreign::{foreign, host_of, missed};
pub use source::{Defined, Mismatch, functions_of};
pub(crate) use terms::Terms;
