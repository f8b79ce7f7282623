//! A test: its output, its evaluators, its score.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use evaluator_host::{
    conversation::{Labels, ToolCall, Turn, label_values},
    eval_set::ExpectedTurn,
    report::{EVALUATORS, run_file::Digester},
    run::{CaseIdentity, CaseResult, CaseTranscript, Grading, Programs, Suite, SuiteProgram},
};
use evaluator_json::{Object, Value, parse_python};
use evaluator_judging::call;
use evaluator_models::{Message, RecordId, Request};
use futures_util::future::join_all;

use super::{
    Context, Plan,
    evaluate::evaluate,
    payload,
    plan::{Planned, Source, TestedCommand},
    subject::Subject,
    wording,
};
use crate::{
    json_text::{compact, count, list, object, text},
    model::Test,
    output::{Output, calls},
    report::{EvaluatorResult, Status, reason_of},
    targets::command::{self, Commands, Invocation},
};

impl Suite for Plan {
    fn name(&self) -> &str {
        &self.suite.name
    }

    fn file(&self) -> &Path {
        &self.suite.file
    }

    fn ids(&self) -> &[Arc<str>] {
        &self.ids
    }

    fn threshold(&self, case: usize) -> f64 {
        self.tests[case].threshold
    }

    fn programs(&self, case: usize) -> Vec<usize> {
        self.tests[case].programs.clone()
    }

    fn tested(&self, case: usize) -> Option<usize> {
        match &self.tests[case].source {
            Source::Command(command) => Some(command.program),
            Source::Recorded(_) | Source::Model(_) => None,
        }
    }

    fn prompt(&self, case: usize) -> String {
        self.targets.session.redact(&wording::question(&self.tests[case].test))
    }

    fn labels(&self, case: usize, attributes: &[&str]) -> Labels {
        let Some(Value::Object(metadata)) = &self.tests[case].test.metadata else {
            return Labels::new();
        };
        let labels = attributes.iter().filter_map(|name| {
            let values = label_values(metadata.get(*name)?);
            (!values.is_empty()).then(|| ((*name).to_owned(), values))
        });
        labels.collect()
    }

