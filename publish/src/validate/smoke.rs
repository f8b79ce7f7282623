//! Runs an evaluator with documents of several kinds, and checks its answers.

use std::time::Duration;

use evaluator_document::did_you_mean;
use evaluator_protocol::ProtocolVersion;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Finding, copy::Copy};
use crate::{
    process::{self, Cancellation, Ending, Limits, Outcome},
    runtime::Launch,
    verdict::{BadAnswer, Evaluation, Status, Verdict, contradictions},
};

/// Results of the runs of an evaluator.
pub(super) struct Smoke {
    /// Result of the check [`SmokeRun`](super::CheckKind::SmokeRun).
    pub(super) ran: Finding,
    /// Result of the check [`ResultSchema`](super::CheckKind::ResultSchema).
    pub(super) answered: Finding,
    /// Remark that is not a problem.
    pub(super) note: Option<String>,
}

/// Runs an evaluator with all documents, and checks its answers.
pub(super) async fn run(
    name: &str,
    ready: &Ready,
    timeout: Duration,
    cancellation: &Cancellation,
) -> Smoke {
    let skipped = |reason| Smoke {
        ran: Finding::skipped(reason),
        answered: Finding::skipped("it could not be run"),
        note: None,
    };
    let inputs = match inputs(name) {
        Ok(inputs) => inputs,
        Err(reason) => return skipped(reason),
    };
    let runs = match Runs::new(name, &ready.launch, &inputs, timeout, cancellation).await {
        Ok(runs) => runs,
        Err(reason) => return skipped(reason),
    };
    let note = runs.evaluates_nothing(inputs.len()).then(|| NEVER_EVALUATES.to_owned());
    let mut ran = runs.broke.finding(inputs.len(), "document");
    let answered = match runs.answers {
        0 => Finding::skipped("it gave no answer"),
        answers => runs.complaints.finding(answers, "answer"),
    };
    let is_ok = |finding: &Finding| matches!(finding, Finding::Ok { .. });
    if let (true, Some(alone)) = (is_ok(&ran) && is_ok(&answered), &ready.alone) {
        match Runs::new(name, &alone.launch, &inputs, timeout, cancellation).await {
            Ok(runs) => {
                let differences =
                    [runs.broke, runs.complaints].map(|found| found.lines(inputs.len()));
                let problems: Vec<String> =
                    differences.iter().flatten().map(|it| format!("{ALONE}: {it}")).collect();
                if !problems.is_empty() {
                    ran = Finding::Failed { problems };
                }
            }
            Err(reason) => return skipped(reason),
        }
    }
    Smoke { ran, answered, note }
}

/// Remark about an evaluator that answers every document, and evaluates none.
const NEVER_EVALUATES: &str = "it answers NOT_EVALUATED to every document, so no score of it was checked; the documents have \
     answers, tool calls and golden turns, but no settings: a setting that it cannot do without needs a default";

/// Prefix of the problems of an evaluator that needs more files than hosts fetch.
const ALONE: &str = "without the other files of its directory, which hosts do not fetch";

/// Results of runs with all documents.
struct Runs {
    broke: Problems,
    complaints: Problems,
    answers: usize,
    /// Answers that evaluate nothing.
    unevaluated: usize,
}

