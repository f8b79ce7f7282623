//! Turns of one trace.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use super::{
    Attachment, JudgedSpan, RecordedAgent, Source, ToolCall, Turn, TurnFailure, TurnPart,
    Unrecorded,
    agents::agents,
    convention::{Content, Conventions, Kind, Side, SpanView, keys},
    failure::failure_of,
    message::{
        Message, after_user, answer_nothing, attachments_of, have_blank, have_content, have_text,
        shown_by_user, text_of, user_turn,
    },
    texts::{intermediate_texts, split_answer},
    tool_calls::{
        Call, calls_in_parts, calls_in_spans, complete_from_parts, complete_from_steps, llm_calls,
        with_error_as_result,
    },
    tree::Tree,
};
use crate::trace::{SpanStatus, Trace};

/// Finish reasons of a model that requests a tool call.
pub(super) const TOOL_REASONS: [&str; 5] =
    ["tool_calls", "tool_call", "tool_use", "function_call", "tool-calls"];

/// A turn before it is joined with others.
#[derive(Clone, Debug)]
pub(super) struct DraftTurn {
    pub(super) trace_id: Arc<str>,
    pub(super) span_id: String,
    pub(super) root_anchored: bool,
    pub(super) agent_name: Option<String>,
    pub(super) user: Speech,
    pub(super) answer: Speech,
    /// Attachments before the message of the user, and between it and the answer.
    pub(super) beside: [Vec<Attachment>; 2],
    pub(super) calls: Vec<Call>,
    pub(super) tools: Vec<ToolCall>,
    /// Messages of the whole run before its answer, as far as the anchor has them.
    pub(super) run: Side,
    pub(super) agents: Vec<RecordedAgent>,
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    pub(super) status: SpanStatus,
    pub(super) anchor: JudgedSpan,
    /// Whether the anchor or a model call failed.
    pub(super) failed: bool,
    /// Whether the anchor failed.
    pub(super) anchor_failed: bool,
    /// The failure of the turn, unless it has an answer and its anchor did not fail.
    pub(super) failure: Option<TurnFailure>,
    /// Whether recorded content cannot be read.
    pub(super) unreadable: bool,
    /// Where the producer records content.
    pub(super) content: Content,
    pub(super) warnings: Vec<String>,
}

/// The messages of one side of a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Speech {
    /// Whether there are messages at all; they may hold no text.
    pub(super) recorded: bool,
    pub(super) text: Option<String>,
    /// Where the text was recorded.
    pub(super) source: Option<Source>,
    pub(super) attachments: Vec<Attachment>,
}

impl Speech {
    /// Reads what the user said; `None` if no text was recorded.
    fn of_user((messages, source): (&[Message], Option<&Source>)) -> Self {
        let text = text_of(messages);
        let source = source.filter(|_| text.is_some()).cloned();
        Self { recorded: !messages.is_empty(), text, source, attachments: Vec::new() }
    }

    /// Reads an answer, which may be empty; `None` if no message is an answer.
    fn of_agent((messages, source): (&[Message], Option<&Source>)) -> Self {
        let text = text_of(messages);
        let text = text.or_else(|| answer_nothing(messages).then(String::new));
        let source = source.filter(|_| text.is_some()).cloned();
        Self { recorded: !messages.is_empty(), text, source, attachments: Vec::new() }
    }

    /// Takes the attachments of which most was recorded.
    fn with(self, lists: [Vec<Attachment>; 2]) -> Self {
        Self { attachments: most_recorded(lists), ..self }
    }
}

/// Returns the list of which most was recorded, the first of several.
pub(super) fn most_recorded<const N: usize>(lists: [Vec<Attachment>; N]) -> Vec<Attachment> {
    let is_recorded = |it: &&Attachment| it.size.is_some() || it.url.is_some();
    let recorded = |list: &Vec<_>| (list.iter().filter(is_recorded).count(), list.len());
    lists.into_iter().rev().max_by_key(recorded).unwrap_or_default()
}

