//! Whether a program can be trusted as an evaluator under the hosts there are: plays their documents at it, and documents
//! that are broken, and says of each what that host would record.
//!
//! It judges by bytes alone, so a program may be written in anything. Each host is a table of what it does with an exit
//! status, with what stands on standard output and on standard error, as measured on real releases:
//!
//! | stage | gives |
//! |---|---|
//! | [`Program`] | the command line that is tried |
//! | [`Case`] | one document as a host sends it, or a fault, and what is expected of a good program |
//! | [`recorded`] | what a host makes of the end of a process, as a pure function |
//! | [`Kit`] | runs the cases, and gives a [`Conformance`] |
//!
//! A good program answers the documents of a host in that host's terms, or refuses them: with a message on standard error,
//! nothing on standard output, an exit code other than 0. It refuses what is not a document, reads its input to the end
//! whatever it thinks of it, and is never ended by a signal. Under every host that is the only way for an error not to
//! look like a judgement of the agent, or at least to come with its message.

mod case;
mod documents;
mod faults;
mod host;
mod hosts;
mod kit;
mod program;
mod recorded;
mod reply;
mod report;
mod settings;

pub use case::{Case, Kind};
pub use host::{Host, UnknownHost};
pub use hosts::recorded;
pub use kit::{Kit, KitError};
pub use program::{Program, ProgramError};
pub use recorded::{Fate, Recorded, Row};
pub use report::{CaseReport, Conformance, HostReport, Manner, Standing};
