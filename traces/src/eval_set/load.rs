//! Reading eval set files.

use std::{fs, path::Path};

use super::{
    content::{call, content, intermediate_calls, response},
    error::{EvalSetError, EvalSetErrorKind, FieldProblem},
    fields::{At, Fields, items},
    model::{EvalCase, EvalSet, ExpectedTurn},
    shape::{self, EVAL_SET},
};
use crate::json::{self, ParseOptions, RepeatedKeys, Value};

impl EvalSet {
    /// Loads an eval set in the JSON form of Google's Agent Development Kit.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not JSON, or a field is not as it should be; the error names the place.
    pub fn load(path: &Path) -> Result<Self, EvalSetError> {
        let fail = |kind| EvalSetError { path: path.to_owned(), kind };
        let bytes = fs::read(path).map_err(|error| fail(EvalSetErrorKind::Read(error)))?;
        let text = str::from_utf8(&bytes).map_err(|error| {
            let offset = error.valid_up_to();
            fail(EvalSetErrorKind::NotUtf8 {
                offset,
                byte: bytes.get(offset).copied().unwrap_or_default(),
            })
        })?;
        Self::from_text(text, path)
    }

    /// Reads the text of an eval set; `path` is only named in errors.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or a field is not as it should be; the error names the place.
    pub fn from_text(text: &str, path: &Path) -> Result<Self, EvalSetError> {
        // Of a repeated key one value would be used, and nobody sees which.
        let options =
            ParseOptions { repeated_keys: RepeatedKeys::Reject, ..ParseOptions::default() };
        json::parse(text, &options)
            .map_err(EvalSetErrorKind::Json)
            .and_then(|parsed| eval_set(parsed.value))
            .map_err(|kind| EvalSetError { path: path.to_owned(), kind })
    }
}

fn eval_set(value: Value) -> Result<EvalSet, EvalSetErrorKind> {
    shape::check(EVAL_SET, &value, At::ROOT)?;
    let mut fields = Fields::of_snake_case(value, At::ROOT)?;
    let id = fields.required_text("eval_set_id")?;
    let at = At::ROOT.key("eval_cases");
    let cases = items(fields.required("eval_cases")?, at)?;
    let cases = cases.into_iter().enumerate().map(|(index, case)| eval_case(case, at.index(index)));
    Ok(EvalSet { id, cases: cases.collect::<Result<_, _>>()? })
}

fn eval_case(value: Value, at: At<'_>) -> Result<EvalCase, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at)?;
    let id = fields.required_text("eval_id")?;
    match (fields.take("conversation"), fields.take("conversation_scenario")) {
        (Some(conversation), None) => {
            let at = at.key("conversation");
            let turns = items(conversation, at)?.into_iter().enumerate();
            let turns = turns.map(|(index, turn)| invocation(turn, at.index(index)));
            Ok(EvalCase { id, turns: turns.collect::<Result<_, _>>()? })
        }
        (None, Some(_)) => Ok(EvalCase { id, turns: Vec::new() }),
        _ => Err(at.fail(FieldProblem::NotExactlyOne)),
    }
}

fn invocation(value: Value, at: At<'_>) -> Result<ExpectedTurn, EvalSetErrorKind> {
    let mut fields = Fields::of(value, at)?;
    let mut turn = ExpectedTurn {
        invocation_id: fields.text("invocation_id")?.unwrap_or_default(),
        user_parts: content(fields.required("user_content")?, at.key("user_content"))?.texts,
        ..ExpectedTurn::default()
    };
    if let Some(answer) = fields.take("final_response") {
        turn.final_parts = Some(content(answer, at.key("final_response"))?.texts);
    }
    if let Some(data) = fields.take("intermediate_data") {
        intermediate_data(data, at.key("intermediate_data"), &mut turn)?;
    }
    Ok(turn)
}

/// Reads either form of what happened between question and answer.
fn intermediate_data(
    value: Value,
    at: At<'_>,
    turn: &mut ExpectedTurn,
) -> Result<(), EvalSetErrorKind> {
    if value.get("invocation_events").or_else(|| value.get("invocationEvents")).is_some() {
        let mut fields = Fields::of(value, at)?;
        let at = at.key("invocation_events");
        for (index, event) in fields.items("invocation_events")?.into_iter().enumerate() {
            let mut fields = Fields::of(event, at.index(index))?;
            fields.required_text("author")?;
            if let Some(value) = fields.take("content") {
                turn.event_calls.extend(content(value, fields.at.key("content"))?.calls);
            }
        }
        return Ok(());
    }
    let mut fields = Fields::of(value, at)?;
    for (index, value) in fields.items("tool_uses")?.into_iter().enumerate() {
        turn.tool_calls.push(call(value, at.key("tool_uses").index(index))?);
    }
    for (index, value) in fields.items("tool_responses")?.into_iter().enumerate() {
        turn.tool_responses.push(response(value, at.key("tool_responses").index(index))?);
    }
    for (index, value) in fields.items("intermediate_responses")?.into_iter().enumerate() {
        let at = at.key("intermediate_responses");
        turn.event_calls.extend(intermediate_calls(value, at.index(index))?);
    }
    Ok(())
}
