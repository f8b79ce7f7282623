//! Recordings of agents, more or less well-formed.

use arbitrary::{Result, Unstructured};

/// Keys of spans, their attributes, messages and parts.
const KEYS: &[&str] = &[
    "agentevals.eval.case.id",
    "agentevals.session_name",
    "arguments",
    "args",
    "config",
    "content",
    "contents",
    "error.type",
    "event.name",
    "finish_reason",
    "function",
    "function_call",
    "function_response",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_call_args",
    "gcp.vertex.agent.tool_response",
    "gen_ai.agent.name",
    "gen_ai.completion.0.content",
    "gen_ai.completion.0.finish_reason",
    "gen_ai.completion.0.role",
    "gen_ai.completion.0.tool_calls.0.arguments",
    "gen_ai.completion.0.tool_calls.0.id",
    "gen_ai.completion.0.tool_calls.0.name",
    "gen_ai.completion.18446744073709551616.role",
    "gen_ai.conversation.id",
    "gen_ai.input.messages",
    "gen_ai.operation.name",
    "gen_ai.output.messages",
    "gen_ai.prompt.0.content",
    "gen_ai.prompt.0.role",
    "gen_ai.prompt.1.tool_call_id",
    "gen_ai.prompt.x.role",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.system",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.tool.name",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.completion_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.prompt_tokens",
    "id",
    "index",
    "input.mime_type",
    "input.value",
    "llm.input_messages.0.message.content",
    "llm.input_messages.0.message.contents.0.message_content.text",
    "llm.input_messages.0.message.role",
    "llm.model_name",
    "llm.output_messages.0.message.content",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id",
    "llm.token_count.completion",
    "llm.token_count.prompt",
    "message",
    "name",
    "openinference.span.kind",
    "output.mime_type",
    "output.value",
    "parts",
    "response",
    "result",
    "role",
    "session.id",
    "text",
    "thought",
    "tool.name",
    "tool.parameters",
    "tool_calls",
    "type",
    "usage_metadata",
];

/// Texts with a meaning as values.
const WORDS: &[&str] = &[
    "",
    " ",
    "<REDACTED>",
    "<elided>",
    "<not specified>",
    "AGENT",
    "CHAIN",
    "LLM",
    "N/A",
    "TOOL",
    "assistant",
    "call_llm",
    "chat",
    "execute_tool",
    "execute_tool add",
    "execute_tool (merged)",
    "function",
    "gcp.vertex.agent",
    "generate_content",
    "hello",
    "invocation",
    "invoke_agent",
    "invoke_workflow",
    "model",
    "null",
    "system",
    "text",
    "tool",
    "tool_call",
    "tool_call_response",
    "tool_calls",
    "user",
    "{}",
    "[]",
    "1",
    "-1",
    "1.5",
    "9223372036854775808",
    "1e400",
    "\u{85}x\u{2028}",
    "ß",
    "[{\"role\":\"user\",\"content\":\"hi\"}]",
    "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"a\",\"name\":\"f\",\"arguments\":{}}]}]",
    "[{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\"a\",\"response\":\"x\"}]}]",
    "{\"result\":\"<not specified>\"}",
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]}",
    "{\"content\":{\"parts\":[{\"function_call\":{\"name\":\"f\",\"args\":{}}}]}}",
];

const EVENTS: &[&str] = &[
    "gen_ai.client.inference.operation.details",
    "gen_ai.user.message",
    "gen_ai.assistant.message",
    "gen_ai.tool.message",
    "gen_ai.system.message",
    "gen_ai.choice",
    "log",
];

/// Maximum depth of values; the target of the parser has deeper ones.
const DEPTH: u32 = 4;

/// Returns an OTLP or Jaeger document with up to a dozen spans in up to two traces.
///
/// # Errors
///
/// The data is used up.
pub fn recording(data: &mut Unstructured<'_>) -> Result<String> {
    let mut spans = Vec::new();
    let jaeger = data.arbitrary()?;
    for number in 0..data.int_in_range(1..=12)? {
        spans.push(if jaeger { jaeger_span(number, data)? } else { otlp_span(number, data)? });
    }
    let spans = spans.join(",");
    if jaeger {
        let process = tags(data)?;
        return Ok(format!(
            r#"{{"data":[{{"spans":[{spans}],"processes":{{"p":{{"serviceName":"s","tags":{process}}}}}}}]}}"#
        ));
    }
    let resource = attributes(data)?;
    let scope = quoted(data.choose(WORDS)?);
    let logs = logs(data)?;
    Ok(format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":{resource}}},"scopeSpans":[{{"scope":{{"name":{scope}}},"spans":[{spans}]}}]}}],"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{logs}]}}]}}]}}"#
    ))
}

fn otlp_span(number: u8, data: &mut Unstructured<'_>) -> Result<String> {
    let (trace, parent, start, end) = place(data)?;
    let name = quoted(data.choose(WORDS)?);
    let status = data.int_in_range(0..=3)?;
    let attributes = attributes(data)?;
    let mut events = Vec::new();
    for _ in 0..data.int_in_range(0..=2)? {
        let name = quoted(data.choose(EVENTS)?);
        events.push(format!(
            r#"{{"name":{name},"timeUnixNano":"1","attributes":{}}}"#,
            self::attributes(data)?
        ));
    }
    Ok(format!(
        r#"{{"traceId":"{trace:032x}","spanId":"{:016x}","parentSpanId":"{parent:016x}","name":{name},"startTimeUnixNano":"{start}","endTimeUnixNano":{end},"status":{{"code":{status}}},"attributes":{attributes},"events":[{}]}}"#,
        number + 1,
        events.join(",")
    ))
}

