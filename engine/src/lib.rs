//! Evaluates cases: takes prepared evaluators and a source of conversations, and writes verdicts into a run file.
//!
//! This crate makes no promise of stability; `evaluator-host` reads configurations, prepares evaluators and re-exports what
//! programs that embed it need.
//!
//! | module | contents |
//! |---|---|
//! | [`work`] | evaluators that are prepared to run, and their programs |
//! | [`settings`] | settings of an execution |
//! | `feed` | conversations as an execution takes them: of an index, or of a stream |
//! | [`conversations`], `loaders` | the conversations of an index, loaded on other threads |
//! | [`conversation_source`] | conversations in place of those of traces |
//! | [`decide`] | runs that end as soon as their gates are decided |
//! | [`attributes`] | attributes that decide cases, clusters and slices |
//! | [`execute`] | every evaluator on every conversation |
//! | [`prepared`], [`retry`], `reuse` | one evaluator: its workers, its evaluations, retries and shared work |
//! | [`pool`] | workers: processes that evaluate one document after the other |
//! | [`judged`], [`grading`], [`python_grader`] | evaluators that ask models, and graders |
//! | [`linked`] | evaluators that are linked into this program |
//! | [`target`] | models that a program may ask |
//! | [`recording`], [`document`], `foreign` | the input of evaluators and its forms |
//! | [`verdict`] | the result of an evaluation: an answer, or the error of the evaluator |
//! | `evaluation_report` | the report of an evaluation |
//! | [`transcripts`] | what the run file keeps of the conversations themselves |
//! | [`context`], `hidden` | working directory, variables and limits of a program, and hints about them |
//! | [`snapshot`], [`identity`] | the files of a program at the start of the run; fingerprints |
//! | [`permits`] | permits to start an evaluation |
//! | [`describe`] | the description of a program |
//! | [`suite`] | cases that are graded as wholes |
//! | [`event`] | progress of a run |

pub mod attributes;
pub mod context;
pub mod conversation_source;
pub mod conversations;
pub mod decide;
pub mod describe;
pub mod document;
mod evaluation_report;
pub mod event;
pub mod execute;
mod feed;
mod foreign;
pub mod grading;
mod hidden;
pub mod identity;
pub mod judged;
pub mod linked;
mod loaders;
pub mod permits;
pub mod pool;
pub mod prepared;
pub mod python_grader;
pub mod recording;
pub mod retry;
mod reuse;
pub mod settings;
pub mod snapshot;
pub mod suite;
pub mod target;
pub mod transcripts;
pub mod verdict;
pub mod work;

use evaluator_hosts as hosts;
use evaluator_json as json;
use evaluator_judging as judging;
use evaluator_launch::{executor, files, panic, process, runtime};
use evaluator_metrics as metric;
use evaluator_models as models;
use evaluator_results as report;
use evaluator_traces::{conversation, eval_set, trace};
