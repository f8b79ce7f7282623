//! The way from the questions of a judge to an outcome.

use std::{collections::HashMap, sync::Arc, time::Duration};

use evaluator_json::Object;
use evaluator_metrics::{
    Outcome,
    judge::{Answer, Asked, Case, Judge, Judgement, Messages, OnFailure, Question, Refusal, Reply},
};
use evaluator_models::{self as models, ErrorKind, Finish, Message, ModelError, Request};
use tokio::task::{JoinSet, spawn_blocking};

use crate::{connection::Connection, details, usage::Usage};

/// What is judged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subject {
    /// Name of the metric, which recordings contain.
    pub metric: String,
    /// Location for errors, e.g. `conversation c1`.
    pub location: String,
    /// Limit of the time in calls. The time of calls that run at the same time counts once.
    pub time_limit: Option<Duration>,
}

impl Subject {
    /// Creates a subject without a limit of time.
    pub fn new(metric: impl Into<String>, location: impl Into<String>) -> Self {
        Self { metric: metric.into(), location: location.into(), time_limit: None }
    }
}

/// Outcome of a judged evaluation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Judged {
    /// Outcome: a score, not evaluated, or failed.
    pub outcome: Outcome,
    /// Details of the judge, also if the outcome is a failure.
    pub details: Object,
    /// Warnings.
    pub warnings: Vec<String>,
    /// What the calls used.
    pub usage: Usage,
}

/// A call with its result.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Number among equal requests.
    pub(crate) number: u32,
    pub(crate) result: Result<models::Answer, ModelError>,
}

/// A question with the calls that ask it.
#[derive(Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    pub(crate) samples: Vec<Sample>,
}

/// A planned question with its follow-up questions.
#[derive(Debug, Default)]
struct Chain {
    asked: Vec<AskedQuestion>,
    /// Time in its calls.
    spent: Duration,
}

/// Calls to one model about one subject.
struct Asking<'a> {
    connection: &'a Arc<Connection>,
    model: usize,
    subject: &'a Subject,
    /// Number of calls so far for equal messages.
    numbers: HashMap<Vec<Message>, u32>,
}

impl Connection {
    /// Judges a conversation: asks what `judge` plans, asks follow-up questions, and returns what the answers amount to.
    pub async fn judge(
        self: &Arc<Self>,
        judge: &dyn Judge,
        case: &Case<'_>,
        subject: &Subject,
    ) -> Judged {
        let planned = match judge.plan(case) {
            Ok(planned) => planned,
            Err(refusal) => return refused(refusal),
        };
        let mut members = Vec::new();
        for model in 0..self.endpoints.len() {
            members.push(self.ask_all(model, judge, case, subject, &planned).await);
        }
        let Some(asked) = members.pop() else {
            return refused(Refusal::Failed("no model is connected".to_owned()));
        };
        let answers = asked.iter().map(|asked| self.answers(asked)).collect::<Vec<_>>();
        let usage = details::usage(&asked);
        match judge.aggregate(case, &answers) {
            Ok(judgement) => self.judged(&judgement, case, &asked, usage),
            Err(refusal) => {
                let judge = details::judge(self, None, &asked, &usage);
                let details = [("judge".to_owned(), judge.into())].into_iter().collect();
                Judged { details, usage, ..refused(refusal) }
            }
        }
    }

    /// Returns the outcome of a judgement with the details of its calls.
    fn judged(
        &self,
        judgement: &Judgement,
        case: &Case<'_>,
        asked: &[AskedQuestion],
        usage: Usage,
    ) -> Judged {
        let mut details = judgement.details(case);
        let judge = details::judge(self, details.get("judge"), asked, &usage);
        details.insert("judge".to_owned(), judge.into());
        let outcome = match judgement.outcome(case) {
            Outcome::Scored(mut scored) => {
                scored.details = Some(details.clone());
                Outcome::Scored(scored)
            }
            Outcome::NotEvaluated { details: reasoned } => {
                let mut details = details.clone();
                details.extend(reasoned.into_iter().filter(|(key, _)| key == "reason"));
                Outcome::NotEvaluated { details }
            }
            failed @ Outcome::Failed { .. } => failed,
        };
        let mut warnings = judgement.warnings.clone();
        warnings.extend(details::warnings(asked));
        Judged { outcome, details, warnings, usage }
    }

