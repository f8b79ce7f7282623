//! Turns of recordings and golden cases, with their steps in an order that judges can follow.

use evaluator_json::{Value, object};
use evaluator_metrics::arguments;
use evaluator_traces::{
    conversation::{RecordedAgent, ToolDeclaration, Turn},
    eval_set::{EvalCase, ExpectedTurn},
};

use super::{Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Steps};

/// Author of steps whose author was not recorded.
const AGENT: &str = "agent";

impl JudgedTurn {
    /// Converts the turns of a recording.
    pub fn of_recording(turns: &[Turn]) -> Vec<Self> {
        let mut judged = ordered(turns.iter().map(recorded).collect());
        for (judged, turn) in judged.iter_mut().zip(turns) {
            judged.add_texts(turn);
            judged.add_agents(&turn.agents);
        }
        judged
    }

    /// Adds the texts before the answer, each in front of the tool call that follows it.
    fn add_texts(&mut self, turn: &Turn) {
        let Steps::Events(events) = &mut self.steps else { return };
        let is_call =
            |event: &Event| event.content.iter().any(|content| content.calls().next().is_some());
        for text in turn.texts.iter().rev() {
            let calls = events.iter().enumerate().filter(|(_, event)| is_call(event));
            let next = calls.map(|(index, _)| index).nth(text.after_calls);
            let said = Content::new("model", vec![Part::Text(text.text.clone())]);
            events.insert(next.unwrap_or(events.len()), event(said));
        }
    }

    /// Adds what was recorded of the agents. Tools that were not declared are known by their calls.
    fn add_agents(&mut self, recorded: &[RecordedAgent]) {
        let [first, ..] = recorded else { return };
        let name = |agent: &RecordedAgent| agent.name.clone().unwrap_or_else(|| AGENT.to_owned());
        let called = self.agents.take().into_iter().flatten().next().map(|agent| agent.tools);
        let mut agents: Vec<Agent> = recorded
            .iter()
            .map(|agent| Agent {
                name: name(agent),
                instructions: agent.instructions.clone().unwrap_or_default(),
                tools: declared(&agent.tools),
            })
            .collect();
        if agents.iter().all(|agent| agent.tools.is_empty()) {
            agents[0].tools = called.unwrap_or_default();
        }
        self.agents = Some(agents);
        // Whose steps they are was not recorded.
        if let Steps::Events(events) = &mut self.steps {
            events.iter_mut().for_each(|event| event.author = name(first));
        }
    }

    /// Adds the rubrics of a golden case to recorded turns: those of the case to every turn, then those of each golden turn.
    ///
    /// # Errors
    ///
    /// A rubric has the wrong shape.
    pub fn add_rubrics(turns: &mut [Self], case: &EvalCase) -> Result<(), String> {
        let read =
            |rubrics: &[Value]| rubrics.iter().map(Rubric::from_adk).collect::<Result<Vec<_>, _>>();
        for (index, turn) in turns.iter_mut().enumerate() {
            turn.rubrics.extend(read(&case.rubrics)?);
            if let Some(golden) = case.turns.get(index) {
                turn.rubrics.extend(read(&golden.rubrics)?);
            }
        }
        Ok(())
    }

    /// Converts the turns of a golden case.
    pub fn of_golden_case(case: &EvalCase) -> Vec<Self> {
        ordered(case.turns.iter().map(expected).collect())
    }
}

fn recorded(turn: &Turn) -> JudgedTurn {
    let message = |role: &str, text: &Option<String>| {
        text.as_ref().map(|text| Content::new(role, vec![Part::Text(text.clone())]))
    };
    let calls = turn.tool_calls.iter().map(|call| Call {
        id: call.call_id.clone(),
        name: Some(call.name.clone()),
        args: arguments(call).into_owned(),
    });
    let answered = turn.tool_calls.iter().filter(|call| !call.result.is_null());
    let responses = answered.map(|call| Response {
        id: call.call_id.clone(),
        name: Some(call.name.clone()),
        response: match call.result.value() {
            response @ Value::Object(_) => response.clone(),
            other => object([("result", other.clone())]),
        },
    });
    JudgedTurn {
        id: turn.span_id.clone(),
        user: message("user", &turn.user_text),
        answer: message("model", &turn.final_text),
        steps: Steps::Unordered {
            calls: calls.collect(),
            responses: responses.collect(),
            texts: Vec::new(),
        },
        ..JudgedTurn::default()
    }
}

