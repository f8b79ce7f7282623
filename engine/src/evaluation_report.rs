//! Reports of evaluations.

use evaluator_document::did_you_mean;

use super::{prepared::PreparedEvaluator, recording::Recording, retry, work::Work};
use crate::{
    hosts::{ANSWER_KEYS, missing_key_hint},
    json::{self, NonFinite, Value},
    models::{self, ProxyUsage},
    report::{EvaluationReport, TargetProxyReport},
    verdict::{Answer, BadAnswer, Evaluation, Status, Verdict, contradictions, from_text},
};

impl PreparedEvaluator {
    /// Returns contradictions within an answer. A metric of this program has its own rule, such as that every turn has to
    /// pass.
    fn contradictions(&self, answer: &Answer) -> Vec<String> {
        match self.evaluator.work.is_metric() {
            true => Vec::new(),
            false => contradictions(answer, self.evaluator.threshold),
        }
    }

    /// Returns the report of the evaluation of a conversation.
    pub(crate) fn report_on(
        &self,
        evaluation: Evaluation,
        recording: &Recording,
    ) -> EvaluationReport {
        let missing = self.failure_reason(&evaluation.verdict, recording);
        let failure_reason = missing.or_else(|| evaluation.failure_reason.clone());
        let mut report = self.report(evaluation);
        let turns = recording.conversation.turns.len();
        report.warnings.extend(self.not_compared(&report, turns));
        report.warnings.extend(self.not_recorded(&report, recording));
        if let Work::Suite(suite) = &self.evaluator.work {
            report.threshold = Some(suite.threshold(recording.number));
        }
        if failure_reason.is_some() {
            report.status = Status::Failed;
        }
        report.failure_reason = failure_reason;
        report
    }

    /// Returns the warning of a metric that leaves out turns, because the golden case has fewer. The score does not cover
    /// them.
    fn not_compared(&self, report: &EvaluationReport, turns: usize) -> Option<String> {
        let Work::Metric { metric, .. } = &self.evaluator.work else { return None };
        let compared = report.per_invocation_scores.len();
        let leaves_out = metric.compares_golden_turns() && (1..turns).contains(&compared);
        leaves_out.then(|| {
            format!(
                "it compares {compared} of {turns} turns; there is no golden turn for the others"
            )
        })
    }

    /// Returns the warning for a program that scored turns with parts that a producer did not record. Metrics do not score
    /// what is unknown, but only the program knows what it reads.
    fn not_recorded(&self, report: &EvaluationReport, recording: &Recording) -> Option<String> {
        let is_metric = self.evaluator.work.is_metric();
        let is_scored = report.error.is_none() && report.status != Status::NotEvaluated;
        let mut turns = recording.conversation.turns.iter();
        let unknown = turns.find_map(|turn| turn.unrecorded.first())?;
        (is_scored && !is_metric).then(|| format!("it may have scored what is unknown: {unknown}"))
    }

    /// Returns the report of an evaluation, without what depends on its conversation.
    pub fn report(&self, evaluation: Evaluation) -> EvaluationReport {
        let mut report = EvaluationReport::new(self.name());
        let stderr = evaluation.end_of_stderr();
        (report.error, report.headline) = self.errors(&evaluation, &stderr);
        report.stderr =
            Some(stderr.into_owned()).filter(|it| report.error.is_some() && !it.is_empty());
        report.error_type = evaluation.verdict.error_type();
        report.threshold = Some(self.evaluator.threshold);
        report.status =
            evaluation.verdict.status(self.evaluator.threshold).unwrap_or(Status::NotEvaluated);
        report.duration = (!self.was_not_started(&evaluation)).then_some(evaluation.duration);
        report.attempts = retry::attempts(&evaluation);
        let flaky = retry::warning(&evaluation);
        let failed_calls = failed_calls(&evaluation, report.error.is_some());
        report.prompts = evaluation.prompts;
        report.target_proxy = evaluation.asked.map(target_proxy);
        let answer = match evaluation.verdict {
            Verdict::Answer(answer) => answer,
            _ => Answer { details: evaluation.details, ..Answer::default() },
        };
        report.warnings = self.contradictions(&answer);
        report.warnings.extend(dropped_keys(&answer));
        report.warnings.extend(evaluation.warnings);
        report.warnings.extend(flaky);
        report.warnings.extend(failed_calls);
        if report.error.is_none() {
            report.warnings.extend(self.variable_hint(&answer, &evaluation.stderr_tail));
        }
        report.score = answer.score;
        report.per_invocation_scores = answer.per_invocation_scores;
        report.details = answer.details;
        if let Work::Program(program) = &self.evaluator.work {
            report.containment.clone_from(&program.contained);
        }
        report
    }

