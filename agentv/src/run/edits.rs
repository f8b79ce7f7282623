//! Tests of a plan whose recorded outputs are replaced by edited ones. They are edited as conversations of one turn.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_host::{
    config::Config,
    conversation::{Conversation, Labels, ToolCall, Turn},
    eval_set::EvalCase,
    run::{CaseIdentity, ConversationSource, Grading, Programs, Request, Suite, SuiteProgram},
};
use evaluator_json::Value;

use super::{
    Context, Plan,
    plan::Source,
    test::{graded, transcript},
    wording,
};
use crate::{
    json_text::text,
    model::{Message, Part, Test},
    output::{Output, calls},
};

impl Plan {
    /// Returns the tests in the order of their ids.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().map(|planned| &planned.test)
    }

    /// Returns the ids of the tests whose output is not recorded: a target has to answer them.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        let is_asked = |source: &Source| matches!(source, Source::Command(_) | Source::Model(_));
        let asked = self.tests.iter().filter(move |planned| is_asked(&planned.source));
        asked.map(|planned| &*planned.test.id)
    }

    /// Returns what is recorded of a test, as a conversation. One without a usable recording has errors.
    pub fn conversation(&self, case: usize) -> Conversation {
        let planned = &self.tests[case];
        let mut conversation = Conversation {
            trace_id: Arc::clone(&self.ids[case]),
            file: PathBuf::new(),
            turns: Vec::new(),
            case_id: Some(planned.test.id.clone()),
            labels: Labels::default(),
            warnings: Vec::new(),
            errors: Vec::new(),
            operations: Vec::new(),
            dropped_copies: 0,
            performance: None,
        };
        match &planned.source {
            Source::Recorded(Ok(output)) => conversation.turns = vec![turn(&planned.test, output)],
            Source::Recorded(Err(error)) => conversation.errors.push(error.clone()),
            Source::Command(_) | Source::Model(_) => {
                conversation.errors.push("its output is not recorded".to_owned());
            }
        }
        conversation
    }

    /// Returns what is expected of a test, as a golden case; `None` if nothing is.
    pub fn golden(&self, case: usize) -> Option<EvalCase> {
        let test = &self.tests[case].test;
        let turns = transcript(test, &Output::default()).expected;
        (!turns.is_empty()).then(|| EvalCase { id: test.id.clone(), turns, ..EvalCase::default() })
    }

    /// Returns the request that grades edited outputs. `edits` has conversations whose trace ids are those of tests; a grader is
    /// asked about one if the name of the suite or its own is.
    pub fn edited(self: &Arc<Self>, edits: Arc<dyn ConversationSource>, config: Config) -> Request {
        let tests: HashMap<&Arc<str>, usize> = self.ids.iter().zip(0..).collect();
        let all = (0..edits.len()).map(|number| edits.trace_id(number));
        let tests: Vec<usize> = all.filter_map(|id| tests.get(&id).copied()).collect();
        let mut known = HashSet::new();
        let unique = |(number, test): (usize, &usize)| match known.insert(*test) {
            true => Arc::clone(&self.ids[*test]),
            false => Arc::from(format!("{} ({number})", self.ids[*test])),
        };
        let ids = tests.iter().enumerate().map(unique).collect();
        self.request_of(Arc::new(Edits { plan: Arc::clone(self), edits, tests, ids }), config)
    }
}

/// Edited outputs of a plan.
#[derive(Debug)]
struct Edits {
    plan: Arc<Plan>,
    edits: Arc<dyn ConversationSource>,
    /// Indexes of their tests in the plan.
    tests: Vec<usize>,
    ids: Vec<Arc<str>>,
}

impl Suite for Edits {
    fn name(&self) -> &str {
        self.plan.name()
    }

    fn file(&self) -> &Path {
        self.plan.file()
    }

    fn ids(&self) -> &[Arc<str>] {
        &self.ids
    }

    fn threshold(&self, case: usize) -> f64 {
        self.plan.threshold(self.tests[case])
    }

    fn programs(&self, case: usize) -> Vec<usize> {
        Suite::programs(&*self.plan, self.tests[case])
    }

    fn prompt(&self, case: usize) -> String {
        self.plan.prompt(self.tests[case])
    }

    fn identity(&self, _case: usize) -> Option<CaseIdentity> {
        None
    }

    fn prepared(&self, program: &dyn Fn(usize) -> Result<SuiteProgram, String>) {
        self.plan.prepared(program);
    }

    fn grade<'s>(&'s self, case: usize, programs: Programs<'s>) -> Grading<'s> {
        let planned = &self.plan.tests[self.tests[case]];
        let has_suite = self.edits.asks(case, self.plan.name());
        let mut test = planned.test.clone();
        test.evaluators.retain(|it| has_suite || self.edits.asks(case, &it.name));
        let output = match (&planned.source, self.edits.load(case)) {
            (Source::Recorded(Ok(output)), Ok(conversation)) => {
                apply(&mut test, output, &conversation)
            }
            (Source::Recorded(Err(error)), _) => Err(error.clone()),
            (_, Err(error)) => Err(error.to_string()),
            (Source::Command(_) | Source::Model(_), _) => Err("it is not recorded".to_owned()),
        };
        let context = Context { plan: &self.plan, programs };
        Box::pin(async move { graded(context, planned, &test, output, Vec::new()).await })
    }
}

