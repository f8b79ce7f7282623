//! Programs that judge, write prompts or combine results.

use std::{ffi::OsString, path::Path, sync::Arc, time::Duration};

use evaluator_hosts::{foreign_contract, parse_strict_document};
use evaluator_json::{Object, Value};
use evaluator_launch::{
    process::{self, CommandSpec, Ending, Limits},
    runtime::{Environment, EnvironmentFilter, Inherit},
};
use evaluator_models::{
    Answer, ErrorKind, ModelError, Offer, ProxiedModel, Proxy, ProxyServer, ProxyUsage, Request,
    names_proxy,
};
use evaluator_protocol::Contract;

use super::{
    Shared,
    evaluate::{Evaluated, Subject},
    judge,
    payload::payload,
};
use crate::{
    grade::{Row, Score},
    json_text::pretty,
    model::Program,
    report::ProxyUse,
    targets::{TargetSession, kill_text},
};

/// Time limit of a program.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Time limit of a program that asks models.
const ASKING_TIMEOUT: Duration = Duration::from_secs(600);

/// Hint for a program that asks models without access to them.
const NO_MODEL: &str = "\n(it asks a model, and its entry offers none: add `target: {}`)";

/// Runs a program that judges. `name` is that of its entry.
pub(super) async fn judge(
    shared: &Shared,
    program: &Program,
    name: &str,
    subject: Subject<'_>,
) -> Evaluated {
    let document = pretty(&payload(subject, program));
    let proxy = program.max_calls.map(|calls| open(shared, name, subject.judge, calls));
    let proxy = match proxy.transpose() {
        Ok(proxy) => proxy,
        Err(reason) => return Err(reason).into(),
    };
    let printed = run(shared, program, document.as_bytes(), proxy.as_ref()).await;
    let printed = match printed {
        Err(reason) if proxy.is_none() && names_proxy(&reason) => Err(reason + NO_MODEL),
        printed => printed,
    };
    let proxy = proxy.map(|proxy| usage(&proxy.close()));
    let score = printed.and_then(|printed| read(&printed));
    // Only the verdict of a program that combines results counts.
    Evaluated { proxy, ..score.map(|score| Score { passes: None, ..score }).into() }
}

/// Runs a program that combines results. Its verdict counts if it is one; the score decides about the test.
pub(super) async fn combine(
    shared: &Shared,
    program: &Program,
    results: Value,
) -> Result<Score, String> {
    let document = pretty(&crate::json_text::members([("results", results)]));
    read(&run(shared, program, document.as_bytes(), None).await?)
}

/// Runs a program that writes a prompt.
pub(super) async fn prompt(
    shared: &Shared,
    program: &Program,
    subject: Subject<'_>,
) -> Result<String, String> {
    let document = pretty(&payload(subject, program));
    let printed = run(shared, program, document.as_bytes(), None).await;
    let printed =
        printed.map_err(|reason| format!("the program that writes the prompt: {reason}"))?;
    let text = String::from_utf8_lossy(&printed).trim().to_owned();
    if text.is_empty() {
        return Err("the program that writes the prompt printed nothing".to_owned());
    }
    Ok(text)
}

/// Returns the standard output of a program that ended well.
async fn run(
    shared: &Shared,
    program: &Program,
    input: &[u8],
    proxy: Option<&Proxy>,
) -> Result<Vec<u8>, String> {
    let place = shared.places.acquire().await;
    let spec = spec(program, proxy);
    let limits = Limits::with_timeout(if proxy.is_some() { ASKING_TIMEOUT } else { TIMEOUT });
    let outcome = process::run(&spec, input, &limits, &shared.plan.targets.cancellation).await;
    drop(place);
    if outcome.ending != Ending::Exited(0) {
        return Err(format!("the program {}", kill_text(&outcome)));
    }
    if outcome.leaked_pipe() {
        return Err("the program ended, but another process still has its output open".to_owned());
    }
    if outcome.stdout.overflowed() {
        return Err(format!("the program printed more than {} bytes", limits.stdout_cap));
    }
    Ok(outcome.stdout.head().to_vec())
}

/// Returns the command. Variables that look like secrets are withheld: keys belong to this process alone, and a proxy of
/// another host to the program that started this one.
fn spec(program: &Program, proxy: Option<&Proxy>) -> CommandSpec {
    let (first, rest) =
        program.command.split_first().map_or(("", &[][..]), |(first, rest)| (&**first, rest));
    let is_relative = first.contains('/') && !Path::new(first).is_absolute();
    let executable: OsString = match is_relative {
        true => program.directory.join(first).into_os_string(),
        false => first.into(),
    };
    let mut spec = CommandSpec::new(executable).args(rest);
    spec.cwd = Some(program.directory.clone());
    let proxied = proxy.into_iter().flat_map(Proxy::variables);
    let spec = proxied.fold(spec, |spec, (name, value)| spec.env(name, value));
    EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]).give_to(spec)
}

