//! Runs an evaluator on documents of several kinds.

use std::time::Duration;

use super::{
    Finding,
    alone::Ready,
    examine::counted,
    inputs::{self, Input},
    judge::{Judged, judge},
};
use crate::{
    process::{self, Cancellation, Ending, Limits},
    runtime::Launch,
};

/// What the runs say of the program, and what they say of its answers.
pub(super) async fn run(
    name: &str,
    ready: &Ready,
    timeout: Duration,
    cancellation: &Cancellation,
) -> (Finding, Finding) {
    let skipped = |reason| (Finding::skipped(reason), Finding::skipped("it could not be run"));
    let inputs = inputs::all(name);
    let runs = match Runs::new(name, &ready.launch, &inputs, timeout, cancellation).await {
        Ok(runs) => runs,
        Err(reason) => return skipped(reason),
    };
    let mut ran = runs.broke.finding(inputs.len(), "document");
    let answered = match runs.answers {
        0 => Finding::skipped("it gave no answer"),
        answers => runs.complaints.finding(answers, "answer"),
    };
    let is_ok = |finding: &Finding| matches!(finding, Finding::Ok { .. });
    if let (true, Some(alone)) = (is_ok(&ran) && is_ok(&answered), &ready.alone) {
        match Runs::new(name, &alone.launch, &inputs, timeout, cancellation).await {
            Ok(runs) => {
                let differences = [runs.broke, runs.complaints].map(|found| {
                    match found.finding(inputs.len(), "document") {
                        Finding::Failed { problems } => problems,
                        Finding::Ok { .. } | Finding::Skipped { .. } => Vec::new(),
                    }
                });
                let problems: Vec<String> = differences
                    .concat()
                    .iter()
                    .map(|problem| format!("{ALONE}: {problem}"))
                    .collect();
                if !problems.is_empty() {
                    ran = Finding::Failed { problems };
                }
            }
            Err(reason) => return skipped(reason),
        }
    }
    (ran, answered)
}

/// Begins what is said of an evaluator that needs more than hosts fetch.
const ALONE: &str = "without the other files of its folder, which hosts do not fetch";

/// What came of runs with all documents.
struct Runs {
    broke: Problems,
    complaints: Problems,
    answers: usize,
}

impl Runs {
    /// An error says why it could not run, which is not its fault.
    async fn new(
        name: &str,
        launch: &Launch,
        inputs: &[Input],
        timeout: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, String> {
        // A check leaves nothing behind in the evaluator's folder.
        let command = launch.one_shot.clone().env("PYTHONDONTWRITEBYTECODE", "1");
        let limits = Limits::with_timeout(timeout);
        let mut runs =
            Self { broke: Problems::default(), complaints: Problems::default(), answers: 0 };
        for input in inputs {
            let outcome =
                process::run(&command, input.text.as_bytes(), &limits, cancellation).await;
            match judge(name, &outcome, input.turns) {
                Judged::Answered(found) => {
                    runs.answers += 1;
                    found.into_iter().for_each(|problem| runs.complaints.add(input.name, problem));
                }
                Judged::Broke(problem) => runs.broke.add(input.name, problem),
                Judged::Prevented(reason) => return Err(reason),
            }
            if matches!(outcome.ending, Ending::TimedOut { .. }) {
                // It would most likely take as long again for each of the others.
                break;
            }
        }
        Ok(runs)
    }
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
