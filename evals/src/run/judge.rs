//! Asks models.

use std::sync::Arc;

use evaluator_json::Value;
use evaluator_metrics::judge::scheme::{self, Grade, Material, Scheme};
use evaluator_models::{
    Answer, Call, ErrorKind, JsonSchema, Limits, Message, ModelError, Params, Request,
};

use super::{Shared, plan::is_v2, program, wording};
use crate::{
    grade::Row,
    json_text::{compact, members as object, pretty, text},
    model::{Evaluator, Judge, Prompt, Test},
    output::Output,
    report::JudgeUse,
    targets::JudgeTarget,
    template::{RESULTS, Template},
};

/// Questions until a reply can be read.
const ATTEMPTS: u32 = 3;

/// Number of characters of an unreadable reply in errors.
const EXCERPT: usize = 2000;

/// What a model gets: instructions about the reply, and the question.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    pub(super) system: String,
    pub(super) user: String,
}

/// A judgement.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) score: f64,
    pub(super) rows: Vec<Row>,
    pub(super) reason: Option<String>,
    /// Ids of required items that were missed.
    pub(super) missed: Vec<String>,
}

/// A judgement or the reason why there is none, and what it took.
pub(super) type Asked = (Result<Judged, String>, Option<JudgeUse>);

/// Judges an output as an entry says.
pub(super) async fn judge(
    shared: &Arc<Shared>,
    evaluator: &Evaluator,
    asked: &Judge,
    judge: Option<&str>,
    test: &Test,
    output: &Output,
) -> Asked {
    let texts = match texts(shared, asked, test, output).await {
        Ok(texts) => texts,
        Err(reason) => return (Err(reason), None),
    };
    let location = format!("test {}, evaluator {}", test.id, evaluator.name);
    ask(shared, asked, judge, texts, location).await
}

/// Asks the model of an entry.
pub(super) async fn ask(
    shared: &Arc<Shared>,
    asked: &Judge,
    judge: Option<&str>,
    texts: Texts,
    location: String,
) -> Asked {
    let name = asked.target.as_deref().or(judge).unwrap_or_default().to_owned();
    let Some(target) = shared.plan.judges.get(&(name.clone(), asked.model.clone())) else {
        return (Err(format!("the target `{name}` was not connected")), None);
    };
    let schema = || JsonSchema {
        name: "verdict".to_owned(),
        // A schema is JSON.
        schema: serde_json::from_str(&compact(&asked.scheme.schema())).unwrap_or_default(),
    };
    let mut session = Session {
        shared,
        target,
        params: Params {
            temperature: asked.temperature.or(target.params.temperature),
            json_schema: target.structured.then(schema),
            ..target.params.clone()
        },
        location,
        used: JudgeUse {
            target: target.name.clone(),
            model: format!("{}/{}", target.endpoint.provider(), target.endpoint.model()),
            prompt: Some((texts.system.clone(), texts.user.clone())),
            ..JudgeUse::default()
        },
    };
    let result = session.until_readable(&texts, &asked.scheme).await;
    let judged = result.map(|grade| judged(&asked.scheme, &grade));
    (judged, Some(session.used))
}

/// Returns what a reply amounts to.
fn judged(scheme: &Scheme, grade: &Grade) -> Judged {
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
    Judged {
        score: scheme.score(grade),
        rows,
        reason: (!reasoning.is_empty()).then(|| reasoning.to_owned()),
        missed: scheme.missed(grade).map(|item| item.id.clone()).collect(),
    }
}

/// The calls about one judgement.
struct Session<'s> {
    shared: &'s Arc<Shared>,
    target: &'s JudgeTarget,
    params: Params,
    location: String,
    used: JudgeUse,
}

/// Why an attempt led to nothing.
enum Failure {
    /// Another attempt may help. With the text of the reply, if there is one.
    Unreadable(String, Option<String>),
    /// It will not.
    Final(String),
}

