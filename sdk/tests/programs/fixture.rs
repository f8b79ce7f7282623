//! Evaluator programs for the tests of the program: the environment variable `FIXTURE` says which one this is.

#![expect(clippy::print_stdout, reason = "evaluators print, and the answer must survive it")]
#![expect(
    clippy::disallowed_methods,
    reason = "evaluators start processes, and the answer must survive it"
)]
#![expect(unsafe_code, reason = "evaluators crash")]

mod hosts;

use std::{io, process::ExitCode};

use evaluator_sdk::{
    Config, EvalInput, EvalResult, Invocations, MetricName, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    evaluator, run_any,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    min_length: usize,
}

/// Scores how many answers are long enough.
///
/// With a second paragraph.
#[evaluator]
fn response_quality(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let long =
        |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() >= settings.min_length);
    EvalResult::mean_of(turns.iter().map(|turn| Score::from(long(&turn.final_response))))
}

#[evaluator(strict)]
fn strict(_: &EvalInput) -> bool {
    true
}

#[evaluator]
fn noisy(_: &EvalInput) -> io::Result<bool> {
    println!("noise from println");
    std::process::Command::new("echo").arg("noise from a child").status()?;
    print!("noise without a line feed");
    Ok(true)
}

/// Does what the host calls it.
#[evaluator]
fn troublesome(name: MetricName<'_>) -> anyhow::Result<f64> {
    use anyhow::Context as _;
    match name.0 {
        "nan" => Ok(f64::NAN),
        "panic" => panic!("on purpose"),
        "abort" => std::process::abort(),
        "overflow" => Ok(overflow(1)),
        "overflow in a thread" => {
            std::thread::spawn(|| overflow(1)).join().map_err(|_| anyhow::anyhow!("lost"))
        }
        "segfault" => {
            // SAFETY: it is not safe, that is the point: page 1 is never mapped.
            unsafe { std::ptr::dangling::<f64>().read_volatile() };
            Ok(1.0)
        }
        "illegal" => {
            // SAFETY: the function has no requirements; the signal is what is wanted.
            unsafe { libc::raise(libc::SIGILL) };
            Ok(1.0)
        }
        "error" => {
            std::fs::read("/does/not/exist").context("cannot read the rules")?;
            Ok(1.0)
        }
        "warn" => {
            tracing::warn!(turns = 2, why = "two words", "the author's own");
            tracing::info!("details");
            Ok(1.0)
        }
        _ => Ok(1.0),
    }
}

#[evaluator]
fn golden(input: &EvalInput) -> EvalResult {
    match &input.expected_invocations {
        Some(_) => EvalResult::new(Score::ONE),
        None => EvalResult::not_evaluated("no golden turns"),
    }
}

/// A judge of AgentV's that does what it is asked.
#[evaluator(contract = agentv)]
fn judge(
    input: &CodeJudgeInput,
    Config(settings): Config<Settings>,
) -> anyhow::Result<CodeJudgeResult> {
    match input.question() {
        Some("panic") => panic!("on purpose"),
        Some("abort") => std::process::abort(),
        Some("overflow") => return Ok(CodeJudgeResult::new(Score::new(overflow(1))?)),
        Some("error") => anyhow::bail!("no rules"),
        Some("print") => println!("noise from println"),
        _ => {}
    }
    let answer = input.candidate_answer().unwrap_or_default();
    let length = answer.chars().count();
    let text = format!("{length} characters");
    Ok(match length >= settings.min_length {
        true => CodeJudgeResult::new(Score::ONE).hit(text),
        false => CodeJudgeResult::new(Score::ZERO).miss(text),
    })
}

fn overflow(depth: u64) -> f64 {
    let array = std::hint::black_box([depth; 1024]);
    if depth == u64::MAX { 0.0 } else { overflow(depth + 1) + array[7] as f64 }
}

fn main() -> ExitCode {
    match std::env::var("FIXTURE").as_deref() {
        Ok("response_quality") => response_quality::run(),
        Ok("strict") => strict::run(),
        Ok("noisy") => noisy::run(),
        Ok("golden") => golden::run(),
        Ok("judge") => judge::run(),
        Ok("troublesome") => troublesome::run(),
        Ok("several") => run_any(&[response_quality::EVALUATOR, strict::EVALUATOR]),
        Ok("own subscriber") => {
            tracing::subscriber::set_global_default(own::Own).expect("no other subscriber is set");
            troublesome::run()
        }
        Ok(other) => hosts::run(other).unwrap_or(ExitCode::from(99)),
        Err(_) => ExitCode::from(99),
    }
}

/// A subscriber of the author's.
mod own {
    use tracing::{Event, Metadata, Subscriber, span};

    pub(crate) struct Own;

    #[expect(clippy::print_stderr, reason = "it is what a subscriber does")]
    impl Subscriber for Own {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() <= tracing::Level::WARN
        }

        fn event(&self, event: &Event<'_>) {
            eprintln!("own: {}", event.metadata().target());
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }
}
