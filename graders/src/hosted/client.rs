//! The requests of a grading, in order.

use std::time::Duration;

use evaluator_models::{Cancel, Clock, ErrorKind, Method, ModelError, Server};
use serde_json::{Value, json};

use super::{
    answers::{Counts, Graded, RunState, grades, id, is_id, per_criterion, state},
    cleanup::{OpenEval, delete_marked},
    transport::{ATTEMPTS, Failure, History, Transport},
};

const FIRST_POLL: Duration = Duration::from_millis(250);
const LONGEST_POLL: Duration = Duration::from_secs(2);
/// Metadata of an eval with the mark of its grading.
const MARK: &str = "evaluator_run";
/// Characters of a server's text in an error.
const EXCERPT: usize = 500;

/// Items to grade.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Name of the grader.
    pub name: &'a str,
    /// JSON Schema of an item.
    pub item_schema: Value,
    /// Testing criterion.
    pub criterion: Value,
    /// Items, each an object; at least one.
    pub items: Vec<Value>,
    /// Limit of the whole grading, without deleting the eval.
    pub timeout: Duration,
}

/// Why items have no grades.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalsError {
    /// The grading took too long.
    #[error("the eval did not end within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// The server did not answer, refused, or answered something else.
    #[error("{0}")]
    Failed(String),
}

/// A server with the Evals API.
#[derive(Clone, Debug)]
pub struct EvalsServer {
    /// Address and key.
    pub server: Server,
    /// Further headers, such as the organisation.
    pub headers: Vec<(&'static str, String)>,
}

/// Client of a server with the Evals API.
#[derive(Debug)]
pub struct EvalsClient<'a> {
    server: &'a EvalsServer,
    clock: &'a dyn Clock,
    cancel: &'a Cancel,
}

impl<'a> EvalsClient<'a> {
    /// Creates a client. Sends nothing. `cancel` ends gradings early; evals are deleted all the same.
    pub fn new(server: &'a EvalsServer, clock: &'a dyn Clock, cancel: &'a Cancel) -> Self {
        Self { server, clock, cancel }
    }

    /// Has the server grade items, and blocks until it has. The eval is deleted whatever happens.
    ///
    /// # Errors
    ///
    /// Not every item has a grade. The second value has the warnings so far.
    pub fn grade(&self, job: &Job<'_>) -> Result<Graded, (EvalsError, Vec<String>)> {
        let deadline = self.clock.now().saturating_add(job.timeout);
        let Self { server, clock, cancel } = *self;
        let transport = Transport { server, clock, cancel, deadline, attempts: ATTEMPTS };
        let mut history = History::default();
        let created = create(&transport, job, &mut history);
        let mut eval = match created {
            Ok(id) => OpenEval::new(server, clock, id),
            Err(error) => return Err((error.of(job), history.warnings)),
        };
        let graded = run(&transport, job, &mut eval, &mut history);
        let mut warnings = history.warnings;
        warnings.extend(eval.close());
        match graded {
            Ok(graded) => Ok(Graded { warnings, ..graded }),
            Err(error) => Err((error.of(job), warnings)),
        }
    }
}

