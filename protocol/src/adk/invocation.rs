//! Turns: the user's message, the agent's events and its answer.

use std::{collections::BTreeMap, fmt};

use serde_core::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::Value;

use super::{Content, FunctionCall, FunctionResponse, Part};
use crate::object::{Object, builder, object, untagged};

object! {
    /// One turn: the user's message, the agent's events and its answer.
    pub struct Invocation: lenient {
        /// Id of the turn; empty for most expected turns.
        invocation_id | "invocationId": String,
        /// The user's message.
        user_content | "userContent": Content,
        /// The agent's answer; `None` when it gave none.
        final_response | "finalResponse": Option<Content>,
        /// The agent's steps between both.
        intermediate_data | "intermediateData": Option<IntermediateDataType>,
        /// Start of the turn, in seconds since 1970.
        creation_timestamp | "creationTimestamp": Option<f64>,
        /// Duration, in seconds. Only actual turns have durations.
        duration: Option<f64>,
        /// Time spent in the model, in seconds.
        model_duration | "modelDuration": Option<f64>,
        /// Time spent in tools, in seconds.
        tool_duration | "toolDuration": Option<f64>,
        /// Rubrics to judge the turn by.
        rubrics: Option<Vec<Rubric>>,
        /// The agents of the application.
        app_details | "appDetails": Option<AppDetails>,
    } unknown
}

impl Invocation {
    /// Creates a turn with a question and an answer.
    pub fn new(user_content: impl Into<String>, final_response: impl Into<String>) -> Self {
        Self {
            user_content: Content::from_text(user_content).role("user"),
            final_response: Some(Content::from_text(final_response).role("model")),
            ..Self::default()
        }
    }

    builder! {
        /// Removes the answer: the agent gave none.
        fn unanswered(self) { self.final_response = None; }
    }

    /// Adds a call of a tool.
    #[must_use]
    pub fn tool_use(self, call: FunctionCall) -> Self {
        self.step(Part::from_function_call(call), "model", |data, part| {
            data.tool_uses.extend(part.function_call);
        })
    }

    /// Adds the response of a tool.
    #[must_use]
    pub fn tool_response(self, response: FunctionResponse) -> Self {
        self.step(Part::from_function_response(response), "user", |data, part| {
            data.tool_responses.extend(part.function_response);
        })
    }

    /// Adds an event with this part, or adds the part to data of the other shape.
    fn step(
        mut self,
        part: Part,
        role: &str,
        add: impl FnOnce(&mut IntermediateData, Part),
    ) -> Self {
        let none = || IntermediateDataType::InvocationEvents(InvocationEvents::default());
        match self.intermediate_data.get_or_insert_with(none) {
            IntermediateDataType::IntermediateData(data) => add(data, part),
            IntermediateDataType::InvocationEvents(events) => {
                let content = Content::from_parts([part]).role(role);
                let event =
                    InvocationEvent { content: Some(content), ..InvocationEvent::default() };
                events.invocation_events.push(event);
            }
        }
        self
    }

    /// Returns the text of the user's message.
    pub fn user_text(&self) -> String {
        self.user_content.text()
    }

    /// Returns the text of the final response; `None` without a response, empty if it has no text.
    pub fn final_text(&self) -> Option<String> {
        self.final_response.as_ref().map(Content::text)
    }

    /// Returns the events; empty for data of the other shape.
    pub fn events(&self) -> &[InvocationEvent] {
        match &self.intermediate_data {
            Some(IntermediateDataType::InvocationEvents(data)) => &data.invocation_events,
            _ => &[],
        }
    }

    /// Returns the tool calls, in order, from either shape of the data.
    pub fn tool_uses(&self) -> impl Iterator<Item = &FunctionCall> {
        let listed = self.listed().map(|data| &*data.tool_uses).unwrap_or_default();
        listed.iter().chain(self.event_parts().filter_map(|part| part.function_call.as_ref()))
    }

