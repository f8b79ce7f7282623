//! Asking models what a grader needs.

use std::{collections::HashMap, sync::Arc, time::Duration};

use evaluator_json::{NonFinite, Object, Value, count, to_string};
use evaluator_models::{ErrorKind, JsonSchema, Message, ModelError, Params, Providers, Request};
use indexmap::IndexSet;

use super::{CallResults, Grader, GraderQuestion, Needs, Texts};
use crate::{
    calls::{Called, ask_until},
    connection::Connection,
    details::{self, members, name, result, used},
    settings::JudgeSettings,
    subject::Subject,
    usage::CallUsage,
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

/// Answers of models.
#[derive(Debug, Default)]
pub struct Answers {
    /// Replies and embeddings, or the reasons why there are none. There are no numbers in it.
    pub results: CallResults,
    /// Details of the calls for the report; empty if there were none.
    pub details: Object,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Returns the settings of the connection of a grader. A name that no provider takes is one of OpenAI's API, or of the server
/// at the base URL.
pub fn settings(
    grader: &Grader,
    endpoint: &Endpoint<'_>,
    own: &JudgeSettings,
    providers: &Providers,
) -> JudgeSettings {
    let needs_key = endpoint.api_key_env != Some("");
    // A prefix that no provider has is a mistake.
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
fn names(grader: &Grader) -> IndexSet<&str> {
    grader.models().into_iter().map(|(name, _)| name).collect()
}

/// Asks the models of a grader what it needs: each question as often as `samples` says.
pub async fn ask(
    connection: &Arc<Connection>,
    grader: &Grader,
    needs: &Needs,
    subject: &Subject,
    samples: u32,
) -> Answers {
    let names = names(grader);
    let model_of = |name: &str| names.get_index_of(name).unwrap_or_default();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut numbered = |request: Request| {
        let key = format!("{:?} {:?}", request.messages, request.params);
        let next = numbers.entry(key).or_insert(subject.first_sample);
        *next = next.saturating_add(1);
        Request { sample: next.saturating_sub(1), ..request }
    };
    let (mut asked, mut wanted) = (Vec::new(), Vec::new());
    for question in &needs.questions {
        let request = request_of(connection, question, subject, Form::Schema);
        for _ in 0..samples {
            let model = model_of(&question.model);
            asked.push((model, question));
            wanted.push((model, numbered(request.clone()), subject.time_limit));
        }
    }
    for Texts { model, texts } in &needs.embeddings {
        for texts in texts.chunks(MOST_TEXTS) {
            let Request { messages, params, .. } =
                Request::embeddings(texts.iter().map(String::as_str));
            let request = connection.request(Vec::new(), &subject.metric, &subject.location);
            let request = numbered(Request { messages, params, ..request });
            wanted.push((model_of(model), request, subject.time_limit));
        }
    }
    let _turn = connection.turn().await;
    let count = wanted.len();
    // Servers that do not take schemas are asked once more, for a JSON object.
    let called = ask_until(connection, wanted, |index, round, request, result| {
        let refuses = round == 0 && result.as_ref().is_err_and(refuses_schema);
        let again = asked.get(index).filter(|_| refuses).map(|(_, question)| {
            let again = request_of(connection, question, subject, Form::Object);
            Request { sample: request.sample, ..again }
        });
        ((), again)
    });
    let mut called = called.await;
    let mut warnings: Vec<String> = replace(&mut called, count).into_iter().collect();
    let results = results(needs, &called, asked.len(), samples);
    warnings.extend(details::warnings(called.iter().map(|call| &call.result)));
    let details =
        if called.is_empty() { Object::default() } else { judge(connection, &called, &asked) };
    Answers { results, details, warnings }
}

/// Puts the calls behind the first `count`, which asked again, in the places of those that were refused. Returns a warning if there
/// are any.
fn replace(called: &mut Vec<Called<()>>, count: usize) -> Option<String> {
    let is_missing = |error: &ModelError| error.kind == ErrorKind::NotInCassette;
    let mut warning = None;
    for call in called.split_off(count) {
        if !call.result.as_ref().is_err_and(is_missing) {
            let index = call.index;
            called[index] = call;
            warning =
                Some("the server does not take schemas of replies; a JSON object was asked for");
        }
    }
    warning.map(str::to_owned)
}

/// Returns true if the server may not take schemas.
fn refuses_schema(error: &ModelError) -> bool {
    match error.kind {
        ErrorKind::InvalidRequest => error.message.contains("response_format"),
        // What was recorded may be the second request.
        ErrorKind::NotInCassette => true,
        _ => false,
    }
}

/// Way in which the form of a reply is requested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Schema,
    /// Any JSON object; the schema is a message.
    Object,
}

fn request_of(
    connection: &Connection,
    question: &GraderQuestion,
    subject: &Subject,
    form: Form,
) -> Request {
    let mut messages = Vec::new();
    if form == Form::Object {
        let schema = to_string(&question.schema, NonFinite::Null);
        messages.push(Message::system(format!(
            "Reply with one JSON object that matches this JSON Schema, and with nothing else:\n{schema}"
        )));
    }
    messages.extend(question.messages.iter().cloned());
    let max_tokens_key = question.params.max_output_tokens.map(|_| MAX_TOKENS.to_owned());
    let schema =
        || JsonSchema { name: question.schema_name.to_owned(), schema: (&question.schema).into() };
    let params = Params {
        max_tokens_key,
        json_schema: (form == Form::Schema).then(schema),
        is_json_object: form == Form::Object,
        ..question.params.clone()
    };
    let location = subject.at(question.turn);
    Request { params, ..connection.request(messages, &subject.metric, &location) }
}

/// Sorts the results of calls: first those of the questions, then those of the embeddings.
fn results(needs: &Needs, called: &[Called<()>], questions: usize, samples: u32) -> CallResults {
    let (replies, vectors) = called.split_at(questions);
    let replies = replies.chunks(samples.max(1) as usize);
    let reply = |call: &Called<()>| call.result.clone().map(|answer| answer.reply);
    let replies = replies.map(|calls| calls.iter().map(reply).collect());
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

/// Returns the details of calls for the report: models, tokens, costs and replies. The first calls are those that asked
/// questions of models; replies that are vectors are left out.
fn judge(
    connection: &Connection,
    called: &[Called<()>],
    asked: &[(usize, &GraderQuestion)],
) -> Object {
    let names: Vec<String> = connection.models().map(name).collect();
    let mut details = members([("model", Some(names.join(", ").into()))]);
    details.extend(used(&CallUsage::of(called.iter().map(|call| &call.result))));
    let replies = asked.iter().zip(called).map(|((model, question), call)| {
        let model = names.get(*model).filter(|_| names.len() > 1);
        let mut reply = members([
            ("turn", Some(count(question.turn))),
            ("model", model.map(|model| model.as_str().into())),
        ]);
        reply.extend(result(&call.result, call.number));
        Value::Object(reply)
    });
    details.insert("replies".to_owned(), Value::Array(replies.collect()));
    details
}
