//! Which spans of a trace are calls, agents and tools.

use super::span_kind;
use crate::{
    conversation::view::{Classified, Kind, operation},
    json::Value,
    trace::{Span, Trace},
};

/// The kinds of all spans of a trace.
///
/// The `GenAI` conventions come first: in a trace in which they tell of a call of a model, this one adds no calls, agents
/// or tools, since it would tell of the same ones again. Where they tell of agents only, it adds the calls and tools.
pub(in crate::conversation) fn kinds_of(trace: &Trace) -> Vec<Classified> {
    let told: Vec<Option<Kind>> = trace.spans.iter().map(operation::told).collect();
    let mut kinds: Vec<Classified> = told
        .iter()
        .map(|kind| Classified { kind: kind.unwrap_or(Kind::Plain), by_openinference: false })
        .collect();
    let any = |is: fn(Kind) -> bool| told.iter().flatten().any(|kind| is(*kind));
    if any(|kind| kind == Kind::Inference) {
        return kinds;
    }
    let agents_told = any(Kind::is_agentic);
    let runs = if agents_told { Vec::new() } else { runs(trace) };
    for (index, span) in trace.spans.iter().enumerate() {
        // An operation that the other conventions name, whichever it is, is not looked at again.
        let (None, Some(named)) = (told[index], span_kind(span)) else { continue };
        let kind = if named.eq_ignore_ascii_case("LLM") {
            Kind::Inference
        } else if named.eq_ignore_ascii_case("TOOL") && !is_handoff(span) {
            Kind::Tool
        } else if named.eq_ignore_ascii_case("AGENT") && !agents_told {
            Kind::Agent
        } else if named.eq_ignore_ascii_case("CHAIN") && runs.get(index) == Some(&true) {
            Kind::Workflow
        } else {
            continue;
        };
        kinds[index] = Classified { kind, by_openinference: true };
    }
    kinds
}

/// Whether each span is the outermost one of the convention, with a call of a model or an agent below it.
///
/// The specification (`spec/README.md`) has the root span stand for the run of an agent or pipeline. A chain further in is glue: frameworks
/// make one of every function, and name an "agent" whatever has that word in its name, once per round.
fn runs(trace: &Trace) -> Vec<bool> {
    let mut outermost: Vec<Option<usize>> = vec![None; trace.spans.len()];
    let mut runs = vec![false; trace.spans.len()];
    for index in trace.walk() {
        let Some(kind) = span_kind(&trace.spans[index]) else {
            outermost[index] = trace.parent[index].and_then(|parent| outermost[parent]);
            continue;
        };
        let top = trace.parent[index].and_then(|parent| outermost[parent]).unwrap_or(index);
        outermost[index] = Some(top);
        if ["LLM", "AGENT"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            runs[top] = true;
        }
    }
    runs
}

/// Whether the span says that one agent handed over to another. The call by which the model asked for that is in its
/// messages, under a name that this span does not know.
fn is_handoff(span: &Span) -> bool {
    span.name.starts_with("handoff to ")
        && span.attributes.get("tool.name").is_none_or(Value::is_empty_like)
}
