//! The document of an evaluator of Agenta, which has one output judged: that of the last turn.
//!
//! It has the arguments of custom code v1, and the evaluator's `parameters` next to them. A function of interface v2 or v3 is
//! called with the same output.

use crate::{
    contract::{
        members::{present, text},
        terms::Settings,
    },
    conversation::Conversation,
    eval_set::EvalCase,
    json::{self, Object, Value},
};

/// Where the correct answer is among the inputs, unless `config` says otherwise.
const CORRECT_ANSWER_KEY: &str = "correct_answer";

/// What the text of the user is called among the inputs, unless `config` says otherwise.
const INPUT_KEY: &str = "question";

pub(in crate::contract) fn document(
    settings: &Settings,
    conversation: &Conversation,
    case: Option<&EvalCase>,
) -> Value {
    let key = |name: &str, default: &'static str| {
        settings.config.get(name).and_then(Value::as_str).unwrap_or(default).to_owned()
    };
    let turn = conversation.turns.last();
    let said = turn.and_then(|turn| turn.user_text.as_deref()).unwrap_or_default();
    let output = text(turn.and_then(|turn| turn.final_text.as_deref()).unwrap_or_default());
    let golden = case.and_then(|case| case.turns.get(conversation.turns.len().checked_sub(1)?));
    let correct = golden.and_then(|turn| turn.final_text("")).map(|answer| text(&answer));
    let mut inputs = inputs(said, key("input_key", INPUT_KEY));
    if let Some(correct) = &correct {
        inputs.insert(key("correct_answer_key", CORRECT_ANSWER_KEY), correct.clone());
    }
    let mut parameters = settings.config.clone();
    // Agenta takes 0 for no threshold, and its default instead.
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

/// The inputs of the app: those that the user's text lists as a JSON object, else the text itself.
fn inputs(said: &str, key: String) -> Object {
    match json::parse_python(said) {
        Some(Value::Object(inputs)) => inputs,
        _ => [(key, text(said))].into_iter().collect(),
    }
}
