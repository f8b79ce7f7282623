//! Runs: plan, execute, report.
//!
//! | file | contents |
//! |---|---|
//! | `runner` | [`Runner`]: registries and settings |
//! | `stages` | the stages of a run |
//! | `work` | evaluators of a plan and their programs |
//! | `plan`, `program`, `fetch` | [`Plan`]: metrics looked up, programs fetched, built and configured |
//! | `program_file` | the file of a program, and errors about it |
//! | `feed` | conversations as an execution takes them: of an index, or of a stream |
//! | `conversations`, `loaders` | the conversations of an index, loaded on other threads |
//! | `conversation_source`, `recordings` | conversations in place of those of traces; conversations of traces without a run |
//! | `decide` | runs that end as soon as their gates are decided |
//! | `attributes`, `cases` | attributes that decide cases, clusters and slices; the cases, counted before a run |
//! | `execute` | every evaluator on every conversation |
//! | `prepared`, `retry`, `reuse` | one evaluator: its workers, its evaluations, retries and shared work |
//! | `judging`, `grading`, `python_grader` | evaluators that ask models, and graders |
//! | `session`, `model_program` | the session of a run with models, programs in place of models |
//! | `recording`, `document`, `foreign` | the input of evaluators and its forms |
//! | `evaluation_report` | the report of an evaluation |
//! | `transcripts` | what the run file keeps of the conversations themselves |
//! | `context` | working directory, variables and limits of a program |
//! | `snapshot` | the files of a program at the start of the run |
//! | `permits` | permits to start an evaluation |
//! | `pipe`, `lines`, `window` | runs over a stream: a conversation on each line, a record for each |
//! | `identity`, `fingerprint` | fingerprints of evaluators, and the header of the run file |
//! | `preview` | what an evaluator gets, before it does |
//! | `outline` | what a run is before it has conversations: its header, and what its programs were prepared from |
//! | `check`, `describe`, `examine` | checks of a configuration before a run |
//! | `inspect` | conversations of trace files, without evaluation |
//! | `diagnosis` | hints about unusable input files |
//! | `suite` | [`Suite`]: cases that are graded as wholes |
//! | `resident` | evaluators that stay prepared for documents from outside |
//! | `event` | [`RunEvent`]: progress of a run |

mod attributes;
mod cases;
mod check;
mod containment;
mod context;
mod conversation_source;
mod conversations;
mod decide;
mod describe;
mod diagnosis;
mod document;
mod evaluation_report;
mod event;
mod examine;
mod execute;
mod feed;
mod fetch;
mod fingerprint;
mod foreign;
mod grading;
mod hidden;
mod identity;
mod inspect;
mod judging;
mod library;
mod lines;
mod loaders;
mod model_program;
mod outline;
mod permits;
mod pipe;
mod plan;
mod prepared;
mod preview;
mod program;
mod program_file;
mod python_grader;
mod recording;
mod recordings;
mod resident;
mod retry;
mod reuse;
mod runner;
mod session;
mod snapshot;
mod stages;
mod suite;
mod target;
mod transcripts;
mod window;
mod work;

#[cfg(test)]
mod tests;

pub use check::Finding;
pub use conversation_source::{Arrival, ConversationSource, ConversationStream, JoinedTraces};
pub use describe::{Description, describe};
pub use event::RunEvent;
pub use examine::{Examination, conforms};
pub use fingerprint::expected_cases;
pub use identity::BUNDLED;
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
pub use suite::{CaseIdentity, CaseResult, Grading, ProgramOutput, Programs, Suite, SuiteProgram};
pub use transcripts::CaseTranscript;
pub use work::PlannedEvaluator;
