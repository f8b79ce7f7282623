//! Messages of golden conversations: contents, their parts, and calls.

use super::{
    error::EvalSetErrorKind,
    fields::{At, Fields, Keys, items, text},
    model::{ExpectedCall, ExpectedResponse},
};
use crate::json::Value;

const CONTENT: Keys = Keys::Only(&["parts", "role"]);
const PART: Keys = Keys::Only(&[
    "media_resolution",
    "code_execution_result",
    "executable_code",
    "file_data",
    "function_call",
    "function_response",
    "inline_data",
    "text",
    "thought",
    "thought_signature",
    "video_metadata",
    "tool_call",
    "tool_response",
    "part_metadata",
    "audio_transcription",
    "media_processing",
    "speech_metadata",
]);
const FUNCTION_CALL: Keys = Keys::Only(&["id", "args", "name", "partial_args", "will_continue"]);
const FUNCTION_RESPONSE: Keys =
    Keys::Only(&["will_continue", "scheduling", "parts", "id", "name", "response"]);

/// What is read of a content.
#[derive(Default)]
pub(super) struct Content {
    /// Texts of the parts that have one, thoughts included.
    pub(super) texts: Vec<String>,
    pub(super) calls: Vec<ExpectedCall>,
}

pub(super) fn content(value: Value, at: At<'_>) -> Result<Content, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at, CONTENT)?;
    fields.text("role")?;
    parts(fields.items("parts")?, at.key("parts"))
}

pub(super) fn parts(values: Vec<Value>, at: At<'_>) -> Result<Content, EvalSetErrorKind> {
    let mut content = Content::default();
    for (index, value) in values.into_iter().enumerate() {
        let mut fields = Fields::of(value, at.index(index), PART)?;
        content.texts.extend(fields.text("text")?.filter(|text| !text.is_empty()));
        if let Some(value) = fields.take("function_call") {
            content.calls.push(call(value, fields.at.key("function_call"))?);
        }
        if let Some(value) = fields.take("function_response") {
            response(value, fields.at.key("function_response"))?;
        }
    }
    Ok(content)
}

pub(super) fn call(value: Value, at: At<'_>) -> Result<ExpectedCall, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at, FUNCTION_CALL)?;
    Ok(ExpectedCall {
        id: fields.text("id")?,
        name: fields.text("name")?.unwrap_or_default(),
        args: fields.object("args")?,
    })
}

pub(super) fn response(value: Value, at: At<'_>) -> Result<ExpectedResponse, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at, FUNCTION_RESPONSE)?;
    Ok(ExpectedResponse {
        id: fields.text("id")?,
        name: fields.text("name")?.unwrap_or_default(),
        response: fields.object("response")?,
    })
}

/// Checks an intermediate response, a pair of an author and parts; nothing reads it.
pub(super) fn intermediate_response(value: Value, at: At<'_>) -> Result<(), EvalSetErrorKind> {
    let pair = items(value, at)?;
    let Ok([author, contents]) = <[Value; 2]>::try_from(pair) else {
        return Err(at.wrong_type("a pair of author and parts", &Value::Array(Vec::new())));
    };
    text(author, at.index(0))?;
    parts(items(contents, at.index(1))?, at.index(1))?;
    Ok(())
}
