//! Conversations of a travel desk: long ones with tools, and small ones; and the eval set for both.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use serde_json::{Value, json};

/// Turns of each conversation.
const TURNS: usize = 3;

/// First questions of users; each has an eval case.
const CASES: [&str; 8] = [
    "Find me a quiet hotel in Köln for two nights.",
    "Which trains go to Lyon on Friday evening?",
    "Cancel my booking, please – I am ill.",
    "How far is it from the station to the old town?",
    "I need a room with a view of the sea.",
    "What does breakfast cost, and until when is it served?",
    "Can I bring my dog?",
    "Is there a museum that is open on Mondays?",
];

/// Writes OTLP JSON with a number of traces of about 150 KB each: one document on one line, as exporters write it.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_traces(path: &Path, traces: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(b"{\"resourceSpans\":[").unwrap();
    for number in 0..traces {
        if number > 0 {
            file.write_all(b",").unwrap();
        }
        serde_json::to_writer(&mut file, &Recorder::new(number).record()).unwrap();
    }
    file.write_all(b"]}\n").unwrap();
    file.into_inner().unwrap();
}

/// Writes JSON lines with a number of traces of one to three spans (about 1 KB) each: a document per trace.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_small_traces(path: &Path, traces: usize) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for number in 0..traces {
        let record = Recorder::new(number).record_little();
        serde_json::to_writer(&mut file, &json!({"resourceSpans": [record]})).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.into_inner().unwrap();
}

/// Writes the eval set: a case for each first question.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_eval_set(path: &Path) {
    let cases: Vec<Value> = CASES
        .iter()
        .enumerate()
        .map(|(case, question)| {
            let turns: Vec<Value> = (0..TURNS)
                .map(|turn| {
                    json!({
                        "invocation_id": format!("{case}-{turn}"),
                        "user_content": {"role": "user", "parts": [{"text": said(question, turn)}]},
                        "final_response": {"role": "model", "parts": [{"text": answer(case, turn)}]},
                        "intermediate_data": {"tool_uses": [
                            {"name": "search", "args": search(case, turn)},
                            {"name": "details", "args": {"id": turn}},
                        ]},
                    })
                })
                .collect();
            json!({"eval_id": format!("case_{case}"), "conversation": turns})
        })
        .collect();
    let set = json!({"eval_set_id": "desk", "eval_cases": cases});
    std::fs::write(path, set.to_string()).unwrap();
}

fn said(question: &str, turn: usize) -> String {
    if turn == 0 { question.to_owned() } else { format!("And if it were {turn} days later?") }
}

fn answer(case: usize, turn: usize) -> String {
    format!(
        "For request {case} I found {} offers; the best is number {turn}, “La Fête”, from 89 € a night.",
        turn + 3
    )
}

fn search(case: usize, turn: usize) -> Value {
    json!({"query": CASES[case], "page": turn, "filters": {"price": 120.5, "open": true}})
}

/// Offers as a search gives them, some 6 KB.
fn offers(seed: usize) -> Value {
    (0..19)
        .map(|offer| {
            json!({
                "id": offer,
                "title": format!("Offer {} of \"La Fête\"", seed * 31 + offer),
                "url": format!("https://offers.example/{seed}/{offer}?ref=desk"),
                "snippet": "Quiet rooms near the old town, five minutes from the station.\nBreakfast is served until \
                            eleven; dogs are welcome – ask at the desk. Rooms with a view of the river cost a little more.",
                "price": 89.5 + offer as f64,
                "tags": ["quiet", "breakfast", "dogs", "río"],
            })
        })
        .collect()
}

/// Records one conversation: every other one as Google's Agent Development Kit does, the rest as instrumentation that
/// follows the conventions for generative AI.
struct Recorder {
    number: usize,
    case: usize,
    clock: u64,
    spans: Vec<Value>,
    history: Vec<Value>,
}

impl Recorder {
    fn new(number: usize) -> Self {
        let clock = 1_760_000_000_000_000_000 + number as u64 * 60_000_000_000;
        Self { number, case: number % CASES.len(), clock, spans: Vec::new(), history: Vec::new() }
    }

    fn record(mut self) -> Value {
        let session = self.open("session", None, vec![]);
        for turn in 0..TURNS {
            self.turn(session, turn);
        }
        self.close(session);
        self.with_resource()
    }

    /// Records a conversation of one question and an answer, with or without a tool call.
    fn record_little(mut self) -> Value {
        let id = json!(format!("conversation-{}", self.number));
        let mut attributes = vec![("gen_ai.conversation.id", id)];
        attributes.push(("gen_ai.operation.name", json!("invoke_agent")));
        let is_call_alone = self.number.is_multiple_of(3);
        let agent =
            (!is_call_alone).then(|| self.open("invoke_agent travel_desk", None, attributes));
        self.history.push(message("user", json!({"type": "text", "content": CASES[self.case]})));
        if self.number % 3 == 2 {
            let attributes = vec![
                ("gen_ai.operation.name", json!("execute_tool")),
                ("gen_ai.tool.name", json!("search")),
                ("gen_ai.tool.call.arguments", json!(search(self.case, 0).to_string())),
            ];
            let tool = self.open("execute_tool search", agent, attributes);
            self.close(tool);
        }
        let answer = json!({"type": "text", "content": answer(self.case, 0)});
        self.chat(agent, message("assistant", answer), "stop");
        if let Some(agent) = agent {
            self.close(agent);
        }
        self.with_resource()
    }

