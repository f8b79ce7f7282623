//! Metrics that a model judges, without the model: its questions, how replies are read, and the result.
//!
//! A [`Judge`] plans [`Question`]s about a conversation. The caller asks a model each of them as often as the question
//! says, in any order, asks follow-up questions, and hands all answers back. So the number of calls in flight, retries and
//! recordings are the business of the caller alone.
//!
//! ```
//! use evaluator_judging::judge::{Answer, Case, Criterion, Judge, JudgedTurn, Member, judge};
//! use evaluator_traces::conversation::Turn;
//!
//! let (user_text, final_text) = (Some("When?".to_owned()), Some("At 22:40.".to_owned()));
//! let turns = JudgedTurn::of_recording(&[Turn { user_text, final_text, ..Turn::default() }]);
//! let criterion = Criterion { samples: 1, ..Criterion::default() };
//! let case = Case::new(&turns, &criterion).expecting(&turns);
//! let judge = judge("final_response_match_v2").unwrap();
//!
//! let planned = judge.plan(&case).unwrap();
//! let question = planned[0].clone();
//! let messages = question.messages().unwrap();
//! assert!(messages.last().unwrap().content.contains("At 22:40."));
//!
//! // A model is asked here.
//! let reply = Answer::text(r#"{"is_the_agent_response_valid": "valid"}"#);
//! let asked = [judge.asked(&case, question, &[reply])];
//! let judgement = judge.aggregate(&case, &planned, &Member::only(&asked)).unwrap();
//! assert_eq!(judgement.score, Some(1.0));
//! ```

mod answer;
mod built_in;
mod case;
mod code;
mod conclusion;
mod criterion;
mod details;
mod final_response_match;
mod hallucinations;
mod interface;
mod judgement;
pub mod llm_judge;
mod material;
mod metric;
mod panel;
mod prompt;
mod question;
mod refusal;
pub mod reply;
mod rubric_final_response;
mod rubric_multi_turn;
mod rubric_tool_use;
mod rubrics;
pub mod scheme;
mod tally;
mod template;
mod user_simulator;
mod votes;

pub use answer::{Answer, Asked, Reading, Reply, Vote};
pub use built_in::judge;
#[cfg(test)]
use built_in::judges;
pub use case::Case;
pub use code::Code;
pub use conclusion::Conclusion;
pub use criterion::{Criterion, OnDisagreement, OnFailure, Rules};
pub use interface::Judge;
pub use judgement::{Judgement, RubricScore, Scores, Status, TurnJudgement};
pub use material::{
    Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Scenario, Steps,
};
pub use metric::JudgeMetric;
pub use panel::Member;
pub use prompt::{PROMPTS, Prompt, Prompts};
pub use question::{Question, Variables, Wording};
pub use refusal::Refusal;
pub use tally::{Cause, Tally, TurnProblem};
pub use template::{Template, TemplateError};
pub use votes::{Order, Panel, Votes};

#[cfg(test)]
mod tests;
