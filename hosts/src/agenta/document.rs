//! The document of an Agenta evaluator, which judges one output: the one of the last turn.
//!
//! It contains the arguments of custom code v1 and the evaluator's `parameters`. A function of interface v2 or v3 is called
//! with the same output.

use super::super::{
    Settings,
    members::{present, text},
};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{self, Object, Value},
};

/// Default name of the input that contains the correct answer; `config` may name another.
const CORRECT_ANSWER_KEY: &str = "correct_answer";

/// Default name of the input that contains the user's text; `config` may name another.
const INPUT_KEY: &str = "question";

pub(super) fn document(
    settings: &Settings,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Value {
    let key = |name: &str, default: &'static str| {
        settings.config.get(name).and_then(Value::as_str).unwrap_or(default).to_owned()
    };
    let turn = conversation.turns.last();
    let user_text = turn.and_then(|turn| turn.user_text.as_deref()).unwrap_or_default();
    let output = text(turn.and_then(|turn| turn.final_text.as_deref()).unwrap_or_default());
    let golden = case.and_then(|case| case.turns.get(conversation.turns.len().checked_sub(1)?));
    let correct = golden.and_then(|turn| turn.final_text("")).map(|answer| text(&answer));
    let mut inputs = inputs(user_text, key("input_key", INPUT_KEY));
    if let Some(correct) = &correct {
        inputs.insert(key("correct_answer_key", CORRECT_ANSWER_KEY), correct.clone());
    }
    let mut parameters = settings.config.clone();
    // Agenta replaces a threshold of 0 by its default.
    if settings.threshold > 0.0 {
        parameters.insert("threshold".to_owned(), Value::Float(settings.threshold));
    }
    present([
        ("app_params", Some(Value::Object(Object::default()))),
        ("inputs", Some(Value::Object(inputs))),
        ("output", Some(output)),
        ("correct_answer", correct),
        ("parameters", Some(Value::Object(parameters))),
    ])
}

/// Returns the inputs of the application: the user's text if it is a JSON object, else one input with the text.
fn inputs(user_text: &str, key: String) -> Object {
    match json::parse_python(user_text) {
        Some(Value::Object(inputs)) => inputs,
        _ => [(key, text(user_text))].into_iter().collect(),
    }
}
