//! Recorded agent traces: file formats, conversations, and the eval sets with which they are compared.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | module | contents |
//! |---|---|
//! | [`trace`] | trace files: formats, decoding, and an index of files of any size |
//! | [`conversation`] | conversations: turns with messages, model calls and tool calls, from spans of any convention |
//! | [`eval_set`] | golden conversations, and the one that belongs to a recording |
//!
//! A trace file is loaded as a whole, or one trace at a time through a [`trace::TraceIndex`]. Its format is detected from
//! its content; [`trace::TraceFormats`] is the registry of formats, to which a program can add its own. This example prints
//! the conversations of a file:
//!
//! ```
//! use std::path::Path;
//!
//! use evaluator_traces::{
//!     conversation::{GroupBy, extract},
//!     trace::{TraceFormats, load_file},
//! };
//!
//! let file = load_file(Path::new("../examples/traces/booking.json"), &TraceFormats::default())?;
//! assert!(file.unusable.is_empty());
//! for conversation in extract(&file.traces, GroupBy::Auto, false) {
//!     println!("conversation {}", conversation.trace_id);
//!     for turn in &conversation.turns {
//!         println!("  user:  {}", turn.user_text.as_deref().unwrap_or("(not recorded)"));
//!         for call in &turn.tool_calls {
//!             println!("  tool:  {}", call.name);
//!         }
//!         println!("  agent: {}", turn.final_text.as_deref().unwrap_or("(not recorded)"));
//!     }
//! }
//! # Ok::<(), evaluator_traces::trace::LoadError>(())
//! ```

pub mod conversation;
pub mod eval_set;
pub mod trace;

pub use evaluator_json as json;
