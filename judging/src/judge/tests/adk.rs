//! Turns of vectors: `Invocation` of ADK in camel case or snake case.

use evaluator_json::Value;

use crate::judge::{
    Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Steps,
    material::adk::{Read, list, member, object, optional, text},
};

impl JudgedTurn {
    /// Reads a turn from an ADK invocation.
    pub(crate) fn from_adk(invocation: &Value) -> Result<Self, String> {
        let fields = object(invocation, "an invocation")?;
        Ok(Self {
            id: text(fields, "invocationId")?.unwrap_or_default(),
            user: optional(fields, "userContent", content)?,
            answer: optional(fields, "finalResponse", content)?,
            steps: optional(fields, "intermediateData", steps)?.unwrap_or_default(),
            agents: optional(fields, "appDetails", agents)?,
            rubrics: list(fields, "rubrics", Rubric::from_adk)?,
        })
    }
}

fn content(value: &Value) -> Read<Content> {
    let fields = object(value, "a content")?;
    Ok(Content {
        role: text(fields, "role")?.unwrap_or_default(),
        parts: list(fields, "parts", part)?,
    })
}

fn part(value: &Value) -> Read<Part> {
    let fields = object(value, "a part")?;
    if let Some(call) = optional(fields, "functionCall", call)? {
        return Ok(Part::Call(call));
    }
    if let Some(response) = optional(fields, "functionResponse", response)? {
        return Ok(Part::Response(response));
    }
    Ok(text(fields, "text")?.map_or(Part::Other, Part::Text))
}

fn call(value: &Value) -> Read<Call> {
    let fields = object(value, "a call")?;
    let args = member(fields, "args").cloned().unwrap_or_default();
    Ok(Call { id: text(fields, "id")?, name: text(fields, "name")?, args })
}

fn response(value: &Value) -> Read<Response> {
    let fields = object(value, "a response")?;
    let response = member(fields, "response").cloned().unwrap_or_default();
    Ok(Response { id: text(fields, "id")?, name: text(fields, "name")?, response })
}

fn steps(value: &Value) -> Read<Steps> {
    let fields = object(value, "`intermediateData`")?;
    if member(fields, "invocationEvents").is_some() {
        return Ok(Steps::Events(list(fields, "invocationEvents", event)?));
    }
    Ok(Steps::Unordered {
        calls: list(fields, "toolUses", call)?,
        responses: list(fields, "toolResponses", response)?,
        texts: list(fields, "intermediateResponses", intermediate)?,
    })
}

fn event(value: &Value) -> Read<Event> {
    let fields = object(value, "an event")?;
    Ok(Event {
        author: text(fields, "author")?.unwrap_or_default(),
        content: optional(fields, "content", content)?,
        grounding: member(fields, "groundingMetadata").cloned(),
    })
}

/// Reads a pair of author and parts.
fn intermediate(value: &Value) -> Read<Content> {
    let Some([_, Value::Array(parts)]) = value.as_array() else {
        return Err("an item of `intermediateResponses` must be an author and a list".to_owned());
    };
    let parts = parts.iter().map(part).collect::<Read<_>>()?;
    Ok(Content { role: "model".to_owned(), parts })
}

fn agents(value: &Value) -> Read<Vec<Agent>> {
    let Some(details) = member(object(value, "`appDetails`")?, "agentDetails") else {
        return Ok(Vec::new());
    };
    let agents = object(details, "`agentDetails`")?.iter().map(|(name, agent)| {
        let fields = object(agent, "an agent")?;
        Ok(Agent {
            name: name.clone(),
            instructions: text(fields, "instructions")?.unwrap_or_default(),
            tools: list(fields, "toolDeclarations", |tool| Ok(tool.clone()))?,
        })
    });
    agents.collect()
}
