//! Asking models what a grader needs.

use std::{collections::HashMap, sync::Arc, time::Duration};

use evaluator_json::{NonFinite, Object, to_string};
use evaluator_models::{
    ErrorKind, JsonSchema, Message, ModelError, Params, Providers, Request, Role,
};
use serde_json::Value as Json;

use super::{CallResults, Content, Grader, Needs, Question, Reply, SamplingParams, Texts};
use crate::{
    calls::{Asked, ask_all, details},
    connection::Connection,
    settings::JudgeSettings,
};

/// Requests of one call.
const ATTEMPTS: u32 = 3;
/// Longest wait that a server may ask for.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Name of the maximum number of tokens in OpenAI's API.
const MAX_TOKENS: &str = "max_completion_tokens";
/// Most texts of one request for embeddings.
const MOST_TEXTS: usize = 2048;

/// Server that a grader asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Endpoint<'a> {
    /// Base URL; that of the provider if `None`.
    pub base_url: Option<&'a str>,
    /// Variable with the key: that of the provider if `None`, no key if empty.
    pub api_key_env: Option<&'a str>,
}

/// What models answered.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Answers {
    /// Replies and embeddings, or the reasons why there are none. There are no numbers in it.
    pub results: CallResults,
    /// Details of the calls for the report; empty if there were none.
    pub details: Object,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// What is asked about.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Type of the grader, which recordings contain.
    pub grader: &'a str,
    /// Location for errors, e.g. `conversation c1`.
    pub location: &'a str,
    /// Limit of the time in each call.
    pub time_limit: Duration,
}

/// Returns the settings of the connection of a grader. A name that no provider takes is one of OpenAI's API, or of the server
/// at the base URL.
#[must_use]
pub fn settings(grader: &Grader, endpoint: &Endpoint<'_>, own: &JudgeSettings) -> JudgeSettings {
    let needs_key = endpoint.api_key_env != Some("");
    let providers = Providers::default();
    // Another registered provider may take a name with a prefix.
    let is_foreign = |name: &str| endpoint.base_url.is_none() && name.contains(['/', ':']);
    let mut settings = own.clone();
    settings.models = names(grader)
        .iter()
        .map(|name| match needs_key {
            true if providers.accept(name) || is_foreign(name) => (*name).to_owned(),
            true => format!("openai/{name}"),
            false => format!("openai_like/{}", name.trim_start_matches("openai/")),
        })
        .collect();
    settings.base_url = endpoint.base_url.map(str::to_owned).or(settings.base_url);
    if needs_key {
        let variable = endpoint.api_key_env.map(str::to_owned);
        settings.api_key_env = variable.or(settings.api_key_env);
    }
    settings.attempts = settings.attempts.or(Some(ATTEMPTS));
    settings.max_wait = settings.max_wait.or(Some(MAX_WAIT));
    settings
}

/// Returns the names of the models of a grader, each once.
fn names(grader: &Grader) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in grader.models() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Asks the models of a grader what it needs: each question as often as `samples` says.
pub async fn ask(
    connection: &Arc<Connection>,
    grader: &Grader,
    needs: &Needs,
    subject: &Subject<'_>,
    samples: u32,
) -> Answers {
    let names = names(grader);
    let model_of = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default();
    let (mut wanted, mut numbers) = (Vec::new(), HashMap::new());
    let mut number = |request: &Request| {
        let key = format!("{:?} {:?}", request.messages, request.params);
        let next: &mut u32 = numbers.entry(key).or_default();
        *next = next.saturating_add(1);
        next.saturating_sub(1)
    };
    for question in &needs.questions {
        for _ in 0..samples {
            let request = request_of(connection, question, subject, Form::Schema);
            let request = Request { sample: number(&request), ..request };
            wanted.push((model_of(&question.model), Some(question.turn), request));
        }
    }
    let questions = wanted.len();
    for Texts { model, texts } in &needs.embeddings {
        for texts in texts.chunks(MOST_TEXTS) {
            let request = Request {
                metric: Some(subject.grader.to_owned()),
                location: location(connection, subject, None),
                ..Request::embeddings(texts.iter().map(String::as_str))
            };
            let request = Request { sample: number(&request), ..request };
            wanted.push((model_of(model), None, request));
        }
    }
    let limit = Some(subject.time_limit);
    let mut asked = ask_all(connection, wanted, limit).await;
    let mut warnings = Vec::new();
    let repeated = |index: usize| &needs.questions[index / samples.max(1) as usize];
    ask_again(connection, &mut asked[..questions], repeated, subject, &mut warnings).await;
    let results = results(needs, &asked, questions, samples);
    for answer in asked.iter().filter_map(|call| call.result.as_ref().ok()) {
        for warning in &answer.warnings {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
    }
    let details = if asked.is_empty() { Object::default() } else { details(connection, &asked) };
    Answers { results, details, warnings }
}

/// How the form of a reply is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Schema,
    /// Any JSON object; the schema is a message.
    Object,
}

