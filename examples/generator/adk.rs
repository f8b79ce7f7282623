//! How Google's Agent Development Kit records a conversation: `invocation`, `invoke_agent`, `call_llm` and `execute_tool`
//! spans, with whole requests and responses in attributes of its own.

use serde_json::{Value, json};

use super::{
    scenario::{AGENT, Call, Conversation, INSTRUCTIONS, Turn},
    span::{self, Span, Tracer},
};

const SCOPE: &str = "gcp.vertex.agent";

/// The spans of a conversation, one trace per turn.
pub(crate) fn record(conversation: &Conversation) -> Vec<Span> {
    let mut contents = Vec::new();
    span::record(conversation, SCOPE, |trace, turn| {
        record_turn(trace, conversation, turn, &mut contents)
    })
}

fn record_turn(
    mut trace: Tracer,
    conversation: &Conversation,
    turn: &Turn,
    contents: &mut Vec<Value>,
) -> Vec<Span> {
    trace.enter("invocation", Vec::new());
    trace.enter(
        format!("invoke_agent {AGENT}"),
        vec![
            ("gen_ai.operation.name", json!("invoke_agent")),
            ("gen_ai.agent.name", json!(AGENT)),
            ("gen_ai.agent.description", json!("Books and changes train journeys.")),
            ("gen_ai.conversation.id", json!(conversation.id)),
        ],
    );
    contents.push(json!({"parts": [{"text": turn.user}], "role": "user"}));
    for call in &turn.calls {
        let id = format!("adk-{:02}", contents.len());
        let request =
            json!({"function_call": {"args": call.arguments, "id": id, "name": call.tool}});
        call_llm(&mut trace, conversation, contents, request);
        execute_tool(&mut trace, &id, call);
        let response =
            json!({"function_response": {"id": id, "name": call.tool, "response": call.result}});
        contents.push(json!({"parts": [response], "role": "user"}));
    }
    if let Some(answer) = turn.answer {
        call_llm(&mut trace, conversation, contents, json!({"text": answer}));
    }
    trace.exit();
    trace.exit();
    trace.finish()
}

fn call_llm(
    trace: &mut Tracer,
    conversation: &Conversation,
    contents: &mut Vec<Value>,
    output: Value,
) {
    let request = json!({
        "config": {"system_instruction": INSTRUCTIONS},
        "contents": contents,
        "model": conversation.model,
    })
    .to_string();
    let content = json!({"parts": [output], "role": "model"});
    let (prompt, candidates) = (request.len().div_ceil(4), content.to_string().len().div_ceil(4));
    let response = json!({
        "content": content,
        "finish_reason": "STOP",
        "usage_metadata": {
            "candidates_token_count": candidates,
            "prompt_token_count": prompt,
            "total_token_count": prompt + candidates,
        },
    });
    trace.enter(
        "call_llm",
        vec![
            ("gen_ai.system", json!(conversation.provider)),
            ("gen_ai.request.model", json!(conversation.model)),
            ("gcp.vertex.agent.session_id", json!(conversation.id)),
            ("gcp.vertex.agent.llm_request", json!(request)),
            ("gcp.vertex.agent.llm_response", json!(response.to_string())),
            ("gen_ai.usage.input_tokens", json!(prompt)),
            ("gen_ai.usage.output_tokens", json!(candidates)),
            ("gen_ai.response.finish_reasons", json!(["stop"])),
        ],
    );
    trace.work(400, 1_200);
    trace.exit();
    contents.push(content);
}

fn execute_tool(trace: &mut Tracer, id: &str, call: &Call) {
    trace.enter(
        format!("execute_tool {}", call.tool),
        vec![
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!(call.tool)),
            ("gen_ai.tool.type", json!("FunctionTool")),
            ("gen_ai.tool.call.id", json!(id)),
            ("gcp.vertex.agent.tool_call_args", json!(call.arguments.to_string())),
            ("gcp.vertex.agent.tool_response", json!(call.result.to_string())),
        ],
    );
    trace.work(40, 350);
    if let Some(error) = call.error {
        trace.fail(error);
    }
    trace.exit();
}
