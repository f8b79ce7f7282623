//! The spans of a trace with facts about the spans above them, and the spans that anchor turns.

use super::convention::{Conventions, Kind, SpanView, Wanted, keys};
use crate::trace::{LogRecord, SpanStatus, Trace};

/// The classified spans of a trace.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// Spans that anchor a turn, in the order of the walk.
    pub(super) anchors: Vec<usize>,
    /// All spans of each anchor in the order of the walk; empty for spans that anchor nothing.
    pub(super) members: Vec<Vec<usize>>,
}

/// A span and its surroundings in the tree.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) view: SpanView<'a>,
    /// The nearest model call above, without an agent or tool in between.
    pub(super) inference_parent: Option<usize>,
    /// The nearest tool call above, without an agent or model call in between.
    pub(super) tool_parent: Option<usize>,
    /// Whether a tool call is above it.
    pub(super) under_tool: bool,
    /// The agent at work: that of the last agent or workflow at or above, else the name a call gives itself.
    pub(super) agent_name: Option<String>,
}

/// Facts about the spans above a span.
#[derive(Clone, Debug, Default)]
struct Above {
    /// Whether one of them is an agent, a workflow or a tool.
    covered: bool,
    inference: Option<usize>,
    tool: Option<usize>,
    under_tool: bool,
    agent_name: Option<String>,
    anchor: usize,
}

impl Above {
    /// Adds the span `index`, which is below the present ones. `name` is the name of an agent that it records.
    fn add(&mut self, index: usize, kind: Kind, name: Option<&String>) {
        if kind.is_agentic() {
            if !self.covered {
                self.anchor = index;
            }
            self.agent_name = name.cloned().or(self.agent_name.take());
        }
        if kind != Kind::Plain {
            self.covered |= kind != Kind::Inference;
            self.inference = (kind == Kind::Inference).then_some(index);
            self.tool = (kind == Kind::Tool).then_some(index);
            self.under_tool |= kind == Kind::Tool;
        }
    }
}

impl<'a> Tree<'a> {
    /// Reads a trace.
    pub(super) fn new(trace: &'a Trace, conventions: &Conventions) -> Self {
        let order: Vec<usize> = trace.walk().collect();
        let mut above: Vec<Above> = vec![Above::default(); trace.spans.len()];
        let mut agentic_anchor = vec![false; trace.spans.len()];
        let mut members = vec![Vec::new(); trace.spans.len()];
        let mut nodes: Vec<Node<'a>> = views(trace, conventions)
            .into_iter()
            .map(|view| Node {
                view,
                inference_parent: None,
                tool_parent: None,
                under_tool: false,
                agent_name: None,
            })
            .collect();
        for &index in &order {
            let node = &mut nodes[index];
            let kind = node.view.kind;
            let inherited = match trace.parent[index] {
                Some(parent) => above[parent].clone(),
                None => Above { anchor: index, ..Above::default() },
            };
            let own_name = node.view.attributes.nonempty_text(keys::AGENT_NAME);
            agentic_anchor[index] = kind.is_agentic() && !inherited.covered;
            let mut below = inherited.clone();
            below.add(index, kind, own_name.as_ref());
            node.agent_name = below
                .agent_name
                .clone()
                .or_else(|| own_name.filter(|_| matches!(kind, Kind::Inference | Kind::Tool)));
            node.inference_parent = inherited.inference;
            node.tool_parent = inherited.tool;
            node.under_tool = inherited.under_tool;
            members[below.anchor].push(index);
            above[index] = below;
        }
        let mut anchors: Vec<usize> = order
            .into_iter()
            .filter(|&index| is_turn(index, agentic_anchor[index], &nodes, &members[index]))
            .collect();
        let relays: Vec<usize> = anchors
            .iter()
            .copied()
            .filter(|&index| is_relay(index, &nodes, &members[index], &anchors))
            .collect();
        anchors.retain(|index| !relays.contains(index));
        Self { nodes, anchors, members }
    }

    /// The view of a span.
    pub(super) fn view(&self, index: usize) -> &SpanView<'a> {
        &self.nodes[index].view
    }
}

/// Returns true if an anchor is a turn: an agent ran, it has messages or calls, or it failed.
fn is_turn(index: usize, agentic: bool, nodes: &[Node<'_>], members: &[usize]) -> bool {
    let any = |kind| members.iter().any(|&member| nodes[member].view.kind == kind);
    if any(Kind::Inference) {
        return true;
    }
    let view = &nodes[index].view;
    agentic
        && (any(Kind::Tool)
            || any(Kind::Agent)
            || !view.input.is_empty()
            || !view.output.is_empty()
            || view.span.status == SpanStatus::Error
            || view.attributes.text(keys::ERROR_TYPE).is_some())
}

/// Returns true for an agent that recorded nothing of its own and during which another turn ran: it called that agent. The span
/// between the two, such as that of a server, is missing, so time is the only connection.
fn is_relay(index: usize, nodes: &[Node<'_>], members: &[usize], anchors: &[usize]) -> bool {
    let view = |index: usize| &nodes[index].view;
    let does_nothing = |&member: &usize| {
        let view = view(member);
        let is_step = matches!(view.kind, Kind::Inference | Kind::Tool);
        let has_failed = view.kind.is_agentic() && view.has_failed();
        !is_step && view.input.is_empty() && view.output.is_empty() && !has_failed
    };
    let time = |index: usize| (view(index).span.start_ns, view(index).span.end_ns);
    let encloses = |other: usize| {
        let (outer, inner) = (time(index), time(other));
        let encloses = outer.0 <= inner.0 && inner.1 <= outer.1;
        // Of two at the same time, the first one encloses the other.
        encloses && (outer != inner || index < other)
    };
    view(index).kind.is_agentic()
        && members.iter().all(does_nothing)
        && anchors.iter().any(|&other| encloses(other))
}

/// The view of every span.
fn views<'a>(trace: &'a Trace, conventions: &Conventions) -> Vec<SpanView<'a>> {
    let kinds = conventions.kinds_of(trace);
    let mut inference = (0..kinds.len()).filter(|&index| kinds[index].kind == Kind::Inference);
    let has_tools = kinds.iter().any(|found| found.kind == Kind::Tool);
    // Records without a span can only be about the one call there is.
    let orphans_belong_to = match (inference.next(), inference.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    trace
        .spans
        .iter()
        .enumerate()
        .map(|(index, span)| {
            let mut logs: Vec<&LogRecord> = trace.logs[index].iter().collect();
            if orphans_belong_to == Some(index) {
                logs.extend(&trace.orphan_logs);
            }
            let kind = kinds[index].kind;
            let wanted = match kind {
                Kind::Agent | Kind::Workflow if !has_tools => Wanted::Steps,
                Kind::Inference | Kind::Agent | Kind::Workflow => Wanted::Sides,
                Kind::Tool | Kind::Plain if trace.parent[index].is_none() => Wanted::Sides,
                Kind::Tool | Kind::Plain => Wanted::Nothing,
            };
            conventions.read(span, kinds[index], logs, wanted)
        })
        .collect()
}
