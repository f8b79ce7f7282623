//! Asks models.

use std::{num::NonZeroU64, sync::Arc};

use evaluator_json::Value;
use evaluator_judging::{
    CallUsage, Connection, ask_until,
    judge::{
        Code, Question, Wording,
        scheme::{self, Grade, Material, Scheme},
    },
};
use evaluator_models::{Answer, ErrorKind, JsonSchema, Message, ModelError, Request};

use super::{
    Context, program,
    subject::{Evaluated, Subject},
    wording,
};
use crate::{
    grade::{Row, Score},
    json_text::{compact, object, pretty, text},
    model::{Evaluator, Judge, Prompt, Test},
    output::Output,
    report::{JudgeUse, Texts},
    template::{RESULTS, Template},
};

/// Questions until a reply can be read.
const ATTEMPTS: u32 = 3;

/// Number of characters of an unreadable reply in errors.
const EXCERPT: usize = 2000;

/// Result of one call, as the judge reads it.
type Reading = Result<Grade, Failure>;

/// Failure of a call.
enum Failure {
    /// Another one may help. With the text of the reply, if there is one.
    Unreadable(String, Option<String>),
    /// It will not.
    Final(String),
}

/// Creates a question. If its material is fenced, the instructions say so.
pub(super) fn question_of(scheme: &Scheme, user: String, is_fenced: bool) -> Question {
    let code = Code::of(&[("user", user.clone())]);
    let system = match is_fenced {
        true => scheme.instructions(Some(&code)),
        false => scheme.reply_format(Some(&code)),
    };
    let messages = vec![Message::system(system), Message::user(user)];
    let mut question = Question::new(0, "llm-grader", Wording::Messages(messages));
    question.code = Some(code);
    question
}

/// Judges an output by an entry.
pub(super) async fn judge(
    context: Context<'_>,
    evaluator: &Evaluator,
    asked: &Judge,
    subject: Subject<'_>,
) -> Evaluated {
    match question(context, asked, subject).await {
        Ok(question) => ask(context, evaluator, asked, subject, question).await,
        Err(reason) => Err(reason).into(),
    }
}

/// Asks the model of an entry.
pub(super) async fn ask(
    context: Context<'_>,
    evaluator: &Evaluator,
    asked: &Judge,
    subject: Subject<'_>,
    question: Question,
) -> Evaluated {
    let prepared = prepare(context, evaluator, asked, subject, question);
    let (target, connection, question, request) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => return Err(reason).into(),
    };
    let prompt = context.plan.options.prompts.then(|| Texts::of(&request.messages));
    let repairs = !context.plan.suite.is_v2();
    let called = ask_until(&connection, vec![(0, request, None)], |_, round, request, result| {
        let reading = read(result, &asked.scheme, question.code.as_ref());
        let again = again(request, round, &reading, repairs, question.code.as_ref());
        (reading, again)
    });
    let called = called.await;
    let usage = CallUsage::of(called.iter().map(|call| &call.result));
    let answers = || called.iter().filter_map(|it| Some((it.number, it.result.as_ref().ok()?)));
    let recordings =
        answers().filter_map(|(number, answer)| Some((answer.key.clone()?, number))).collect();
    let mut warnings: Vec<String> =
        answers().flat_map(|(_, answer)| &answer.warnings).cloned().collect();
    warnings.dedup();
    let used = JudgeUse {
        target,
        model: model_of(&connection),
        attempts: usage.calls,
        requests: usage.requests,
        usage: usage.tokens,
        replayed: NonZeroU64::new(usage.replayed),
        cost: usage.cost.map(|cost| cost.to_string()),
        warnings,
        prompt,
        recordings,
    };
    let grade = conclude(called.into_iter().map(|call| call.reading).collect());
    Evaluated { judge: Some(used), ..grade.map(|grade| score(&asked.scheme, &grade)).into() }
}

/// Returns the name of the target that is asked, the connection to it, and the question with the request that asks it.
fn prepare(
    context: Context<'_>,
    evaluator: &Evaluator,
    asked: &Judge,
    subject: Subject<'_>,
    mut question: Question,
) -> Result<(String, Arc<Connection>, Question, Request), String> {
    let targets = &context.plan.targets;
    let name = asked.target.as_deref().or(subject.judge).unwrap_or_default();
    let target = targets.get(name)?.name.clone();
    let connection = targets.connect(name, asked.model.as_deref())?;
    let mut params = connection.settings().params.clone();
    params.temperature = asked.temperature.or(params.temperature);
    if connection.settings().json_schema == Some(true) {
        let schema = asked.scheme.schema();
        params.json_schema =
            Some(JsonSchema { name: "verdict".to_owned(), schema: (&schema).into() });
        question = question.without_code();
    }
    let location = format!("test {}, evaluator {}", subject.test.id, evaluator.name);
    let metric = Some("llm-grader".to_owned());
    let messages = question.messages().map_err(|error| error.to_string())?;
    let sample = context.first_sample();
    let request = Request { params, metric, location, sample, ..Request::new(messages) };
    Ok((target, connection, question, request))
}

