//! Conformance tests: sends the documents of hosts, and broken documents, to a program, and reports what each host would record.
//!
//! A program is judged by its bytes and exit status alone, so it may be written in any language. The behaviour of each host
//! was measured on real releases.
//!
//! | type | meaning |
//! |---|---|
//! | [`Program`] | the command line that is tested |
//! | `Suite` | releases of a host, their documents, and what they record of a process |
//! | [`Tester`] | runs the suites, and returns a [`Conformance`] |
//!
//! A good program answers the documents of a host in that host's form, or refuses them: with a message on standard error,
//! nothing on standard output, and an exit code other than 0. It refuses what is not a document, reads its input to the end,
//! and is never ended by a signal. Under every host this is the only way for an error not to look like a judgement of the
//! agent, or at least to be recorded with its message.
//!
//! Conformance is judged by bytes. The code knows nothing of this project's own contracts, so it can test them as it
//! tests any other program. What a host records for an exit of a process is a pure function, tested row by row against
//! recordings of real releases.

mod case;
mod model;
mod record;
mod registry;
mod report;
mod tester;

pub use case::Kind;
pub(super) use case::{Base, Case};
pub use model::Release;
pub(crate) use model::Suite;
pub(super) use record::{
    NOT_EVALUATED, disguise, finished, javascript_json, javascript_text, message, number,
    pydantic_float, python_json, untimely,
};
pub use record::{Outcome, Recorded, Row};
pub use registry::UnknownHost;
pub use report::{Behavior, CaseReport, Conformance, HostReport, Standing};
#[doc(hidden)]
pub use tester::prepare_on_thread;
#[doc(hidden)]
pub use tester::run_concurrently;
pub use tester::{ConformError, Program, Tester};

/// Returns the text of a file in the host's directory `data`.
macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("data/", $name, ".json")).trim_ascii_end()
    };
}
pub(super) use data;

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
