//! Runs: plan, execute, report. `evaluator_engine` executes them.
//!
//! | file | contents |
//! |---|---|
//! | `runner` | [`Runner`]: registries and settings |
//! | `stages` | the stages of a run |
//! | `plan`, `program`, `fetch` | [`Plan`]: metrics looked up, programs fetched, built and configured |
//! | `program_file` | the file of a program, and errors about it |
//! | `recordings` | conversations of traces without a run |
//! | `cases` | the cases, counted before a run |
//! | `library` | metrics of other libraries, asked before a run |
//! | `session`, `model_program` | the session of a run with models, programs in place of models |
//! | `pipe`, `lines`, `window` | runs over a stream: a conversation on each line, a record for each |
//! | `fingerprint` | fingerprints of evaluators, and the header of the run file |
//! | `preview` | what an evaluator gets, before it does |
//! | `outline` | what a run is before it has conversations: its header, and what its programs were prepared from |
//! | `check`, `containment`, `examine` | checks of a configuration before a run |
//! | `inspect` | conversations of trace files, without evaluation |
//! | `diagnosis` | hints about unusable input files |
//! | `resident` | evaluators that stay prepared for documents from outside |

mod cases;
mod check;
mod containment;
mod diagnosis;
mod examine;
mod fetch;
mod fingerprint;
mod inspect;
mod library;
mod lines;
mod model_program;
mod outline;
mod pipe;
mod plan;
mod preview;
mod program;
mod program_file;
mod recordings;
mod resident;
mod runner;
mod session;
mod stages;
mod window;

#[cfg(test)]
mod tests;

pub use check::Finding;
pub use evaluator_engine::{
    conversation_source::{Arrival, ConversationSource, ConversationStream, JoinedTraces},
    describe::{Description, describe},
    event::RunEvent,
    identity::BUNDLED,
    suite::{CaseIdentity, CaseResult, Grading, ProgramOutput, Programs, Suite, SuiteProgram},
    transcripts::CaseTranscript,
    work::PlannedEvaluator,
};
pub use examine::{Examination, conforms};
pub use fingerprint::expected_cases;
pub use inspect::{Inspection, invocations};
pub use library::LibraryEntry;
pub use lines::{Lines, Piped};
pub use outline::{Outline, OutlinedProgram};
pub use pipe::PipeError;
pub use plan::Plan;
pub use preview::Preview;
pub use recordings::{Extractor, Recordings, turns_document};
pub use resident::{Resident, Residents};
pub use runner::Runner;
pub use stages::{OneConversation, Request, SuiteInput};