fn jaeger_span(number: u8, data: &mut Unstructured<'_>) -> Result<String> {
    let (trace, parent, start, end) = place(data)?;
    let name = quoted(data.choose(WORDS)?);
    let tags = tags(data)?;
    let fields = self::tags(data)?;
    let event = quoted(data.choose(EVENTS)?);
    Ok(format!(
        r#"{{"traceID":"{trace:032x}","spanID":"{:016x}","references":[{{"refType":"CHILD_OF","spanID":"{parent:016x}"}}],"operationName":{name},"startTime":{start},"duration":{},"processID":"p","tags":{tags},"logs":[{{"timestamp":1,"fields":{fields}}},{{"timestamp":2,"fields":[{{"key":"event","value":{event}}}]}}]}}"#,
        number + 1,
        end - start
    ))
}

/// Trace, parent, start and end.
fn place(data: &mut Unstructured<'_>) -> Result<(u8, u8, i16, i16)> {
    Ok((
        data.int_in_range(1..=2)?,
        data.int_in_range(0..=13)?,
        data.int_in_range(0..=50)?,
        data.int_in_range(0..=100)?,
    ))
}

fn logs(data: &mut Unstructured<'_>) -> Result<String> {
    let mut logs = Vec::new();
    for _ in 0..data.int_in_range(0..=3)? {
        let (trace, span, time, _) = place(data)?;
        let name = quoted(data.choose(EVENTS)?);
        let body = any_value(DEPTH, data)?;
        let attributes = attributes(data)?;
        logs.push(format!(
            r#"{{"traceId":"{trace:032x}","spanId":"{span:016x}","timeUnixNano":"{time}","eventName":{name},"body":{body},"attributes":{attributes}}}"#
        ));
    }
    Ok(logs.join(","))
}

fn attributes(data: &mut Unstructured<'_>) -> Result<String> {
    let mut entries = Vec::new();
    for _ in 0..data.int_in_range(0..=8)? {
        let key = quoted(data.choose(KEYS)?);
        entries.push(format!(r#"{{"key":{key},"value":{}}}"#, any_value(DEPTH, data)?));
    }
    Ok(format!("[{}]", entries.join(",")))
}

fn tags(data: &mut Unstructured<'_>) -> Result<String> {
    let mut entries = Vec::new();
    for _ in 0..data.int_in_range(0..=8)? {
        let key = quoted(data.choose(KEYS)?);
        let kind = data.choose(&["string", "int64", "float64", "bool", "binary", "x"])?;
        entries.push(format!(r#"{{"key":{key},"type":"{kind}","value":{}}}"#, value(DEPTH, data)?));
    }
    Ok(format!("[{}]", entries.join(",")))
}

/// Returns a value as OTLP wraps it; texts are often JSON, as recorders write messages.
fn any_value(depth: u32, data: &mut Unstructured<'_>) -> Result<String> {
    Ok(match data.int_in_range(0..=7u8)? {
        0 => format!(r#"{{"intValue":"{}"}}"#, data.arbitrary::<i64>()?),
        1 => format!(r#"{{"doubleValue":{}}}"#, scalar(data)?),
        2 => format!(r#"{{"boolValue":{}}}"#, data.arbitrary::<bool>()?),
        3 if depth > 0 => format!(
            r#"{{"arrayValue":{{"values":[{},{}]}}}}"#,
            any_value(depth - 1, data)?,
            any_value(depth - 1, data)?
        ),
        4 if depth > 0 => format!(
            r#"{{"kvlistValue":{{"values":[{{"key":{},"value":{}}}]}}}}"#,
            quoted(data.choose(KEYS)?),
            any_value(depth - 1, data)?
        ),
        5 => format!(r#"{{"stringValue":{}}}"#, quoted(&value(depth, data)?)),
        6 => value(depth, data)?,
        _ => format!(r#"{{"stringValue":{}}}"#, quoted(data.choose(WORDS)?)),
    })
}

fn value(depth: u32, data: &mut Unstructured<'_>) -> Result<String> {
    if depth == 0 {
        return scalar(data);
    }
    Ok(match data.int_in_range(0..=3u8)? {
        0 => {
            let mut items = Vec::new();
            for _ in 0..data.int_in_range(0..=3)? {
                items.push(value(depth - 1, data)?);
            }
            format!("[{}]", items.join(","))
        }
        1 | 2 => {
            let mut members = Vec::new();
            for _ in 0..data.int_in_range(0..=5)? {
                let key = quoted(data.choose(KEYS)?);
                members.push(format!("{key}:{}", value(depth - 1, data)?));
            }
            format!("{{{}}}", members.join(","))
        }
        _ => scalar(data)?,
    })
}

fn scalar(data: &mut Unstructured<'_>) -> Result<String> {
    const OTHERS: &[&str] = &[
        "null",
        "true",
        "false",
        "NaN",
        "-Infinity",
        "1e999",
        "0.1",
        "-0",
        "18446744073709551616",
    ];
    Ok(match data.int_in_range(0..=3u8)? {
        0 => (*data.choose(OTHERS)?).to_owned(),
        1 => data.arbitrary::<i32>()?.to_string(),
        _ => quoted(data.choose(WORDS)?),
    })
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character => quoted.push(character),
        }
    }
    quoted + "\""
}
