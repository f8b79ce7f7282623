//! Messages of golden conversations: contents, their parts, and calls.

use super::{
    error::EvalSetErrorKind,
    fields::{At, Fields, items},
    model::{ExpectedCall, ExpectedResponse},
};
use crate::json::Value;

/// What is read of a content.
#[derive(Default)]
pub(super) struct Content {
    /// Texts of the parts that have one, thoughts included.
    pub(super) texts: Vec<String>,
    pub(super) calls: Vec<ExpectedCall>,
}

pub(super) fn content(value: Value, at: At<'_>) -> Result<Content, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at)?;
    parts(fields.items("parts")?, at.key("parts"))
}

pub(super) fn parts(values: Vec<Value>, at: At<'_>) -> Result<Content, EvalSetErrorKind> {
    let mut content = Content::default();
    for (index, value) in values.into_iter().enumerate() {
        let mut fields = Fields::of(value, at.index(index))?;
        content.texts.extend(fields.text("text")?.filter(|text| !text.is_empty()));
        if let Some(value) = fields.take("function_call") {
            content.calls.push(call(value, fields.at.key("function_call"))?);
        }
    }
    Ok(content)
}

pub(super) fn call(value: Value, at: At<'_>) -> Result<ExpectedCall, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at)?;
    Ok(ExpectedCall {
        id: fields.text("id")?,
        name: fields.text("name")?,
        args: fields.object("args")?,
    })
}

pub(super) fn response(value: Value, at: At<'_>) -> Result<ExpectedResponse, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at)?;
    Ok(ExpectedResponse {
        id: fields.text("id")?,
        name: fields.text("name")?.unwrap_or_default(),
        response: fields.object("response")?,
    })
}

/// The calls in an intermediate response, a pair of an author and parts.
pub(super) fn intermediate_calls(
    value: Value,
    at: At<'_>,
) -> Result<Vec<ExpectedCall>, EvalSetErrorKind> {
    match items(value, at)?.pop() {
        Some(contents) => Ok(parts(items(contents, at.index(1))?, at.index(1))?.calls),
        None => Ok(Vec::new()),
    }
}