    /// Asks one model all questions. The result has the planned questions in order, each followed by its follow-up questions.
    async fn ask_all(
        self: &Arc<Self>,
        model: usize,
        judge: &dyn Judge,
        case: &Case<'_>,
        subject: &Subject,
        planned: &[Question],
    ) -> Vec<AskedQuestion> {
        let (endpoint, gate) = &self.endpoints[model];
        let mut asking = Asking { connection: self, model, subject, numbers: HashMap::new() };
        let mut chains: Vec<Chain> = Vec::new();
        if endpoint.is_ordered() {
            let _turn = gate.turn.lock().await;
            for question in planned {
                let mut chain = vec![Chain::default()];
                asking.round(&mut chain, judge, case, vec![(0, question.clone())]).await;
                chains.append(&mut chain);
            }
        } else {
            chains.resize_with(planned.len(), Chain::default);
            let questions = planned.iter().cloned().enumerate().collect();
            asking.round(&mut chains, judge, case, questions).await;
        }
        chains.into_iter().flat_map(|chain| chain.asked).collect()
    }

    /// Returns the answers to a question as the judge reads them.
    fn answers(&self, asked: &AskedQuestion) -> Asked {
        let errors = self.settings.errors.unwrap_or_default();
        let answers = asked.samples.iter().map(|sample| answer(&sample.result, errors));
        Asked::new(asked.question.clone(), answers.collect())
    }

    /// Returns the messages of a question.
    ///
    /// # Errors
    ///
    /// The prompt needs a variable that the question does not have.
    fn messages(&self, question: &Question) -> Result<Vec<Message>, String> {
        let replaced = self.settings.prompts.get(question.prompt);
        let template = replaced.and_then(|prompt| prompt.template.as_ref());
        let rendered = match template {
            Some(template) => template.render(&question.variables),
            None => question.messages(),
        };
        let Messages { system, user, .. } = rendered.map_err(|error| error.to_string())?;
        let before = self.settings.system_instruction.clone();
        let system: Vec<String> = before.into_iter().chain(system).collect();
        let system = (!system.is_empty()).then(|| Message::system(system.join("\n\n")));
        Ok(system.into_iter().chain([Message::user(user)]).collect())
    }
}