    fn with_resource(self) -> Value {
        let scope =
            if self.is_adk() { "gcp.vertex.agent" } else { "opentelemetry.instrumentation.desk" };
        json!({
            "resource": {"attributes": [
                attribute("service.name", json!("travel-desk")),
                attribute("telemetry.sdk.language", json!("python")),
                attribute("telemetry.sdk.version", json!("1.37.0")),
            ]},
            "scopeSpans": [{"scope": {"name": scope, "version": "1.0"}, "spans": self.spans}],
        })
    }

    fn is_adk(&self) -> bool {
        self.number.is_multiple_of(2)
    }

    fn turn(&mut self, session: usize, turn: usize) {
        let agent = self.open(
            "invoke_agent travel_desk",
            Some(session),
            vec![
                ("gen_ai.operation.name", json!("invoke_agent")),
                ("gen_ai.agent.name", json!("travel_desk")),
                ("gen_ai.conversation.id", json!(format!("conversation-{}", self.number))),
            ],
        );
        let question = said(CASES[self.case], turn);
        self.history.push(message("user", json!({"type": "text", "content": question})));
        // Some agents look at the wrong page.
        let page = if self.number % 7 == 3 { turn + 1 } else { turn };
        let seed = self.number * TURNS + turn;
        self.call(agent, turn, "search", search(self.case, page), offers(seed));
        self.call(agent, turn, "details", json!({"id": turn}), json!({"ok": true, "rooms": 3}));
        let answer = json!({"type": "text", "content": answer(self.case, turn)});
        self.chat(Some(agent), message("assistant", answer), "stop");
        self.close(agent);
    }

    /// A call of the model that asks for a tool, and the call of the tool.
    fn call(&mut self, agent: usize, turn: usize, tool: &str, arguments: Value, result: Value) {
        let id = format!("call-{}-{turn}-{tool}", self.number);
        let part = json!({"type": "tool_call", "id": id, "name": tool, "arguments": arguments});
        self.chat(Some(agent), message("assistant", part), "tool_calls");
        let span = self.open(
            &format!("execute_tool {tool}"),
            Some(agent),
            vec![
                ("gen_ai.operation.name", json!("execute_tool")),
                ("gen_ai.tool.name", json!(tool)),
                ("gen_ai.tool.call.id", json!(id)),
                ("gen_ai.tool.call.arguments", json!(arguments.to_string())),
                ("gen_ai.tool.call.result", json!(result.to_string())),
            ],
        );
        self.close(span);
        let part = json!({"type": "tool_call_response", "id": id, "response": result});
        self.history.push(message("tool", part));
    }

    fn chat(&mut self, agent: Option<usize>, output: Value, finish: &str) {
        let name = if self.is_adk() { "call_llm" } else { "chat gpt-5-mini" };
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!("openai")),
            ("gen_ai.request.model", json!("gpt-5-mini")),
            ("gen_ai.response.model", json!("gpt-5-mini-2026-01")),
            ("gen_ai.usage.input_tokens", json!(self.history.len() * 700)),
            ("gen_ai.usage.output_tokens", json!(90)),
            ("gen_ai.response.finish_reasons", json!([finish])),
            ("gen_ai.input.messages", json!(json!(self.history).to_string())),
            ("gen_ai.output.messages", json!(json!([output]).to_string())),
        ];
        if self.is_adk() {
            let config = json!({"model": "gpt-5-mini", "config": {"temperature": 0.2}});
            attributes.push(("gcp.vertex.agent.llm_request", json!(config.to_string())));
            attributes
                .push(("gcp.vertex.agent.event_id", json!(format!("e-{}", self.spans.len()))));
        }
        let span = self.open(name, agent, attributes);
        self.close(span);
        self.history.push(output);
    }

    /// Starts a span. Returns its index.
    fn open(&mut self, name: &str, parent: Option<usize>, attributes: Vec<(&str, Value)>) -> usize {
        self.clock += 3_000_000;
        let attributes: Vec<Value> =
            attributes.into_iter().map(|(key, value)| attribute(key, value)).collect();
        self.spans.push(json!({
            "traceId": format!("{:032x}", 0xabc0_0000 + self.number),
            "spanId": self.span_id(self.spans.len()),
            "parentSpanId": parent.map_or_else(String::new, |parent| self.span_id(parent)),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": self.clock.to_string(),
            "attributes": attributes,
            "status": {},
        }));
        self.spans.len() - 1
    }

    fn close(&mut self, span: usize) {
        self.clock += 250_000_000;
        self.spans[span]["endTimeUnixNano"] = json!(self.clock.to_string());
    }

    fn span_id(&self, span: usize) -> String {
        format!("{:016x}", (self.number << 16) + span + 1)
    }
}

fn message(role: &str, part: Value) -> Value {
    json!({"role": role, "parts": [part]})
}

fn attribute(key: &str, value: Value) -> Value {
    let value = match value {
        Value::String(_) => json!({"stringValue": value}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(items) => {
            let items: Vec<Value> =
                items.into_iter().map(|item| json!({"stringValue": item})).collect();
            json!({"arrayValue": {"values": items}})
        }
        other => json!({"stringValue": other.to_string()}),
    };
    json!({"key": key, "value": value})
}