/// Asks servers that do not take schemas once more, for a JSON object.
async fn ask_again<'q>(
    connection: &Arc<Connection>,
    asked: &mut [Asked],
    question_of: impl Fn(usize) -> &'q Question,
    subject: &Subject<'_>,
    warnings: &mut Vec<String>,
) {
    let refuses = |error: &ModelError| match error.kind {
        ErrorKind::InvalidRequest => error.message.contains("response_format"),
        // What was recorded may be the second request.
        ErrorKind::NotInCassette => true,
        _ => false,
    };
    let refused =
        |(index, call): (usize, &Asked)| call.result.as_ref().is_err_and(refuses).then_some(index);
    let refused: Vec<usize> = asked.iter().enumerate().filter_map(refused).collect();
    let wanted = refused.iter().map(|index| {
        let request = request_of(connection, question_of(*index), subject, Form::Object);
        let call = &asked[*index];
        (call.model, call.turn, Request { sample: call.sample, ..request })
    });
    let again = ask_all(connection, wanted.collect(), Some(subject.time_limit)).await;
    for (index, call) in refused.into_iter().zip(again) {
        let is_recorded = |error: &ModelError| error.kind != ErrorKind::NotInCassette;
        if call.result.as_ref().is_err_and(|error| !is_recorded(error)) {
            continue;
        }
        asked[index] = call;
        let warning = "the server does not take schemas of replies; a JSON object was asked for";
        if !warnings.iter().any(|known| known == warning) {
            warnings.push(warning.to_owned());
        }
    }
}

fn location(connection: &Connection, subject: &Subject<'_>, turn: Option<usize>) -> String {
    let evaluator = connection.evaluator();
    match turn {
        Some(turn) => format!("{evaluator}, {}, turn {}", subject.location, turn + 1),
        None => format!("{evaluator}, {}", subject.location),
    }
}

fn request_of(
    connection: &Connection,
    question: &Question,
    subject: &Subject<'_>,
    form: Form,
) -> Request {
    let mut messages = Vec::new();
    if form == Form::Object {
        let schema = to_string(&question.schema, NonFinite::Null);
        messages.push(Message::system(format!(
            "Reply with one JSON object that matches this JSON Schema, and with nothing else:\n{schema}"
        )));
    }
    messages.extend(question.messages.iter().map(|prompt| {
        let role = match prompt.role {
            "system" => Role::System,
            "developer" => Role::Developer,
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        match &prompt.content {
            Content::Text(text) => Message::new(role, text.as_str()),
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                let text = texts.collect::<Vec<_>>().join("\n");
                let parts = parts.iter().map(Json::from).collect();
                Message { parts, ..Message::new(role, text) }
            }
        }
    }));
    let SamplingParams { seed, temperature, top_p, max_tokens, reasoning_effort } =
        question.params.clone();
    let schema = Json::from(&question.schema);
    let params = Params {
        seed,
        temperature,
        top_p,
        max_output_tokens: max_tokens,
        max_tokens_key: max_tokens.map(|_| MAX_TOKENS.to_owned()),
        reasoning_effort: reasoning_effort.map(str::to_owned),
        json_schema: (form == Form::Schema)
            .then(|| JsonSchema { name: question.schema_name.to_owned(), schema }),
        is_json_object: form == Form::Object,
        ..Params::default()
    };
    Request {
        params,
        metric: Some(subject.grader.to_owned()),
        location: location(connection, subject, Some(question.turn)),
        ..Request::new(messages)
    }
}

/// Sorts the results of calls: first those of the questions, then those of the embeddings.
fn results(needs: &Needs, asked: &[Asked], questions: usize, samples: u32) -> CallResults {
    let (replies, vectors) = asked.split_at(questions);
    let replies = replies.chunks(samples.max(1) as usize);
    let replies = replies.map(|calls| calls.iter().map(reply_of).collect());
    let mut vectors = vectors.iter();
    let embeddings = needs.embeddings.iter().map(|Texts { texts, .. }| {
        let mut all = Vec::new();
        for chunk in texts.chunks(MOST_TEXTS) {
            let call = vectors.next().ok_or("the model was not asked")?;
            let answer = call.result.as_ref().map_err(ToString::to_string)?;
            let read = answer.reply.vectors()?;
            if read.len() != chunk.len() {
                return Err(format!("{} vectors for {} texts", read.len(), chunk.len()));
            }
            all.extend(read);
        }
        Ok(all)
    });
    let embeddings = embeddings.collect();
    CallResults { replies: replies.collect(), embeddings, numbers: Vec::new() }
}

fn reply_of(call: &Asked) -> Reply {
    match &call.result {
        Ok(answer) => match answer.reply.readable() {
            Ok(text) => Reply::Text(text.to_owned()),
            Err(cause) => Reply::Unreadable(cause),
        },
        Err(error) => Reply::Failed(error.to_string()),
    }
}
