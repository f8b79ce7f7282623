//! The way from the questions of a judge to an outcome.

use std::{collections::HashMap, sync::Arc, time::Duration};

use evaluator_json::Object;
use evaluator_metrics::Outcome;
use evaluator_models::{
    self as models, ErrorKind, Finish, JsonSchema, Message, Messages, ModelError, Request,
};

use crate::{
    asked::{AskedQuestion, Interview, SentPrompt},
    calls::{Called, ask_until},
    connection::Connection,
    details,
    judge::{Answer, Asked, Case, Judge, Judgement, Member, OnFailure, Question, Refusal, Reply},
    settings::JudgeSettings,
    subject::Subject,
    usage::CallUsage,
};

/// Outcome of a judged evaluation.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Outcome: a score, not evaluated, or failed.
    pub outcome: Outcome,
    /// Details of the judge, also if the outcome is a failure.
    pub details: Object,
    /// Number of turns that were judged if the conversation is not evaluated, none of which has a score.
    pub unscored_turns: usize,
    /// Reason why the conversation fails although its score reaches the threshold; `None` if the score decides.
    pub failure_reason: Option<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Questions as they were sent, each once: models of a panel and repeated samples get the same ones.
    pub prompts: Vec<SentPrompt>,
}

/// Calls about one subject.
struct Evaluation<'a> {
    connection: &'a Arc<Connection>,
    judge: &'a dyn Judge,
    case: &'a Case<'a>,
    subject: &'a Subject,
    interviews: Vec<Interview>,
    /// Next sample of each model for equal messages.
    numbers: Vec<HashMap<Messages, u32>>,
}

impl Connection {
    /// Judges a conversation: asks what `judge` plans, asks follow-up questions, and returns the result.
    pub async fn judge(
        self: &Arc<Self>,
        judge: &dyn Judge,
        case: &Case<'_>,
        subject: &Subject,
    ) -> Judged {
        let asked = self.ask_all(judge, case, subject).await;
        let (planned, interviews) = match asked {
            Ok(asked) => asked,
            Err(refusal) => return refused(refusal),
        };
        let usage = CallUsage::of(details::results(&interviews));
        let judged = match self.aggregate(judge, case, &planned, &interviews) {
            Ok(judgement) => {
                self.judged(&judgement, case, &interviews, (&usage, details::readable(&interviews)))
            }
            Err(refusal) => {
                let judge = details::judge(self, None, &interviews, (&usage, None));
                let details = [("judge".to_owned(), judge.into())].into_iter().collect();
                Judged { details, ..refused(refusal) }
            }
        };
        Judged { prompts: prompts(&interviews), ..judged }
    }

    /// Returns the judgement by the answers of all models.
    fn aggregate(
        &self,
        judge: &dyn Judge,
        case: &Case<'_>,
        planned: &[Question],
        interviews: &[Interview],
    ) -> Result<Judgement, Refusal> {
        let names: Vec<String> = self.models().map(details::name).collect();
        let answers: Vec<Vec<Asked>> = (0..names.len())
            .map(|model| {
                let own = interviews.iter().filter(|interview| interview.model == model);
                own.flat_map(|interview| &interview.asked).map(AskedQuestion::read).collect()
            })
            .collect();
        let members = names.iter().zip(&answers).map(|(model, asked)| Member { model, asked });
        judge.aggregate(case, planned, &members.collect::<Vec<_>>())
    }

    /// Returns the outcome of a judgement with the details of its calls.
    fn judged(
        &self,
        judgement: &Judgement,
        case: &Case<'_>,
        interviews: &[Interview],
        (usage, readable): (&CallUsage, usize),
    ) -> Judged {
        let mut details = judgement.details(case);
        let judge = details::judge(self, details.get("judge"), interviews, (usage, Some(readable)));
        details.insert("judge".to_owned(), judge.into());
        let outcome = judgement.outcome(case.criterion, details.clone());
        let mut warnings = judgement.warnings.clone();
        warnings.extend(details::warnings(details::results(interviews)));
        let failure_reason = judgement.failure_reason(case.criterion);
        let failure_reason = failure_reason.filter(|_| matches!(outcome, Outcome::Scored(_)));
        let is_evaluated = !matches!(outcome, Outcome::NotEvaluated { .. });
        let unscored_turns = if is_evaluated { 0 } else { judgement.turns.len() };
        let prompts = Vec::new();
        Judged { outcome, details, unscored_turns, failure_reason, warnings, prompts }
    }

    /// Asks all models all questions. Returns the planned questions, and an interview per model and planned question, in order.
    async fn ask_all(
        self: &Arc<Self>,
        judge: &dyn Judge,
        case: &Case<'_>,
        subject: &Subject,
    ) -> Result<(Vec<Question>, Vec<Interview>), Refusal> {
        let planned = judge.plan(case)?;
        let (mut interviews, mut questions) = (Vec::new(), Vec::new());
        for model in 0..self.endpoints.len() {
            for question in &planned {
                questions.push((interviews.len(), question.clone()));
                interviews.push(Interview { model, asked: Vec::new(), spent: Duration::ZERO });
            }
        }
        let numbers = vec![HashMap::new(); self.endpoints.len()];
        let mut evaluation =
            Evaluation { connection: self, judge, case, subject, interviews, numbers };
        let turn = self.turn().await;
        if turn.is_some() {
            for question in questions {
                evaluation.rounds(vec![question]).await?;
            }
        } else {
            evaluation.rounds(questions).await?;
        }
        Ok((planned, evaluation.interviews))
    }
}