impl DraftTurn {
    /// Returns the final turn.
    pub(super) fn finish(
        mut self,
        recorded: RecordedSides,
        warnings: &mut BTreeSet<String>,
    ) -> Turn {
        if self.failure.is_some() && self.answer.text.as_deref() == Some("") {
            // What failed has not answered.
            self.answer = Speech { recorded: true, ..Speech::default() };
        }
        if self.answer.text.is_some() && !self.anchor_failed {
            self.failure = None;
        }
        let unrecorded = self.unrecorded(recorded);
        warnings.extend(self.warnings);
        let answer = (self.answer.source.as_ref(), self.answer.text.as_deref());
        let texts = intermediate_texts(&self.calls, &self.run, &self.tools, answer);
        let judged = judged(self.root_anchored, self.anchor, &self.calls);
        let [earlier_attachments, step_attachments] = self.beside;
        Turn {
            trace_id: self.trace_id,
            span_id: self.span_id,
            root_anchored: self.root_anchored,
            agent_name: self.agent_name,
            user_text: self.user.text,
            user_source: self.user.source,
            final_text: self.answer.text,
            final_source: self.answer.source,
            earlier_attachments,
            user_attachments: self.user.attachments,
            step_attachments,
            final_attachments: self.answer.attachments,
            llm_calls: self.calls.into_iter().map(|call| call.record).collect(),
            tool_calls: self.tools.into_iter().map(with_error_as_result).collect(),
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            status: self.status,
            judged,
            texts,
            agents: self.agents,
            failure: self.failure,
            unrecorded,
            has_unknown_keys: false,
        }
    }

    /// Returns true unless it is certain that no model call asked for a tool: there is none, it failed, or an agent, which
    /// records the tools that it runs, made calls that all ended for another reason. A model that a client library calls
    /// may give the same reason for both.
    fn may_ask_tools(&self) -> bool {
        let asks = |reason: &String| TOOL_REASONS.contains(&reason.as_str());
        let mut reasons = self.calls.iter().map(|call| &call.finish_reasons);
        if reasons.clone().flatten().any(asks) {
            return true;
        }
        let is_certain = !self.root_anchored && reasons.all(|reasons| !reasons.is_empty());
        !self.calls.is_empty() && !self.failed && !is_certain
    }

    /// Returns true if a message of the agent or of one of its models was recorded.
    fn has_output(&self) -> bool {
        let mut calls = self.calls.iter();
        self.answer.recorded || !self.run.is_empty() || calls.any(|call| !call.output.is_empty())
    }

    /// Returns the parts that the producer did not record. A part counts as recorded if the producer recorded other parts
    /// of its kind. What cannot be read is recorded, and an error of the conversation.
    fn unrecorded(&self, recorded: RecordedSides) -> Vec<Unrecorded> {
        if self.unreadable {
            return Vec::new();
        }
        let Content { input, output, arguments, switch } = self.content;
        let RecordedSides { input: has_input, output: has_output, arguments: has_arguments } =
            recorded;
        let may_ask = self.tools.is_empty() && self.may_ask_tools();
        let parts = [
            (TurnPart::User, input, self.user.text.is_none() && !has_input),
            (TurnPart::Answer, output, self.answer.text.is_none() && !has_output && !self.failed),
            (TurnPart::ToolCalls, output, may_ask && !has_output),
            (TurnPart::Arguments, arguments, !self.tools.is_empty() && !has_arguments),
        ];
        let switch = switch.filter(|_| self.failure.is_none());
        let unknown = parts.into_iter().filter(|(.., is_unknown)| *is_unknown);
        unknown.map(|(part, attribute, _)| Unrecorded { part, attribute, switch }).collect()
    }
}

/// The kinds of content that a conversation has anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordedSides {
    input: bool,
    output: bool,
    arguments: bool,
}

impl RecordedSides {
    /// Returns what these turns, those of a conversation, have.
    pub(super) fn of(turns: &[DraftTurn]) -> Self {
        let mut sides = Self::default();
        for turn in turns {
            let DraftTurn { user, calls, tools, .. } = turn;
            sides.input |= user.recorded || calls.iter().any(|call| !call.input.is_empty());
            sides.output |= turn.has_output();
            sides.arguments |= tools.iter().any(|tool| !tool.arguments.is_null());
        }
        sides.arguments |= sides.output;
        sides
    }
}

/// Returns the turns of a trace in the order of the walk, and adds what cannot be read in it to `errors`.
///
/// The anchor of a turn is an agent or workflow that has none among its ancestors, or the root span of model calls that are
/// not part of an agent.
pub(super) fn read_turns(
    trace: &Trace,
    conventions: &Conventions,
    errors: &mut BTreeSet<String>,
) -> Vec<DraftTurn> {
    let tree = Tree::new(trace, conventions);
    errors.extend(tree.nodes.iter().flat_map(|node| node.view.errors.iter().cloned()));
    tree.anchors.iter().map(|&anchor| turn(&tree, anchor, conventions)).collect()
}

