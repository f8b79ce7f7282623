//! Agenta's documents and answers: what its own calls look like, and what becomes of them.

mod answers;
mod conversion;
mod mutations;
mod reading;

use evaluator_protocol::{
    Answer, Contract, Document, EvalInput, EvalResult, InvocationData, JsonObject, Score,
    agenta::{
        EvaluateInput, EvaluateResult, Form, Outputs,
        http::{ErrorStatus, HttpReply, MAX_REPLY},
    },
    detect,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const CODE_V1: &[u8] = include_bytes!("../../data/agenta/code-arguments.v1.json");
const CODE: &[u8] = include_bytes!("../../data/agenta/code-arguments.v2-v3.json");

/// The body of a captured request.
fn body(request: &'static str) -> &'static [u8] {
    request.split_once("\r\n\r\n").unwrap().1.as_bytes()
}

fn webhook() -> &'static [u8] {
    body(include_str!("../../data/agenta/webhook-request.txt"))
}

fn webhook_with_json() -> &'static [u8] {
    body(include_str!("../../data/agenta/webhook-request.dict-output.txt"))
}

fn remote() -> &'static [u8] {
    body(include_str!("../../data/agenta/remote-request.txt"))
}

fn read(document: &[u8]) -> EvaluateInput {
    EvaluateInput::from_json(document).unwrap()
}

fn read_value(document: &Value) -> EvaluateInput {
    read(document.to_string().as_bytes())
}

fn error(document: &Value) -> String {
    EvaluateInput::from_json(document.to_string().as_bytes()).unwrap_err().to_string()
}
