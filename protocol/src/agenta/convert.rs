//! Documents of Agenta, converted to the agentevals contract.

use serde_json::Value;

use super::{EvaluateInput, input::text_of};
use crate::{Converted, EvalInput, InvocationData, JsonObject};

/// Parameters that become fields.
const CONSUMED: [&str; 2] = ["threshold", "correct_answer_key"];

impl EvaluateInput {
    /// Converts the document to the agentevals contract, with one turn or none: see the
    /// [table](super#as-a-document-of-agentevals). `name` is the evaluator's, because Agenta names none.
    pub fn to_eval_input(&self, name: &str) -> Converted {
        let mut input = EvalInput::new(name).threshold(self.threshold()).tool_calls_unknown();
        input.config = self.parameters().cloned().unwrap_or_default();
        for key in CONSUMED {
            input.config.remove(key);
        }
        let correct_answer = self.correct_answer();
        // An output that was sent as JSON text is formatted like the expected answer, so that equal values are equal texts.
        let output = match (self.output_json(), correct_answer) {
            (Some(output), Some(Value::Object(_) | Value::Array(_)))
                if output.is_object() || output.is_array() =>
            {
                Some(output.to_string())
            }
            _ => self.output_text().map(Into::into),
        };
        let question = self.question();
        let mut dropped = self.without_room();
        // A missing output is not the same as an app that answered nothing.
        if self.has_output() {
            input.invocations.push(InvocationData {
                user_content: question.clone(),
                final_response: output,
                ..InvocationData::default()
            });
        } else if correct_answer.is_none() && !question.is_empty() {
            dropped.push("inputs".to_owned());
        }
        input.expected_invocations = correct_answer.map(|answer| {
            let answer = (!answer.is_null()).then(|| text_of(answer).into_owned());
            vec![InvocationData {
                user_content: question,
                final_response: answer,
                ..InvocationData::default()
            }]
        });
        Converted { input, dropped }
    }

    /// Returns the inputs without the correct answer as the user's message: a single text unchanged, otherwise all of them as
    /// JSON text.
    fn question(&self) -> String {
        let key = self.correct_answer_key();
        let others = |(name, value): &(&String, &Value)| {
            // In interface v1 the correct answer may be another input.
            name.as_str() != key || Some(*value) != self.correct_answer()
        };
        let inputs: Vec<(&String, &Value)> =
            self.inputs().into_iter().flatten().filter(others).collect();
        match inputs[..] {
            [] => String::new(),
            [(_, Value::String(text))] => text.clone(),
            _ => {
                let inputs: JsonObject =
                    inputs.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                Value::Object(inputs).to_string()
            }
        }
    }

    fn without_room(&self) -> Vec<String> {
        let app_params = self.app_params().into_iter().flatten();
        let mut dropped: Vec<String> =
            app_params.map(|(name, _)| format!("app_params.{name}")).collect();
        let whole = [("trace", self.trace().is_some()), ("testcase", self.testcase().is_some())];
        let whole = whole.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key);
        dropped.extend(whole.chain(self.others()).map(str::to_owned));
        dropped
    }
}