/// The turns of a trace that can be read.
#[cfg(test)]
pub(super) fn turns_of(trace: &Trace) -> Vec<DraftTurn> {
    read_turns(trace, Conventions::built_in(), &mut BTreeSet::new())
}

fn turn(tree: &Tree<'_>, anchor: usize, conventions: &Conventions) -> DraftTurn {
    let members = &tree.members[anchor];
    let view = tree.view(anchor);
    let mut warnings = Vec::new();
    let calls = llm_calls(tree, members, &mut warnings);
    let tools = match calls_in_spans(tree, members, &mut warnings) {
        spans if spans.is_empty() => {
            let requested = calls_in_parts(&calls, &mut warnings);
            complete_from_steps(requested, &view.steps, &mut warnings)
        }
        spans => complete_from_parts(spans, &calls, &mut warnings),
    };
    let spans = || members.iter().map(|&member| tree.view(member).span);
    let models = || {
        members.iter().map(|&member| tree.view(member)).filter(|view| view.kind == Kind::Inference)
    };
    let recorder = models().next().unwrap_or(view);
    let user = Speech::of_user(user_input(&view.input, &calls)).with(shown(&view.input, &calls));
    let answer =
        Speech::of_agent(final_output(&view.output, &calls)).with(drawn(&view.output, &calls));
    DraftTurn {
        trace_id: Arc::clone(&view.span.trace_id),
        span_id: view.span.span_id.clone(),
        root_anchored: !view.kind.is_agentic(),
        agent_name: view
            .attributes
            .text(keys::AGENT_NAME)
            .or_else(|| calls.iter().find_map(|call| call.agent_name.clone())),
        beside: beside(view, &calls, &user.attachments),
        user,
        answer,
        start_ns: spans().map(|span| span.start_ns).min().unwrap_or_default(),
        end_ns: spans().map(|span| span.end_ns).max().unwrap_or_default(),
        status: view.span.status,
        anchor: view.as_judged(),
        failed: view.has_failed() || models().any(SpanView::has_failed),
        anchor_failed: view.has_failed(),
        failure: failure_of(tree, anchor, members),
        unreadable: members.iter().any(|&member| !tree.view(member).errors.is_empty()),
        content: conventions.content(recorder.by, recorder.span),
        run: run_of(view),
        agents: agents(tree, members, conventions),
        calls,
        tools,
        warnings,
    }
}

/// The span that results belong to. A root that is neither an agent nor a model call may be anything, e.g. the span of a
/// server for a request.
fn judged(root_anchored: bool, anchor: JudgedSpan, calls: &[Call]) -> JudgedSpan {
    let records_anchor = |call: &Call| call.is_recorded_by(&anchor.trace_id, &anchor.span_id);
    if !root_anchored || calls.iter().any(records_anchor) {
        return anchor;
    }
    // The first of those that end and start at the same time.
    let last = calls.iter().rev().max_by_key(|call| (call.record.end_ns, call.record.start_ns));
    last.map_or(anchor, |call| call.span.clone())
}

/// The text of the user: from the input of the anchor, else of the first call that recorded its input.
fn user_input<'a>(anchor: &'a Side, calls: &'a [Call]) -> (&'a [Message], Option<&'a Source>) {
    if anchor.is_empty() {
        let first = calls.iter().find(|call| !call.input.is_empty());
        let said = |call: &'a Call| (user_turn(&call.input), call.input.source.as_ref());
        return first.map(said).unwrap_or_default();
    }
    let said = match user_turn(anchor) {
        [] => anchor,
        said => said,
    };
    (said, anchor.source.as_ref())
}

