//! The conversations of a run, each loaded before it is evaluated.

use std::{ops::Range, path::Path, sync::Arc};

use super::{
    attributes::Attributes,
    conversation_source::ConversationSource,
    suite::{Suite, conversation},
};
use crate::{
    conversation::{
        Conventions, Conversation, Group, GroupBy, GroupedBy, Groups, attribute_names,
        extract_group, group_indexed,
    },
    report::run_file::{Digest, Digester, Shard},
    trace::{ReadError, TraceIndex},
};

/// Maximum number of conversations in a batch, and of bytes of their text: enough to make sending a batch cheap, few enough
/// to keep several in memory.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 256 << 10;

/// The conversations of a run in order: an index into trace files, the cases of a suite, or those of a source.
#[derive(Debug)]
pub struct Conversations {
    origin: Origin,
    only: Option<Only>,
    /// Whether further ones arrive while these are evaluated.
    are_streamed: bool,
    /// The share that is evaluated.
    shard: Option<Shard>,
    /// Attributes whose values are read.
    attributes: Attributes,
}

/// The only conversation of a run that is evaluated.
#[derive(Clone, Copy, Debug)]
struct Only {
    /// Its position among those of the origin.
    position: usize,
    /// Number of conversations of the run that it is of.
    of: usize,
}

#[derive(Debug)]
enum Origin {
    Traces(Box<Traces>),
    Suite(Arc<dyn Suite>),
    Source(Arc<dyn ConversationSource>),
}

/// Conversations in trace files.
#[derive(Debug)]
struct Traces {
    index: TraceIndex,
    /// The traces of each.
    groups: Groups,
    conventions: Conventions,
}

impl Conversations {
    /// Groups the traces, and returns how. `eval_set_has_multi_turn` is true if a golden conversation has more than one turn.
    pub fn new(
        mut index: TraceIndex,
        conventions: Conventions,
        group_by: GroupBy,
        eval_set_has_multi_turn: bool,
        attributes: Attributes,
    ) -> (Self, GroupedBy) {
        let (groups, grouped_by) =
            group_indexed(&index, &conventions, group_by, eval_set_has_multi_turn);
        index.end_grouping();
        let origin = Origin::Traces(Box::new(Traces { index, groups, conventions }));
        (Self::of(origin, attributes), grouped_by)
    }

    /// Returns the conversations that stand for the cases of a suite.
    pub fn of_suite(suite: Arc<dyn Suite>, attributes: Attributes) -> Self {
        Self::of(Origin::Suite(suite), attributes)
    }

    /// Returns the conversations of a source, which has read the values of attributes.
    pub fn of_source(source: Arc<dyn ConversationSource>, attributes: Attributes) -> Self {
        Self::of(Origin::Source(source), attributes)
    }

    /// Returns those of a stream, none of which is known in advance.
    pub fn of_stream(attributes: Attributes) -> Self {
        let (index, groups) = (TraceIndex::default(), Groups::default());
        let traces = Traces { index, groups, conventions: Conventions::default() };
        Self { are_streamed: true, ..Self::of(Origin::Traces(Box::new(traces)), attributes) }
    }

    fn of(origin: Origin, attributes: Attributes) -> Self {
        Self { origin, only: None, are_streamed: false, shard: None, attributes }
    }

    /// Returns true if they arrive while others are evaluated.
    pub fn are_streamed(&self) -> bool {
        self.are_streamed
    }

    /// Returns the attributes whose values are read.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Keeps only the conversation with this trace id, of a run with `of` conversations; `None` if there is none.
    pub fn only(self, trace_id: &str, of: usize) -> Option<Self> {
        let position = (0..self.len()).find(|number| *self.trace_id(*number) == *trace_id)?;
        Some(Self { only: Some(Only { position, of }), ..self })
    }

    /// Evaluates only a share of the conversations.
    pub fn of_shard(self, shard: Option<Shard>) -> Self {
        Self { shard, ..self }
    }

    /// Returns the numbers of the conversations that are evaluated; `None` if all are.
    pub(crate) fn share(&self) -> Option<Vec<usize>> {
        let shard = self.shard?;
        Some((0..self.len()).filter(|number| shard.has(&self.trace_id(*number))).collect())
    }

    /// Returns true if only one of the conversations is evaluated.
    pub fn is_one_of_a_run(&self) -> bool {
        self.only.is_some()
    }

    /// Returns the number of conversations of the run, with those that are left out. One of a stream is never the only one.
    pub fn of_run(&self) -> usize {
        match &self.origin {
            _ if self.are_streamed => usize::MAX,
            Origin::Source(source) => source.of_run(),
            _ => self.only.map_or_else(|| self.len(), |only| only.of),
        }
    }

    /// Returns true if an evaluator is asked about a conversation.
    pub(crate) fn asks(&self, number: usize, evaluator: &str) -> bool {
        match &self.origin {
            Origin::Source(source) => source.asks(number, evaluator),
            _ => true,
        }
    }

    /// Returns the position of a conversation in its origin.
    pub fn position(&self, number: usize) -> usize {
        self.only.map_or(number, |only| only.position)
    }

