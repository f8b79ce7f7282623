//! Turns as judges see them.

use evaluator_json::Value;

/// A turn as judges see it.
#[derive(Clone, Debug, Default)]
pub struct JudgedTurn {
    /// Id of the turn.
    pub id: String,
    /// Message of the user.
    pub user: Option<Content>,
    /// Answer of the agent.
    pub answer: Option<Content>,
    /// Steps of the agent before its answer.
    pub steps: Steps,
    /// Agents that took part, if known.
    pub agents: Option<Vec<Agent>>,
    /// Rubrics of this turn.
    pub rubrics: Vec<Rubric>,
}

/// A message.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Role of the author, e.g. `model`.
    pub role: String,
    /// Parts in order.
    pub parts: Vec<Part>,
}

/// Part of a message. Parts of other kinds are not shown to judges.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text.
    Text(String),
    /// Call of a tool.
    Call(Call),
    /// Response of a tool.
    Response(Response),
    /// Anything else, e.g. an image.
    Other,
}

/// Call of a tool.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Id that connects the call with its response.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: Option<String>,
    /// Arguments, `Null` if there are none.
    pub args: Value,
}

/// Response of a tool.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Id of the call.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: Option<String>,
    /// The response, `Null` if there is none.
    pub response: Value,
}

/// Steps of an agent before its answer.
#[derive(Clone, Debug, Default)]
pub enum Steps {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Events in order.
    Events(Vec<Event>),
    /// Calls, responses and texts, without their order among each other.
    Unordered {
        /// Tool calls.
        calls: Vec<Call>,
        /// Responses of tools.
        responses: Vec<Response>,
        /// Texts before the answer.
        texts: Vec<Content>,
    },
}

/// One step of an agent.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Name of the agent, or `user`.
    pub author: String,
    /// The message.
    pub content: Option<Content>,
    /// Sources that the model searched, if any.
    pub grounding: Option<Value>,
}

/// An agent.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    /// Name.
    pub name: String,
    /// Instructions of the developer.
    pub instructions: String,
    /// Tools with their declarations.
    pub tools: Vec<Value>,
}

/// A statement that a judge checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rubric {
    /// Id, unique among the rubrics of a turn.
    pub id: String,
    /// The statement.
    pub text: Option<String>,
    /// Kind, e.g. `TOOL_USE_QUALITY`, which decides about the metric that uses a rubric of a turn.
    pub kind: Option<String>,
}

/// Scenario of a simulated user.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// First message.
    pub starting_prompt: String,
    /// Plan of the conversation.
    pub conversation_plan: String,
    /// Description of the person that is simulated, with what would violate it; empty if there is none.
    pub persona: String,
}

impl Content {
    /// Creates a message.
    pub fn new(role: &str, parts: Vec<Part>) -> Self {
        Self { role: role.to_owned(), parts }
    }

    /// Returns the texts that are not empty.
    pub(in crate::judge) fn texts(&self) -> Vec<&str> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the text on lines; `None` if the message has no parts.
    pub(in crate::judge) fn text(&self) -> Option<String> {
        (!self.parts.is_empty()).then(|| self.texts().join("\n"))
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    pub(super) fn responses(&self) -> impl Iterator<Item = &Response> {
        self.parts.iter().filter_map(|part| match part {
            Part::Response(response) => Some(response),
            _ => None,
        })
    }
}

impl Steps {
    /// Returns the events, none if their order is not known.
    pub(in crate::judge) fn events(&self) -> &[Event] {
        match self {
            Self::Events(events) => events,
            Self::Unknown | Self::Unordered { .. } => &[],
        }
    }
}

impl JudgedTurn {
    /// Returns the text of the user; `None` if there is none.
    pub(in crate::judge) fn user_text(&self) -> Option<String> {
        self.user.as_ref().and_then(Content::text)
    }

    /// Returns the text of the answer; `None` if there is none.
    pub(in crate::judge) fn answer_text(&self) -> Option<String> {
        self.answer.as_ref().and_then(Content::text)
    }
}
