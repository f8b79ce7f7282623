//! The conversation that hosts show to evaluators, in the forms that they read it in.

use serde_json::{Value, json};

/// A conversation with its expected answers.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    pub(crate) turns: Vec<Turn>,
}

/// A turn of a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) question: &'static str,
    pub(crate) calls: Vec<Call>,
    pub(crate) answer: &'static str,
    pub(crate) expected: &'static str,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
    /// True if it failed.
    pub(crate) failed: bool,
}

impl Conversation {
    /// One turn without tools: all that Agenta has room for.
    pub(crate) fn words() -> Self {
        let turn = Turn { calls: Vec::new(), ..capital() };
        Self { turns: vec![turn] }
    }

    /// One turn in which tools are called, one of them twice and one in vain.
    pub(crate) fn tools() -> Self {
        Self { turns: vec![capital()] }
    }

    /// Two turns with different results.
    pub(crate) fn two_turns() -> Self {
        let second = Turn {
            question: "And in whole numbers, as JSON: how many live there?",
            calls: vec![call("population", json!({"city": "Paris"}), json!({"people": 2_048_472}))],
            answer: r#"{"people": 2048472}"#,
            expected: r#"{"people": 2048472}"#,
        };
        Self { turns: vec![capital(), second] }
    }

    /// Removes the marks of failed tool calls.
    pub(crate) fn without_failures(mut self) -> Self {
        let calls = self.turns.iter_mut().flat_map(|turn| &mut turn.calls);
        calls.for_each(|call| call.failed = false);
        self
    }

    /// As a trace in OTLP.
    pub(crate) fn trace(&self) -> Value {
        let spans: Vec<Value> =
            (1..).zip(&self.turns).flat_map(|(number, turn)| turn.spans(number)).collect();
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
    }

    /// Eval set with the expected answers, as agentevals and ADK read it.
    pub(crate) fn eval_set(&self) -> Value {
        let content = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
        let turns: Vec<Value> = self
            .turns
            .iter()
            .map(|turn| {
                json!({
                    "user_content": content("user", turn.question),
                    "final_response": content("model", turn.expected),
                })
            })
            .collect();
        json!({"eval_set_id": "set", "eval_cases": [{"eval_id": "case", "conversation": turns}]})
    }
}

impl Turn {
    fn spans(&self, number: usize) -> Vec<Value> {
        let attribute =
            |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
        let message = |role: &str, text: &str| {
            json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
        };
        let (trace, agent) = (format!("{number:032x}"), format!("{number:016x}"));
        let mut spans = vec![json!({
            "traceId": trace,
            "spanId": agent,
            "name": "invoke_agent agent",
            "startTimeUnixNano": format!("{number}000000000"),
            "endTimeUnixNano": format!("{number}900000000"),
            "attributes": [
                attribute("gen_ai.operation.name", "invoke_agent".to_owned()),
                attribute("gen_ai.conversation.id", "one".to_owned()),
                attribute("gen_ai.input.messages", message("user", self.question)),
                attribute("gen_ai.output.messages", message("assistant", self.answer)),
            ],
        })];
        spans.extend((1..).zip(&self.calls).map(|(place, call)| {
            json!({
                "traceId": trace,
                "spanId": format!("{number:08x}{place:08x}"),
                "parentSpanId": agent,
                "name": format!("execute_tool {}", call.name),
                "startTimeUnixNano": format!("{number}{place}00000000"),
                "endTimeUnixNano": format!("{number}{place}50000000"),
                "status": if call.failed { json!({"code": 2}) } else { json!({}) },
                "attributes": [
                    attribute("gen_ai.operation.name", "execute_tool".to_owned()),
                    attribute("gen_ai.tool.name", call.name.to_owned()),
                    attribute("gen_ai.tool.call.arguments", call.arguments.to_string()),
                    attribute("gen_ai.tool.call.result", call.result.to_string()),
                ],
            })
        }));
        spans
    }
}

fn capital() -> Turn {
    Turn {
        question: "What is the capital of France?",
        calls: vec![
            call("capital", json!({"country": "France"}), json!({"city": "Paris"})),
            call("capital", json!({"country": "France"}), json!({"city": "Paris"})),
            Call { failed: true, ..call("weather", json!({}), json!({"message": "no city"})) },
        ],
        answer: "I guess it is Paris, \"la Ville Lumière\".",
        expected: "Paris.",
    }
}

fn call(name: &'static str, arguments: Value, result: Value) -> Call {
    Call { name, arguments, result, failed: false }
}