impl Evaluation<'_> {
    /// Asks the questions, each of which belongs to the interview with its index, then their follow-up questions, and so on.
    /// Replies that cannot be read are asked for again.
    ///
    /// # Errors
    ///
    /// The prompt of a question needs a variable that the question does not have.
    async fn rounds(&mut self, mut questions: Vec<(usize, Question)>) -> Result<(), Refusal> {
        let connection = self.connection;
        let JudgeSettings { reask, errors, .. } = &connection.settings;
        let (reask, errors) = (reask.unwrap_or_default(), errors.unwrap_or_default());
        while !questions.is_empty() {
            let (mut asked, mut wanted, mut places) = (Vec::new(), Vec::new(), Vec::new());
            for (interview, question) in questions.drain(..) {
                let question = self.in_form(question);
                let Interview { model, spent, .. } = self.interviews[interview];
                let limit = self.subject.time_limit.map(|limit| limit.saturating_sub(spent));
                let request = self.request(&question)?;
                for sample in 0..question.samples {
                    places.push((asked.len(), sample));
                    wanted.push((model, self.numbered(model, &request), limit));
                }
                let messages = request.messages.clone();
                asked.push((interview, AskedQuestion { question, messages, calls: Vec::new() }));
            }
            let called = ask_until(connection, wanted, |index, round, request, result| {
                let (interview, asked): &(usize, AskedQuestion) = &asked[places[index].0];
                let answer = answer(result, errors);
                let reading = self.judge.read_answer(self.case, &asked.question, &answer);
                let again = result.is_ok() && !reading.is_readable() && round < reask;
                let model = self.interviews[*interview].model;
                (reading, again.then(|| self.numbered(model, request)))
            });
            for call in called.await {
                let (position, sample) = places[call.index];
                asked[position].1.calls.push(Called { index: sample, ..call });
            }
            for (interview, asked) in asked {
                let follow_up = self.judge.follow_up(self.case, &asked.read());
                questions.extend(follow_up.map(|question| (interview, question)));
                let interview = &mut self.interviews[interview];
                interview.spent = interview.spent.saturating_add(longest(&asked));
                interview.asked.push(asked);
            }
        }
        Ok(())
    }

    /// Returns a question in the form in which it is asked: a server that is held to a schema writes no code.
    fn in_form(&self, question: Question) -> Question {
        let has_schema = self.connection.settings.json_schema == Some(true);
        if has_schema && question.schema.is_some() { question.without_code() } else { question }
    }

    /// Returns the request for the next sample. Equal requests are numbered, so that each has its own recording.
    fn numbered(&mut self, model: usize, request: &Request) -> Request {
        let first = self.subject.first_sample;
        let next = self.numbers[model].entry(request.messages.clone()).or_insert(first);
        let sample = *next;
        *next = next.saturating_add(1);
        Request { sample, ..request.clone() }
    }

    /// Returns the request that asks a question.
    fn request(&self, question: &Question) -> Result<Request, Refusal> {
        let messages = question.messages().map_err(|error| Refusal::Failed(error.to_string()))?;
        let settings = &self.connection.settings;
        let before = settings.system_instruction.clone().map(Message::system);
        let messages = before.into_iter().chain(messages).collect();
        let location = self.subject.at(question.turn);
        let mut request = self.connection.request(messages, &self.subject.metric, &location);
        if settings.json_schema == Some(true) {
            let own = question.schema.as_ref();
            let own = own.map(|it| JsonSchema { name: "reply".to_owned(), schema: it.into() });
            request.params.json_schema = own.or(request.params.json_schema);
        }
        Ok(request)
    }
}

/// Returns all questions as they were sent, each once.
fn prompts(interviews: &[Interview]) -> Vec<SentPrompt> {
    let mut prompts = Vec::new();
    for AskedQuestion { question, messages, .. } in interviews.iter().flat_map(|it| &it.asked) {
        let (name, messages) = (question.prompt.clone(), messages.clone());
        let prompt = SentPrompt { turn: question.turn, name, messages };
        if !prompts.contains(&prompt) {
            prompts.push(prompt);
        }
    }
    prompts
}

/// Returns the time of the calls of a question, which run at the same time.
fn longest(asked: &AskedQuestion) -> Duration {
    let answers = asked.calls.iter().flat_map(|call| &call.result);
    answers.map(|answer| answer.duration).max().unwrap_or_default()
}

fn refused(refusal: Refusal) -> Judged {
    let outcome = Outcome::from(refusal);
    let details = match &outcome {
        Outcome::NotEvaluated { details } => details.clone(),
        _ => Object::default(),
    };
    Judged {
        outcome,
        details,
        unscored_turns: 0,
        failure_reason: None,
        warnings: Vec::new(),
        prompts: Vec::new(),
    }
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
        (Finish::Stop, _) | (_, Ok(_)) => None,
        (_, Err(cause)) => Some(cause),
    };
    let text = Some(reply.text.clone()).filter(|text| !text.is_empty());
    Answer::Reply(Reply { text, thinking: reply.thinking.clone(), cut_off })
}
