//! AgentV's code judges (2.x), code graders (3.x, 4.x) and script graders (5.x).
//!
//! A judge reads a [`CodeJudgeInput`] and answers a [`CodeJudgeResult`]. No document says which version wrote it, so both
//! speak to all of them at once: everything is looked for under the keys of every version, in snake_case and in camelCase, and
//! answers hold the rows of every version.
//!
//! | method | keys, the first that says anything | as a document of agentevals |
//! |---|---|---|
//! | [`question`](CodeJudgeInput::question) | `question`, `input_text`, texts of the user in `input` / `input_messages` | `user_content` of the first turn, if there are no input messages; else dropped if it says anything else |
//! | [`input_messages`](CodeJudgeInput::input_messages) | `input`, `input_messages` | texts of the user, joined by blanks: `user_content` of the first turn. Messages of others, files and images: dropped |
//! | [`expected_outcome`](CodeJudgeInput::expected_outcome) | `criteria`, `expected_outcome` | dropped |
//! | [`expected_messages`](CodeJudgeInput::expected_messages) | `expected_output`, `expected_messages` | golden turns, one up to each message of a user |
//! | [`reference_answer`](CodeJudgeInput::reference_answer) | `reference_answer`, `expected_output_text`, the last expected message, `config.expected` | `final_response` of a golden turn, if there are no expected messages |
//! | [`candidate_answer`](CodeJudgeInput::candidate_answer) | `output` if it is a text, the file at `output_path`, `answer`, `output_text`, `candidate_answer`, the agent's last message | `final_response` of the last turn. A document with neither an answer nor output messages has no turns |
//! | [`output_messages`](CodeJudgeInput::output_messages) | `messages` without the input, `output` if it is an array, `output_messages` | turns, one up to each message of a user |
//! | `tool_calls` of messages | | `tool_calls` (an `input` that is no object stands under `input` in `args`), and `tool_responses` for an `output`. Its `status` is `error` if the events of the trace say so. Times: dropped |
//! | `content` of messages | | `final_response` for the last one of the agent's in a turn; the earlier ones: dropped |
//! | [`trace_summary`](CodeJudgeInput::trace_summary) | `trace_summary`, `trace`, and for usage and times the document itself | `performance_metrics` of every turn: `latency`, `tokens`, `counts`, `tool_names` as agentevals has them; `event_count`, `error_count`, `cost_usd`, `tool_calls_by_name`, `tool_durations`, `start_time`, `end_time` under their own names |
//! | [`trace`](CodeJudgeInput::trace) | `trace` | events and metadata: dropped |
//! | [`token_usage`](CodeJudgeInput::token_usage), `cost_usd`, `duration_ms`, `start_time`, `end_time` | the same, else those in `trace_summary` or `trace` | `performance_metrics`, see above |
//! | [`config`](CodeJudgeInput::config) | `config`, with a block `config` of 2.5 merged into it and names in snake_case | `config` |
//! | [`guideline_files`](CodeJudgeInput::guideline_files) | `guideline_files`, `guideline_paths` | dropped |
//! | [`input_files`](CodeJudgeInput::input_files), `metadata`, `file_changes`, `workspace_path` | the same | dropped |
//! | [`results`](CodeJudgeInput::results) | `results`, in documents for aggregators of composite evaluators | an error: there is no conversation |
//!
//! The `threshold` is that of the default contract (0.5), since AgentV does not send its own; `metric_name` is the evaluator's.
//! What is dropped is listed in [`Converted::dropped`](crate::Converted::dropped). How results are turned around: see
//! [`CodeJudgeResult::from_eval_result`].
//!
//! Scripts that AgentV runs to write prompts read the same document and answer with plain text: they are no judges, and not
//! served.

mod build;
mod content;
mod derived;
mod dropped;
mod from_result;
mod input;
mod member;
mod message;
mod metrics;
mod result;
mod settings;
mod statuses;
mod to_input;
mod trace;
mod turns;
mod wire;
mod words;

pub use content::{Block, Content};
pub use input::CodeJudgeInput;
pub use member::MemberResult;
pub use message::{Message, ToolCall};
pub use result::{Assertion, CodeJudgeResult, DEFAULT_THRESHOLD};
pub use trace::{EventTool, TokenUsage, Trace, TraceEvent, TraceSummary};
pub use words::{EventKind, Role, ToolStatus};
