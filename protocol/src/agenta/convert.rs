//! Documents of Agenta as ones of agentevals.

use serde_json::Value;

use super::{EvaluateInput, input::text_of};
use crate::{Converted, EvalInput, InvocationData, JsonObject};

/// Parameters that become fields of their own.
const CONSUMED: [&str; 2] = ["threshold", "correct_answer_key"];

impl EvaluateInput {
    /// The document as one of agentevals, of one turn or none: see the [table](super#as-a-document-of-agentevals). `name` is
    /// that of the evaluator, since Agenta names none.
    #[must_use]
    pub fn to_eval_input(&self, name: &str) -> Converted {
        let mut input = EvalInput::new(name).threshold(self.threshold()).tool_calls_unknown();
        input.config = self.parameters().cloned().unwrap_or_default();
        for key in CONSUMED {
            input.config.remove(key);
        }
        let correct_answer = self.correct_answer();
        // An output that came as JSON text is written as the expected answer is, or equal ones would differ by a blank.
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
        // An app of which no output was sent is no app that answered nothing.
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
        Converted::new(input, dropped)
    }

    /// The inputs without the correct answer, as what the user said: the only one, if it is text, or else all of them as
    /// JSON text.
    fn question(&self) -> String {
        let key = self.correct_answer_key();
        let others = |(name, value): &(&String, &Value)| {
            // Of interface v1 it may be that the correct answer is another input.
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
