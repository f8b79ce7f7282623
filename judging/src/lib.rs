//! Judging with language models: the settings of judges, the connections of a run to models, and the way from a question to an
//! outcome.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! [`JudgeSettings`] are the keys of `judge:`. A run has one [`Session`]; each evaluator that asks models has a
//! [`Connection`] of it. [`Connection::judge`] plans the questions of a
//! [`Judge`](judge::Judge), asks them, and returns the outcome with its details. Graders of OpenAI's API are in [`grader`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use evaluator_judging::{
//!     Environment, JudgeSettings, Session, Subject, judge::{Case, Criterion, JudgedTurn, judge},
//! };
//! use evaluator_metrics::Outcome;
//! use evaluator_traces::conversation::Turn;
//!
//! let directory = tempfile::tempdir()?;
//! let replies = directory.path().join("replies.jsonl");
//! std::fs::write(&replies, r#""{\"is_the_agent_response_valid\": \"valid\"}""#)?;
//! let mut settings = JudgeSettings::default();
//! settings.models = vec![format!("fake:{}", replies.display())];
//! settings.samples = Some(1);
//!
//! let session = Session::new(settings, Environment::new(|_| None))?;
//! let connection = session.connect("quality", &JudgeSettings::default())?;
//!
//! let (user_text, final_text) = (Some("When?".to_owned()), Some("At 22:40.".to_owned()));
//! let turns = JudgedTurn::of_recording(&[Turn { user_text, final_text, ..Turn::default() }]);
//! let criterion = connection.settings().criterion(Criterion::default());
//! let case = Case::new(&turns, &criterion).expecting(&turns);
//! let subject = Subject::new("final_response_match_v2", "conversation c1");
//! let metric = judge("final_response_match_v2").expect("it is built in");
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let judged = runtime.block_on(connection.judge(&*metric, &case, &subject));
//! assert!(matches!(judged.outcome, Outcome::Scored(scored) if scored.score == 1.0));
//! assert_eq!(session.finish().usage.calls, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Concurrency
//!
//! All samples of a question, all questions about a conversation and all evaluations are asked at the same time, as far as
//! the queues of the servers permit. A call that waits for its queue occupies no thread. Votes are counted by the number of
//! their sample, so that a report does not depend on the order of the answers. Models whose replies belong to the calls by
//! their order (`fake:FILE`) are asked one call at a time, one evaluation after the other.
//!
//! # Time
//!
//! [`Subject::time_limit`] limits the time in calls. The time in queues does not count.

mod asked;
mod calls;
mod connection;
mod details;
mod drive;
pub mod grader;
pub mod judge;
mod pieces;
mod prices;
mod programs;
mod read;
mod session;
mod settings;
mod shared;
mod subject;
mod usage;

pub use asked::SentPrompt;
pub use calls::{Called, Wanted, ask_until, call};
pub use connection::{Connection, Identity};
pub use drive::Judged;
pub use pieces::{Piece, Pieces};
pub use prices::PriceTable;
pub use programs::ProgramModels;
pub use read::{
    Paths, parse_budget, read, read_model_options, read_programs, read_pydantic_number,
};
pub use session::{Environment, Session, Summary};
pub use settings::{DEFAULT_MODEL, JudgeSettings, PromptFile};
pub use subject::Subject;
pub use usage::CallUsage;

/// Revision of the judges and graders of this crate.
const REVISION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests;
