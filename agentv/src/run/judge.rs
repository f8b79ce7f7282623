//! Asks models.

use std::{num::NonZeroU64, sync::Arc};

use evaluator_json::Value;
use evaluator_judging::judge::{
    Code,
    scheme::{self, Grade, Material, Scheme},
};
use evaluator_judging::{Connection, Usage, call};
use evaluator_models::{ErrorKind, JsonSchema, Message, RecordId, Request};

use super::{
    Context, program,
    subject::{Evaluated, Subject},
    wording,
};
use crate::{
    grade::{Row, Score},
    json_text::{compact, members as object, pretty, text},
    model::{Evaluator, Judge, Prompt, Test},
    output::Output,
    report::{JudgeUse, Texts},
    template::{RESULTS, Template},
};

/// Questions until a reply can be read.
const ATTEMPTS: u32 = 3;

/// Number of characters of an unreadable reply in errors.
const EXCERPT: usize = 2000;

/// Question to a model.
pub(super) struct Question {
    /// The question.
    pub(super) user: String,
    /// Whether the material in it is fenced. The instructions say so.
    pub(super) is_fenced: bool,
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
    let location = format!("test {}, evaluator {}", subject.test.id, evaluator.name);
    let (targets, name) =
        (&context.plan.targets, asked.target.as_deref().or(subject.judge).unwrap_or_default());
    let connected = targets.get(name).and_then(|target| {
        Ok((target.name.clone(), targets.connect(name, asked.model.as_deref())?))
    });
    let (target, connection) = match connected {
        Ok(connected) => connected,
        Err(reason) => return Err(reason).into(),
    };
    let settings = connection.settings();
    let mut params = settings.params.clone();
    params.temperature = asked.temperature.or(params.temperature);
    let Question { user, is_fenced } = question;
    let mut code = Some(Code::of(&[("user", user.clone())]));
    if settings.json_schema == Some(true) {
        // A schema is JSON. Its keys have no code, so that it is the same for all tests.
        let schema = serde_json::from_str(&compact(&asked.scheme.schema())).unwrap_or_default();
        params.json_schema = Some(JsonSchema { name: "verdict".to_owned(), schema });
        code = None;
    }
    let system = match is_fenced {
        true => asked.scheme.instructions(code.as_ref()),
        false => asked.scheme.reply_format(code.as_ref()),
    };
    let texts = Texts { system, user };
    let metric = Some("llm-grader".to_owned());
    let mut calls = JudgeCalls {
        request: Request { params, metric, location, ..Request::new(Vec::new()) },
        code,
        repairs: !context.plan.suite.is_v2(),
        usage: Usage::default(),
        recordings: Vec::new(),
        warnings: Vec::new(),
        connection,
    };
    let result = calls.until_readable(&texts, &asked.scheme).await;
    let JudgeCalls { usage, warnings, connection, recordings, .. } = calls;
    let used = JudgeUse {
        target,
        model: model_of(&connection),
        attempts: usage.calls,
        requests: usage.requests,
        usage: usage.tokens.into(),
        replayed: NonZeroU64::new(usage.replayed),
        cost: usage.cost.map(|cost| cost.to_string()),
        warnings,
        prompt: context.plan.options.prompts.then_some(texts),
        recordings,
    };
    let score = result.map(|grade| score(&asked.scheme, &grade));
    Evaluated { judge: Some(used), ..score.into() }
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

/// The calls about one judgement.
struct JudgeCalls {
    connection: Arc<Connection>,
    /// Request without messages.
    request: Request,
    /// Ending of the keys of the verdict.
    code: Option<Code>,
    /// Whether the model may repair its last reply, as in AgentV 4.
    repairs: bool,
    usage: Usage,
    /// Answers in the cassette.
    recordings: Vec<RecordId>,
    warnings: Vec<String>,
}

/// Failure of an attempt.
enum Failure {
    /// Another attempt may help. With the text of the reply, if there is one.
    Unreadable(String, Option<String>),
    /// It will not.
    Final(String),
}

impl JudgeCalls {
    /// Asks until a reply can be read.
    async fn until_readable(&mut self, texts: &Texts, scheme: &Scheme) -> Result<Grade, String> {
        let messages = |user: &str| vec![Message::system(&*texts.system), Message::user(user)];
        let (mut reason, mut reply) = (String::new(), None);
        for attempt in 0..ATTEMPTS {
            match self.attempt(messages(&texts.user), attempt, scheme).await {
                Ok(grade) => return Ok(grade),
                Err(Failure::Final(reason)) => return Err(reason),
                Err(Failure::Unreadable(why, text)) => (reason, reply) = (why, text),
            }
        }
        let last = reply.filter(|text| !text.trim().is_empty());
        // A reply with the code states a verdict that cannot be told apart from what it quotes: not by another model either.
        let is_stated =
            |text: &&String| self.code.as_ref().is_some_and(|code| text.contains(code.as_str()));
        if let Some(text) = last.as_ref().filter(|_| self.repairs).filter(|text| !is_stated(text)) {
            let user = format!(
                "A reply was to have the form above, but cannot be read: {reason}\n\nWrite the same verdict again in that \
                 form. Change its structure only: do not judge again.\n\nThe reply:\n\n{text}"
            );
            match self.attempt(messages(&user), 0, scheme).await {
                Ok(grade) => return Ok(grade),
                Err(Failure::Final(why)) => return Err(why),
                Err(Failure::Unreadable(why, _)) => reason = why,
            }
        }
        let shown =
            last.map(|text| format!("; the last reply: {}", end_of(&text))).unwrap_or_default();
        let count = self.usage.calls;
        Err(format!("no reply could be read after {count} questions: {reason}{shown}"))
    }

    async fn attempt(
        &mut self,
        messages: Vec<Message>,
        sample: u32,
        scheme: &Scheme,
    ) -> Result<Grade, Failure> {
        let request = Request { messages: messages.into(), sample, ..self.request.clone() };
        let answer = match call(Arc::clone(&self.connection), 0, request, None).await {
            Ok(answer) => answer,
            Err(error) => {
                self.usage.add_failed(error.attempts);
                let is_worth_it = error.kind.is_transient()
                    || matches!(error.kind, ErrorKind::Blocked | ErrorKind::Refused);
                return Err(match is_worth_it {
                    true => Failure::Unreadable(error.to_string(), None),
                    false => Failure::Final(error.to_string()),
                });
            }
        };
        self.usage.add(&answer);
        self.recordings.extend(answer.key.clone().map(|key| (key, sample)));
        self.warnings.extend(answer.warnings);
        self.warnings.dedup();
        let text = match answer.reply.readable() {
            Ok(text) => text,
            Err(why) => {
                let text = Some(answer.reply.text.clone());
                return Err(Failure::Unreadable(format!("the reply is {why}"), text));
            }
        };
        let grade = scheme.read(text, self.code.as_ref());
        grade.map_err(|why| Failure::Unreadable(why.to_string(), Some(text.to_owned())))
    }
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
    Ok(Question { user, is_fenced: false })
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
    Ok(Question { user: user.join("\n\n"), is_fenced: true })
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