    fn label_names(&self, case: usize) -> Vec<String> {
        match &self.tests[case].test.metadata {
            Some(Value::Object(metadata)) => metadata.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn identity(&self, case: usize) -> Option<CaseIdentity> {
        let Planned { test, threshold, source, judge, tested, programs } = &self.tests[case];
        let content = match source {
            Source::Recorded(Ok(output)) => {
                let messages = compact(&Value::Array(output.messages.clone()));
                let output = format!("{messages} {}", output.measurements());
                Some(Digester::new("output").bytes("output", output.as_bytes()).finish())
            }
            // It may be answered otherwise, or there may be a recording, the next time.
            Source::Recorded(Err(_)) | Source::Command(_) | Source::Model(_) => None,
        };
        let is_known = programs.iter().all(|program| self.programs.are_known[*program]);
        let judges = self.judges(&test.evaluators, judge.as_deref()).filter(|_| is_known)?;
        let asked: Vec<_> = judges.iter().map(|judge| &judge.settings).collect();
        let digester = Digester::new("test").json("test", test).json("threshold", threshold);
        let settings = digester.json("is v2", &self.suite.is_v2()).json("judges", &asked).finish();
        let tested = tested.as_ref().map(|tested| (&tested.name, &tested.provider));
        let recorded: Result<Vec<_>, _> =
            judges.iter().flat_map(|judge| &judge.recorded).cloned().collect();
        let by: Vec<_> = judges.iter().map(|it| (&it.answered_by, &it.programs)).collect();
        let answers = recorded.ok().map(|recorded| {
            let digester = Digester::new("answers").json("tested", &tested).json("by", &by);
            digester.json("recorded", &recorded).finish()
        });
        Some(CaseIdentity { settings, content, answers })
    }

    fn prepared(&self, program: &dyn Fn(usize) -> Result<SuiteProgram, String>) {
        let programs = self.commands.iter().map(|(name, index)| (name.clone(), program(*index)));
        let commands =
            Commands { programs: programs.collect(), are_contained: self.is_contained() };
        let mut prepared = self.targets.commands.lock().unwrap_or_else(PoisonError::into_inner);
        *prepared = Some(Arc::new(commands));
    }

    fn transcript(&self, case: usize) -> Option<CaseTranscript> {
        let Planned { test, source, .. } = &self.tests[case];
        let Source::Recorded(Ok(output)) = source else { return None };
        output.check().is_ok().then(|| transcript(test, output))
    }

    fn grade<'s>(&'s self, case: usize, programs: Programs<'s>) -> Grading<'s> {
        Box::pin(run(Context { plan: self, programs }, &self.tests[case]))
    }
}

/// Runs a test.
async fn run(context: Context<'_>, planned: &Planned) -> CaseResult {
    let mut recordings = Vec::new();
    let output = output(context, &planned.test, &planned.source, &mut recordings).await;
    graded(context, planned, &planned.test, output, recordings).await
}

/// Grades an output. The result holds no secret of this machine, whatever programs and models say. `test` may have other graders
/// and another question than the planned one.
pub(super) async fn graded(
    context: Context<'_>,
    planned: &Planned,
    test: &Test,
    output: Result<Output, String>,
    mut recordings: Vec<RecordId>,
) -> CaseResult {
    let Planned { threshold, judge, tested, .. } = planned;
    let output = output.and_then(|output| output.check().map(|()| output));
    let mut evaluators = match &output {
        Ok(output) => {
            let (threshold, judge, tested) = (*threshold, judge.as_deref(), tested.as_ref());
            let subject = Subject { test, output, threshold, judge, tested };
            join_all(test.evaluators.iter().map(|it| evaluate(context, it, subject, false))).await
        }
        Err(_) => Vec::new(),
    };
    let redact = |text: &str| context.plan.targets.session.redact(text);
    evaluators.iter_mut().for_each(|evaluator| evaluator.redact(&redact));
    recordings.extend(evaluators.iter().flat_map(EvaluatorResult::recordings));
    let transcript = output.as_ref().ok().map(|output| transcript(test, output));
    let mut result = finished(*threshold, &evaluators, output.err().map(|error| redact(&error)));
    let recordings = recordings.into_iter().map(|(key, sample)| {
        let sample = count(usize::try_from(sample).unwrap_or(usize::MAX));
        object([("key", Value::String(key)), ("recorded_sample", sample)])
    });
    result.details.insert("recordings".to_owned(), list(recordings));
    result.transcript = transcript;
    result
}

/// Returns what was said and done in a test, as a turn.
pub(super) fn transcript(test: &Test, output: &Output) -> CaseTranscript {
    let question = wording::question(test);
    let call = |call: &Value, name: &str| ToolCall {
        name: name.to_owned(),
        arguments: call.get("input").cloned().unwrap_or_default(),
        result: call.get("output").cloned().unwrap_or_default().into(),
        call_id: call.get("id").and_then(Value::as_str).map(str::to_owned),
        ..ToolCall::default()
    };
    let calls = output.messages.iter().flat_map(calls);
    let calls = calls.filter_map(|it| Some(call(it, it.get("tool")?.as_str()?)));
    let turn = Turn {
        user_text: Some(question.clone()),
        final_text: output.answer().map(Cow::into_owned),
        tool_calls: calls.collect(),
        ..Turn::default()
    };
    let expected = (!test.expected.is_empty()).then(|| ExpectedTurn {
        user_parts: vec![question],
        final_parts: Some(vec![wording::reference(test)]),
        ..ExpectedTurn::default()
    });
    CaseTranscript { turns: vec![turn], expected: expected.into_iter().collect() }
}

/// Scores a test. An error of an evaluator is an error of the test. `error`: there is no output.
fn finished(threshold: f64, evaluators: &[EvaluatorResult], error: Option<String>) -> CaseResult {
    let mut warnings = Vec::new();
    let of = |status: Status| evaluators.iter().filter(move |it| it.status == status);
    let broken: Vec<String> = of(Status::Error)
        .map(|it| format!("`{}` broke: {}", it.name, reason_of(it).trim()))
        .collect();
    let missed = of(Status::Failed).map(|it| {
        let reason = reason_of(it);
        let first = reason.trim_start().lines().next().unwrap_or_default();
        format!("{} {}: {first}", it.name, it.verdict)
    });
    let missed: Vec<String> = missed.collect();
    let score = match error {
        Some(error) => Err(error),
        None if broken.is_empty() => Ok(weighted(evaluators, &mut warnings)),
        None => Err([broken, missed.clone()].concat().join("\n")),
    };
    if score.as_ref().is_ok_and(|score| *score >= threshold) {
        let missed = evaluators.iter().filter(|evaluator| !evaluator.missed.is_empty());
        warnings.extend(missed.map(|it| {
            format!(
                "it passes by its score, though `{}` misses what is required: {}",
                it.name,
                it.missed.join(", ")
            )
        }));
    }
    let proxies =
        evaluators.iter().filter_map(|it| Some((it, it.proxy.as_ref()?.warning.as_ref()?)));
    warnings.extend(proxies.map(|(it, warning)| format!("`{}`: {warning}", it.name)));
    warnings.extend(evaluators.iter().flat_map(asked_again));
    let results = serde_json::to_string(evaluators).ok().and_then(|text| parse_python(&text));
    let mut details = Object::default();
    if score.is_ok() && !missed.is_empty() {
        details.insert("reason".to_owned(), text(&missed.join("; ")));
    }
    details.insert(EVALUATORS.to_owned(), results.unwrap_or_default());
    CaseResult { score, details, warnings, transcript: None }
}

/// Returns the weighted mean, or 0 if a required evaluator scores too little.
fn weighted(evaluators: &[EvaluatorResult], warnings: &mut Vec<String>) -> f64 {
    let weight = |evaluator: &EvaluatorResult| evaluator.weight.unwrap_or(1.0);
    let total: f64 = evaluators.iter().map(weight).sum();
    let sum: f64 = evaluators.iter().map(|it| weight(it) * it.score.unwrap_or_default()).sum();
    let is_gated = evaluators
        .iter()
        .any(|it| it.required.is_some_and(|least| it.score.is_some_and(|score| score < least)));
    if total <= 0.0 {
        warnings.push("all weights are 0, so the score is 0".to_owned());
    }
    if is_gated || total <= 0.0 { 0.0 } else { sum / total }
}

/// Returns a warning for each judge, also of members, whose first reply does not count.
fn asked_again(evaluator: &EvaluatorResult) -> Vec<String> {
    let asked = evaluator.judge.as_ref().map_or(0, |judge| judge.attempts);
    let counts = asked > 1 && evaluator.status != Status::Error;
    let own = counts.then(|| {
        let name = &evaluator.name;
        format!("`{name}`: its judge was asked {asked} times until a reply could be read")
    });
    own.into_iter().chain(evaluator.members.iter().flat_map(asked_again)).collect()
}

/// Returns the output that is graded.
async fn output(
    context: Context<'_>,
    test: &Test,
    source: &Source,
    recordings: &mut Vec<RecordId>,
) -> Result<Output, String> {
    match source {
        Source::Recorded(output) => output.clone().map(|output| *output),
        Source::Model(connection) => {
            let request = Request {
                params: connection.settings().params.clone(),
                location: format!("test {}, the tested target", test.id),
                sample: context.first_sample(),
                ..Request::new(vec![Message::user(wording::question(test))])
            };
            let answer = call(Arc::clone(connection), 0, request, None).await;
            let answer = answer.map_err(|error| error.to_string())?;
            recordings.extend(answer.key.map(|key| (key, context.first_sample())));
            let reply = answer.reply;
            let text = reply.readable();
            text.map(Output::of_text).map_err(|why| format!("the reply of the target is {why}"))
        }
        Source::Command(command) => {
            let worker = match &command.places {
                // It is never closed.
                Some(places) => places.acquire().await.ok(),
                None => None,
            };
            let output = run_command(context, test, command).await;
            drop(worker);
            output
        }
    }
}

/// Runs a command, again if it took too long.
async fn run_command(
    context: Context<'_>,
    test: &Test,
    tested: &TestedCommand,
) -> Result<Output, String> {
    let prompt = wording::prompt(test, context.plan.suite.is_v2());
    let files: Vec<PathBuf> = payload::files(test).map(PathBuf::from).collect();
    let TestedCommand { target, command, program, .. } = tested;
    let mut invocation =
        Invocation { target, command, prompt: &prompt, files: &files, id: &test.id, attempt: 0 };
    loop {
        let script = invocation.script(context.plan.is_contained())?;
        let ran = context.programs.run(*program, script.text.as_bytes()).await;
        let timed_out = ran.error_type == Some("timed_out");
        if timed_out && invocation.attempt < context.plan.options.max_retries {
            invocation.attempt = invocation.attempt.saturating_add(1);
            continue;
        }
        let count = invocation.attempt.saturating_add(1);
        return command::output(ran).map_err(|error| match timed_out {
            true => format!("{error} ({count} of {count} attempts)"),
            false => error,
        });
    }
}

#[cfg(all(test, unix))]
mod tests {
    use evaluator_host::{config::Config, run::Runner, verdict::Standing};
    use evaluator_judging::{Environment, JudgeSettings};
    use evaluator_models::Providers;
    use tokio::runtime::Builder;

    use crate::{
        output::Recordings,
        read::{ReadOptions, read},
        run::{Options, plan},
        targets::{self, TargetSession},
    };

    #[test]
    fn each_run_of_a_plan_has_commands_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = directory.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let grader = "{name: g, type: llm-grader, prompt: 'G {{output}}'}";
        let suite = format!("tests: [{{id: one, criteria: x, input: q, assertions: [{grader}]}}]");
        let suite = read(&file("e.yaml", &suite), &ReadOptions::new(directory.path(), |_| None));
        let command = r#"echo "{\"score\": 1}" > {OUTPUT_FILE}"#;
        let judge = format!("targets: [{{name: g, provider: cli, command: '{command}'}}]");
        let targets = targets::read(&file("targets.yaml", &judge), &Providers::default()).unwrap();
        let environment = Environment::new(|_| None);
        let session = TargetSession::new(targets, JudgeSettings::default(), environment).unwrap();
        let outputs = file("outputs.jsonl", r#"{"test_id": "one", "output": "Paris"}"#);
        let recordings = Recordings::read(&outputs, &Runner::default()).unwrap();
        let options = Options { grader_target: Some("g".to_owned()), ..Options::default() };
        let plan = plan(suite.unwrap(), session, options, Some(&recordings)).unwrap();
        let session = plan.session();
        let request = plan.request(Config::default());
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..2 {
            let mut runner = Runner::default();
            runner.session = Some(session.clone());
            let report = runtime.block_on(runner.run(&request, &mut |_| {}));
            assert_eq!(report.standing(), Standing::Passed, "{report:?}");
            // The next run is not cancelled.
            runner.cancellation.cancel();
        }
    }
}
