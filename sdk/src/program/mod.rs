//! The program around evaluators, which `name::run()` and [`run_any`](crate::run_any) run.
//!
//! The program ends the process after a failure instead of returning a code that `main` could drop. As a consequence,
//! values held by `main` are not dropped after a failure. An error is the same in both forms: the answer to a numbered line
//! contains what the exit code would have been, and stderr gets the same text.
#![doc = ""]
#![doc = include_str!("../../docs/program.md")]

mod args;
mod evaluate;
mod forms;
mod output;

use std::{
    env,
    io::BufWriter,
    process::{self, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
};

use args::{Arguments, Form};
pub(crate) use evaluate::{Choice, answer_document};
use output::{print, report};

use crate::{
    evaluator::{Evaluator, IntoEvaluator},
    exit, log, os,
};

/// Runs a program that serves several evaluators.
///
/// Which of them answers: the one named by `--evaluator NAME`; else the one whose name is the document's `metric_name`, or
/// the variable `EVALUATOR_NAME` where documents have no name; else the only one there is. With a single evaluator, the host is free to call it anything.
///
/// Returns [`ExitCode::SUCCESS`] after everything was answered. After a failure it does not return: it ends the process
/// with the exit code, see [`exit`]. The failure therefore does not depend on what `main` does with the value.
///
/// ```no_run
/// use evaluator_sdk::{EvalInput, EvalResult, Score, evaluator};
///
/// #[evaluator]
/// fn answered(input: &EvalInput) -> bool {
///     !input.invocations.is_empty() && input.invocations.iter().all(|turn| turn.final_response.is_some())
/// }
///
/// #[evaluator]
/// fn brief(input: &EvalInput) -> EvalResult {
///     let answers = input.invocations.iter().map(|turn| turn.final_response.as_ref());
///     EvalResult::mean_of(answers.map(|answer| Some(Score::from(answer?.len() < 500))))
/// }
///
/// fn main() -> std::process::ExitCode {
///     evaluator_sdk::run_any(&[answered::EVALUATOR, brief::EVALUATOR])
/// }
/// ```
pub fn run_any<E: IntoEvaluator>(evaluators: &[E]) -> ExitCode {
    let evaluators: Vec<Evaluator> = evaluators.iter().map(E::evaluator).collect();
    os::report_fatal_signals();
    log::install();
    let code = match HAS_RUN.swap(true, Ordering::Relaxed) {
        false => run(&evaluators),
        true => {
            report(
                None,
                "`run()` was called twice; serve several evaluators with one `run_any(&[..])`",
            );
            exit::USAGE
        }
    };
    match code {
        exit::ANSWERED => ExitCode::SUCCESS,
        failed => end(failed),
    }
}

/// Whether the program has run in this process. Its input is consumed then, and standard output is closed to answers.
static HAS_RUN: AtomicBool = AtomicBool::new(false);

/// Ends the process. `main` cannot be relied on to return the code: a value that is dropped would turn the failure into
/// a success, and there are hosts that take a success without an answer for a pass.
#[expect(
    clippy::exit,
    reason = "a failure must not depend on what `main` does with a return value"
)]
fn end(code: u8) -> ! {
    // This flushes standard output; standard error has no buffer.
    process::exit(i32::from(code))
}

fn run(evaluators: &[Evaluator]) -> u8 {
    let arguments = match args::parse(env::args_os().skip(1), evaluators) {
        Ok(arguments) => arguments,
        Err(error) => {
            report(None, &error);
            forms::drain();
            return exit::USAGE;
        }
    };
    let mut out = match os::claim_stdout() {
        // Several answers of a stream are one system call.
        Ok(stdout) => BufWriter::with_capacity(64 << 10, stdout),
        Err(error) => {
            report(None, &format!("cannot set standard output aside for the answer: {error}"));
            forms::drain();
            return exit::FAILED;
        }
    };
    let Arguments { form, choice } = arguments;
    match form {
        Form::OneShot => forms::one_shot(choice, &mut out),
        Form::Stream => forms::stream(choice, &mut out),
        Form::Describe => match args::describe(choice) {
            Ok(text) => print(&mut out, &text),
            Err(error) => {
                report(None, &format!("the description cannot be written as JSON: {error}"));
                exit::FAILED
            }
        },
        Form::Help => print(&mut out, &args::help(choice)),
        Form::Version => print(&mut out, &args::version(choice)),
    }
}
