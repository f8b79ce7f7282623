//! One document in, one out.

use std::io::Write;

use super::{Choice, answer::Answer, answer_document, answer_lost, input, report};
use crate::{evaluator::Evaluator, exit};

pub(super) fn run(choice: Choice<'_>, answer: &mut Answer<impl Write>) -> u8 {
    let only = choice.only().map(Evaluator::name);
    let document = match input::read_all() {
        Ok(document) => document,
        Err(error) => {
            report(only, &format!("cannot read standard input: {error}"));
            return exit::INPUT;
        }
    };
    let judged = match answer_document(choice, &document) {
        Ok(judged) => judged,
        Err(failed) => return failed.tell(),
    };
    let line = match judged.to_line() {
        Ok(line) => line,
        Err(error) => {
            report(only, &format!("the result cannot be written as JSON: {error}"));
            return exit::FAILED;
        }
    };
    match answer.write(&line).and_then(|()| answer.flush()) {
        Ok(()) => exit::ANSWERED,
        Err(error) => answer_lost(only, &error),
    }
}
