//! The conversations of a run, each loaded before it is evaluated.

use std::{ops::Range, path::Path, sync::Arc};

use crate::{
    conversation::{
        Conventions, Conversation, Group, GroupBy, GroupedBy, Groups, extract_group, group_indexed,
    },
    report::run_file::{Digest, Digester},
    trace::{ReadError, TraceIndex},
};

/// Maximum number of conversations in a batch, and of bytes of their text: enough to make sending a batch cheap, few enough
/// to keep several in memory.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

/// The conversations of a run in order, as an index into trace files.
#[derive(Debug)]
pub(super) struct Conversations {
    index: TraceIndex,
    /// The traces of each.
    groups: Groups,
    grouped_by: GroupedBy,
    conventions: Conventions,
}

impl Conversations {
    /// Groups the traces. `eval_set_has_multi_turn` is true if a golden conversation has more than one turn.
    pub(super) fn new(
        index: TraceIndex,
        conventions: Conventions,
        group_by: GroupBy,
        eval_set_has_multi_turn: bool,
    ) -> Self {
        let (groups, grouped_by) =
            group_indexed(&index, &conventions, group_by, eval_set_has_multi_turn);
        Self { index, groups, grouped_by, conventions }
    }

    /// Returns how traces were grouped.
    pub(super) fn grouped_by(&self) -> GroupedBy {
        self.grouped_by
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns the trace id of a conversation without loading it.
    pub(super) fn trace_id(&self, number: usize) -> Arc<str> {
        let first = self.groups.get(number).next();
        first.map_or_else(|| Arc::from(""), |trace| self.index.trace_id(trace))
    }

    /// Returns the digest of the trace ids of all conversations, in order. Runs over the same inputs have the same.
    pub(super) fn digest(&self) -> Digest {
        let digester = Digester::new("inputs");
        let ids = (0..self.len()).map(|number| self.trace_id(number));
        ids.fold(digester, |digester, id| digester.bytes("trace id", id.as_bytes())).finish()
    }

    /// Returns the file of a conversation without loading it; `None` for the standard input.
    pub(super) fn trace_file(&self, number: usize) -> Option<Arc<str>> {
        self.groups.get(number).next().and_then(|trace| shown(self.index.file(trace)))
    }

    /// Returns the length of the text of a conversation in bytes.
    pub(super) fn size(&self, number: usize) -> usize {
        self.groups.get(number).map(|trace| self.index.size(trace)).sum()
    }

    /// Returns the conversations that are loaded together, from `first` on.
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
        let group = Group::new(traces.iter().map(AsRef::as_ref).collect());
        Ok(extract_group(&group, &self.conventions))
    }
}

/// Returns the text of a trace file's path in reports; `None` for the standard input.
pub(super) fn shown(file: &Path) -> Option<Arc<str>> {
    (file != Path::new("-")).then(|| file.to_string_lossy().into())
}