/// Why a step has no result.
enum Problem {
    Failure(Failure, &'static str),
    Text(String),
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Problem {
    fn of(self, job: &Job<'_>) -> EvalsError {
        match self {
            Self::Failure(Failure::TimedOut, _) => EvalsError::TimedOut(job.timeout),
            Self::Failure(Failure::Cancelled, _) => EvalsError::Cancelled,
            Self::Failure(Failure::Refused(error), step) => {
                EvalsError::Failed(format!("{step}: {}", shown(&error.to_string())))
            }
            Self::Text(text) => EvalsError::Failed(text),
        }
    }
}

/// Creates the eval and returns its id. A request that failed may have created another one, which is deleted.
fn create(
    transport: &Transport<'_>,
    job: &Job<'_>,
    history: &mut History,
) -> Result<String, Problem> {
    const STEP: &str = "the eval could not be created";
    let mark = format!("{:016x}", fastrand::u64(..));
    let body = json!({
        "name": format!("agentevals-openai-{}", job.name),
        "metadata": {MARK: mark},
        "data_source_config": {
            "type": "custom",
            "item_schema": job.item_schema,
            "include_sample_schema": false,
        },
        "testing_criteria": [job.criterion],
    });
    let created = transport.send(&Method::POST, "/evals", Some(&body), history);
    let created = match created {
        Ok(answer) => id(&answer, "eval").map_err(|text| {
            // There is an eval whose id is unknown.
            history.is_unclear = true;
            Problem::Text(text)
        }),
        Err(Failure::Refused(error)) => match unavailable(&error) {
            Some(text) => Err(Problem::Text(text)),
            None => Err(Problem::Failure(Failure::Refused(error), STEP)),
        },
        Err(failure) => Err(Problem::Failure(failure, STEP)),
    };
    if history.is_unclear {
        let keep = created.as_ref().ok().map(String::as_str);
        let place = (transport.server, transport.clock);
        history.warnings.extend(delete_marked(place, (MARK, &mark), keep));
    }
    created
}

/// Explains a server that does not take evals.
fn unavailable(error: &ModelError) -> Option<String> {
    let text = shown(&error.message);
    match error.status? {
        404 | 410 => Some(format!(
            "the server has no Evals API ({text}); OpenAI shut its own down on 2026-11-30, and `execution: local` grades here"
        )),
        403 => Some(format!(
            "the server refused to create an eval: the key lacks a permission (api.evals.write), or evals are read-only, as \
             OpenAI's are since 2026-10-31 ({text}); `execution: local` grades here"
        )),
        _ if error.kind == ErrorKind::BadAnswer => {
            Some(format!("{text}; is the base URL that of the API?"))
        }
        _ => None,
    }
}

/// Creates the run, waits for its end, and reads its results.
fn run(
    transport: &Transport<'_>,
    job: &Job<'_>,
    eval: &mut OpenEval<'_>,
    history: &mut History,
) -> Result<Graded, Problem> {
    let content: Vec<Value> = job.items.iter().map(|item| json!({"item": item})).collect();
    let body = json!({
        "name": format!("agentevals-openai-run-{}", job.name),
        "data_source": {"type": "jsonl", "source": {"type": "file_content", "content": content}},
    });
    let path = format!("/evals/{}/runs", eval.id);
    let created = transport.send(&Method::POST, &path, Some(&body), history);
    let created = created.map_err(|it| Problem::Failure(it, "the run could not be created"))?;
    let run = id(&created, "run")?;
    eval.run = Some(run.clone());
    let path = format!("{path}/{run}");
    let ended = wait(transport, &path, history)?;
    // Nothing is left to cancel.
    eval.run = None;
    let completed = match ended {
        (RunState::Ended(reason), _) => return Err(Problem::Text(reason)),
        (_, completed) => completed,
    };
    let items = output_items(transport, &path, job.items.len(), history)?;
    let counts = Counts::read(&completed)?;
    let grades = grades(&items, job.items.len(), &counts)?;
    let details = vec![
        ("openai_eval_id", json!(eval.id)),
        ("openai_run_id", json!(run)),
        ("result_counts", counts.json()),
        ("per_testing_criteria", per_criterion(&completed)),
    ];
    Ok(Graded { grades, details, warnings: Vec::new() })
}

/// Polls a run until it ends: at once, then after 0.25 s, growing by half up to 2 s.
fn wait(
    transport: &Transport<'_>,
    path: &str,
    history: &mut History,
) -> Result<(RunState, Value), Problem> {
    const STEP: &str = "the run could not be looked at";
    let mut pause = FIRST_POLL;
    loop {
        let run = transport.send(&Method::GET, path, None, history);
        let run = run.map_err(|failure| Problem::Failure(failure, STEP))?;
        match state(&run)? {
            RunState::InProgress => {}
            ended => return Ok((ended, run)),
        }
        transport.wait(pause).map_err(|failure| Problem::Failure(failure, STEP))?;
        let half = pause.checked_div(2).unwrap_or_default();
        pause = pause.saturating_add(half).min(LONGEST_POLL);
    }
}

/// Reads all pages of results.
fn output_items(
    transport: &Transport<'_>,
    path: &str,
    sent: usize,
    history: &mut History,
) -> Result<Vec<Value>, Problem> {
    let first = format!("{path}/output_items");
    let (mut items, mut next) = (Vec::new(), first.clone());
    loop {
        let page = transport.send(&Method::GET, &next, None, history);
        let mut page = page.map_err(|it| Problem::Failure(it, "the results could not be read"))?;
        let Some(Value::Array(data)) = page.get_mut("data").map(Value::take) else {
            return Err(Problem::Text("the results have no list `data`".to_owned()));
        };
        let is_empty = data.is_empty();
        items.extend(data);
        if page.get("has_more").and_then(Value::as_bool) != Some(true) {
            return Ok(items);
        }
        let last = page.get("last_id").and_then(Value::as_str).filter(|id| is_id(id));
        match last {
            Some(last) if !is_empty && items.len() <= sent => {
                next = format!("{first}?after={last}");
            }
            _ => {
                let text = format!("{sent} items were sent, and the pages of results do not end");
                return Err(Problem::Text(text));
            }
        }
    }
}

/// Returns a text of a server for messages: its beginning, without keys.
pub(super) fn shown(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("sk-") {
        let end = start.saturating_add(3);
        masked.push_str(&rest[..end]);
        masked.push_str("***");
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
        rest = rest[end..].trim_start_matches(is_part);
    }
    masked.push_str(rest);
    masked.chars().take(EXCERPT).collect()
}
