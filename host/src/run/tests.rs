//! Runs with metrics and runtimes that misbehave.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use evaluator_test_support::Directory;

use super::{
    Arrival, CaseIdentity, CaseResult, ConversationStream, Extractor, Grading, Programs, Request,
    RunEvent, Runner, Suite, SuiteInput,
};
use crate::{
    config::{Config, EvaluatorConfig},
    json::Object,
    metric::{self, Metric, MetricInput, Scored},
    process::Cancellation,
    report::{ConversationReport, Partial, Report, SuiteReport, run_file::RunFile},
    runtime::{Entrypoint, Launch, PrepareError, PrepareEvent, Runtime},
    trace::load_file,
};

const TRACE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/data/traces/k10_traj_three_turns.json");

/// Panics, cancels the run, or passes, whatever it is called.
#[derive(Debug)]
struct Odd {
    name: &'static str,
    cancellation: Cancellation,
}

impl Metric for Odd {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        ""
    }
    fn evaluate(&self, input: &MetricInput<'_>) -> metric::Outcome {
        match self.name {
            "panics" => panic!("at {} turns", input.turns.len()),
            "cancels" => self.cancellation.cancel(),
            _ => {}
        }
        metric::Outcome::Scored(Scored::new(1.0))
    }
}

fn runner() -> Runner {
    let mut runner = Runner::default();
    for name in ["panics", "cancels", "passes"] {
        let cancellation = runner.cancellation.clone();
        runner.registries.metrics.register(Odd { name, cancellation });
    }
    runner
}

async fn run(runner: &Runner, evaluators: Vec<EvaluatorConfig>) -> (Report, Vec<RunEvent>) {
    let config = Config { evaluators, ..Config::default() };
    let request = Request::new([TRACE], config);
    let mut events = Vec::new();
    let report = runner.run(&request, &mut |event| events.push(event)).await;
    (report, events)
}

/// Name, kind of error and error of the evaluations of the first conversation.
type Outcome<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