/// Returns provider and model of a connection.
pub(super) fn model_of(connection: &Connection) -> String {
    let model = connection.models().next();
    model.map(|it| format!("{}/{}", it.provider(), it.model())).unwrap_or_default()
}

/// Returns the score of a grade.
fn score(scheme: &Scheme, grade: &Grade) -> Score {
    let row = |text: &str, passed, evidence: Option<&str>| Row {
        text: text.to_owned(),
        passed,
        evidence: evidence.filter(|text| !text.is_empty()).map(str::to_owned),
    };
    let rows = match grade {
        Grade::Number { assertions, hits, misses, .. } => {
            let assertions =
                assertions.iter().map(|it| row(&it.text, it.passed, it.evidence.as_deref()));
            let hits = hits.iter().map(|text| row(text, true, None));
            let misses = misses.iter().map(|text| row(text, false, None));
            assertions.chain(hits).chain(misses).collect()
        }
        Grade::Checks { checks, .. } => {
            let text =
                |id: &str| scheme.items().iter().find(|item| item.id == id).map(|item| &*item.text);
            let line = |id: &str| match text(id) {
                Some(text) if !text.is_empty() => format!("[{id}] {text}"),
                _ => id.to_owned(),
            };
            checks.iter().map(|it| row(&line(&it.id), it.passed, Some(&it.reasoning))).collect()
        }
        _ => Vec::new(),
    };
    let reasoning = grade.reasoning().trim();
    let missed: Vec<String> = scheme.missed(grade).map(|item| item.id.clone()).collect();
    Score {
        reason: (!reasoning.is_empty()).then(|| reasoning.to_owned()),
        passes: (!missed.is_empty()).then_some(false),
        missed,
        ..Score::new(scheme.score(grade), rows)
    }
}

/// Reads the result of a call.
fn read(result: &Result<Answer, ModelError>, scheme: &Scheme, code: Option<&Code>) -> Reading {
    let answer = result.as_ref().map_err(|error| {
        let is_worth_it = match error.kind {
            // The requests of a question are repeated already, as often as the settings say.
            ErrorKind::Timeout => false,
            kind => kind.is_transient() || matches!(kind, ErrorKind::Blocked | ErrorKind::Refused),
        };
        match is_worth_it {
            true => Failure::Unreadable(error.to_string(), None),
            false => Failure::Final(error.to_string()),
        }
    })?;
    let read = match answer.reply.readable() {
        Ok(text) => scheme.read(text, code).map_err(|why| why.to_string()),
        Err(why) => Err(format!("the reply is {why}")),
    };
    read.map_err(|why| Failure::Unreadable(why, Some(answer.reply.text.clone())))
}

/// Returns the request that follows an unreadable reply: the same one, and after the last of these one to repair the reply, as in
/// AgentV 4.
fn again(
    request: &Request,
    round: u32,
    reading: &Reading,
    repairs: bool,
    code: Option<&Code>,
) -> Option<Request> {
    let Err(Failure::Unreadable(reason, reply)) = reading else { return None };
    let attempts = round + 1;
    if attempts < ATTEMPTS {
        return Some(Request { sample: request.sample.saturating_add(1), ..request.clone() });
    }
    // A reply with the code states a verdict that cannot be told apart from what it quotes: not by another model either.
    let is_stated = |text: &str| code.is_some_and(|code| text.contains(code.as_str()));
    let reply = reply.as_ref().filter(|text| !text.trim().is_empty() && !is_stated(text))?;
    if !repairs || attempts > ATTEMPTS {
        return None;
    }
    let user = format!(
        "A reply was to have the form above, but cannot be read: {reason}\n\nWrite the same verdict again in that \
         form. Change its structure only: do not judge again.\n\nThe reply:\n\n{reply}"
    );
    let system = request.messages.first().cloned();
    let messages: Vec<Message> = system.into_iter().chain([Message::user(user)]).collect();
    let first = request.sample.saturating_sub(round);
    Some(Request { messages: messages.into(), sample: first, ..request.clone() })
}

