//! Graders that need a model, Python or a server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use evaluator_graders::{
    self as graders, Answers, Subject,
    hosted::{EvalsClient, EvalsError, EvalsServer, Graded, Job},
};
use evaluator_judges::{Connection, Session};
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

use super::{
    RunEvent, Runner,
    judging::given_up,
    permits::Permits,
    plan::{Work, broken},
    python_grader::PythonGrader,
    recording::Recording,
};
use crate::{
    config::{BuiltinConfig, EvaluatorConfig, EvaluatorKind, Execution, OpenAiEvalConfig},
    json::{Object, Value},
    metric::{
        MetricInput, Outcome,
        grader::{Hosted, HostedGrade, LocalGrader, Supplies},
    },
    models::{Cancel, ErrorKind, ModelError, Secret, Server, Settings, SystemClock},
    process::Cancellation,
    verdict::{Evaluation, Verdict},
};

/// Evaluations of one grader that a server computes at the same time.
const HOSTED_AT_ONCE: usize = 5;

/// Variables whose values are headers of requests to servers with the Evals API.
const HEADERS: [(&str, &str); 2] =
    [("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")];

/// A grader that needs a model, Python or a server.
#[derive(Debug)]
pub(super) struct GradedEvaluator {
    name: String,
    config: OpenAiEvalConfig,
    by: By,
}

/// Who grades.
#[derive(Debug)]
enum By {
    /// This program, with a model and a Python interpreter as far as they are needed.
    Program { connection: Option<Arc<Connection>>, python: Option<Box<PythonGrader>> },
    /// A server with the Evals API.
    Server { endpoint: Arc<EvalsServer>, places: Arc<Semaphore> },
}

/// Returns the work of a grader.
pub(super) fn plan(
    evaluator: &EvaluatorConfig,
    openai: &OpenAiEvalConfig,
    runner: &Runner,
    session: &Result<Session, String>,
    on_event: &mut dyn FnMut(RunEvent),
) -> Work {
    let name = evaluator.name.clone();
    if openai.execution == Execution::Local && openai.grader.is_local() {
        let settings =
            BuiltinConfig { settings: openai.settings.clone(), ..BuiltinConfig::default() };
        let metric = Arc::new(LocalGrader::new(name, openai.grader.clone()));
        return Work::Metric { metric, settings };
    }
    let by = match server(evaluator, runner) {
        Some(endpoint) => endpoint.map_err(|error| error.message).map(|endpoint| By::Server {
            endpoint: Arc::new(endpoint),
            places: Arc::new(Semaphore::new(HOSTED_AT_ONCE)),
        }),
        None => by_program(&name, openai, runner, session, on_event),
    };
    match by {
        Ok(by) => Work::Grader(Box::new(GradedEvaluator { name, config: openai.clone(), by })),
        Err(reason) => broken(reason),
    }
}

fn by_program(
    name: &str,
    openai: &OpenAiEvalConfig,
    runner: &Runner,
    session: &Result<Session, String>,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<By, String> {
    let connection = match &openai.judge {
        None => None,
        Some(settings) => {
            let session = session.as_ref().map_err(Clone::clone)?;
            Some(session.connect(name, settings).map_err(|error| error.message)?)
        }
    };
    let needs_python = openai.grader.needs_python();
    let python =
        needs_python.then(|| PythonGrader::new(runner, on_event)).transpose()?.map(Box::new);
    Ok(By::Program { connection, python })
}

/// Returns the server that grades; `None` if the evaluator is not graded by one. Sends nothing.
pub(super) fn server(
    evaluator: &EvaluatorConfig,
    runner: &Runner,
) -> Option<Result<EvalsServer, ModelError>> {
    match &evaluator.kind {
        EvaluatorKind::OpenAiEval(openai) if openai.execution == Execution::Api => {
            Some(endpoint(openai, runner))
        }
        _ => None,
    }
}

/// Returns a hint about a grader that cannot be connected.
pub(super) fn hint(evaluator: &EvaluatorConfig) -> Option<&'static str> {
    let EvaluatorKind::OpenAiEval(openai) = &evaluator.kind else { return None };
    let mut models = openai.grader.models().into_iter();
    if openai.execution == Execution::Local && models.any(|(_, is_embedding)| is_embedding) {
        return Some("`cosine:tf` compares counts of words and needs no model");
    }
    let is_keyed = openai.server.api_key_env.is_none() && openai.server.base_url.is_some();
    is_keyed.then_some("`api_key_env: \"\"` asks a server that needs no key")
}