impl Runs {
    /// Fails if the evaluator cannot run here, which is not a problem of the evaluator.
    async fn new(
        name: &str,
        launch: &Launch,
        inputs: &[Input],
        timeout: Duration,
        cancellation: &Cancellation,
    ) -> Result<Self, String> {
        // A check writes nothing to the evaluator's directory.
        let command = launch.one_shot.clone().env("PYTHONDONTWRITEBYTECODE", "1");
        let limits = Limits::with_timeout(timeout);
        let mut runs = Self {
            broke: Problems::default(),
            complaints: Problems::default(),
            answers: 0,
            unevaluated: 0,
        };
        for input in inputs {
            let outcome =
                process::run(&command, input.text().as_bytes(), &limits, cancellation).await;
            match judge(name, &outcome, input.turns()) {
                Judged::Answered { problems, is_evaluated } => {
                    runs.answers += 1;
                    runs.unevaluated += usize::from(!is_evaluated);
                    problems
                        .into_iter()
                        .for_each(|problem| runs.complaints.add(&input.name, problem));
                }
                Judged::Broke(problem) => runs.broke.add(&input.name, problem),
                Judged::Prevented(reason) => return Err(reason),
            }
            if matches!(outcome.ending, Ending::TimedOut { .. }) {
                // The other documents would most likely take as long.
                break;
            }
        }
        Ok(runs)
    }

    /// Returns true if all of this number of documents were answered, and none was evaluated.
    fn evaluates_nothing(&self, documents: usize) -> bool {
        self.unevaluated == documents
    }
}

/// Problems, each with the names of its documents.
#[derive(Default)]
struct Problems(Vec<(String, Vec<String>)>);

impl Problems {
    fn add(&mut self, input: &str, problem: String) {
        match self.0.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, inputs)) => inputs.push(input.to_owned()),
            None => self.0.push((problem, vec![input.to_owned()])),
        }
    }

    /// Returns the result of a check of `count` things.
    fn finding(self, count: usize, noun: &str) -> Finding {
        if self.0.is_empty() {
            return Finding::ok(counted(count, noun));
        }
        Finding::Failed { problems: self.lines(count) }
    }

    /// Returns each problem with the names of its documents, of which there are `count`.
    fn lines(self, count: usize) -> Vec<String> {
        let shown = |(problem, inputs): (String, Vec<String>)| match inputs.len() {
            all if all == count && all > 1 => format!("with every document: {problem}"),
            _ => format!("{}: {problem}", inputs.join(", ")),
        };
        self.0.into_iter().map(shown).collect()
    }
}

/// Keys of a result, and of an error report.
const KEYS: [&str; 5] = ["score", "status", "per_invocation_scores", "details", "error"];

/// Maximum number of lines of standard error that are shown: enough for the message of Node.js about a missing module.
const STDERR_LINES: usize = 30;

/// SDK of the agentevals project.
const PYTHON_SDK: &str = "agentevals_evaluator_sdk";

/// Result of one run.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    /// The evaluator answered.
    Answered {
        /// Problems of its answer.
        problems: Vec<String>,
        /// False if the answer is `NOT_EVALUATED`.
        is_evaluated: bool,
    },
    /// The evaluator failed.
    Broke(String),
    /// The evaluator cannot run here, which is not its problem.
    Prevented(String),
}

/// Checks a run with a document that has this number of turns.
fn judge(name: &str, outcome: &Outcome, turns: usize) -> Judged {
    let evaluation = Evaluation::from_outcome(outcome).for_turns(turns);
    let stderr = last_lines(&evaluation.stderr_tail);
    let explained = || {
        let what = evaluation.verdict.describe(name, "").unwrap_or_default();
        match stderr.lines().count() {
            0 => what,
            1 => format!("{what}: {stderr}"),
            _ => format!("{what}\n{stderr}"),
        }
    };
    match &evaluation.verdict {
        Verdict::Answer(answer) => {
            let mut problems = contradictions(answer, THRESHOLD);
            problems.extend(strict_problems(outcome.stdout.head()));
            let is_evaluated = answer.status != Some(Status::NotEvaluated);
            Judged::Answered { problems, is_evaluated }
        }
        Verdict::BadAnswer(bad) if *bad != BadAnswer::Empty => {
            Judged::Answered { problems: vec![bad.to_string()], is_evaluated: true }
        }
        Verdict::Cancelled => Judged::Prevented("it was interrupted".to_owned()),
        Verdict::Exited { .. } if stderr.contains(&format!("No module named '{PYTHON_SDK}'")) => {
            Judged::Prevented(format!(
                "the evaluator imports {PYTHON_SDK}, which this Python does not have; \
                 `python3 -m pip install agentevals-evaluator-sdk`, or set EVALUATOR_PYTHON to one that has it"
            ))
        }
        _ => Judged::Broke(explained()),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(STDERR_LINES)..].join("\n")
}

