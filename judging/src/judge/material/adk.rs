//! Turns and scenarios as ADK writes them: `Invocation` in camel case or snake case.

use evaluator_json::{Object, Value};

use super::{Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Scenario, Steps};

type Read<T> = Result<T, String>;

/// Returns a member by its name in camel case or in snake case; `None` if it is missing or `null`.
fn member<'v>(object: &'v Object, key: &str) -> Option<&'v Value> {
    let snake = snake_case(key);
    object.get(key).or_else(|| object.get(&snake)).filter(|value| !value.is_null())
}

/// Converts a key to snake case.
pub(super) fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len());
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

fn object<'v>(value: &'v Value, what: &str) -> Read<&'v Object> {
    value.as_object().ok_or_else(|| format!("{what} must be an object, not {}", value.kind()))
}

fn text(object: &Object, key: &str) -> Read<Option<String>> {
    let Some(value) = member(object, key) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| format!("`{key}` must be a string"))?;
    Ok(Some(text.to_owned()))
}

/// Reads a list; a missing one is empty.
fn list<T>(object: &Object, key: &str, read: impl Fn(&Value) -> Read<T>) -> Read<Vec<T>> {
    let Some(value) = member(object, key) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| format!("`{key}` must be a list"))?;
    items.iter().map(read).collect()
}

fn optional<T>(object: &Object, key: &str, read: fn(&Value) -> Read<T>) -> Read<Option<T>> {
    member(object, key).map(read).transpose()
}

impl JudgedTurn {
    /// Reads a turn from an ADK invocation.
    ///
    /// # Errors
    ///
    /// A part has the wrong type; the message names its key.
    pub fn from_adk(invocation: &Value) -> Result<Self, String> {
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

impl Rubric {
    /// Reads a rubric of ADK.
    ///
    /// # Errors
    ///
    /// It has no id, or a part has the wrong type.
    pub fn from_adk(rubric: &Value) -> Result<Self, String> {
        let fields = object(rubric, "a rubric")?;
        let content = member(fields, "rubricContent")
            .map(|content| text(object(content, "`rubricContent`")?, "textProperty"));
        Ok(Self {
            id: text(fields, "rubricId")?.ok_or("a rubric has no `rubricId`")?,
            text: content.transpose()?.flatten(),
            kind: text(fields, "type")?,
        })
    }
}

impl Scenario {
    /// Reads a conversation scenario of ADK.
    ///
    /// # Errors
    ///
    /// A part has the wrong type.
    pub fn from_adk(scenario: &Value) -> Result<Self, String> {
        let fields = object(scenario, "a scenario")?;
        let take = |key| Ok::<_, String>(text(fields, key)?.unwrap_or_default());
        Ok(Self {
            starting_prompt: take("startingPrompt")?,
            conversation_plan: take("conversationPlan")?,
            persona: optional(fields, "userPersona", persona)?.unwrap_or_default(),
        })
    }
}

fn persona(value: &Value) -> Read<String> {
    let fields = object(value, "`userPersona`")?;
    let mut lines = vec![text(fields, "description")?.unwrap_or_default()];
    for behavior in list(fields, "behaviors", |behavior| {
        list(object(behavior, "a behavior")?, "violationRubrics", |rubric| {
            Ok(rubric.as_str().map_or_else(|| evaluator_json::to_python(rubric), str::to_owned))
        })
    })? {
        lines.extend(behavior);
    }
    Ok(lines.join("\n"))
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
