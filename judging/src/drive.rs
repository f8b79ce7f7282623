//! The way from the questions of a judge to an outcome.

use std::{collections::HashMap, sync::Arc, time::Duration};

use evaluator_json::{Object, Value};
use evaluator_metrics::Outcome;
use evaluator_models::{
    self as models, ErrorKind, Finish, JsonSchema, Message, Messages, ModelError, Request,
};

use crate::{
    asked::{AskedQuestion, Interview, Sample},
    calls::{calls, lost},
    connection::Connection,
    details,
    judge::{Answer, Asked, Case, Judge, Judgement, Member, OnFailure, Question, Refusal, Reply},
    subject::Subject,
    usage::Usage,
};

/// Outcome of a judged evaluation.
#[derive(Clone, Debug)]
#[non_exhaustive]
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
}

/// Calls about one subject.
struct Evaluation<'a> {
    connection: &'a Arc<Connection>,
    judge: &'a dyn Judge,
    case: &'a Case<'a>,
    subject: &'a Subject,
    interviews: Vec<Interview>,
    /// Number of calls so far of each model for equal messages.
    numbers: Vec<HashMap<Messages, u32>>,
}

/// A call that was not made yet: the position of its question in the round, and the index of its sample.
struct Planned {
    position: usize,
    sample: usize,
}

impl Connection {
    /// Judges a conversation: asks what `judge` plans, asks follow-up questions, and returns the result.
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
        let interviews = self.ask_all(judge, case, subject, &planned).await;
        let usage = Usage::of(details::results(&interviews));
        match self.aggregate(judge, case, &planned, &interviews) {
            Ok(judgement) => {
                self.judged(&judgement, case, &interviews, (&usage, details::readable(&interviews)))
            }
            Err(refusal) => {
                let judge = details::judge(self, None, &interviews, (&usage, None));
                let details = [("judge".to_owned(), judge.into())].into_iter().collect();
                Judged { details, ..refused(refusal) }
            }
        }
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
                own.flat_map(|interview| &interview.asked)
                    .map(|asked| self.answers(asked))
                    .collect()
            })
            .collect();
        match &answers[..] {
            [only] => judge.aggregate(case, planned, only),
            _ => {
                let members = names.iter().zip(&answers);
                let members = members.map(|(model, asked)| Member { model, asked });
                judge.aggregate_panel(case, planned, &members.collect::<Vec<_>>())
            }
        }
    }

    /// Returns the outcome of a judgement with the details of its calls.
    fn judged(
        &self,
        judgement: &Judgement,
        case: &Case<'_>,
        interviews: &[Interview],
        (usage, readable): (&Usage, usize),
    ) -> Judged {
        let mut details = judgement.details(case);
        let judge = details::judge(self, details.get("judge"), interviews, (usage, Some(readable)));
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
        warnings.extend(details::warnings(details::results(interviews)));
        let failure_reason = judgement.failure_reason(case.criterion);
        let failure_reason = failure_reason.filter(|_| matches!(outcome, Outcome::Scored(_)));
        let is_evaluated = !matches!(outcome, Outcome::NotEvaluated { .. });
        let unscored_turns = if is_evaluated { 0 } else { judgement.turns.len() };
        Judged { outcome, details, unscored_turns, failure_reason, warnings }
    }

    /// Asks all models all questions. The result has a interview per model and planned question, in order.
    async fn ask_all(
        self: &Arc<Self>,
        judge: &dyn Judge,
        case: &Case<'_>,
        subject: &Subject,
        planned: &[Question],
    ) -> Vec<Interview> {
        let (mut interviews, mut questions) = (Vec::new(), Vec::new());
        for model in 0..self.endpoints.len() {
            for question in planned {
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
                evaluation.rounds(vec![question]).await;
            }
        } else {
            evaluation.rounds(questions).await;
        }
        evaluation.interviews
    }

    /// Returns the answers to a question as the judge reads them.
    fn answers(&self, asked: &AskedQuestion) -> Asked {
        let errors = self.settings.errors.unwrap_or_default();
        let last = asked.samples.iter().filter(|sample| !sample.is_replaced);
        let mut last: Vec<&Sample> = last.collect();
        last.sort_by_key(|sample| sample.index);
        let answers = last.into_iter().map(|sample| answer(&sample.result, errors));
        Asked::new(asked.question.clone(), answers.collect())
    }

    /// Returns the messages of a question.
    ///
    /// # Errors
    ///
    /// The prompt needs a variable that the question does not have.
    fn messages(&self, question: &Question) -> Result<Vec<Message>, String> {
        let messages = question.messages().map_err(|error| error.to_string())?;
        let before = self.settings.system_instruction.clone().map(Message::system);
        Ok(before.into_iter().chain(messages).collect())
    }
}

