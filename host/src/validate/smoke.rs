//! Runs an evaluator on documents of several kinds.

use std::time::Duration;

use super::{
    Finding,
    examine::counted,
    inputs,
    judge::{Judged, judge},
};
use crate::{
    process::{self, Cancellation, Ending, Limits},
    runtime::Launch,
};

/// What the runs say of the program, and what they say of its answers.
pub(super) async fn run(
    name: &str,
    launch: &Launch,
    timeout: Duration,
    cancellation: &Cancellation,
) -> (Finding, Finding) {
    // A check leaves nothing behind in the evaluator's folder.
    let command = launch.one_shot.clone().env("PYTHONDONTWRITEBYTECODE", "1");
    let limits = Limits::with_timeout(timeout);
    let inputs = inputs::all(name);
    let (mut broke, mut complaints) = (Problems::default(), Problems::default());
    let mut answers = 0;
    for input in &inputs {
        let outcome = process::run(&command, input.text.as_bytes(), &limits, cancellation).await;
        match judge(name, &outcome, input.turns) {
            Judged::Answered(found) => {
                answers += 1;
                found.into_iter().for_each(|problem| complaints.add(input.name, problem));
            }
            Judged::Broke(problem) => broke.add(input.name, problem),
            Judged::Prevented(reason) => {
                return (Finding::skipped(reason), Finding::skipped("it could not be run"));
            }
        }
        if matches!(outcome.ending, Ending::TimedOut { .. }) {
            // It would most likely take as long again for each of the others.
            break;
        }
    }
    let ran = broke.finding(inputs.len(), "document");
    let answered = match answers {
        0 => Finding::skipped("it gave no answer"),
        _ => complaints.finding(answers, "answer"),
    };
    (ran, answered)
}

/// Problems, each with the documents it occurred with.
#[derive(Default)]
struct Problems(Vec<(String, Vec<&'static str>)>);

impl Problems {
    fn add(&mut self, input: &'static str, problem: String) {
        match self.0.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, inputs)) => inputs.push(input),
            None => self.0.push((problem, vec![input])),
        }
    }

    /// Of so many things that were looked at.
    /// What they amount to, of so many things that were looked at.
    fn finding(self, count: usize, noun: &str) -> Finding {
        if self.0.is_empty() {
            return Finding::ok(counted(count, noun));
        }
        let shown = |(problem, inputs): (String, Vec<&str>)| match inputs.len() {
            all if all == count && all > 1 => format!("with every document: {problem}"),
            _ => format!("{}: {problem}", inputs.join(", ")),
        };
        Finding::Failed { problems: self.0.into_iter().map(shown).collect() }
    }
}