    /// Returns the number of conversations.
    pub fn len(&self) -> usize {
        match &self.origin {
            _ if self.only.is_some() => 1,
            Origin::Traces(traces) => traces.groups.len(),
            Origin::Suite(suite) => suite.ids().len(),
            Origin::Source(source) => source.len(),
        }
    }

    /// Returns true if there is no conversation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the trace id of a conversation without loading it.
    pub fn trace_id(&self, number: usize) -> Arc<str> {
        let number = self.position(number);
        let id = match &self.origin {
            Origin::Traces(traces) => {
                let first = traces.groups.get(number).next();
                first.map(|trace| traces.index.trace_id(trace))
            }
            Origin::Suite(suite) => suite.ids().get(number).cloned(),
            Origin::Source(source) => Some(source.trace_id(number)),
        };
        id.unwrap_or_else(|| Arc::from(""))
    }

    /// Returns the digest of the trace ids of all conversations, in order. Runs over the same inputs have the same.
    pub fn digest(&self) -> Digest {
        let digester = Digester::new("inputs");
        let ids = (0..self.len()).map(|number| self.trace_id(number));
        ids.fold(digester, |digester, id| digester.bytes("trace id", id.as_bytes())).finish()
    }

    /// Returns the file of a conversation without loading it; `None` for the standard input.
    pub fn trace_file(&self, number: usize) -> Option<Arc<str>> {
        let number = self.position(number);
        match &self.origin {
            Origin::Traces(traces) => {
                let first = traces.groups.get(number).next();
                first.and_then(|trace| shown(traces.index.file(trace)))
            }
            Origin::Suite(suite) => shown(suite.file()),
            Origin::Source(_) => None,
        }
    }

    /// Returns the length of the text of a conversation in bytes.
    pub(crate) fn size(&self, number: usize) -> usize {
        let number = self.position(number);
        match &self.origin {
            Origin::Traces(traces) => {
                traces.groups.get(number).map(|trace| traces.index.size(trace)).sum()
            }
            Origin::Suite(_) | Origin::Source(_) => 0,
        }
    }

    /// Returns the places of the conversations that are loaded together, from `first` on. `order` has the numbers of all places.
    pub(crate) fn batch(&self, first: usize, order: Option<&[usize]>) -> Range<usize> {
        let mut bytes = 0;
        let all = order.map_or(self.len(), <[usize]>::len).min(first + BATCH);
        let end = (first..all).find(|place| {
            bytes += self.size(order.map_or(*place, |order| order[*place]));
            bytes >= BATCH_BYTES
        });
        first..end.map_or(all, |last| last + 1)
    }

    /// Reads the traces of a conversation and extracts it. Blocks.
    ///
    /// # Errors
    ///
    /// A file cannot be read any more, or has changed.
    pub fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        let number = self.position(number);
        let Traces { index, groups, conventions, .. } = match &self.origin {
            Origin::Traces(traces) => &**traces,
            Origin::Suite(suite) => {
                let mut conversation = conversation(&**suite, number, &self.attributes.all());
                self.attributes.redact(&mut conversation);
                return Ok(conversation);
            }
            Origin::Source(source) => return source.load(number),
        };
        let traces: Vec<_> =
            groups.get(number).map(|trace| index.read(trace)).collect::<Result<_, _>>()?;
        let group = Group::new(traces.iter().map(AsRef::as_ref).collect());
        Ok(extracted(&group, conventions, &self.attributes))
    }

    /// Returns the case of a conversation by the attribute that identifies cases; `None` without it. Blocks.
    pub fn keyed(&self, number: usize) -> Option<Arc<str>> {
        let key = self.attributes.case_key()?;
        let conversation = self.load(number).ok()?;
        conversation.labels.get(key)?.first().map(|value| value.as_str().into())
    }

    /// Returns the names of the attributes of a conversation, with repetitions; none if it cannot be read. Blocks.
    pub fn attribute_names(&self, number: usize) -> Vec<String> {
        let number = self.position(number);
        match &self.origin {
            Origin::Traces(traces) => {
                let Traces { index, groups, .. } = &**traces;
                let read = groups.get(number).filter_map(|trace| index.read(trace).ok());
                let traces: Vec<_> = read.collect();
                attribute_names(traces.iter().map(AsRef::as_ref)).map(str::to_owned).collect()
            }
            Origin::Suite(suite) => suite.label_names(number),
            Origin::Source(_) => Vec::new(),
        }
    }
}

/// Extracts the conversation of a group, with the values of attributes.
pub fn extracted(
    group: &Group<'_>,
    conventions: &Conventions,
    attributes: &Attributes,
) -> Conversation {
    let mut conversation = extract_group(group, conventions);
    conversation.labels = conversation.find_labels(group, attributes.all());
    attributes.redact(&mut conversation);
    conversation
}

/// Returns the text of a trace file's path in reports; `None` for the standard input.
pub(crate) fn shown(file: &Path) -> Option<Arc<str>> {
    (file != Path::new("-")).then(|| file.to_string_lossy().into())
}