/// Returns the output of an edited conversation. An edited question becomes that of the test.
fn apply(test: &mut Test, output: &Output, edited: &Conversation) -> Result<Output, String> {
    if !edited.errors.is_empty() {
        return Err(edited.errors.join("; "));
    }
    let Some(after) = edited.turns.first() else { return Err("it has no turn".to_owned()) };
    let before = turn(test, output);
    if let (Some(question), true) = (&after.user_text, after.user_text != before.user_text) {
        for message in &mut test.input {
            set(&mut message.value, "content", text(question));
            message.parts = vec![Part::Text(question.clone())];
        }
    }
    let mut messages = with_calls(&output.messages, &before.tool_calls, &after.tool_calls);
    if after.final_text != before.final_text {
        answer(&mut messages, after.final_text.as_deref());
    }
    Ok(Output { messages, ..output.clone() })
}

/// Returns an output as a turn. Its question is there only if it can be edited: if the input is one message of text.
fn turn(test: &Test, output: &Output) -> Turn {
    let turn = transcript(test, output).turns.pop().unwrap_or_default();
    let is_text = |message: &Message| {
        matches!(&message.parts[..], [Part::Text(_)])
            && message.value.get("content").and_then(Value::as_str).is_some()
    };
    let is_plain = matches!(&test.input[..], [message] if is_text(message));
    Turn { user_text: is_plain.then(|| wording::question(test)), ..turn }
}

/// Replaces the answer: the content of the last message of the assistant that has any. Without an answer, none has.
fn answer(messages: &mut [Value], answer: Option<&str>) {
    let has_content = |message: &&mut Value| {
        let is_there = |key| message.get(key).filter(|value| !value.is_null());
        is_there("role").and_then(Value::as_str) == Some("assistant")
            && is_there("content").is_some()
    };
    let mut spoken = messages.iter_mut().filter(has_content);
    match answer {
        None => spoken.for_each(|message| set(message, "content", Value::Null)),
        Some(answer) => {
            if let Some(message) = spoken.next_back() {
                set(message, "content", text(answer));
            }
        }
    }
}

/// Replaces the tool calls of messages. Those before and after the edit stay where they are; edited ones take the place of those
/// before the edit, and added ones follow the call before them.
fn with_calls(messages: &[Value], before: &[ToolCall], after: &[ToolCall]) -> Vec<Value> {
    let is_same = |(one, other): &(&ToolCall, &ToolCall)| is_equal(one, other);
    let first = before.iter().zip(after).take_while(is_same).count();
    if first == before.len() && first == after.len() {
        return messages.to_vec();
    }
    let ends = before[first..].iter().rev().zip(after[first..].iter().rev());
    let last = ends.take_while(is_same).count();
    let (old, new) = (before.len() - last, after.len() - last);
    let places = messages.iter().enumerate();
    let places = places.flat_map(|(number, it)| calls(it).iter().map(move |call| (number, call)));
    let places: Vec<(usize, &Value)> = places.collect();
    let mut edited: Vec<Vec<Value>> = vec![Vec::new(); messages.len()];
    for (number, call) in &places[..first] {
        edited[*number].push((*call).clone());
    }
    for (index, call) in (first..new).zip(&after[first..new]) {
        let place = index.min(old.max(1) - 1);
        if let (Some((number, original)), Some(before)) = (places.get(place), before.get(place)) {
            edited[*number].push(written(original, before, call));
        }
    }
    for (number, call) in &places[old..] {
        edited[*number].push((*call).clone());
    }
    let with = |(message, calls): (&Value, Vec<Value>)| {
        let mut message = message.clone();
        for key in ["tool_calls", "toolCalls"] {
            if message.get(key).is_some_and(|value| value.as_array().is_some()) {
                set(&mut message, key, Value::Array(calls));
                break;
            }
        }
        message
    };
    messages.iter().zip(edited).map(with).collect()
}

fn is_equal(one: &ToolCall, other: &ToolCall) -> bool {
    let keys = |call: &ToolCall| (call.name.clone(), call.call_id.clone(), call.is_error);
    // The order of keys is an edit, too.
    let values =
        |call: &ToolCall| [&call.arguments, call.result.value()].map(crate::json_text::compact);
    keys(one) == keys(other) && values(one) == values(other)
}

/// Returns a tool call of a message that was read as `before`, with what is edited in `after`.
fn written(original: &Value, before: &ToolCall, after: &ToolCall) -> Value {
    let mut call = original.clone();
    set(&mut call, "tool", text(&after.name));
    if after.call_id != before.call_id {
        set(&mut call, "id", after.call_id.as_deref().map_or(Value::Null, text));
    }
    let has_input = original.get("input").is_some();
    if has_input || !after.arguments.is_null() {
        set(&mut call, "input", after.arguments.clone());
    }
    if original.get("output").is_some() || !after.result.value().is_null() {
        set(&mut call, "output", after.result.value().clone());
    }
    if after.is_error != before.is_error {
        set(&mut call, "status", text(if after.is_error { "error" } else { "ok" }));
    }
    call
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(key.to_owned(), value);
    }
}
