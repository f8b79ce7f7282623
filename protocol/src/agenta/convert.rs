//! Documents of Agenta as ones of agentevals, and back.

use serde_json::Value;

use super::{EvaluateInput, input::text_of};
use crate::{Converted, EvalInput, InvocationData, JsonObject};

/// Where the user's message is among the inputs of a document that was one of agentevals.
pub const USER_CONTENT_KEY: &str = "user_content";

/// Parameters that become fields of their own.
const CONSUMED: [&str; 2] = ["threshold", "correct_answer_key"];

impl EvaluateInput {
    /// The document as one of agentevals, of one turn: see the [table](super#as-a-document-of-agentevals). `name` is that
    /// of the evaluator, since Agenta names none.
    #[must_use]
    pub fn to_eval_input(&self, name: &str) -> Converted {
        let mut input = EvalInput::new(name).threshold(self.threshold());
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
        input.invocations.push(InvocationData {
            user_content: question.clone(),
            final_response: output,
            ..InvocationData::default()
        });
        input.expected_invocations = correct_answer.map(|answer| {
            let answer = (!answer.is_null()).then(|| text_of(answer).into_owned());
            vec![InvocationData {
                user_content: question,
                final_response: answer,
                ..InvocationData::default()
            }]
        });
        Converted::new(input, self.without_room())
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

    /// A document of agentevals as the body of a request to a remote workflow, which is the form with the most room: its
    /// last turn, with the paths of what is left behind, in the terms of agentevals.
    ///
    /// The user's message becomes the input [`USER_CONTENT_KEY`], the golden answer `correct_answer`, the config the
    /// parameters. A threshold of 0.5 is not written, since it is what Agenta takes where there is none.
    #[must_use]
    pub fn from_eval_input(input: EvalInput) -> (Self, Vec<String>) {
        let mut dropped = Vec::new();
        let mut drop_if = |condition: bool, path: String| {
            if condition {
                dropped.push(path);
            }
        };
        drop_if(!input.metric_name.is_empty(), "metric_name".to_owned());
        let turns = input.invocations.len();
        let turn = input.invocations.into_iter().enumerate().fold(None, |earlier, (at, turn)| {
            drop_if(earlier.is_some(), format!("invocations[{}]", at.saturating_sub(1)));
            Some(turn)
        });
        let turn = turn.unwrap_or_default();
        let at = turns.saturating_sub(1);
        let only_of_agentevals = |turn: &InvocationData| {
            [
                ("invocation_id", !turn.invocation_id.is_empty()),
                ("intermediate_steps", turn.intermediate_steps != Default::default()),
                ("performance_metrics", turn.performance_metrics.is_some()),
                ("trace_id", turn.trace_id.is_some()),
                ("span_id", turn.span_id.is_some()),
            ]
        };
        for (field, is_there) in only_of_agentevals(&turn) {
            drop_if(is_there, format!("invocations[{at}].{field}"));
        }
        let mut inputs = JsonObject::new();
        inputs.insert(USER_CONTENT_KEY.to_owned(), turn.user_content.clone().into());
        for (index, golden) in input.expected_invocations.into_iter().flatten().enumerate() {
            if index != at {
                drop_if(true, format!("expected_invocations[{index}]"));
                continue;
            }
            drop_if(
                golden.user_content != turn.user_content,
                format!("expected_invocations[{index}].user_content"),
            );
            for (field, is_there) in only_of_agentevals(&golden) {
                drop_if(is_there, format!("expected_invocations[{index}].{field}"));
            }
            let answer = golden.final_response.map_or(Value::Null, Value::String);
            inputs.insert(super::DEFAULT_CORRECT_ANSWER_KEY.to_owned(), answer);
        }
        let mut parameters = input.config;
        for key in CONSUMED {
            drop_if(parameters.remove(key).is_some(), format!("config.{key}"));
        }
        // Agenta has no threshold that everything reaches, or that nothing does.
        let usable = input.threshold > 0.0 && input.threshold <= 1.0;
        drop_if(!usable, "threshold".to_owned());
        let threshold = if usable { input.threshold } else { super::DEFAULT_THRESHOLD };
        if threshold != super::DEFAULT_THRESHOLD {
            parameters.insert("threshold".to_owned(), threshold.into());
        }
        let output = turn.final_response.map(Value::String);
        (Self::remote_of(inputs, parameters, output, threshold), dropped)
    }
}
