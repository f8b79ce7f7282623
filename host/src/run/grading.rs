//! Graders that need a model or Python.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    RunEvent, Runner, judging::given_up, permits::Permits, python_grader::PythonGrader,
    recording::Recording,
};
use crate::{
    config::{Config, EvaluatorConfig, EvaluatorKind, OpenAiEvalConfig},
    json::{Object, Value},
    judging::{
        Connection, Identity, Session, Subject,
        grader::{self, Answers, CallResults},
    },
    metric::{MetricInput, Outcome},
    models::first_sample,
    process::Cancellation,
    runtime::Inputs,
    verdict::{Evaluation, Verdict},
};

/// A grader that needs a model or Python.
#[derive(Debug)]
pub(super) struct GradedEvaluator {
    name: String,
    config: OpenAiEvalConfig,
    connection: Option<Arc<Connection>>,
    python: Option<Box<PythonGrader>>,
}

/// Returns a hint about a grader that cannot be connected.
pub(super) fn hint(evaluator: &EvaluatorConfig) -> Option<&'static str> {
    let EvaluatorKind::OpenAiEval(openai) = &evaluator.kind else { return None };
    if openai.grader.models().into_iter().any(|(_, is_embedding)| is_embedding) {
        return Some("`cosine:tf` compares counts of words and needs no model");
    }
    let is_keyed = openai.server.api_key_env.is_none() && openai.server.base_url.is_some();
    is_keyed.then_some("`api_key_env: \"\"` asks a server that needs no key")
}

impl GradedEvaluator {
    pub(super) fn new(
        name: String,
        openai: &OpenAiEvalConfig,
        runner: &Runner,
        (config, session): (&Config, &Result<Session, String>),
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Self, String> {
        let connection = match &openai.judge {
            None => None,
            Some(settings) => {
                let session = session.as_ref().map_err(Clone::clone)?;
                Some(session.connect(&name, settings).map_err(|error| error.message)?)
            }
        };
        let needs_python = openai.grader.needs_python();
        let python = needs_python.then(|| PythonGrader::new(config, runner, on_event));
        let python = python.transpose()?.map(Box::new);
        Ok(Self { name, config: openai.clone(), connection, python })
    }

    /// Returns true if the grader compares with expected answers.
    pub(super) fn compares(&self) -> bool {
        self.config.grader.compares()
    }

    /// Returns the settings of the entry.
    pub(super) fn settings(&self) -> &Object {
        &self.config.settings
    }

    /// Returns what decides about the answers of its model, and its Python interpreter.
    ///
    /// # Errors
    ///
    /// The reason why saved results cannot be used.
    pub(super) fn identity(&self) -> Result<(Option<Identity>, Option<&Inputs>), String> {
        if self.python.as_ref().is_some_and(|python| python.search_path().is_some()) {
            return Err("changes of modules that PYTHONPATH finds would not be noticed".to_owned());
        }
        let model = self.connection.as_ref().map(|it| it.identity()).transpose()?;
        Ok((model, self.python.as_ref().map(|python| &python.inputs)))
    }

    /// Grades a conversation; `None` if the run has stopped. Each repeat has samples of its own.
    pub(super) async fn evaluate(
        &self,
        (recording, repeat): (&Recording, u32),
        permits: &Permits,
        cancellation: &Cancellation,
    ) -> Option<Evaluation> {
        if cancellation.is_cancelled() {
            return Some(Evaluation::without_process(Verdict::Cancelled, Duration::ZERO));
        }
        let turns = &recording.conversation.turns;
        let input = MetricInput::new(turns, recording.golden.as_ref(), self.config.threshold);
        let location = format!("conversation {}", recording.conversation.trace_id);
        let mut subject = Subject::new(self.config.grader.kind(), location);
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
        let (grader, timeout) = (&self.config.grader, self.config.timeout);
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
