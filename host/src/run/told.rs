//! What is told of an evaluation.

use super::{plan::Work, ready::Ready, retry};
use crate::{
    json::{self, NonFinite, Value},
    report::EvaluationReport,
    verdict::{Answer, Evaluation, Status, Verdict, WAS_NOT_RUN},
};

impl Ready {
    /// The report of an evaluation of a conversation with so many turns.
    pub(super) fn report(&self, evaluation: Evaluation, turns: usize) -> EvaluationReport {
        let name = self.name();
        let is_metric = matches!(self.evaluator.work, Work::Metric { .. });
        let stderr = evaluation.end_of_stderr();
        let error = match &evaluation.verdict {
            Verdict::Cancelled if is_metric => {
                Some(format!("{name} was not computed, because the run was cancelled"))
            }
            Verdict::NotRun if is_metric => Some(format!("{name} {WAS_NOT_RUN}")),
            verdict => verdict.explain(name, &stderr),
        };
        let in_full =
            |text: String| retry::told_in(self.with_remark(text, &evaluation), &evaluation);
        let headline = evaluation
            .verdict
            .describe(name, &stderr)
            .filter(|_| !is_metric && error.is_some())
            .map(in_full);
        let error = error.map(in_full);
        let error_type = evaluation.verdict.error_type();
        let status =
            evaluation.verdict.status(self.evaluator.threshold).unwrap_or(Status::NotEvaluated);
        let never_began = matches!(self.evaluator.work, Work::Broken(Verdict::Cancelled))
            || matches!(evaluation.verdict, Verdict::Cancelled) && evaluation.attempts == 0
            || matches!(evaluation.verdict, Verdict::NotRun);
        let stderr = Some(stderr.into_owned()).filter(|it| error.is_some() && !it.is_empty());
        let attempts = retry::attempts(&evaluation);
        let flaky = retry::warning(&evaluation);
        let answer = match evaluation.verdict {
            Verdict::Answer(answer) => answer,
            _ => Default::default(),
        };
        let mut warnings = answer.contradictions(self.evaluator.threshold, turns);
        warnings.extend(flaky);
        if error.is_none() {
            warnings.extend(self.missing(&answer, &evaluation.stderr_tail));
        }
        EvaluationReport {
            name: name.to_owned(),
            score: answer.score,
            threshold: Some(self.evaluator.threshold),
            status,
            per_invocation_scores: answer.per_invocation_scores,
            duration: (!never_began).then_some(evaluation.duration),
            error,
            headline,
            error_type,
            stderr,
            attempts,
            warnings,
            details: answer.details,
        }
    }

    /// The error with what else may be behind it.
    fn with_remark(&self, error: String, evaluation: &Evaluation) -> String {
        let Work::Program(program) = &self.evaluator.work else { return error };
        let texts = [&*error, &*evaluation.stderr_tail];
        match program.surroundings.remark(&evaluation.verdict, &texts) {
            Some(remark) if error.contains('\n') => format!("{error}\n({remark})"),
            Some(remark) => format!("{error} ({remark})"),
            None => error,
        }
    }

    /// What an evaluator that answered says to have missed: perhaps its answer would be another one.
    fn missing(&self, answer: &Answer, stderr: &str) -> Option<String> {
        let Work::Program(program) = &self.evaluator.work else { return None };
        if program.surroundings.keeps_nothing_back() {
            return None;
        }
        let details = answer.details.clone().map(Value::Object);
        let details = details.map(|details| json::to_string(&details, NonFinite::Literal));
        program.surroundings.missing(&[stderr, details.as_deref().unwrap_or_default()])
    }
}
