//! Documents of Google's Agent Development Kit, as its shim writes them: read, converted and answered.

mod answers;
mod conversion;
mod mutations;
mod reading;

use evaluator_protocol::{
    Answer, Contract, Document, EvalInput, EvalResult, EvalStatus as Plain, Score,
    adk::{
        Bytes, Content, ConversationScenario, EvalMetric, EvalStatus, EvaluationResult,
        FunctionCall, FunctionResponse, IntermediateDataType, Invocation, MetricInput, Part,
        PerInvocationResult, RubricScore,
    },
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const STATIC: &str = include_str!("../../data/adk/envelope_static.json");
const SNAKE: &str = include_str!("../../data/adk/envelope_static.nulls.snake.json");
const CAMEL: &str = include_str!("../../data/adk/envelope_static.nulls.camel.json");
const IMAGE: &str = include_str!("../../data/adk/envelope_image_silent.json");
const SCENARIO: &str = include_str!("../../data/adk/envelope_scenario.json");

const SAMPLES: [&str; 5] = [STATIC, SNAKE, CAMEL, IMAGE, SCENARIO];

fn read(text: &str) -> MetricInput {
    MetricInput::from_json(text.as_bytes()).unwrap()
}

fn error(document: Value) -> String {
    MetricInput::from_json(document.to_string().as_bytes()).unwrap_err().to_string()
}

/// A document with this as its only turn.
fn turn(invocation: Value) -> Invocation {
    let document = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": [invocation]});
    read(&document.to_string()).actual_invocations.remove(0)
}

fn converted(text: &str) -> (EvalInput, Vec<String>) {
    let converted = Document::read(text.as_bytes()).unwrap().to_eval_input("other").unwrap();
    (converted.input, converted.dropped)
}