/// Reads what a program printed: one JSON object with a score.
fn read(printed: &[u8]) -> Result<Score, String> {
    let printed = printed.strip_prefix(b"\xef\xbb\xbf").unwrap_or(printed);
    let document = parse_strict_document(printed).map_err(|error| error.to_string())?;
    let contract = foreign_contract(Contract::AgentV).ok_or("AgentV is not known")?;
    let answer = (contract.answer)(document, 1).map_err(|error| error.to_string())?;
    let details = answer.details.unwrap_or_default();
    let text =
        |key: &str| details.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    Ok(Score {
        reason: text("reasoning").or_else(|| text("reason")).map(str::to_owned),
        passes: match text("verdict") {
            Some("pass") => Some(true),
            Some("fail" | "borderline") => Some(false),
            _ => None,
        },
        ..Score::new(answer.score.ok_or("the program gave no score")?, rows(&details))
    })
}

/// Returns the rows of an answer: `assertions`, else `checks`, else `hits` and `misses`, which are the forms of the
/// generations for the same thing.
fn rows(details: &Object) -> Vec<Row> {
    let list = |key: &str| details.get(key).and_then(Value::as_array).unwrap_or_default();
    for (key, flag) in [("assertions", "passed"), ("checks", "pass")] {
        let row = |item: &Value| {
            let evidence = item.get("evidence").or_else(|| item.get("reason"));
            Some(Row {
                text: item.get("text")?.as_str()?.to_owned(),
                passed: item.get(flag).and_then(Value::as_bool).unwrap_or(false),
                evidence: evidence.and_then(Value::as_str).map(str::to_owned),
            })
        };
        let rows: Vec<Row> = list(key).iter().filter_map(row).collect();
        if !rows.is_empty() {
            return rows;
        }
    }
    let texts = |key, passed| {
        let texts = list(key).iter().filter_map(Value::as_str);
        texts.filter(|text| !text.trim().is_empty()).map(move |text| Row::new(text, passed))
    };
    texts("hits", true).chain(texts("misses", false)).collect()
}

/// Opens the access of a program to models: all targets, first the one that answers requests that name none.
fn open(shared: &Shared, name: &str, judge: Option<&str>, calls: u32) -> Result<Proxy, String> {
    let cannot = |error: String| format!("cannot serve models to programs: {error}");
    let start = || ProxyServer::start().map_err(|error| error.to_string());
    let server =
        shared.proxies.get_or_init(start).as_ref().map_err(|error| cannot(error.clone()))?;
    let targets = &shared.plan.targets;
    let mut names: Vec<&String> = targets.targets.targets.iter().map(|it| &it.name).collect();
    names.sort_by_key(|name| Some(name.as_str()) != judge);
    let model = |name: &String| -> (String, Arc<dyn ProxiedModel>) {
        (name.clone(), Arc::new(ProxiedTarget { targets: targets.clone(), name: name.clone() }))
    };
    let models = names.into_iter().map(model).collect();
    let offer = Offer { max_calls: calls.into(), ..Offer::new(name, models) };
    server.open(Arc::new(offer)).map_err(|error| cannot(error.to_string()))
}

/// A target that programs may ask. It is connected when it is asked.
#[derive(Debug)]
struct ProxiedTarget {
    targets: TargetSession,
    name: String,
}

impl ProxiedModel for ProxiedTarget {
    fn label(&self) -> String {
        let connection = self.targets.connect(&self.name, None);
        connection.map_or_else(|_| self.name.clone(), |it| judge::model_of(&it))
    }

    fn ask(&self, request: Request, limit: Duration) -> Result<Answer, ModelError> {
        let connection = self.targets.connect(&self.name, None);
        let connection = connection.map_err(|error| ModelError::new(ErrorKind::Config, error))?;
        let params = connection.settings().params.clone();
        connection.ask(0, &Request { params, ..request }, Some(limit))
    }
}

fn usage(usage: &ProxyUsage) -> ProxyUse {
    ProxyUse {
        call_count: usage.calls,
        max_calls: usage.max_calls,
        failed_calls: usage.failed.saturating_add(usage.unfinished),
        refused_requests: usage.refused,
        tokens: usage.tokens.into(),
        // The digits are those of the decimal number.
        cost: usage.cost.and_then(|cost| cost.to_string().parse().ok()),
        models: usage.models.clone(),
        warning: usage.warning(),
    }
}