fn expected(turn: &ExpectedTurn) -> JudgedTurn {
    let message = |role: &str, texts: &[String]| {
        Content::new(role, texts.iter().cloned().map(Part::Text).collect())
    };
    let calls = turn.tool_calls.iter().map(|call| Call {
        id: call.id.clone(),
        name: call.name.clone(),
        args: call.args.clone(),
    });
    let responses = turn.tool_responses.iter().map(|response| Response {
        id: response.id.clone(),
        name: Some(response.name.clone()),
        response: response.response.clone(),
    });
    JudgedTurn {
        id: turn.invocation_id.clone(),
        user: Some(message("user", &turn.user_parts)),
        answer: turn.final_parts.as_deref().map(|parts| message("model", parts)),
        steps: Steps::Unordered {
            calls: calls.collect(),
            responses: responses.collect(),
            texts: Vec::new(),
        },
        ..JudgedTurn::default()
    }
}

/// Turns unordered steps into events. If no agent is known, one agent has declared every tool that was called.
pub(in crate::judge) fn ordered(mut turns: Vec<JudgedTurn>) -> Vec<JudgedTurn> {
    let mut called: Vec<String> = Vec::new();
    for turn in &mut turns {
        if let Steps::Unordered { calls, responses, texts } = std::mem::take(&mut turn.steps) {
            turn.steps = Steps::Events(events(calls, responses, texts));
        }
        let messages = turn.steps.events().iter().filter_map(|event| event.content.as_ref());
        for name in messages.flat_map(Content::calls).filter_map(|call| call.name.as_ref()) {
            if !called.contains(name) {
                called.push(name.clone());
            }
        }
    }
    if !called.is_empty() && turns.iter().all(|turn| turn.agents.is_none()) {
        let declarations = called.into_iter().map(|name| object([("name", name.into())]));
        let tool = object([("function_declarations", Value::Array(declarations.collect()))]);
        let agent =
            Agent { name: AGENT.to_owned(), instructions: String::new(), tools: vec![tool] };
        for turn in &mut turns {
            turn.agents = Some(vec![agent.clone()]);
        }
    }
    turns
}

/// Orders steps: each call and its response, then the other responses, then texts.
fn events(calls: Vec<Call>, responses: Vec<Response>, texts: Vec<Content>) -> Vec<Event> {
    let ids: Vec<Option<String>> = calls.iter().map(|call| call.id.clone()).collect();
    let has_call = |response: &Response| response.id.is_some() && ids.contains(&response.id);
    let mut responses: Vec<Option<Response>> = responses.into_iter().map(Some).collect();
    let mut contents = Vec::new();
    for call in calls {
        let by_id = responses.iter().position(|response| {
            response.as_ref().is_some_and(|response| call.id.is_some() && response.id == call.id)
        });
        let by_name = || {
            responses.iter().position(|response| {
                response
                    .as_ref()
                    .is_some_and(|response| response.name == call.name && !has_call(response))
            })
        };
        let response = by_id.or_else(by_name).and_then(|index| responses[index].take());
        contents.push(Content::new("model", vec![Part::Call(call)]));
        contents.extend(response.map(answered));
    }
    contents.extend(responses.into_iter().flatten().map(answered));
    contents.extend(texts);
    contents.into_iter().map(event).collect()
}

fn event(content: Content) -> Event {
    Event { author: AGENT.to_owned(), content: Some(content), grounding: None }
}

/// Returns the declarations in Google's form.
fn declared(tools: &[ToolDeclaration]) -> Vec<Value> {
    let declaration = |tool: &ToolDeclaration| {
        let members = [
            ("name", Value::String(tool.name.clone())),
            ("description", tool.description.clone().map_or(Value::Null, Value::String)),
            ("parameters", tool.parameters.clone()),
        ];
        object(members.into_iter().filter(|(_, value)| !value.is_null()))
    };
    let declarations: Vec<Value> = tools.iter().map(declaration).collect();
    if declarations.is_empty() {
        return Vec::new();
    }
    vec![object([("function_declarations", Value::Array(declarations))])]
}

fn answered(response: Response) -> Content {
    Content::new("user", vec![Part::Response(response)])
}