    /// Returns true if the run ended before the evaluation.
    fn was_not_started(&self, evaluation: &Evaluation) -> bool {
        matches!(self.evaluator.work, Work::Broken(Verdict::Cancelled))
            || matches!(evaluation.verdict, Verdict::Cancelled) && evaluation.attempts == 0
            || matches!(evaluation.verdict, Verdict::NotRun)
    }

    /// Returns the error as a paragraph, and as a clause that follows the name of the evaluator where that differs.
    fn errors(&self, evaluation: &Evaluation, stderr: &str) -> (Option<String>, Option<String>) {
        let name = self.name();
        let is_metric = self.evaluator.work.is_metric();
        let error = match &evaluation.verdict {
            verdict @ (Verdict::Cancelled | Verdict::NotRun) if is_metric => {
                verdict.describe(name, "").map(|what| format!("{name} {what}"))
            }
            verdict => verdict.explain(name, stderr),
        };
        let in_full =
            |text: String| retry::with_attempts(self.with_hint(text, evaluation), evaluation);
        let headline = evaluation.verdict.describe(name, stderr);
        let headline = headline.filter(|_| !is_metric && error.is_some());
        let headline = headline.map(|text| in_full(text + &self.what_to_do(evaluation)));
        (error.map(in_full), headline)
    }

    /// Returns the reason why an evaluation fails regardless of its score. Golden turns that are not recorded have no
    /// score: an agent that stops after its first turn is not as good as that turn.
    pub(crate) fn failure_reason(
        &self,
        verdict: &Verdict,
        recording: &Recording,
    ) -> Option<String> {
        let is_judged =
            !matches!(verdict.status(self.evaluator.threshold), None | Some(Status::NotEvaluated));
        if !is_judged || !self.evaluator.requires_all_turns() {
            return None;
        }
        let (missing, golden) = recording.missing_turns()?;
        let (turns, are) = if golden == 1 { ("turn", "is") } else { ("turns", "are") };
        Some(format!("{missing} of {golden} golden {turns} {are} not recorded"))
    }

    /// Returns the error of a program, as a clause that follows its name, with the end of its standard error.
    pub(crate) fn whole_error(&self, evaluation: &Evaluation) -> String {
        let stderr = evaluation.end_of_stderr();
        let error = match &evaluation.verdict {
            verdict @ Verdict::Exited { .. } | verdict @ Verdict::Signalled { .. } => {
                let what = verdict.describe("", "").unwrap_or_default();
                if stderr.is_empty() { what } else { format!("{what}: {stderr}") }
            }
            verdict => verdict.describe(self.name(), &stderr).unwrap_or_default(),
        };
        retry::with_attempts(self.with_hint(error, evaluation), evaluation)
    }

    /// Appends a hint about the cause to an error, if there is one.
    fn with_hint(&self, error: String, evaluation: &Evaluation) -> String {
        let Work::Program(program) = &self.evaluator.work else { return error };
        let texts = [&*error, &*evaluation.stderr_tail];
        let said = match &evaluation.verdict {
            Verdict::Exited { .. } => &*evaluation.stderr_tail,
            Verdict::Reported { message, .. } => message,
            _ => "",
        };
        if let Some(hint) = missing_key_hint(program.contract, said) {
            return format!("{error}\n({hint})");
        }
        let mismatch = match evaluation.verdict {
            Verdict::Exited { .. } | Verdict::BadAnswer(BadAnswer::Empty) => {
                program.mismatch.as_ref().map(ToString::to_string)
            }
            _ => None,
        };
        let hint = self
            .missing_model(&texts)
            .or(mismatch)
            .or_else(|| program.context.promise_hint(&evaluation.verdict, &evaluation.stderr_tail))
            .or_else(|| program.context.hint(&evaluation.verdict, &texts));
        match hint.or_else(|| missing_module(evaluation)) {
            Some(hint) if error.contains('\n') => format!("{error}\n({hint})"),
            Some(hint) => format!("{error} ({hint})"),
            None => error,
        }
    }

    /// Returns a hint if the program asks a model, and its entry offers none.
    fn missing_model(&self, texts: &[&str]) -> Option<String> {
        let Work::Program(program) = &self.evaluator.work else { return None };
        if program.target.is_some() || !texts.iter().any(|text| models::names_proxy(text)) {
            return None;
        }
        let hint = "it asks a model, and its entry offers none: add `target: {}`, which offers the model of `judge:`, or \
                    `models: {NAME: MODEL}`";
        let withheld = program.context.variable_hint(texts).map(|withheld| format!("; {withheld}"));
        Some(hint.to_owned() + &withheld.unwrap_or_default())
    }

