//! The conversations of a run, loaded when their turn comes.

use std::{ops::Range, sync::Arc};

use crate::{
    conversation::{Conversation, Group, GroupBy, GroupedBy, Groups, extract_group, group_indexed},
    trace::{ReadError, TraceIndex},
};

/// Conversations that are loaded at a time, at most, and how long their text may be in all. Long enough that handing
/// them over costs little, and short enough that it does not matter to hold some.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

/// The conversations of a run in order; none of them is in memory.
#[derive(Debug)]
pub(super) struct Conversations {
    index: TraceIndex,
    /// The traces of each.
    groups: Groups,
    grouped_by: GroupedBy,
}

impl Conversations {
    /// `eval_set_has_multi_turn` says whether a golden conversation has more than one turn.
    pub(super) fn new(index: TraceIndex, group_by: GroupBy, eval_set_has_multi_turn: bool) -> Self {
        let (groups, grouped_by) = group_indexed(&index, group_by, eval_set_has_multi_turn);
        Self { index, groups, grouped_by }
    }

    /// How traces were grouped.
    pub(super) fn grouped_by(&self) -> GroupedBy {
        self.grouped_by
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The trace id by which a conversation is told of that is never loaded.
    pub(super) fn trace_id(&self, number: usize) -> Arc<str> {
        let first = self.groups.get(number).next();
        first.map_or_else(|| Arc::from(""), |trace| self.index.trace_id(trace))
    }

    /// How long the text of a conversation is, in bytes.
    pub(super) fn size(&self, number: usize) -> usize {
        self.groups.get(number).map(|trace| self.index.size(trace)).sum()
    }

    /// The conversations that are loaded together, from `first` on.
    pub(super) fn batch(&self, first: usize) -> Range<usize> {
        let mut bytes = 0;
        let end = (first..self.len().min(first + BATCH)).find(|number| {
            bytes += self.size(*number);
            bytes >= BATCH_BYTES
        });
        first..end.map_or(self.len().min(first + BATCH), |last| last + 1)
    }

    /// Reads the traces of a conversation and extracts it. Blocks.
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or has changed.
    pub(super) fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        let traces: Vec<_> = self
            .groups
            .get(number)
            .map(|trace| self.index.read(trace))
            .collect::<Result<_, _>>()?;
        Ok(extract_group(&Group::new(traces.iter().map(AsRef::as_ref).collect())))
    }
}
