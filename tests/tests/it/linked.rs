//! Evaluators in the process of their host have the verdicts of their program.

#[path = "../../fixtures/linked/evaluators.rs"]
mod evaluators;

use std::process::Command;

use evaluator_host::{
    config::{Config, EvaluatorConfig},
    process::Cancellation,
    report::Report,
    run::{Request, Runner},
    verdict::Standing,
};
use evaluator_test_support::{TestDirectory, recording::recording, run as run_program};
use serde_json::{Value, json};

/// More than it takes for programs to be kept running.
const CONVERSATIONS: usize = 40;

/// A recording in which every fourth user asks about a dog.
fn traces() -> String {
    recording((1..=CONVERSATIONS).map(|number| {
        let asks = if number % 4 == 0 { "May I bring my dog?" } else { "What is for breakfast?" };
        (asks, "Yes.")
    }))
}

/// The configuration with all evaluators, each as an entry of this kind.
fn config(kind: &str) -> Config {
    let path = env!("CARGO_BIN_EXE_linked-fixture");
    let kind = match kind.strip_prefix("code") {
        Some(more) => format!("code, path: {path:?}{more}"),
        None => kind.to_owned(),
    };
    let entry = |name: &str, more: &str| format!("  - {{name: {name}, type: {kind}{more}}}\n");
    let entries = [
        entry("scripted", ", threshold: 0.75, config: {share: 0.75}"),
        entry("afraid_of_dogs", ""),
        entry("fails", ""),
        entry("not_a_score", ""),
    ];
    Config::parse(&format!("evaluators:\n{}", entries.concat()), "c.yaml".as_ref()).unwrap()
}

fn linked() -> Runner {
    let mut runner = Runner::default();
    for evaluator in evaluators::ALL {
        runner.registries.linked.register_evaluator(evaluator);
    }
    runner
}

fn run(runner: &Runner, config: Config) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = TestDirectory::new();
    let traces = vec![directory.file("traces.json", traces())];
    let request = Request::new(traces, config);
    runtime.block_on(runner.run(&request, &mut |_| {}))
}

/// The report without how long anything took, and where the traces were.
fn comparable(report: &Report) -> Value {
    let mut report: Value = serde_json::from_str(&report.to_json().unwrap()).unwrap();
    for conversation in report["traces"].as_array_mut().unwrap() {
        conversation["trace_file"] = Value::Null;
        for metric in conversation["metrics"].as_array_mut().unwrap() {
            metric["duration_ms"] = Value::Null;
        }
    }
    report
}

/// The report without error messages: a program that cannot judge ends with an exit code and messages, an
/// evaluator inside of this process cannot.
fn without_wording(mut report: Value) -> Value {
    for conversation in report["traces"].as_array_mut().unwrap() {
        for metric in conversation["metrics"].as_array_mut().unwrap() {
            metric.as_object_mut().unwrap().remove("stderr");
            for key in ["error", "error_type"] {
                metric[key] = json!(!metric[key].is_null());
            }
        }
    }
    report
}

#[test]
fn results_do_not_depend_on_where_evaluators_ran() {
    let inside = comparable(&run(&linked(), config("linked")));
    let summary = json!({"scored": 70, "passed": 70, "failed": 0, "errored": 90, "not_evaluated": 0, "total": 160});
    assert_eq!(inside["summary"], summary);
    let metrics = &inside["traces"][3]["metrics"];
    assert_eq!(metrics[0]["details"], json!({"turns": 1, "threshold": 0.75}));
    assert_eq!(metrics[1]["error_type"], "reported");
    assert_eq!(
        metrics[1]["error"],
        "Custom evaluator 'afraid_of_dogs' reported an error (panic): the evaluator panicked: a dog in \"May I bring my dog?\""
    );
    let outside = comparable(&run(&Runner::default(), config("code")));
    let (inside, outside) = (without_wording(inside), without_wording(outside));
    assert_eq!(inside, outside);
}