    /// Returns the responses of tools, in order, from either shape of the data.
    pub fn tool_responses(&self) -> impl Iterator<Item = &FunctionResponse> {
        let listed = self.listed().map(|data| &*data.tool_responses).unwrap_or_default();
        listed.iter().chain(self.event_parts().filter_map(|part| part.function_response.as_ref()))
    }

    /// Returns author and text of the messages before the final response, in order, from either shape of the data.
    pub fn intermediate_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let listed = self.listed().map(|data| &*data.intermediate_responses).unwrap_or_default();
        let listed = listed.iter().flat_map(|response| {
            response.parts.iter().map(|part| (response.author.as_str(), part))
        });
        let in_events = self.events().iter().flat_map(|event| {
            let parts = event.content.as_ref().map(Content::parts).unwrap_or_default();
            parts.iter().map(|part| (event.author.as_str(), part))
        });
        listed.chain(in_events).filter_map(|(author, part)| Some((author, part.text.as_deref()?)))
    }

    fn listed(&self) -> Option<&IntermediateData> {
        match &self.intermediate_data {
            Some(IntermediateDataType::IntermediateData(data)) => Some(data),
            _ => None,
        }
    }

    fn event_parts(&self) -> impl Iterator<Item = &Part> {
        self.events().iter().filter_map(|event| event.content.as_ref()).flat_map(Content::parts)
    }
}

/// The agent's steps in a turn, in one of two shapes: events have the key `invocation_events`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum IntermediateDataType {
    /// Lists of calls, responses and texts, in expected turns only.
    IntermediateData(IntermediateData),
    /// Events in order.
    InvocationEvents(InvocationEvents),
}

object! {
    /// The agent's steps, in lists by kind.
    pub struct IntermediateData: lenient {
        /// Tool calls.
        tool_uses | "toolUses": Vec<FunctionCall>,
        /// Responses of tools.
        tool_responses | "toolResponses": Vec<FunctionResponse>,
        /// Messages of agents before the final response.
        intermediate_responses | "intermediateResponses": Vec<IntermediateResponse>,
    } unknown
}

/// A message of an agent before the final response. An array of two in documents.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct IntermediateResponse {
    /// Name of the agent.
    pub author: String,
    /// The message.
    pub parts: Vec<Part>,
}

impl Serialize for IntermediateResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.author, &self.parts).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for IntermediateResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(|(author, parts)| Self { author, parts })
    }
}

object! {
    /// The agent's steps as events. The event of the final response has no content, unless it contains calls.
    pub struct InvocationEvents: lenient {
        /// The events.
        invocation_events | "invocationEvents": Vec<InvocationEvent>,
    } unknown
}

object! {
    /// Data of either shape.
    struct Shapes: lenient {
        invocation_events | "invocationEvents": Option<Vec<InvocationEvent>>,
        tool_uses | "toolUses": Option<Vec<FunctionCall>>,
        tool_responses | "toolResponses": Option<Vec<FunctionResponse>>,
        intermediate_responses | "intermediateResponses": Option<Vec<IntermediateResponse>>,
    } unknown
}

impl<'de> Deserialize<'de> for IntermediateDataType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Checks the shape while the data is read, so that errors have the position of the data.
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = IntermediateDataType;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with `invocation_events`, or with `tool_uses` and the like")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let shapes = Shapes::visit(map, &mut |_| {})?;
                shapes.one().ok_or_else(|| {
                    let both = "`invocation_events` and `tool_uses` or the like: intermediate data has one shape";
                    A::Error::custom(both)
                })
            }
        }

        deserializer.deserialize_map(Either)
    }
}

impl Shapes {
    /// Returns the only shape; an empty object has the older one. `None` if both are present.
    fn one(self) -> Option<IntermediateDataType> {
        let Self { invocation_events, tool_uses, tool_responses, intermediate_responses, unknown } =
            self;
        let is_listed =
            tool_uses.is_some() || tool_responses.is_some() || intermediate_responses.is_some();
        match invocation_events {
            Some(_) if is_listed => None,
            Some(invocation_events) => {
                Some(IntermediateDataType::InvocationEvents(InvocationEvents {
                    invocation_events,
                    unknown,
                }))
            }
            None => Some(IntermediateDataType::IntermediateData(IntermediateData {
                tool_uses: tool_uses.unwrap_or_default(),
                tool_responses: tool_responses.unwrap_or_default(),
                intermediate_responses: intermediate_responses.unwrap_or_default(),
                unknown,
            })),
        }
    }
}

