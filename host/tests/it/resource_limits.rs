//! Limits and variables reach every form in which a program is started.
#![cfg(unix)]

use std::{num::NonZeroUsize, time::Duration};

use evaluator_host::{
    config::{Config, EvaluatorConfig, EvaluatorKind},
    executor::{Containment, Executor, Scope},
    pool::Pool,
    process::{self, Cancellation, CommandSpec, Ending, Limits, Resources},
    report::Report,
    run::{Request, Runner},
    verdict::Verdict,
};

const TRACE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/data/traces/k10_traj_three_turns.json");

fn shell(script: &str, resources: Resources) -> CommandSpec {
    CommandSpec { resources, ..CommandSpec::new("/bin/sh").args(["-c", script]) }
}

async fn stdout(command: &CommandSpec) -> String {
    let limits = Limits::with_timeout(Duration::from_secs(30));
    let outcome = process::run(command, b"", &limits, &Cancellation::new()).await;
    assert_eq!(outcome.ending, Ending::Exited(0), "{}", outcome.stderr.text());
    outcome.stdout.text().trim().to_owned()
}

#[tokio::test]
async fn a_program_that_stays_running_has_the_limits_of_one_that_does_not() {
    let resources = Resources { open_files: Some(33), cpu: Some(5), memory: Some(1 << 30) };
    let script = "ulimit -n; ulimit -t; ulimit -Ht; while read line; do ulimit -n; done";
    assert_eq!(stdout(&shell(script, resources)).await, "33\n5\n6");

    let echo =
        r#"while read line; do echo "{\"score\": 1, \"details\": {\"n\": $(ulimit -n)}}"; done"#;
    let command = shell(echo, resources);
    let pool = Pool::new(command, NonZeroUsize::MIN, Limits::default(), Cancellation::new());
    for _ in 0..2 {
        let evaluation = pool.evaluate(b"{}", Duration::from_secs(30)).await;
        let Verdict::Answer(answer) = evaluation.verdict else { panic!("{evaluation:?}") };
        assert_eq!(answer.details.unwrap()["n"].as_i128(), Some(33));
    }
    pool.shutdown(Duration::from_secs(100)).await.unwrap();
}

#[tokio::test]
async fn limits_that_are_stricter_already_stay() {
    // Root could raise the hard limit; asking for a limit is no wish for more.
    let more = Resources { open_files: Some(1 << 40), ..Resources::default() };
    let hard = stdout(&shell("ulimit -Hn", Resources::default())).await;
    assert_eq!(stdout(&shell("ulimit -Hn", more)).await, hard);
}

/// Starts programs by way of another, and forgets everything else about them.
#[derive(Debug)]
struct Forgetful;

impl Executor for Forgetful {
    fn name(&self) -> &str {
        "forgetful"
    }
    fn check(&self, _: &Containment) -> Result<String, String> {
        Ok(String::new())
    }
    fn wrap(&self, command: CommandSpec, _: &Scope<'_>) -> Result<CommandSpec, String> {
        Ok(CommandSpec::new("/usr/bin/env").arg(command.program).args(command.args))
    }
}

#[tokio::test]
async fn an_executor_cannot_take_limits_off() {
    let directory = evaluator_test_support::TestDirectory::new();
    let tell =
        "cat >/dev/null; printf '{\"score\": 1, \"details\": {\"files\": %s}}' \"$(ulimit -n)\"";
    let script = directory.script("tell", tell);

    let mut runner = Runner::default();
    runner.registries.executors.register_executor(Forgetful);
    let mut evaluator = EvaluatorConfig::code("check", &script);
    let EvaluatorKind::Code(code) = &mut evaluator.kind else { panic!() };
    code.executor = "forgetful".to_owned();
    code.process.limits.resources.open_files = Some(21);
    let mut config = Config::default();
    config.evaluators = vec![evaluator];
    let request = Request::new([TRACE], config);
    let report: Report = runner.run(&request, &mut |_| {}).await;
    let conversation = report.conversations.get(0).unwrap().unwrap();
    let evaluation = &conversation.evaluations[0];
    assert_eq!(evaluation.error, None);
    let details = evaluation.details.as_ref().unwrap();
    assert_eq!(details["files"].as_i128(), Some(21));
}