/// The entry's contract is the same whether the evaluator is linked, kept running, or started for each conversation.
#[test]
fn contracts_of_other_hosts_hold_wherever_evaluators_run() {
    for contract in ["agentv", "adk", "agenta"] {
        let inside = comparable(&run(&linked(), config(&format!("linked, contract: {contract}"))));
        let scripted = &inside["traces"][3]["metrics"][0];
        assert_eq!(scripted["score"], 0.75, "{contract}: {scripted}");
        assert_eq!(scripted["eval_status"], "PASSED", "{contract}: {scripted}");
        let panicked = inside["traces"][3]["metrics"][1]["error"].as_str().unwrap_or_default();
        assert!(panicked.contains("the evaluator panicked"), "{contract}: {panicked}");
        assert_eq!(inside["traces"][0]["metrics"][1]["score"], 1.0, "{contract}");
        let inside = without_wording(inside);
        for isolation in ["auto", "process"] {
            let kind = format!("code, contract: {contract}, isolation: {isolation}");
            let outside = without_wording(comparable(&run(&Runner::default(), config(&kind))));
            assert_eq!(
                inside["traces"][3]["metrics"], outside["traces"][3]["metrics"],
                "{contract}, {isolation}"
            );
            assert!(inside == outside, "{contract}, {isolation}");
        }
    }
}

#[test]
fn the_order_does_not_depend_on_how_many_run_at_a_time() {
    let with = |jobs: usize| {
        let mut runner = linked();
        runner.jobs = jobs.try_into().unwrap();
        comparable(&run(&runner, config("linked")))
    };
    assert_eq!(with(1), with(7));
}

#[test]
fn what_is_not_linked_is_an_error_next_to_the_others() {
    let mut config = config("linked");
    config.evaluators.push(EvaluatorConfig::linked("scripted_too"));
    let finding = linked().check(&config).pop().unwrap();
    let expected = "no evaluator `scripted_too` is linked into this program (it has afraid_of_dogs, fails, not_a_score, scripted)";
    assert_eq!(finding.result, Err(expected.to_owned()));
    let report = run(&linked(), config);
    let evaluations = report.conversations.get(0).unwrap().unwrap().evaluations;
    assert_eq!(evaluations[4].error.as_deref(), Some(expected));
    assert_eq!(evaluations[0].score, Some(0.75));
}

#[test]
fn nothing_is_judged_when_the_run_was_cancelled() {
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let mut runner = linked();
    runner.cancellation = cancellation;
    let report = run(&runner, config("linked"));
    assert!(
        report.conversations.iter().all(|it| it
            .unwrap()
            .evaluations
            .iter()
            .all(|it| it.score.is_none()))
    );
    assert_eq!(report.standing(), Standing::Errored);
}

#[test]
fn a_command_may_have_evaluators_of_its_own() {
    let directory = TestDirectory::new();
    directory.file("traces.json", traces());
    let entries =
        "evaluators:\n- {name: scripted, type: linked, config: {share: 0.25}, threshold: 0.2}\n";
    directory.file("c.yaml", entries);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        run_program(command.args(arguments).current_dir(directory.path())).exits(0)
    };
    let found = run(&["check", "c.yaml"]).stdout;
    assert!(found.contains("linked into this program"), "{found}");
    let report = run(&["run", "traces.json", "-c", "c.yaml", "-o", "json"]).json();
    assert_eq!(report["summary"]["passed"], json!(CONVERSATIONS));
}

#[test]
fn a_resumed_run_applies_the_threshold_of_its_entry_whatever_the_contract() {
    let directory = TestDirectory::new();
    directory.file("traces.json", traces());
    // Documents of this contract have no threshold.
    for (threshold, code) in [(0.5, 0), (0.5, 0), (0.9, 1)] {
        let entry = "{name: scripted, type: linked, contract: agentv, config: {share: 0.75}";
        directory.file("c.yaml", format!("evaluators:\n- {entry}, threshold: {threshold}}}\n"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
        command.args(["run", "traces.json", "-c", "c.yaml", "-o", "json", "--resume"]);
        run_program(command.current_dir(directory.path())).exits(code);
    }
}