impl Session<'_> {
    /// Asks until a reply can be read. In AgentV 4, a model may repair the last reply.
    async fn until_readable(&mut self, texts: &Texts, scheme: &Scheme) -> Result<Grade, String> {
        let messages = vec![Message::system(&*texts.system), Message::user(&*texts.user)];
        let (mut reason, mut reply) = (String::new(), None);
        for attempt in 0..ATTEMPTS {
            match self.attempt(messages.clone(), attempt, scheme).await {
                Ok(grade) => return Ok(grade),
                Err(Failure::Final(reason)) => return Err(reason),
                Err(Failure::Unreadable(why, text)) => (reason, reply) = (why, text),
            }
        }
        let last = reply.filter(|text| !text.trim().is_empty());
        if let Some(text) = last.as_ref().filter(|_| !is_v2(&self.shared.plan.suite)) {
            let user = format!(
                "A reply was to have the form above, but cannot be read: {reason}\n\nWrite the same verdict again in that \
                 form. Change its structure only: do not judge again.\n\nThe reply:\n\n{text}"
            );
            let repair = vec![Message::system(&*texts.system), Message::user(user)];
            match self.attempt(repair, 0, scheme).await {
                Ok(grade) => return Ok(grade),
                Err(Failure::Final(why)) => return Err(why),
                Err(Failure::Unreadable(why, _)) => reason = why,
            }
        }
        let shown =
            last.map(|text| format!("; the last reply: {}", end_of(&text))).unwrap_or_default();
        Err(format!(
            "no reply could be read after {} questions: {reason}{shown}",
            self.used.attempts
        ))
    }

    async fn attempt(
        &mut self,
        messages: Vec<Message>,
        sample: u32,
        scheme: &Scheme,
    ) -> Result<Grade, Failure> {
        self.used.attempts = self.used.attempts.saturating_add(1);
        let request = Request {
            params: self.params.clone(),
            sample,
            metric: Some("llm-grader".to_owned()),
            location: self.location.clone(),
            ..Request::new(messages)
        };
        let answer = match send(self.shared, self.target, request).await {
            Ok(answer) => answer,
            Err(error) => {
                self.used.requests = self.used.requests.saturating_add(error.attempts);
                let is_worth_it = error.kind.is_transient()
                    || matches!(error.kind, ErrorKind::Blocked | ErrorKind::Refused);
                return Err(match is_worth_it {
                    true => Failure::Unreadable(error.to_string(), None),
                    false => Failure::Final(error.to_string()),
                });
            }
        };
        self.count(&answer);
        let text = match answer.reply.readable() {
            Ok(text) => text,
            Err(why) => {
                let text = Some(answer.reply.text.clone());
                return Err(Failure::Unreadable(format!("the reply is {why}"), text));
            }
        };
        scheme.read(text).map_err(|why| Failure::Unreadable(why.to_string(), Some(text.to_owned())))
    }

    fn count(&mut self, answer: &Answer) {
        let used = &mut self.used;
        used.requests = used.requests.saturating_add(answer.attempts);
        used.replayed = used.replayed.saturating_add(u32::from(answer.is_replayed));
        if let Some(usage) = &answer.reply.usage {
            used.input_tokens = used.input_tokens.saturating_add(usage.input);
            used.output_tokens = used.output_tokens.saturating_add(usage.output);
        }
        used.cost = answer.cost.map(|cost| cost.to_string()).or(used.cost.take());
        for warning in &answer.warnings {
            if !used.warnings.contains(warning) {
                used.warnings.push(warning.clone());
            }
        }
    }
}

/// Sends a request on a thread for blocking work.
pub(super) async fn send(
    shared: &Arc<Shared>,
    target: &JudgeTarget,
    request: Request,
) -> Result<Answer, ModelError> {
    let (shared, target) = (Arc::clone(shared), target.clone());
    let asked = tokio::task::spawn_blocking(move || {
        let limits: &Limits = &target.limits;
        let call = Call::new(&*target.endpoint, &request);
        shared.broker.ask(&Call { limits: Some(limits), budgets: &shared.budgets, ..call })
    });
    match asked.await {
        Ok(answer) => answer,
        Err(error) => {
            Err(ModelError::new(ErrorKind::Cancelled, format!("the call was abandoned: {error}")))
        }
    }
}

/// Returns the end of a long text.
fn end_of(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(EXCERPT);
    let end: String = text.chars().skip(skipped).collect();
    if skipped > 0 { format!("..{end}") } else { end }
}

/// Returns the texts that a model gets about an output.
async fn texts(
    shared: &Arc<Shared>,
    asked: &Judge,
    test: &Test,
    output: &Output,
) -> Result<Texts, String> {
    let value = |name: &str| variable(name, asked, test, output);
    let system = asked.scheme.reply_format();
    match &asked.prompt {
        Prompt::Template(template) => Ok(Texts { system, user: template.render(&value) }),
        Prompt::Default => default(shared, asked, test, output, &test.criteria),
        Prompt::Criteria(criteria) => default(shared, asked, test, output, criteria),
        Prompt::Program(program) => {
            let text = program::prompt(shared, program, test, output).await?;
            // Variables in what the program printed are replaced, as AgentV 4 does.
            let user = match is_v2(&shared.plan.suite) {
                true => text,
                false => Template::new(&text).render(&value),
            };
            Ok(Texts { system, user })
        }
    }
}

/// Returns the default prompt.
fn default(
    shared: &Shared,
    asked: &Judge,
    test: &Test,
    output: &Output,
    criteria: &str,
) -> Result<Texts, String> {
    let (question, reference) = (wording::question(test), wording::reference(test));
    let (answer, tool_calls) = (output.answer(), wording::tool_calls(output));
    let is_v2 = is_v2(&shared.plan.suite);
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
    let (mut system, mut user) = (Vec::new(), Vec::new());
    for message in messages {
        match message.role {
            evaluator_metrics::judge::Role::System => system.push(message.text),
            _ => user.push(message.text),
        }
    }
    Ok(Texts { system: system.join("\n\n"), user: user.join("\n\n") })
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
        "candidate_answer" | "output" => output.answer().into_owned(),
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