fn endpoint(openai: &OpenAiEvalConfig, runner: &Runner) -> Result<EvalsServer, ModelError> {
    let environment = runner.environment();
    let variables = Arc::clone(&environment.variables);
    let value = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
    let key = match openai.server.api_key_env.as_deref() {
        Some("") | None => None,
        Some(name) => match value(name) {
            Some(key) => Some(Secret::new(name, &key)),
            None => {
                let text =
                    format!("the variable {name}, which has the key of the server, is not set");
                return Err(ModelError::new(ErrorKind::Config, text));
            }
        },
    };
    let headers = HEADERS.into_iter().filter_map(|(header, name)| Some((header, value(name)?)));
    let headers = headers.collect();
    let inherited = Arc::clone(&variables);
    let mut settings = Settings::new(move |name| inherited(name));
    settings.base_url.clone_from(&openai.server.base_url);
    settings.key = key;
    settings.redactor = crate::models::Redactor::new(environment.secrets);
    let needs_key = openai.server.api_key_env.as_deref() != Some("");
    Ok(EvalsServer { server: Server::openai(&settings, needs_key)?, headers })
}

impl GradedEvaluator {
    /// Returns true if the grader compares with expected answers.
    pub(super) fn compares(&self) -> bool {
        self.config.grader.compares()
    }

    /// Returns what decides about the results (the entry, and the model or server) and what is recorded of the model.
    ///
    /// # Errors
    ///
    /// The reason why saved results cannot be used.
    pub(super) fn identity(
        &self,
    ) -> Result<(serde_json::Value, Vec<Result<String, String>>), String> {
        let settings = serde_json::Value::from(&Value::Object(self.config.settings.clone()));
        let (by, recorded) = match &self.by {
            By::Program { connection, .. } => {
                let model = connection.as_ref().map(|it| it.identity()).transpose()?;
                let model = model.unwrap_or_default();
                (serde_json::json!({"model": model.asked}), model.recorded)
            }
            By::Server { endpoint, .. } => {
                (serde_json::json!({"server": endpoint.server.base()}), Vec::new())
            }
        };
        let revision = env!("CARGO_PKG_VERSION");
        Ok((serde_json::json!({"revision": revision, "settings": settings, "by": by}), recorded))
    }

    /// Grades a conversation; `None` if the run has stopped.
    pub(super) async fn evaluate(
        &self,
        recording: &Recording,
        permits: &Permits,
        cancellation: &Cancellation,
    ) -> Option<Evaluation> {
        if cancellation.is_cancelled() {
            return Some(Evaluation::without_process(Verdict::Cancelled, Duration::ZERO));
        }
        let turns = &recording.conversation.turns;
        let input = MetricInput::new(turns, recording.golden.as_ref(), self.config.threshold);
        let mut evaluation = match &self.by {
            By::Program { connection, python } => {
                let location = format!("conversation {}", recording.conversation.trace_id);
                let by = (connection.as_ref(), python.as_deref());
                let graded = self.grade(by, &input, &location, permits, cancellation);
                tokio::select! {
                    biased;
                    graded = graded => graded?,
                    () = given_up(cancellation) => {
                        Evaluation::without_process(Verdict::Cancelled, Duration::ZERO)
                    }
                }
            }
            By::Server { endpoint, places } => {
                // It is not abandoned when the run is cancelled: the eval has to be deleted.
                let _place = places.acquire().await.ok()?;
                if permits.is_closed() {
                    return None;
                }
                let started = Instant::now();
                let evaluation = self.have_graded(endpoint, &input, cancellation).await;
                Evaluation { duration: started.elapsed(), ..evaluation }
            }
        };
        if cancellation.is_cancelled() && matches!(evaluation.verdict, Verdict::MetricFailed { .. })
        {
            evaluation.verdict = Verdict::Cancelled;
        }
        Some(evaluation)
    }

