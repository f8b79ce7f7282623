//! Tool calls of a turn: from the spans of the tools, from the messages, or from both together.

mod pairing;
mod parts;
mod spans;

pub(super) use pairing::complete_from_parts;
pub(super) use parts::calls_in_parts;
pub(super) use spans::calls_in_spans;