/// Returns the problems of an answer that is valid here, but not under every host.
fn strict_problems(answer: &[u8]) -> Vec<String> {
    let object = match serde_json::from_slice::<Value>(answer) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return vec!["the answer is not an object".to_owned()],
        Err(error) => return vec![format!("not every host can read it as JSON: {error}")],
    };
    let mut found = Vec::new();
    match object.get("score") {
        Some(Value::Number(_)) | None => {}
        Some(other) => found.push(format!("score: must be a number itself, not {other}")),
    }
    if let Some(Value::Array(scores)) = object.get("per_invocation_scores") {
        for (index, score) in scores.iter().enumerate() {
            if !(score.is_number() || score.is_null()) {
                found.push(format!(
                    "per_invocation_scores[{index}]: must be a number itself, or null, not {score}"
                ));
            }
        }
    }
    for key in object.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        // Unknown keys are allowed, but one that resembles a missing key is a misspelling.
        let absent = KEYS.into_iter().filter(|known| !object.contains_key(*known));
        found.extend(
            did_you_mean(key, absent).map(|hint| format!("{key}: no host reads this key; {hint}")),
        );
    }
    found
}

/// Threshold in all documents.
const THRESHOLD: f64 = 0.5;

/// Documents of every kind that a host may send, without settings.
const INPUTS: &str = include_str!("inputs.json");

/// A document with which an evaluator is tested.
#[derive(Deserialize)]
struct Input {
    /// Name in messages.
    name: String,
    document: Map<String, Value>,
}

impl Input {
    /// Returns the number of turns.
    fn turns(&self) -> usize {
        self.document["invocations"].as_array().map_or(0, Vec::len)
    }

    /// Returns the text of the document.
    fn text(&self) -> String {
        Value::Object(self.document.clone()).to_string()
    }
}

/// Returns the documents for an evaluator.
///
/// # Errors
///
/// The file with the documents is not JSON, which a test prevents.
fn inputs(evaluator: &str) -> Result<Vec<Input>, String> {
    let mut inputs: Vec<Input> =
        serde_json::from_str(INPUTS).map_err(|error| format!("inputs.json: {error}"))?;
    for input in &mut inputs {
        let settings = [
            ("protocol_version", Value::from(ProtocolVersion::CURRENT.to_string())),
            ("metric_name", evaluator.into()),
            ("threshold", THRESHOLD.into()),
            ("config", Value::Object(Map::new())),
        ];
        input.document.extend(settings.map(|(key, value)| (key.to_owned(), value)));
    }
    Ok(inputs)
}

/// An evaluator that can be run in its directory, and alone if that may make a difference.
pub(super) struct Ready {
    pub(super) launch: Launch,
    pub(super) alone: Option<Alone>,
}

/// A copy that can be run.
pub(super) struct Alone {
    pub(super) launch: Launch,
    /// Removed after the runs.
    pub(super) _copy: Copy,
}