/// Returns the grade that was read last.
fn conclude(mut readings: Vec<Reading>) -> Result<Grade, String> {
    let count = readings.len();
    let shown = match readings.get(ATTEMPTS as usize - 1) {
        Some(Err(Failure::Unreadable(_, Some(text)))) if !text.trim().is_empty() => {
            format!("; the last reply: {}", end_of(text))
        }
        _ => String::new(),
    };
    readings.pop().unwrap_or_else(|| Err(Failure::Final("nothing was asked".to_owned()))).map_err(
        |failure| match failure {
            Failure::Final(reason) => reason,
            Failure::Unreadable(reason, _) => {
                format!("no reply could be read after {count} questions: {reason}{shown}")
            }
        },
    )
}

/// Returns the end of a long text.
fn end_of(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(EXCERPT);
    let end: String = text.chars().skip(skipped).collect();
    if skipped > 0 { format!("..{end}") } else { end }
}

/// Returns what a model is asked about an output.
async fn question(
    context: Context<'_>,
    asked: &Judge,
    subject: Subject<'_>,
) -> Result<Question, String> {
    let Subject { test, output, .. } = subject;
    let value = |name: &str| variable(name, asked, test, output);
    let user = match &asked.prompt {
        Prompt::Template(template) => template.render(&value),
        Prompt::Default => return default(context, asked, test, output, &test.criteria),
        Prompt::Criteria(criteria) => return default(context, asked, test, output, criteria),
        Prompt::Program(program) => {
            let text = program::prompt(context, program, subject).await?;
            // Variables in what the program printed are replaced, as AgentV 4 does, unless they may be the agent's: an answer
            // could ask for the expected one.
            let of_agent = ["output", "output_messages", "tool_calls"].map(&value);
            let may_ask = of_agent.iter().flatten().any(|text| text.contains("{{"));
            match context.plan.suite.is_v2() || may_ask {
                true => text,
                false => Template::new(&text).render(&value),
            }
        }
    };
    Ok(question_of(&asked.scheme, user, false))
}

/// Returns the default question.
fn default(
    context: Context<'_>,
    asked: &Judge,
    test: &Test,
    output: &Output,
    criteria: &str,
) -> Result<Question, String> {
    let (question, reference) = (wording::question(test), wording::reference(test));
    let (answer, tool_calls) = (output.answer().unwrap_or_default(), wording::tool_calls(output));
    let is_v2 = context.plan.suite.is_v2();
    let material = Material {
        outcome: Some(criteria),
        question: &question,
        reference: &reference,
        answer: &answer,
        file_changes: "",
        tool_calls: if is_v2 { "" } else { &tool_calls },
    };
    let generation = if is_v2 { scheme::Generation::Old } else { scheme::Generation::New };
    let messages =
        asked.scheme.messages(&material, generation).map_err(|error| error.to_string())?;
    // The instructions get a code that follows from the question.
    let user = messages.into_iter().filter(|message| !message.role.is_instruction());
    let user: Vec<String> = user.map(|message| message.content).collect();
    Ok(question_of(&asked.scheme, user.join("\n\n"), true))
}

/// Returns the value of a variable, under its names in both generations.
fn variable(name: &str, asked: &Judge, test: &Test, output: &Output) -> Option<String> {
    let messages = |messages: &[crate::model::Message]| {
        pretty(&Value::Array(messages.iter().map(|message| message.value.clone()).collect()))
    };
    let rubrics = || {
        let items = asked.scheme.items().iter().map(rubric);
        (!asked.scheme.items().is_empty()).then(|| Value::Array(items.collect()))
    };
    let value = match name {
        "question" | "input" => wording::question(test),
        "candidate_answer" | "output" => output.answer().unwrap_or_default().into_owned(),
        "reference_answer" | "expected_output" => wording::reference(test),
        "expected_outcome" | "criteria" => test.criteria.clone(),
        "input_messages" => messages(&test.input),
        "expected_messages" => messages(&test.expected),
        "output_messages" => pretty(&Value::Array(output.messages.clone())),
        "metadata" => test.metadata.as_ref().map(pretty).unwrap_or_default(),
        "metadata_json" => test.metadata.as_ref().map(compact).unwrap_or_default(),
        "rubrics" => rubrics().as_ref().map(pretty).unwrap_or_default(),
        "rubrics_json" => rubrics().as_ref().map(compact).unwrap_or_default(),
        "file_changes" => String::new(),
        "tool_calls" => wording::tool_calls(output),
        RESULTS => return None,
        _ => return None,
    };
    Some(crate::json_text::trim(&value).to_owned())
}

/// Returns a rubric as JSON.
fn rubric(item: &scheme::Item) -> Value {
    object([
        ("id", text(&item.id)),
        ("outcome", text(&item.text)),
        ("weight", Value::Float(item.weight)),
        ("required", Value::Bool(item.required)),
    ])
}