    /// Returns the remedy for an error of a program whose message explains little, with a separator before it.
    fn what_to_do(&self, evaluation: &Evaluation) -> String {
        let Work::Program(program) = &self.evaluator.work else { return String::new() };
        let Evaluation { verdict, stderr_tail: stderr, stdout_tail: stdout, .. } = evaluation;
        match verdict {
            Verdict::BadAnswer(BadAnswer::Empty) if program.mismatch.is_none() => {
                let silence =
                    || program.contract.is_none().then(|| program.context.silence_hint());
                let hint = program.context.uncalled_hint().or_else(silence);
                hint.map(|hint| format!(" ({hint})")).unwrap_or_default()
            }
            Verdict::TimedOut { .. } => {
                "; raise `timeout` of its entry, or find out what it waits for".to_owned()
            }
            Verdict::Exited { code: 127 } if stderr.contains("\\r\u{2019}: ") || stderr.contains("\\r': ") => {
                "; its first line ends with a carriage return, save the file with Unix line ends (LF)".to_owned()
            }
            Verdict::Exited { .. } if matches!(from_text(stdout.as_bytes()), Verdict::Answer(_)) => {
                "; its result counts only with exit code 0".to_owned()
            }
            Verdict::Exited { .. } if stderr.trim().is_empty() && stdout.trim().is_empty() => {
                " without any output".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Returns a hint about a variable that an evaluator did not see and mentions next to its answer: the answer may depend on
    /// it.
    fn variable_hint(&self, answer: &Answer, stderr: &str) -> Option<String> {
        let Work::Program(program) = &self.evaluator.work else { return None };
        if program.context.provides_everything() {
            return None;
        }
        let details = answer.details.clone().map(Value::Object);
        let details = details.map(|details| json::to_string(&details, NonFinite::Literal));
        program.context.variable_hint(&[stderr, details.as_deref().unwrap_or_default()])
    }
}

/// Keys of an answer that a warning names.
const KEYS_NAMED: usize = 3;

/// Returns the warning about keys of an answer that are not read.
fn dropped_keys(answer: &Answer) -> Option<String> {
    let keys = &answer.dropped_keys;
    let shown: Vec<String> = keys.iter().take(KEYS_NAMED).map(|key| format!("`{key}`")).collect();
    let hint = match &keys[..] {
        [] => return None,
        [key] => did_you_mean(key, ANSWER_KEYS),
        _ => None,
    };
    let hint = hint.unwrap_or_else(|| "a report shows what is under `details`".to_owned());
    let (noun, verb) = if keys.len() == 1 { ("key", "is") } else { ("keys", "are") };
    let more = match keys.len().saturating_sub(KEYS_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let shown = shown.join(", ");
    Some(format!("its result has the {noun} {shown}{more}, which {verb} not read; {hint}"))
}

/// Returns the warning about calls of a program to models that failed.
fn failed_calls(evaluation: &Evaluation, is_error: bool) -> Option<String> {
    let calls = evaluation.asked.as_ref().and_then(ProxyUsage::warning)?;
    Some(if is_error { calls } else { format!("it answered, although {calls}") })
}

/// Returns a hint about a module that a program of Python or JavaScript did not find.
fn missing_module(evaluation: &Evaluation) -> Option<String> {
    let Verdict::Exited { .. } = evaluation.verdict else { return None };
    let package = evaluation.stderr_tail.lines().find_map(|line| {
        let (_, rest) = line
            .split_once("Error: Cannot find module '")
            .or_else(|| line.split_once("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '"))?;
        rest.split('\'').next().filter(|name| !name.starts_with(['.', '/']))
    });
    if let Some(package) = package {
        return Some(format!(
            "name the package of '{package}' in package.json next to the file, and type `npm install` there"
        ));
    }
    let last = evaluation.stderr_tail.lines().rfind(|line| !line.trim().is_empty())?;
    let module = last.strip_prefix("ModuleNotFoundError: No module named ")?.trim();
    Some(format!(
        "name the package of {module} in requirements.txt next to the file or in a `# /// script` block, or point \
         EVALUATOR_PYTHON at an interpreter that has it"
    ))
}

/// Returns the calls of a program to models, for the report of its evaluation.
pub(crate) fn target_proxy(usage: ProxyUsage) -> TargetProxyReport {
    let mut report = TargetProxyReport::default();
    report.call_count = usage.calls;
    report.max_calls = usage.max_calls;
    report.failed_calls = usage.failed.saturating_add(usage.unfinished);
    report.refused_requests = usage.refused;
    report.tokens.input = usage.tokens.input;
    report.tokens.output = usage.tokens.output;
    report.tokens.cached = usage.tokens.cached;
    report.tokens.reasoning = usage.tokens.reasoning;
    report.cost = usage.cost.map(|cost| cost.to_string());
    report.models = usage.models;
    report.recordings = usage.recordings;
    report
}
