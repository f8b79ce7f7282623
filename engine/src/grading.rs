//! Graders that need a model or Python.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    judged::given_up, permits::Permits, python_grader::PythonGrader, recording::Recording,
};
use crate::{
    json::{Object, Value},
    judging::{
        Connection, Identity, Subject,
        grader::{self, Answers, CallResults, Grader},
    },
    metric::{MetricInput, Outcome},
    models::first_sample,
    process::Cancellation,
    runtime::Inputs,
    verdict::{Evaluation, Verdict},
};

/// A grader that needs a model or Python.
#[derive(Debug)]
pub struct GradedEvaluator {
    /// Name.
    pub name: String,
    /// The grader.
    pub grader: Grader,
    /// Settings of the entry.
    pub settings: Object,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// Time limit of an evaluation, without its queues.
    pub timeout: Duration,
    /// Models, if it asks some.
    pub connection: Option<Arc<Connection>>,
    /// Python, if it calls functions.
    pub python: Option<Box<PythonGrader>>,
}

impl GradedEvaluator {
    /// Returns true if the grader compares with expected answers.
    pub(crate) fn compares(&self) -> bool {
        self.grader.compares()
    }

    /// Returns what decides about the answers of its model, and its Python interpreter.
    ///
    /// # Errors
    ///
    /// The reason why saved results cannot be used.
    pub fn identity(&self) -> Result<(Option<Identity>, Option<&Inputs>), String> {
        if self.python.as_ref().is_some_and(|python| python.search_path().is_some()) {
            return Err("changes of modules that PYTHONPATH finds would not be noticed".to_owned());
        }
        let model = self.connection.as_ref().map(|it| it.identity()).transpose()?;
        Ok((model, self.python.as_ref().map(|python| &python.inputs)))
    }

    /// Grades a conversation; `None` if the run has stopped. Each repeat has samples of its own.
    pub(crate) async fn evaluate(
        &self,
        (recording, repeat): (&Recording, u32),
        permits: &Permits,
        cancellation: &Cancellation,
    ) -> Option<Evaluation> {
        if cancellation.is_cancelled() {
            return Some(Evaluation::without_process(Verdict::Cancelled, Duration::ZERO));
        }
        let turns = &recording.conversation.turns;
        let input = MetricInput::new(turns, recording.golden.as_ref(), self.threshold);
        let location = format!("conversation {}", recording.conversation.trace_id);
        let mut subject = Subject::new(self.grader.kind(), location);
        subject.first_sample = first_sample(repeat);
        let graded = self.grade(&input, subject, permits, cancellation);
        let mut evaluation = tokio::select! {
            biased;
            graded = graded => graded?,
            () = given_up(cancellation) => {
                Evaluation::without_process(Verdict::Cancelled, Duration::ZERO)
            }
        };
        if cancellation.is_cancelled() && matches!(evaluation.verdict, Verdict::MetricFailed { .. })
        {
            evaluation.verdict = Verdict::Cancelled;
        }
        Some(evaluation)
    }

    /// Grades a conversation. The time of its queues does not count.
    async fn grade(
        &self,
        input: &MetricInput<'_>,
        mut subject: Subject,
        permits: &Permits,
        cancellation: &Cancellation,
    ) -> Option<Evaluation> {
        let (grader, timeout) = (&self.grader, self.timeout);
        let plan = match grader.plan(input) {
            Ok(plan) => plan,
            Err(outcome) => return Some(evaluation(outcome, Answers::default())),
        };
        let needs = plan.needs();
        let asks = !needs.questions.is_empty() || !needs.embeddings.is_empty();
        let asking = async {
            let Some(connection) = self.connection.as_ref().filter(|_| asks) else {
                return Some((Answers::default(), Duration::ZERO));
            };
            let _permit = permits.take_judged().await?;
            let started = Instant::now();
            let samples = connection.settings().samples.unwrap_or(1);
            subject.time_limit = Some(timeout);
            let answers = grader::ask(connection, grader, needs, &subject, samples).await;
            Some((answers, started.elapsed()))
        };
        let calling = async {
            let (mut numbers, mut took) = (Vec::new(), Duration::ZERO);
            for calls in &needs.calls {
                let Some(python) = &self.python else { break };
                let _permit = permits.take().await?;
                let started = Instant::now();
                numbers.push(python.call(&self.name, calls, timeout, cancellation).await);
                took = took.saturating_add(started.elapsed());
            }
            Some((numbers, took))
        };
        let (asked, called) = tokio::join!(asking, calling);
        let ((mut answers, asked), (numbers, called)) = (asked?, called?);
        let results = CallResults { numbers, ..std::mem::take(&mut answers.results) };
        let evaluation = evaluation(plan.finish(&results), answers);
        Some(Evaluation { duration: asked.max(called), ..evaluation })
    }
}

/// Returns the evaluation with an outcome, and with the calls for the report.
fn evaluation(mut outcome: Outcome, answers: Answers) -> Evaluation {
    let judge = answers.details;
    let has_judge = !judge.is_empty();
    let mut details = Object::default();
    if has_judge {
        details.insert("judge".to_owned(), Value::Object(judge));
        match &mut outcome {
            Outcome::Scored(scored) => {
                scored.details.get_or_insert_default().extend(details.clone());
            }
            Outcome::NotEvaluated { details: own } => own.extend(details.clone()),
            Outcome::Failed { .. } => {}
        }
    }
    let mut evaluation = Evaluation::without_process(Verdict::from(outcome), Duration::ZERO);
    evaluation.details = has_judge.then_some(details);
    evaluation.warnings = answers.warnings;
    evaluation
}