impl Asking<'_> {
    /// Asks the questions, each of which belongs to the chain with its index, then their follow-up questions, and so on.
    async fn round(
        &mut self,
        chains: &mut [Chain],
        judge: &dyn Judge,
        case: &Case<'_>,
        mut questions: Vec<(usize, Question)>,
    ) {
        while !questions.is_empty() {
            let limits = questions.iter().map(|(index, _)| {
                self.subject.time_limit.map(|limit| limit.saturating_sub(chains[*index].spent))
            });
            let limits: Vec<Option<Duration>> = limits.collect();
            let results = self.ask(&questions, &limits).await;
            let mut next = Vec::new();
            for ((index, question), samples) in questions.into_iter().zip(results) {
                let asked = AskedQuestion { question, samples };
                let chain = &mut chains[index];
                let took = |sample: &Sample| sample.result.as_ref().ok().map(|it| it.duration);
                let longest = asked.samples.iter().filter_map(took).max().unwrap_or_default();
                chain.spent = chain.spent.saturating_add(longest);
                let follow_up = judge.follow_up(case, &self.connection.answers(&asked));
                next.extend(follow_up.map(|question| (index, question)));
                chain.asked.push(asked);
            }
            questions = next;
        }
    }

    /// Asks all samples of all questions.
    async fn ask(
        &mut self,
        questions: &[(usize, Question)],
        limits: &[Option<Duration>],
    ) -> Vec<Vec<Sample>> {
        let mut samples: Vec<Vec<Option<Sample>>> = Vec::new();
        let mut waiting = JoinSet::new();
        for (at, ((_, question), limit)) in questions.iter().zip(limits).enumerate() {
            samples.push(Vec::new());
            for sample in 0..question.samples {
                let request = match self.request(question) {
                    Ok(request) => request,
                    Err(error) => {
                        samples[at].push(Some(Sample { number: 0, result: Err(error) }));
                        continue;
                    }
                };
                let number = request.sample;
                if let Some(result) = self.connection.recorded(self.model, &request) {
                    samples[at].push(Some(Sample { number, result }));
                    continue;
                }
                samples[at].push(None);
                let (connection, model, limit) = (Arc::clone(self.connection), self.model, *limit);
                let call = async move { call(connection, model, request, limit).await };
                let call = async move { (at, sample, Sample { number, result: call.await }) };
                if self.is_ordered() {
                    let (at, index, sample) = call.await;
                    samples[at][index] = Some(sample);
                } else {
                    waiting.spawn(call);
                }
            }
        }
        while let Some(joined) = waiting.join_next().await {
            if let Ok((at, index, sample)) = joined {
                samples[at][index] = Some(sample);
            }
        }
        let lost = || Sample { number: 0, result: Err(lost("the task of the call panicked")) };
        let complete = |samples: Vec<Option<Sample>>| {
            samples.into_iter().map(|sample| sample.unwrap_or_else(lost)).collect()
        };
        samples.into_iter().map(complete).collect()
    }

    fn is_ordered(&self) -> bool {
        self.connection.endpoints[self.model].0.is_ordered()
    }

    /// Returns the next request that asks a question. Equal requests are numbered, so that each has its own recording.
    fn request(&mut self, question: &Question) -> Result<Request, ModelError> {
        let messages = self.connection.messages(question).map_err(|error| lost(&error))?;
        let next = self.numbers.entry(messages.clone()).or_default();
        let sample = *next;
        *next = next.saturating_add(1);
        let location = format!("{}, turn {}", self.subject.location, question.turn + 1);
        let request = self.connection.request(messages, &self.subject.metric, &location);
        Ok(Request { sample, ..request })
    }
}

/// Waits for a place in the queue of the server, then asks on a thread.
async fn call(
    connection: Arc<Connection>,
    model: usize,
    request: Request,
    limit: Option<Duration>,
) -> Result<models::Answer, ModelError> {
    let places = Arc::clone(&connection.endpoints[model].1.places);
    // The semaphore is never closed.
    let place = places.acquire_owned().await;
    let asked = spawn_blocking(move || {
        let _place = place;
        connection.ask(model, &request, limit)
    });
    asked.await.unwrap_or_else(|error| Err(lost(&format!("the call {error}"))))
}

fn lost(text: &str) -> ModelError {
    ModelError::new(ErrorKind::Config, text)
}

fn refused(refusal: Refusal) -> Judged {
    let outcome = Outcome::from(refusal);
    let details = match &outcome {
        Outcome::NotEvaluated { details } => details.clone(),
        _ => Object::default(),
    };
    Judged { outcome, details, warnings: Vec::new(), usage: Usage::default() }
}

/// Returns an answer as judges read it. Where failures are not errors, a reply that the server withheld is one without text.
fn answer(result: &Result<models::Answer, ModelError>, errors: OnFailure) -> Answer {
    let reply = match result {
        Ok(answer) => &answer.reply,
        Err(error) => {
            let is_withheld = matches!(error.kind, ErrorKind::Blocked | ErrorKind::Refused);
            return match error.kind {
                ErrorKind::NoReply => Answer::Nothing,
                _ if is_withheld && errors == OnFailure::NotEvaluated => {
                    Answer::Reply(Reply::default())
                }
                _ => Answer::Failed(error.to_string()),
            };
        }
    };
    let cut_off = match (&reply.finish, reply.readable()) {
        (Finish::Length | Finish::ToolCalls, Err(cause)) => Some(cause),
        _ => None,
    };
    let text = Some(reply.text.clone()).filter(|text| !text.is_empty());
    Answer::Reply(Reply { text, thinking: reply.thinking.clone(), cut_off })
}