    /// Grades a conversation in this program. The time of its queues does not count.
    async fn grade(
        &self,
        (connection, python): (Option<&Arc<Connection>>, Option<&PythonGrader>),
        input: &MetricInput<'_>,
        location: &str,
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
            let Some(connection) = connection.filter(|_| asks) else {
                return Some((Answers::default(), Duration::ZERO));
            };
            let _permit = permits.take_judged().await?;
            let started = Instant::now();
            let samples = connection.settings().samples.unwrap_or(1);
            let subject = Subject { grader: grader.kind(), location, time_limit: timeout };
            let answers = graders::ask(connection, grader, needs, &subject, samples).await;
            Some((answers, started.elapsed()))
        };
        let calling = async {
            let (mut numbers, mut took) = (Vec::new(), Duration::ZERO);
            for calls in &needs.calls {
                let Some(python) = python else { break };
                let _permit = permits.take().await?;
                let started = Instant::now();
                numbers.push(python.call(&self.name, calls, timeout, cancellation).await);
                took = took.saturating_add(started.elapsed());
            }
            Some((numbers, took))
        };
        let (asked, called) = tokio::join!(asking, calling);
        let ((mut answers, asked), (numbers, called)) = (asked?, called?);
        let supplies = Supplies { numbers, ..std::mem::take(&mut answers.supplies) };
        let evaluation = evaluation(plan.finish(&supplies), answers);
        Some(Evaluation { duration: asked.max(called), ..evaluation })
    }

    /// Has a server grade a conversation.
    async fn have_graded(
        &self,
        endpoint: &Arc<EvalsServer>,
        input: &MetricInput<'_>,
        cancellation: &Cancellation,
    ) -> Evaluation {
        let settings = self.config.grader_settings();
        let hosted = Hosted::new(&self.name, &self.config.grader, &settings, self.config.threshold);
        let hosted = match hosted {
            Ok(hosted) => hosted,
            Err(reason) => return failed(reason),
        };
        let plan = match hosted.plan(input) {
            Ok(plan) => plan,
            Err(outcome) => return evaluation(outcome, Answers::default()),
        };
        if plan.items().is_empty() {
            return evaluation(plan.finish(&[], Object::default()), Answers::default());
        }
        let items = plan.items().iter().map(serde_json::Value::from).collect();
        let characters = plan.items().iter().map(characters).sum::<i64>();
        match self.send(endpoint, &hosted, items, cancellation).await {
            Ok(Ok(graded)) => {
                let mut details = self.config.grader.details();
                details.extend(details_of(&graded));
                details.insert("server".to_owned(), Value::from(endpoint.server.base()));
                details.insert("sent_characters".to_owned(), Value::from(characters));
                let grades = graded.grades.iter();
                let grades: Vec<HostedGrade> =
                    grades.map(|it| HostedGrade { score: it.score, passed: it.passed }).collect();
                let mut evaluation = evaluation(plan.finish(&grades, details), Answers::default());
                evaluation.warnings = graded.warnings;
                evaluation
            }
            Ok(Err((error, warnings))) => {
                let verdict = match error {
                    EvalsError::TimedOut(limit) => Verdict::TimedOut { limit },
                    EvalsError::Cancelled => Verdict::Cancelled,
                    error => Verdict::MetricFailed { reason: error.to_string() },
                };
                let mut evaluation = Evaluation::without_process(verdict, Duration::ZERO);
                evaluation.warnings = warnings;
                evaluation
            }
            Err(error) => failed(format!("the client of the server {error}")),
        }
    }

    /// Sends items on a thread of its own, and waits for their grades. A cancelled run waits until the eval is deleted.
    async fn send(
        &self,
        endpoint: &Arc<EvalsServer>,
        hosted: &Hosted<'_>,
        items: Vec<serde_json::Value>,
        cancellation: &Cancellation,
    ) -> Result<Result<Graded, (EvalsError, Vec<String>)>, JoinError> {
        let (name, timeout) = (self.name.clone(), self.config.timeout);
        let item_schema = serde_json::Value::from(&hosted.item_schema());
        let criterion = serde_json::Value::from(&hosted.criterion());
        let (endpoint, cancel) = (Arc::clone(endpoint), Cancel::default());
        let cancelled = cancel.clone();
        let mut grading = spawn_blocking(move || {
            let job = Job { name: &name, item_schema, criterion, items, timeout };
            EvalsClient::new(&endpoint, &SystemClock::default(), &cancelled).grade(&job)
        });
        tokio::select! {
            graded = &mut grading => graded,
            () = cancellation.cancelled() => {
                cancel.cancel();
                grading.await
            }
        }
    }
}

/// Returns the number of characters of the values of an item.
fn characters(item: &Value) -> i64 {
    let values = item.as_object().into_iter().flat_map(Object::values);
    let texts = values.filter_map(Value::as_str).map(|text| text.chars().count());
    i64::try_from(texts.sum::<usize>()).unwrap_or(i64::MAX)
}

fn details_of(graded: &Graded) -> Object {
    let details = graded.details.iter();
    details.map(|(key, value)| ((*key).to_owned(), Value::from(value.clone()))).collect()
}

fn failed(reason: String) -> Evaluation {
    Evaluation::without_process(Verdict::MetricFailed { reason }, Duration::ZERO)
}

/// Returns the evaluation with an outcome, and with what the report says about calls.
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