/// Returns a number with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::process::{Captured, Ending};

    fn judged(ending: Ending, stdout: &str, stderr: &str) -> Judged {
        let outcome = Outcome {
            ending,
            stdout: Captured::complete(stdout),
            stderr: Captured::complete(stderr),
            unsent: 0,
            duration: Duration::ZERO,
        };
        judge("polite", &outcome, 2)
    }

    fn complaints(stdout: &str) -> String {
        match judged(Ending::Exited(0), stdout, "") {
            Judged::Answered { problems, .. } => problems.join("; "),
            other => panic!("{stdout}: {other:?}"),
        }
    }

    #[test]
    fn good_answers() {
        for answer in [
            r#"{"score": 1}"#,
            r#"{"score": 0.0, "status": null, "details": null, "per_invocation_scores": []}"#,
            r#"{"score": 0.5, "per_invocation_scores": [1, null], "details": {"a": 1}, "status": "PASSED"}"#,
            r#"{"score": 0.5, "status": "NOT_EVALUATED", "reason": "mine"}"#,
        ] {
            assert_eq!(complaints(answer), "", "{answer}");
        }
    }

    #[test]
    fn answers_that_only_some_hosts_take() {
        for (answer, expected) in [
            (r#"{"score": "0.5"}"#, r#"score: must be a number itself, not "0.5""#),
            (r#"{"score": true}"#, "score: must be a number itself, not true"),
            (
                r#"{"score": 1, "per_invocation_scores": [true, "1"]}"#,
                "per_invocation_scores[0]: must be a number itself, or null, not true; \
                 per_invocation_scores[1]: must be a number itself, or null, not \"1\"",
            ),
            (
                r#"{"score": 1, "detail": {}}"#,
                "detail: no host reads this key; did you mean `details`?",
            ),
            (
                r#"{"score": 1, "details": {"a": NaN}}"#,
                "not every host can read it as JSON: expected value at line 1 column 31",
            ),
        ] {
            assert_eq!(complaints(answer), expected);
        }
    }

    #[test]
    fn answers_that_no_host_takes() {
        for (answer, expected) in [
            (r#"{"score": 1.5}"#, "score: expected a number from 0 to 1, found 1.5"),
            ("{}", "score: a number from 0 to 1 is required, but the field is missing"),
            (r#"{"score": 1, "status": "FAILED"}"#, "it says FAILED"),
            (
                r#"{"score": 1, "per_invocation_scores": [1, 1, 1]}"#,
                "per_invocation_scores: 3 scores for a conversation of 2 turns; give one for each turn",
            ),
            (
                r#"{"score": 1, "per_invocation_scores": [1]}"#,
                "per_invocation_scores: 1 score for a conversation of 2 turns; ",
            ),
            (
                r#"{"score": 1, "score": 1}"#,
                "the key is repeated in the same object at line 1 column 14 (byte 13): ",
            ),
            (r#"{"score": 1, "per_invocation_scores": [2, 1]}"#, "it scores turn 1 with 2"),
            ("log\n{}", "expected a value at line 1"),
        ] {
            assert!(complaints(answer).starts_with(expected), "{answer}: {}", complaints(answer));
        }
    }

    #[test]
    fn what_keeps_it_from_answering() {
        let broke = |ending, stdout, stderr| match judged(ending, stdout, stderr) {
            Judged::Broke(problem) => problem,
            other => panic!("{other:?}"),
        };
        assert!(broke(Ending::Exited(0), "", "").contains("produced no output"));
        assert!(broke(Ending::Exited(2), r#"{"score": 1}"#, "boom").contains("code 2: boom"));
        assert!(broke(Ending::Exited(0), r#"{"error": "no"}"#, "").contains("reported an error"));
        let missing = "ModuleNotFoundError: No module named 'agentevals_evaluator_sdk'";
        assert!(matches!(judged(Ending::Exited(1), "", missing), Judged::Prevented(_)));
        assert!(matches!(judged(Ending::Cancelled, "", ""), Judged::Prevented(_)));
    }

    #[test]
    fn they_are_documents_of_the_contract() {
        let inputs = inputs("polite").unwrap();
        assert_eq!(inputs.iter().map(Input::turns).collect::<Vec<_>>(), [1, 3, 0, 2, 1]);
        for input in inputs {
            let read = evaluator_protocol::EvalInput::from_json(input.text().as_bytes()).unwrap();
            assert_eq!(read.invocations.len(), input.turns(), "{}", input.name);
            assert_eq!(read.metric_name, "polite");
        }
    }
}
