//! A whole run: plan, execute, report.
//!
//! | file | what |
//! |---|---|
//! | `runner` | [`Runner`]: the registries and limits of a run, and its stages in order |
//! | `check` | whether everything is there that a configuration names |
//! | `describe` | what a program says of itself |
//! | `fetch` | the evaluators that come from sources |
//! | `plan` | a configuration made ready: metrics looked up, programs found, built and probed |
//! | `conversations` | the conversations of a run, loaded when their turn comes |
//! | `inspect` | the conversations of trace files, without evaluating them |
//! | `subject` | a conversation with its golden case |
//! | `document` | the text an evaluator reads |
//! | `program` | the programs of a plan: where they are, and making them ready |
//! | `context` | what a program runs in: its working directory, variables and limits |
//! | `ready` | one evaluator during a run: its workers, its evaluations |
//! | `told` | what is told of an evaluation |
//! | `reuse` | evaluations that are forked from a server or share compiled code |
//! | `snapshot` | the files that make a program, as they were when the run began |
//! | `permits` | who may begin: a bounded number at a time, and nobody after a stop |
//! | `retry` | trying again what may have gone wrong by chance |
//! | `execute` | every evaluator on every conversation, a bounded number at a time |
//! | `fingerprint` | fingerprints of evaluators, for the run file |
//! | `service` | evaluators that are kept ready for documents from outside |
//! | `terms` | foreign contracts of entries: their documents and answers |
//! | `event` | what a caller can show while it waits |

mod check;
mod context;
mod conversations;
mod describe;
mod diagnosis;
mod document;
mod evaluation_report;
mod event;
mod examine;
mod execute;
mod fetch;
mod fingerprint;
mod foreign;
mod inspect;
mod loaders;
mod permits;
mod plan;
mod prepared;
mod program;
mod recording;
mod retry;
mod reuse;
mod runner;
mod service;
mod snapshot;

#[cfg(test)]
mod tests;

pub use check::Finding;
pub use describe::{Description, describe};
pub use event::RunEvent;
pub use examine::Examination;
pub use inspect::{Inspection, invocations};
pub use plan::{Plan, PlannedEvaluator};
pub use runner::{Request, Runner};
pub use service::{Answered, Offered, Refusal, Service, Unservable, name_of};