untagged!(IntermediateDataType { IntermediateData, InvocationEvents });

object! {
    /// An event of a turn.
    pub struct InvocationEvent: lenient {
        /// Author.
        author: String,
        /// Message.
        content: Option<Content>,
        /// Sources of the message.
        grounding_metadata | "groundingMetadata": Option<Value>,
        /// Tokens of the model call. An empty object is a call as well.
        usage_metadata | "usageMetadata": Option<UsageMetadata>,
        /// Name of the model.
        model_version | "modelVersion": Option<String>,
    } unknown
}

impl InvocationEvent {
    /// Returns true if it is a model call: it has tokens or a model.
    pub fn is_model_call(&self) -> bool {
        self.usage_metadata.is_some() || self.model_version.is_some()
    }
}

object! {
    /// A rubric to judge a turn by.
    pub struct Rubric: lenient {
        /// Id.
        rubric_id | "rubricId": String,
        /// Content.
        rubric_content | "rubricContent": RubricContent,
        /// Description.
        description: Option<String>,
        /// Kind.
        kind as "type": Option<String>,
    } unknown
}

object! {
    /// The content of a rubric.
    pub struct RubricContent: lenient {
        /// As text.
        text_property | "textProperty": Option<String>,
    } unknown
}

object! {
    /// The agents of the application.
    pub struct AppDetails: lenient {
        /// Agents by name.
        agent_details | "agentDetails": BTreeMap<String, AgentDetails>,
    } unknown
}

object! {
    /// An agent.
    pub struct AgentDetails: lenient {
        /// Name.
        name: String,
        /// Instructions.
        instructions: String,
        /// Declarations of its tools.
        tool_declarations | "toolDeclarations": Vec<Value>,
    } unknown
}

object! {
    /// Tokens of a model call.
    pub struct UsageMetadata: lenient {
        /// Input tokens.
        prompt_token_count | "promptTokenCount": Option<i64>,
        /// Input tokens that are results of tools on the side of the model.
        tool_use_prompt_token_count | "toolUsePromptTokenCount": Option<i64>,
        /// Input tokens from a cache.
        cached_content_token_count | "cachedContentTokenCount": Option<i64>,
        /// Output tokens.
        candidates_token_count | "candidatesTokenCount": Option<i64>,
        /// Tokens of thoughts.
        thoughts_token_count | "thoughtsTokenCount": Option<i64>,
        /// Total according to the provider. The built-in metrics of ADK compute their own.
        total_token_count | "totalTokenCount": Option<i64>,
        /// Input tokens by kind.
        prompt_tokens_details | "promptTokensDetails": Option<Value>,
        /// Tokens of tool results by kind.
        tool_use_prompt_tokens_details | "toolUsePromptTokensDetails": Option<Value>,
        /// Cached tokens by kind.
        cache_tokens_details | "cacheTokensDetails": Option<Value>,
        /// Output tokens by kind.
        candidates_tokens_details | "candidatesTokensDetails": Option<Value>,
        /// The provider's kind of traffic.
        traffic_type | "trafficType": Option<Value>,
    } unknown
}

impl UsageMetadata {
    /// Returns the input tokens, including results of tools on the side of the model; `None` when neither is known.
    pub fn input_tokens(&self) -> Option<i64> {
        sum([self.prompt_token_count, self.tool_use_prompt_token_count])
    }

    /// Returns the output tokens, including thoughts; `None` when neither is known.
    pub fn output_tokens(&self) -> Option<i64> {
        sum([self.candidates_token_count, self.thoughts_token_count])
    }
}

/// Returns the sum of the known counts; `None` without any.
pub(super) fn sum(counts: impl IntoIterator<Item = Option<i64>>) -> Option<i64> {
    counts.into_iter().flatten().reduce(i64::saturating_add)
}