/// The answer of the agent: the output of the anchor, else of the last model call if that is an empty answer, else of the
/// last one with text, else nothing if that is what the anchor recorded. Calls that a tool makes are used only if there are
/// no others, since they answer the tool and not the user.
fn final_output<'a>(anchor: &'a Side, calls: &'a [Call]) -> (&'a [Message], Option<&'a Source>) {
    let of_anchor = (split_answer(anchor).1, anchor.source.as_ref());
    if have_content(anchor) || have_blank(anchor) {
        return of_anchor;
    }
    let all_delegated = calls.iter().all(|call| call.record.delegated);
    let last = |is_wanted: fn(&[Message]) -> bool| {
        let own = calls.iter().filter(|call| all_delegated || !call.record.delegated);
        // The first of those that end and start at the same time.
        let own = own.filter(|call| is_wanted(&call.output)).rev();
        own.max_by_key(|call| (call.record.end_ns, call.record.start_ns))
    };
    last(|output| !output.is_empty())
        .filter(|call| answer_nothing(&call.output))
        .or_else(|| last(have_text))
        .map_or(of_anchor, |call| (&*call.output, call.output.source.as_ref()))
}

/// The attachments of the user in the input of the anchor, and of the first call that recorded its input.
fn shown(anchor: &[Message], calls: &[Call]) -> [Vec<Attachment>; 2] {
    let first = calls.iter().find(|call| !call.input.is_empty());
    let first = first.map(|call| &*call.input).unwrap_or_default();
    [anchor, first].map(|input| attachments_of(shown_by_user(input)))
}

/// The attachments in the output of the anchor, and of the call that ended last and that no tool made.
fn drawn(anchor: &[Message], calls: &[Call]) -> [Vec<Attachment>; 2] {
    let own = calls.iter().filter(|call| !call.record.delegated && !call.output.is_empty());
    let last = own.rev().max_by_key(|call| (call.record.end_ns, call.record.start_ns));
    let last = last.map(|call| &*call.output).unwrap_or_default();
    [split_answer(anchor).1, last].map(attachments_of)
}

/// The attachments in messages before the one of the user, and in those between it and the answer, such as results of tools;
/// without those of the user.
fn beside(view: &SpanView<'_>, calls: &[Call], of_user: &[Attachment]) -> [Vec<Attachment>; 2] {
    let own = calls.iter().filter(|call| !call.record.delegated && !call.input.is_empty());
    let last = own.max_by_key(|call| (call.record.end_ns, call.record.start_ns));
    let last = last.map(|call| &*call.input).unwrap_or_default();
    let anchor: &[Message] = &view.input;
    let of = |messages: &[Message]| {
        let mut all = attachments_of(messages);
        all.retain(|it| !of_user.contains(it));
        all
    };
    let before = |all: &'_ [Message]| of(&all[..all.len() - after_user(all).len()]);
    let run = run_of(view);
    [
        most_recorded([before(anchor), before(last)]),
        most_recorded([of(after_user(anchor)), of(after_user(last)), of(after_user(&run))]),
    ]
}