#[track_caller]
fn assert_outcomes(report: &Report, expected: &[Outcome<'_>]) {
    let evaluations = conversations(report).remove(0).evaluations;
    let outcomes: Vec<_> = evaluations
        .iter()
        .map(|it| (it.name.as_str(), it.error_type, it.error.as_deref()))
        .collect();
    assert_eq!(outcomes, expected);
}

#[track_caller]
fn conversations(report: &Report) -> Vec<ConversationReport> {
    report.conversations.iter().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_panic_of_a_metric_is_its_error_alone() {
    let metrics = ["panics", "passes"].map(EvaluatorConfig::builtin);
    let (report, events) = run(&runner(), metrics.into()).await;
    assert_outcomes(
        &report,
        &[
            ("panics", Some("metric_failed"), Some("panics panicked: at 3 turns")),
            ("passes", None, None),
        ],
    );
    assert!(
        events.iter().any(|event| matches!(event, RunEvent::Evaluated { done: 2, errored: 1, .. })),
        "{events:?}"
    );
}

/// Three cases, the second of which panics.
#[derive(Debug)]
struct OddSuite(Vec<Arc<str>>);

impl Suite for OddSuite {
    fn name(&self) -> &str {
        "odd"
    }
    fn file(&self) -> &Path {
        Path::new("odd.yaml")
    }
    fn ids(&self) -> &[Arc<str>] {
        &self.0
    }
    fn threshold(&self, _case: usize) -> f64 {
        1.0
    }
    fn programs(&self, _case: usize) -> Vec<usize> {
        Vec::new()
    }
    fn prompt(&self, _case: usize) -> String {
        "q".to_owned()
    }
    fn identity(&self, _case: usize) -> Option<CaseIdentity> {
        None
    }
    fn grade<'s>(&'s self, case: usize, _programs: Programs<'s>) -> Grading<'s> {
        Box::pin(async move {
            assert!(case != 1, "in case {case}");
            CaseResult {
                score: Ok(1.0),
                details: Object::default(),
                warnings: Vec::new(),
                transcript: None,
            }
        })
    }
}

#[tokio::test]
async fn a_panic_in_the_grading_of_a_case_is_the_error_of_that_case() {
    let mut request = Request::new([] as [&str; 0], Config::default());
    let suite = Arc::new(OddSuite(["one", "two", "three"].map(Arc::from).into()));
    let about = SuiteReport::default();
    request.suite = Some(SuiteInput { suite, about, warnings: Vec::new() });
    let report = runner().run(&request, &mut |_| {}).await;
    let tests = conversations(&report);
    let errors = tests.iter().map(|test| test.evaluations[0].error.as_deref());
    assert!(errors.eq([None, Some("odd panicked: in case 1"), None]), "{tests:?}");
    assert_eq!((report.tally().passed, report.tally().errored), (2, 1));
}

#[tokio::test]
async fn what_was_finished_when_a_run_is_cancelled_is_kept() {
    let metrics = ["passes", "cancels", "panics"].map(EvaluatorConfig::builtin);
    let (report, _) = run(&runner(), metrics.into()).await;
    assert_outcomes(
        &report,
        &[
            ("passes", None, None),
            ("cancels", None, None),
            (
                "panics",
                Some("cancelled"),
                Some("panics was not finished, because the run was cancelled"),
            ),
        ],
    );
    assert_eq!(report.tally().standing().exit_code(), 3);
}

/// Says that it began, and ends only when it is cancelled; or not even then.
#[derive(Debug)]
struct Slow {
    deaf: bool,
}

impl Runtime for Slow {
    fn name(&self) -> &str {
        "slow"
    }
    fn extensions(&self) -> &[&str] {
        &[".slow"]
    }
    fn claims(&self, _: &Path) -> bool {
        true
    }
    fn availability(&self) -> Result<String, String> {
        Ok(String::new())
    }
    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        on_event(PrepareEvent::Started { what: "waiting".to_owned() });
        let started = std::time::Instant::now();
        while started.elapsed() < Duration::from_secs(20)
            && (self.deaf || !cancellation.is_cancelled())
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let stopped = PrepareError::Unusable { reason: "stopped".to_owned() };
        entrypoints.iter().map(|_| Err(stopped.clone())).collect()
    }
}

async fn cancelled_while_preparing(deaf: bool) -> Report {
    let mut runner = runner();
    runner.registries.runtimes.register(Slow { deaf });
    let config = Config {
        evaluators: vec![
            EvaluatorConfig::code("built", Path::new(TRACE)),
            EvaluatorConfig::builtin("passes"),
        ],
        ..Config::default()
    };
    let request = Request::new([TRACE], config);
    let cancellation = runner.cancellation.clone();
    let report = runner
        .run(&request, &mut |event| {
            if matches!(event, RunEvent::Prepare(PrepareEvent::Started { .. })) {
                cancellation.cancel();
            }
        })
        .await;
    let evaluations = conversations(&report).remove(0).evaluations;
    let kinds: Vec<_> = evaluations.iter().map(|it| it.error_type).collect();
    assert_eq!(kinds, [Some("cancelled"); 2]);
    report
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_evaluators_are_made_ready() {
    let report = cancelled_while_preparing(false).await;
    assert_eq!(
        conversations(&report)[0].evaluations[0].error.as_deref(),
        Some("Custom evaluator 'built' was not finished, because the run was cancelled")
    );
}

#[test]
fn a_runtime_that_does_not_stop_is_left_behind() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let started = std::time::Instant::now();
    runtime.block_on(cancelled_while_preparing(true));
    runtime.shutdown_background();
    assert!(started.elapsed() < Duration::from_secs(15), "it was waited for");
}

#[tokio::test]
async fn an_executor_that_is_not_there_is_an_error_before_anything_is_built() {
    let mut runner = runner();
    runner.registries.runtimes.register(Slow { deaf: true });
    let text =
        format!("evaluators: [{{name: boxed, type: code, path: '{TRACE}', executor: moon}}]");
    let mut config = Config::parse(&text, Path::new("c.yaml")).unwrap();
    config.evaluators.push(EvaluatorConfig::builtin("passes"));
    let (report, events) = run(&runner, config.evaluators).await;
    let unknown = "unknown executor `moon` (available: docker, local, sandbox)";
    assert_outcomes(
        &report,
        &[("boxed", Some("prepare_failed"), Some(unknown)), ("passes", None, None)],
    );
    assert!(!events.iter().any(|event| matches!(event, RunEvent::Prepare(_))), "{events:?}");
}

#[tokio::test]
async fn what_a_configuration_wants_contained_is_never_run_otherwise() {
    let mut runner = runner();
    runner.registries.runtimes.register(Slow { deaf: true });
    let text = format!("evaluators: [{{name: plain, type: code, path: '{TRACE}'}}]\ncontain: true");
    let mut config = Config::parse(&text, Path::new("c.yaml")).unwrap();
    config.evaluators.push(EvaluatorConfig::builtin("passes"));
    let mut events = Vec::new();
    let request = Request::new([TRACE], config);
    let report = runner.run(&request, &mut |event| events.push(event)).await;
    let reason = "it is not contained, and the configuration has `contain: true`; `executor: sandbox` or `executor: docker` \
                  contains a program";
    assert_outcomes(
        &report,
        &[("plain", Some("prepare_failed"), Some(reason)), ("passes", None, None)],
    );
    assert!(!events.iter().any(|event| matches!(event, RunEvent::Prepare(_))), "{events:?}");
}

#[tokio::test]
async fn a_file_without_spans_is_an_error_and_the_others_are_evaluated() {
    let directory = Directory::new("no-spans");
    let empty =
        directory.file("empty.json", r#"{"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}"#);
    let config =
        Config { evaluators: vec![EvaluatorConfig::builtin("passes")], ..Config::default() };
    let request = Request::new([empty.clone(), TRACE.into()], config);
    let report = runner().run(&request, &mut |_| {}).await;
    let expected = format!(
        "Failed to load trace file '{}': it holds no spans with a trace id and a span id",
        empty.display()
    );
    assert!(matches!(&*report.errors, [error] if error.starts_with(&expected)), "{report:?}");
    assert_eq!(report.tally().passed, 1, "{report:?}");
}

/// A file of traces: this number with a conversation of one turn, and one without turns at the end.
struct Traces(Directory);

impl Traces {
    fn new(name: &str, conversations: usize) -> Self {
        let span = |number: usize, operation: &str| {
            format!(
                r#"{{"traceId": "t{number}", "spanId": "s", "attributes": {{"gen_ai.operation.name": "{operation}"}}}}"#
            )
        };
        let mut lines: Vec<String> =
            (0..conversations).map(|number| span(number, "chat")).collect();
        lines.push(span(conversations, "other"));
        let directory = Directory::new(name);
        directory.file("traces.jsonl", &lines.join("\n"));
        Self(directory)
    }

    async fn run(
        &self,
        runner: &Runner,
        metrics: &[&'static str],
        on_event: &mut dyn FnMut(&RunEvent),
    ) -> (Report, Vec<RunEvent>) {
        let evaluators = metrics.iter().map(|name| EvaluatorConfig::builtin(*name)).collect();
        let config = Config { evaluators, ..Config::default() };
        let request = Request::new([self.0.path("traces.jsonl")], config);
        let mut events = Vec::new();
        let report = runner
            .run(&request, &mut |event| {
                on_event(&event);
                events.push(event);
            })
            .await;
        (report, events)
    }
}

#[tokio::test]
async fn conversations_are_reported_in_order_and_all_are_counted() {
    let traces = Traces::new("order", 300);
    let (report, events) = traces.run(&runner(), &["passes", "panics"], &mut |_| {}).await;
    let conversations = conversations(&report);
    let ids: Vec<&str> = conversations.iter().map(|it| &*it.trace_id).collect();
    assert_eq!(ids, (0..=300).map(|number| format!("t{number}")).collect::<Vec<_>>());
    assert_eq!(conversations[300].evaluations[0].error_type, Some("no_invocations"));
    let evaluated: Vec<(usize, usize)> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::Evaluated { done, total, .. } => Some((*done, *total)),
            _ => None,
        })
        .collect();
    assert!(evaluated.iter().map(|(done, _)| *done).eq(1..=600), "{evaluated:?}");
    assert!(evaluated.iter().all(|(done, total)| done <= total), "{evaluated:?}");
    assert!(events.contains(&RunEvent::Evaluating { total: 602 }), "{events:?}");
    assert_eq!((report.tally().passed, report.tally().errored), (300, 301));
}

#[tokio::test]
async fn a_file_that_changes_during_the_run_is_never_green() {
    let traces = Traces::new("changed", 3);
    let path = traces.0.path("traces.jsonl");
    let (report, _) = traces
        .run(&runner(), &["passes"], &mut |event| {
            if matches!(event, RunEvent::Evaluating { .. }) {
                std::fs::write(&path, "{}").unwrap();
            }
        })
        .await;
    assert_eq!(report.conversations.len(), 4);
    for conversation in conversations(&report) {
        let evaluation = &conversation.evaluations[0];
        assert_eq!(evaluation.error_type, Some("extraction_failed"));
        let error = evaluation.error.as_deref().unwrap_or_default();
        assert!(error.contains("changed while it was evaluated"), "{error}");
    }
    assert_eq!(report.tally().standing().exit_code(), 3);
}

#[tokio::test]
async fn conversations_that_were_not_loaded_when_a_run_is_cancelled_are_reported_as_cancelled() {
    let traces = Traces::new("cancelled", 500);
    let runner = runner();
    let cancellation = runner.cancellation.clone();
    let (report, events) = traces
        .run(&runner, &["passes"], &mut |event| {
            if matches!(event, RunEvent::Evaluating { .. }) {
                cancellation.cancel();
            }
        })
        .await;
    assert_eq!(report.conversations.len(), 501);
    assert!(
        conversations(&report).iter().all(|it| it.evaluations[0].error_type == Some("cancelled"))
    );
    assert_eq!(report.partial, Some(Partial::Cancelled));
    let counted = events.iter().filter(|event| matches!(event, RunEvent::Evaluated { .. })).count();
    assert_eq!(counted, 501);
}

#[tokio::test]
async fn a_run_that_stops_at_its_first_error_reports_the_rest_as_not_run() {
    let traces = Traces::new("fail-fast", 500);
    let evaluators = ["passes", "panics"].map(EvaluatorConfig::builtin).into();
    let config = Config { evaluators, fail_fast: true, ..Config::default() };
    let request = Request::new([traces.0.path("traces.jsonl")], config);
    let mut ended = 0;
    let report = runner()
        .run(&request, &mut |event| {
            if let RunEvent::Evaluated { done, total, errored, .. } = event {
                ended += 1;
                assert!(done <= total && errored <= 64, "what was not run is no error");
            }
        })
        .await;
    let tally = report.tally();
    assert_eq!((report.conversations.len(), tally.total(), ended), (501, 1002, 1002));
    assert!(tally.errored >= 1 && tally.passed >= 1 && tally.not_run > 800, "{tally:?}");
    assert_eq!(report.partial, Some(Partial::FailFast));
    assert_eq!(report.standing().exit_code(), 3);
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_begins_says_so() {
    let traces = Traces::new("never", 1);
    let runner = runner();
    runner.cancellation.cancel();
    let (report, _) = traces.run(&runner, &["passes"], &mut |_| {}).await;
    assert_eq!(report.errors, ["The run was cancelled before all traces were loaded."]);
    assert_eq!(report.partial, Some(Partial::Cancelled));
    assert_eq!(report.standing().exit_code(), 3);
}

/// Passes, and may say which revision it is.
#[derive(Debug)]
struct Versioned(Option<&'static str>);

impl Metric for Versioned {
    fn name(&self) -> &str {
        "versioned"
    }
    fn description(&self) -> &str {
        ""
    }
    fn revision(&self) -> Option<&str> {
        self.0
    }
    fn evaluate(&self, _: &MetricInput<'_>) -> metric::Outcome {
        metric::Outcome::Scored(Scored::new(1.0))
    }
}

#[tokio::test]
async fn a_metric_is_reused_only_in_the_revision_that_was_saved() {
    let directory = Directory::new("run-revision");
    let file = directory.path("r.evalrun");
    for (revision, expected) in
        [(None, 0), (None, 0), (Some("1"), 0), (Some("1"), 1), (Some("2"), 0), (Some("1"), 1)]
    {
        let mut runner = Runner::default();
        runner.registries.metrics.register(Versioned(revision));
        runner.run_file = Some(Arc::new(RunFile::open(&file, true).unwrap()));
        let (report, events) = run(&runner, vec![EvaluatorConfig::builtin("versioned")]).await;
        assert_eq!(report.conversations.get(0).unwrap().unwrap().evaluations[0].score, Some(1.0));
        let reused = events.iter().find_map(|event| match event {
            RunEvent::Saved { reused, total: 1, .. } => Some(*reused),
            _ => None,
        });
        assert_eq!(reused, Some(expected), "{revision:?}");
    }
}

/// Gives the same conversation under these numbers, and notes the numbers of written ones.
#[derive(Debug)]
struct Again {
    runner: Runner,
    numbers: Vec<usize>,
    written: Arc<Mutex<Vec<usize>>>,
    unfinished: usize,
}

impl ConversationStream for Again {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Arrival>> {
        Poll::Ready(self.numbers.pop().map(|number| {
            let file = load_file(Path::new(TRACE), &self.runner.registries.trace_formats).unwrap();
            let extractor = Extractor::new(&self.runner, &Config::default());
            let loaded = Ok(extractor.conversation(&file.traces));
            Arrival { number, bytes: 1, session: None, loaded }
        }))
    }

    fn finished(&mut self, number: usize, report: &ConversationReport) {
        assert_eq!(report.evaluations.len(), 1);
        self.written.lock().unwrap().push(number);
    }

    fn unfinished(&self) -> usize {
        self.unfinished
    }
}

async fn streamed(
    metric: &str,
    mut numbers: Vec<usize>,
    unfinished: usize,
) -> (Report, Vec<usize>) {
    let (runner, written) = (runner(), Arc::default());
    numbers.reverse();
    let stream =
        Again { runner: runner.clone(), numbers, written: Arc::clone(&written), unfinished };
    let config = Config { evaluators: vec![EvaluatorConfig::builtin(metric)], ..Config::default() };
    let request = Request::new::<&str>([], config);
    let report = runner.run_stream(&request, Box::new(stream), &mut |_| {}).await;
    let mut written = written.lock().unwrap().clone();
    written.sort_unstable();
    (report, written)
}

#[tokio::test]
async fn a_conversation_that_arrives_again_is_evaluated_again() {
    let (report, written) = streamed("passes", vec![0, 1, 0, 1, 1, 2], 0).await;
    assert_eq!(written, [0, 0, 1, 1, 1, 2]);
    assert_eq!((report.partial, report.refusal), (None, None));
}

#[tokio::test]
async fn a_stream_that_leaves_conversations_out_makes_the_run_partial() {
    let (report, written) = streamed("passes", vec![0], 1).await;
    assert_eq!((written, report.partial), (vec![0], Some(Partial::Cancelled)));
}

#[tokio::test]
async fn a_stream_is_not_begun_if_an_evaluator_cannot_be_prepared() {
    let (report, written) = streamed("missing", vec![0], 0).await;
    let refusal = report.refusal.unwrap();
    assert!(written.is_empty() && refusal.contains("missing"), "{refusal}");
}