impl Evaluation<'_> {
    /// Asks the questions, each of which belongs to the interview with its index, then their follow-up questions, and so on.
    async fn rounds(&mut self, mut questions: Vec<(usize, Question)>) {
        while !questions.is_empty() {
            let mut asked: Vec<AskedQuestion> = Vec::new();
            let interviews: Vec<usize> =
                questions.iter().map(|(interview, _)| *interview).collect();
            for (_, question) in questions.drain(..) {
                let question = self.in_form(question);
                asked.push(AskedQuestion { question, samples: Vec::new() });
            }
            let all = asked.iter().enumerate().flat_map(|(position, asked)| {
                (0..asked.question.samples).map(move |sample| Planned { position, sample })
            });
            let mut planned: Vec<Planned> = all.collect();
            let reask = self.connection.settings.reask.unwrap_or_default();
            self.calls(&interviews, &mut asked, planned).await;
            for _ in 0..reask {
                planned = self.unreadable(&asked);
                self.calls(&interviews, &mut asked, planned).await;
            }
            for (interview, asked) in interviews.into_iter().zip(asked) {
                let follow_up = self.judge.follow_up(self.case, &self.connection.answers(&asked));
                questions.extend(follow_up.map(|question| (interview, question)));
                let interview = &mut self.interviews[interview];
                interview.spent = interview.spent.saturating_add(longest(&asked));
                interview.asked.push(asked);
            }
        }
    }

    /// Returns a question in the form in which it is asked: a server that is held to a schema writes no code.
    fn in_form(&self, question: Question) -> Question {
        let has_schema = self.connection.settings.json_schema == Some(true);
        if has_schema && question.schema.is_some() { question.without_code() } else { question }
    }

    /// Returns the samples whose last reply cannot be read.
    fn unreadable(&self, asked: &[AskedQuestion]) -> Vec<Planned> {
        let mut planned = Vec::new();
        for (position, asked) in asked.iter().enumerate() {
            let unreadable = asked.samples.iter().filter(|sample| {
                sample.result.is_ok() && !sample.is_replaced && !sample.is_readable
            });
            let samples = unreadable.map(|it| Planned { position, sample: it.index });
            planned.extend(samples);
        }
        planned
    }

    /// Makes the planned calls. Those that replace an earlier one of the same sample mark it.
    async fn calls(
        &mut self,
        interviews: &[usize],
        asked: &mut [AskedQuestion],
        planned: Vec<Planned>,
    ) {
        let (mut wanted, mut numbers) = (Vec::new(), Vec::new());
        // The samples of a question follow each other.
        let mut prepared: Option<(usize, Result<Request, ModelError>)> = None;
        for Planned { position, .. } in &planned {
            let interview = &self.interviews[interviews[*position]];
            let (model, spent) = (interview.model, interview.spent);
            let limit = self.subject.time_limit.map(|limit| limit.saturating_sub(spent));
            let request = match prepared.take_if(|(last, _)| *last == *position) {
                Some((_, request)) => request,
                None => self.request(&asked[*position].question),
            };
            numbers.push(match prepared.insert((*position, request)) {
                (_, Ok(request)) => {
                    let number = self.number(model, request);
                    wanted.push((model, Request { sample: number, ..request.clone() }, limit));
                    Ok(number)
                }
                (_, Err(error)) => Err(error.clone()),
            });
        }
        let mut results = calls(self.connection, wanted).await.into_iter();
        for (Planned { position, sample: index }, number) in planned.into_iter().zip(numbers) {
            let (number, result) = match number {
                Ok(number) => (number, results.next().unwrap_or_else(|| Err(lost("no result")))),
                Err(error) => (0, Err(error)),
            };
            let AskedQuestion { question, samples } = &mut asked[position];
            let text = result.as_ref().ok().and_then(|answer| answer.reply.readable().ok());
            let is_readable = text.is_some_and(|text| self.judge.reads(self.case, question, text));
            for earlier in samples.iter_mut().filter(|earlier| earlier.index == index) {
                earlier.is_replaced = true;
            }
            samples.push(Sample { index, number, result, is_readable, is_replaced: false });
        }
    }

    /// Returns the number of the next sample. Equal requests are numbered, so that each has its own recording.
    #[expect(clippy::mutable_key_type, reason = "what is computed late follows from the messages")]
    fn number(&mut self, model: usize, request: &Request) -> u32 {
        let numbers = &mut self.numbers[model];
        if let Some(next) = numbers.get_mut(&request.messages) {
            let number = *next;
            *next = number.saturating_add(1);
            return number;
        }
        numbers.insert(request.messages.clone(), 1);
        0
    }

    /// Returns the request that asks a question.
    fn request(&self, question: &Question) -> Result<Request, ModelError> {
        let messages = self.connection.messages(question).map_err(|error| lost(&error))?;
        let location = self.subject.at(question.turn);
        let mut request = self.connection.request(messages, &self.subject.metric, &location);
        if self.connection.settings.json_schema == Some(true) {
            let own = question.schema.as_ref().map(schema);
            request.params.json_schema = own.or(request.params.json_schema);
        }
        Ok(request)
    }
}

/// Returns the schema of replies as servers take it.
fn schema(schema: &Value) -> JsonSchema {
    JsonSchema { name: "reply".to_owned(), schema: schema.into() }
}

/// Returns the time of the calls of a question, which run at the same time.
fn longest(asked: &AskedQuestion) -> Duration {
    let took = |sample: &Sample| sample.result.as_ref().ok().map(|answer| answer.duration);
    asked.samples.iter().filter_map(took).max().unwrap_or_default()
}

fn refused(refusal: Refusal) -> Judged {
    let outcome = Outcome::from(refusal);
    let details = match &outcome {
        Outcome::NotEvaluated { details } => details.clone(),
        _ => Object::default(),
    };
    Judged { outcome, details, unscored_turns: 0, failure_reason: None, warnings: Vec::new() }
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