/// The messages before the answer of a run: in the output of the anchor, else in its history.
fn run_of(anchor: &SpanView<'_>) -> Side {
    match split_answer(&anchor.output).0 {
        [] => anchor.steps.clone(),
        before => Side { messages: Rc::from(before), source: anchor.output.source.clone() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::testing::{Recording, answers, asks, says, span_id};

    fn agent(recording: Recording, ids: (u64, u64), times: (u64, u64)) -> Recording {
        let attributes =
            json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"});
        recording.span(ids, "agent", times, attributes)
    }

    fn tool(recording: Recording, ids: (u64, u64), times: (u64, u64), name: &str) -> Recording {
        let attributes = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name});
        recording.span(ids, "tool", times, attributes)
    }

    fn anchors(recording: Recording) -> Vec<String> {
        turns_of(&recording.trace()).into_iter().map(|turn| turn.span_id).collect()
    }

    #[test]
    fn agents_below_a_plain_root_are_turns_and_so_are_calls_no_agent_covers() {
        let recording = Recording::default().span((1, 0), "GET", (0, 90), json!({}));
        let recording = agent(recording, (2, 1), (10, 30));
        let recording = recording.chat((3, 2), (11, 20), json!(null), json!(null));
        let recording = agent(recording, (4, 1), (40, 60));
        let recording = recording.chat((5, 4), (41, 50), json!(null), json!(null)).chat(
            (6, 1),
            (70, 80),
            json!(null),
            json!(null),
        );
        assert_eq!(anchors(recording), [span_id(1), span_id(2), span_id(4)]);
    }

    #[test]
    fn the_outermost_agent_is_the_turn_and_a_tool_covers_agents() {
        let recording = agent(Recording::default(), (1, 0), (0, 90));
        let recording = agent(recording, (2, 1), (10, 30));
        let recording = recording.chat((3, 2), (11, 20), json!(null), json!(null));
        assert_eq!(anchors(recording), [span_id(1)]);
        let recording = tool(Recording::default(), (1, 0), (0, 90), "ask_agent");
        let recording = agent(recording, (2, 1), (10, 30));
        let recording = recording.chat((3, 2), (11, 20), json!(null), json!(null));
        assert_eq!(anchors(recording), [span_id(1)]);
    }

    #[test]
    fn an_agent_is_a_turn_even_if_nothing_else_was_recorded() {
        let idle = agent(Recording::default(), (1, 0), (0, 90));
        assert_eq!(anchors(idle), [span_id(1)]);
        let created = json!({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "bot"});
        let created = Recording::default().span((1, 0), "agent", (0, 90), created);
        assert_eq!(anchors(created), Vec::<String>::new());
        let failed = json!({"gen_ai.operation.name": "invoke_agent", "error.type": "Boom"});
        let failed = Recording::default().span((1, 0), "agent", (0, 90), failed);
        assert_eq!(anchors(failed), [span_id(1)]);
        assert_eq!(anchors(tool(Recording::default(), (1, 0), (0, 90), "t")), Vec::<String>::new());
    }

    #[test]
    fn wrappers_around_one_call_are_folded_into_it() {
        let usage =
            |tokens| json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": tokens});
        let mut outer = usage(999);
        outer["gen_ai.output.messages"] = json!(json!([says("assistant", "yes")]).to_string());
        let recording = Recording::default()
            .span((1, 0), "outer", (0, 50), outer)
            .span((2, 1), "http", (1, 49), json!({}))
            .span((3, 2), "inner", (2, 48), usage(10));
        let turn = turns_of(&recording.trace()).remove(0);
        let calls: Vec<_> = turn.calls.iter().map(|call| &call.record).collect();
        assert_eq!(calls.len(), 1);
        assert_eq!((&calls[0].span_id, calls[0].start_ns), (&span_id(3), 0));
        assert_eq!(calls[0].usage.unwrap().input_tokens, 10);
        assert_eq!(turn.answer.text.as_deref(), Some("yes"));

        let recording = Recording::default()
            .span((1, 0), "outer", (0, 50), usage(999))
            .span((2, 1), "one", (2, 10), usage(1))
            .span((3, 1), "two", (12, 20), usage(2));
        let turn = turns_of(&recording.trace()).remove(0);
        let tokens: Vec<_> =
            turn.calls.iter().map(|call| call.record.usage.unwrap().input_tokens).collect();
        assert_eq!(tokens, [1, 2]);
    }

    #[test]
    fn counts_below_zero_are_zero_and_huge_ones_are_ignored_with_a_warning() {
        let recording = Recording::default().span((1, 0), "chat", (0, 1), json!({
            "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": "99999999999999999999",
            "gen_ai.usage.output_tokens": -1, "gen_ai.usage.cache_read.input_tokens": 3.0,
        }));
        let turn = turns_of(&recording.trace()).remove(0);
        let usage = turn.calls[0].record.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (0, 0, 3));
        let warning = format!(
            "span {}: gen_ai.usage.input_tokens is too large for a count; ignored",
            span_id(1)
        );
        assert_eq!(turn.warnings, [warning]);
    }

    #[test]
    fn output_of_calls_below_tools_counts_only_without_others() {
        let both = |outer: Option<&str>| {
            let output = outer.map_or(json!(null), |text| json!([says("assistant", text)]));
            let recording = agent(Recording::default(), (1, 0), (0, 90));
            let recording = recording.chat((2, 1), (1, 10), json!([says("user", "hi")]), output);
            let recording = tool(recording, (3, 1), (20, 80), "ask");
            let inner = json!([says("assistant", "from the tool")]);
            let recording = recording.chat((4, 3), (30, 40), json!(null), inner);
            turns_of(&recording.trace()).remove(0).answer.text
        };
        assert_eq!(both(Some("from the agent")).as_deref(), Some("from the agent"));
        assert_eq!(both(None), None);
        let recording = tool(agent(Recording::default(), (1, 0), (0, 90)), (3, 1), (20, 80), "ask");
        let inner = json!([says("assistant", "from the tool")]);
        let recording = recording.chat((4, 3), (30, 40), json!(null), inner);
        let turn = turns_of(&recording.trace()).remove(0);
        assert_eq!(turn.answer.text.as_deref(), Some("from the tool"));
        assert!(turn.calls[0].record.delegated);
    }

    #[test]
    fn the_call_that_ends_last_has_the_last_word_and_among_equals_the_first() {
        let last_word = |times: [(u64, u64); 2]| {
            let mut recording = Recording::default().span((1, 0), "GET", (0, 90), json!({}));
            for ((number, said), times) in [(2, "first"), (3, "second")].into_iter().zip(times) {
                let output = json!([says("assistant", said)]);
                recording = recording.chat((number, 1), times, json!(null), output);
            }
            turns_of(&recording.trace()).remove(0).answer.text.unwrap()
        };
        assert_eq!(last_word([(10, 50), (20, 40)]), "first");
        assert_eq!(last_word([(10, 40), (20, 50)]), "second");
        assert_eq!(last_word([(10, 50), (20, 50)]), "second");
        assert_eq!(last_word([(10, 50), (10, 50)]), "first");
    }

    #[test]
    fn what_an_agent_recorded_of_itself_counts_even_without_text() {
        let attributes = json!({
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.input.messages": json!([says("system", "be nice")]).to_string(),
            "gen_ai.output.messages": json!([asks("c", "t", json!({}))]).to_string(),
        });
        let recording = Recording::default().span((1, 0), "agent", (0, 90), attributes).chat(
            (2, 1),
            (1, 10),
            json!([says("user", "hi")]),
            json!([says("assistant", "hello")]),
        );
        let turn = turns_of(&recording.trace()).remove(0);
        assert_eq!(turn.user.text.as_deref(), Some("be nice"));
        assert_eq!(turn.answer.text, None);
        assert!(turn.answer.recorded && turn.tools.is_empty());
    }

    #[test]
    fn results_go_to_the_call_with_their_id_and_never_back_in_time() {
        let recording = Recording::default()
            .span((1, 0), "GET", (0, 90), json!({}))
            .chat(
                (2, 1),
                (1, 10),
                json!([answers("c1", json!("an earlier result")), says("user", "hi")]),
                json!([asks("c1", "t", json!({"n": 1})), asks("c2", "u", json!({"n": 2}))]),
            )
            .chat((3, 1), (20, 30), json!([answers("c2", json!({"ok": true}))]), json!(null));
        let turn = turns_of(&recording.trace()).remove(0);
        let results: Vec<_> =
            turn.tools.iter().map(|call| crate::json::to_python(call.result.value())).collect();
        assert_eq!(results, ["null", r#"{"ok": true}"#]);
        assert_eq!(turn.warnings, Vec::<String>::new());
    }

    #[test]
    fn the_arguments_of_a_span_are_completed_from_the_messages() {
        let recording = agent(Recording::default(), (1, 0), (0, 90));
        let output = json!([
            asks("c0", "elsewhere", json!({"x": 0})),
            asks("c1", "t", json!({"x": 1})),
            asks("c2", "elsewhere", json!({"x": 2})),
        ]);
        let recording = recording.chat((2, 1), (1, 10), json!([says("user", "hi")]), output);
        let recording = tool(recording, (3, 1), (20, 30), "t");
        let recording = recording.chat(
            (4, 1),
            (40, 50),
            json!([answers("c1", json!("r1")), answers("odd", json!("r2"))]),
            json!([says("assistant", "done")]),
        );
        let turn = turns_of(&recording.trace()).remove(0);
        let calls: Vec<_> = turn
            .tools
            .iter()
            .map(|call| {
                let text = crate::json::to_python;
                (
                    call.name.as_str(),
                    text(&call.arguments),
                    text(call.result.value()),
                    call.span.is_some(),
                )
            })
            .collect();
        assert_eq!(
            calls,
            [
                ("elsewhere", r#"{"x": 0}"#.to_owned(), r#""r2""#.to_owned(), false),
                ("t", r#"{"x": 1}"#.to_owned(), r#""r1""#.to_owned(), true),
                ("elsewhere", r#"{"x": 2}"#.to_owned(), "null".to_owned(), false),
            ]
        );
        assert_eq!(
            turn.warnings,
            [
                "tool elsewhere result joined by order (response id 'odd' matches no call)",
                "tool t arguments and result joined from message parts by name (the span has no call id)",
                "tool elsewhere appears only in message parts, without a tool span",
                "tool elsewhere appears only in message parts, without a tool span",
            ]
        );
    }

    #[test]
    fn an_agent_that_only_encloses_another_in_time_is_no_turn() {
        let ids = |recording: Recording| {
            let turns = turns_of(&recording.trace());
            turns.into_iter().map(|turn| turn.span_id).collect::<Vec<_>>()
        };
        // The span 9 is not in the export.
        let inner = |recording| {
            agent(recording, (2, 9), (10, 80)).chat((3, 2), (11, 20), json!(null), json!(null))
        };
        let outer = || agent(Recording::default(), (1, 0), (0, 90));
        let with_server = || outer().span((4, 1), "POST", (1, 89), json!({}));
        assert_eq!(ids(inner(with_server())), [span_id(2)]);
        // One that recorded something, failed, or ran at another time is a turn.
        let called = outer().chat((4, 1), (1, 5), json!(null), json!(null));
        assert_eq!(ids(inner(called)), [span_id(1), span_id(2)]);
        assert_eq!(ids(inner(tool(outer(), (4, 1), (1, 5), "t"))), [span_id(1), span_id(2)]);
        assert_eq!(ids(inner(outer().failed("boom"))), [span_id(1), span_id(2)]);
        let before = agent(Recording::default(), (1, 0), (0, 9));
        let before =
            before.span((4, 1), "agent", (1, 5), json!({"gen_ai.operation.name": "invoke_agent"}));
        assert_eq!(ids(inner(before)), [span_id(1), span_id(2)]);
        // Of two at the same time, one is left.
        let empty = |recording, number| {
            let recording = agent(recording, (number, 0), (0, 9));
            agent(recording, (number + 1, number), (1, 5))
        };
        assert_eq!(ids(empty(empty(Recording::default(), 1), 3)), [span_id(3)]);
    }

    #[test]
    fn nested_spans_of_one_tool_are_one_call() {
        let attributes = |name: &str, id: &str, result: &str| {
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": id, "gen_ai.tool.call.result": result,
            })
        };
        let recording = agent(Recording::default(), (1, 0), (0, 90))
            .span((2, 1), "framework", (10, 50), attributes("search", "c1", ""))
            .span((3, 2), "client", (20, 40), attributes("search", "rpc", "hits"))
            .span((4, 3), "database", (25, 30), attributes("query", "q", "rows"));
        let turn = turns_of(&recording.trace()).remove(0);
        let names: Vec<_> = turn.tools.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["search", "query"]);
        assert_eq!(turn.tools[0].span, Some((10_000_000, 50_000_000)));
        assert_eq!(turn.tools[0].call_id.as_deref(), Some("c1"));
    }

    #[test]
    fn a_tool_without_a_name_is_called_by_its_span() {
        let recording = agent(Recording::default(), (1, 0), (0, 90)).span(
            (2, 1),
            "execute_tool from_name extra",
            (10, 50),
            json!({"gen_ai.operation.name": "execute_tool", "error.type": "Timeout"}),
        );
        let turn = turns_of(&recording.trace()).remove(0);
        assert_eq!(turn.tools[0].name, "from_name");
        assert!(turn.tools[0].is_error);
        let id = span_id(2);
        let warning =
            format!("tool span {id} has no gen_ai.tool.name; used span name token 'from_name'");
        assert_eq!(turn.warnings, [warning]);
    }

    #[test]
    fn records_without_a_span_are_about_the_only_call() {
        let one = Recording::default()
            .span((1, 0), "GET", (0, 90), json!({}))
            .chat((2, 1), (1, 10), json!(null), json!(null))
            .log(0, "gen_ai.choice", 1, json!({"content": "yes"}))
            .log(9, "gen_ai.choice", 2, json!({"content": " of another span"}));
        let turn = turns_of(&one.trace()).remove(0);
        assert_eq!(turn.answer.text.as_deref(), Some("yes"));
        let two = Recording::default()
            .span((1, 0), "GET", (0, 90), json!({}))
            .chat((2, 1), (1, 10), json!(null), json!(null))
            .chat((3, 1), (11, 20), json!(null), json!(null))
            .log(0, "gen_ai.choice", 1, json!({"content": "yes"}));
        assert_eq!(turns_of(&two.trace()).remove(0).answer.text, None);
    }
}
