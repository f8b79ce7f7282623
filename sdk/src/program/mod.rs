#![doc = include_str!("../../docs/program.md")]

mod answer;
mod args;
mod describe;
mod evaluate;
mod help;
mod input;
mod one_shot;
mod stream;

use std::{env, process::ExitCode};

use answer::Answer;
use args::{Arguments, Form};
pub(crate) use evaluate::{Choice, answer_document};
pub(crate) use stream::answer_text;

use crate::{evaluator::Evaluator, exit, log, os};

/// Runs a program that serves several evaluators.
///
/// Which of them answers: the one named by `--evaluator NAME`; else the one whose name is the document's `metric_name`;
/// else the only one there is. With a single evaluator, the host is free to call it anything.
///
/// Returns the exit code for `main`, see [`exit`].
///
/// ```no_run
/// use evaluator_sdk::{EvalInput, evaluator};
///
/// #[evaluator]
/// fn answered(input: &EvalInput) -> bool {
///     input.invocations.iter().all(|turn| turn.final_response.is_some())
/// }
///
/// #[evaluator]
/// fn brief(input: &EvalInput) -> bool {
///     input.invocations.iter().flat_map(|turn| &turn.final_response).all(|text| text.len() < 500)
/// }
///
/// fn main() -> std::process::ExitCode {
///     evaluator_sdk::run_any(&[answered::EVALUATOR, brief::EVALUATOR])
/// }
/// ```
#[must_use = "return it from `main`, or the program ends as if nothing had failed"]
pub fn run_any(evaluators: &[Evaluator]) -> ExitCode {
    os::report_fatal_signals();
    log::install();
    ExitCode::from(run(evaluators))
}

fn run(evaluators: &[Evaluator]) -> u8 {
    let arguments = match args::parse(env::args_os().skip(1), evaluators) {
        Ok(arguments) => arguments,
        Err(error) => {
            report(None, &error);
            input::drain();
            return exit::USAGE;
        }
    };
    let mut answer = match os::claim_stdout() {
        Ok(stdout) => Answer::new(stdout),
        Err(error) => {
            report(None, &format!("cannot set standard output aside for the answer: {error}"));
            input::drain();
            return exit::FAILED;
        }
    };
    let Arguments { form, choice } = arguments;
    match form {
        Form::OneShot => one_shot::run(choice, &mut answer),
        Form::Stream => stream::run(choice, &mut answer),
        Form::Describe => match describe::text(choice) {
            Ok(text) => inform(&mut answer, &text),
            Err(error) => {
                report(None, &format!("the description cannot be written as JSON: {error}"));
                exit::FAILED
            }
        },
        Form::Help => inform(&mut answer, &help::text(choice)),
        Form::Version => inform(&mut answer, &help::version(choice)),
    }
}

/// Forms that only say something read nothing: at a terminal they would wait for ever.
fn inform(answer: &mut Answer<impl std::io::Write>, text: &str) -> u8 {
    match answer.write(text.as_bytes()).and_then(|()| answer.flush()) {
        Ok(()) => exit::ANSWERED,
        Err(error) => answer_lost(None, &error),
    }
}

/// Says that the answer could not be written, unless it is because nobody reads it.
fn answer_lost(evaluator: Option<&str>, error: &std::io::Error) -> u8 {
    if error.kind() != std::io::ErrorKind::BrokenPipe {
        report(evaluator, &format!("cannot write the answer: {error}"));
    }
    exit::FAILED
}

/// One line on standard error.
fn report(evaluator: Option<&str>, message: &str) {
    let prefix = evaluator.map(|name| format!("{name}: ")).unwrap_or_default();
    say(&format!("error: {prefix}{message}\n"));
}

/// Text on standard error.
fn say(text: &str) {
    use std::io::Write as _;
    // There is nobody left to tell that standard error is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
