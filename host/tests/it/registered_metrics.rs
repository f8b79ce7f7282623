//! Metrics that a host registers: their settings are read, checked and passed on as those of programs are.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::path::Path;

use evaluator_host::{
    config::{Config, Known},
    json::{Object, Value},
    metric::{Metric, MetricInput},
    run::{Request, Runner},
    verdict::{Answer, Verdict},
};

/// Scores 1 if the answers of the agent are at most `config.longest` bytes long in all.
#[derive(Debug)]
struct Brevity;

impl Brevity {
    fn longest(config: &Object) -> Result<usize, String> {
        match config.get("longest").and_then(Value::as_i128) {
            Some(longest) if longest >= 0 => Ok(usize::try_from(longest).unwrap()),
            _ => Err("`config.longest` must be a number of bytes, at least 0".to_owned()),
        }
    }
}

impl Metric for Brevity {
    fn name(&self) -> &str {
        "brevity"
    }

    fn description(&self) -> &str {
        "Whether the answers are short"
    }

    fn check_config(&self, config: &Object) -> Result<(), String> {
        Self::longest(config).map(|_| ())
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Verdict {
        let longest = Self::longest(&input.settings.config).unwrap();
        let length: usize = input
            .turns
            .iter()
            .map(|turn| turn.final_text.as_deref().unwrap_or_default().len())
            .sum();
        let score = if length <= longest { 1.0 } else { 0.0 };
        Verdict::Answer(Answer { score: Some(score), ..Answer::default() })
    }
}

fn runner() -> Runner {
    let mut runner = Runner::default();
    runner.metrics.register(Brevity);
    runner
}

fn parse(runner: &Runner, entry: &str) -> Result<Config, String> {
    let known = Known {
        runtimes: &runner.runtimes,
        metrics: &runner.metrics,
        trace_formats: &runner.trace_formats,
    };
    let text = format!("evaluators:\n  - {entry}\n");
    Config::parse_for(&text, Path::new("c.yaml"), known).map_err(|error| error.to_string())
}

/// The score of `brevity` with this setting over a recording with an answer.
fn score(longest: usize) -> Option<f64> {
    let runner = runner();
    let entry = format!("{{name: brevity, type: builtin, config: {{longest: {longest}}}}}");
    let config = parse(&runner, &entry).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    let traces = vec![data.join("traces/a01_otlp_basic_parts.json")];
    let request = Request { traces, config, ..Request::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(runner.run(&request, &mut |_| {}));
    let conversation = report.conversations.iter().next().unwrap().unwrap();
    conversation.evaluations[0].score
}

#[test]
fn settings_of_a_registered_metric_reach_it() {
    assert_eq!(score(0), Some(0.0));
    assert_eq!(score(1_000_000), Some(1.0));
}

#[test]
fn wrong_settings_are_problems_with_a_position() {
    let wrong = parse(&runner(), "{name: brevity, type: builtin, config: {longest: short}}");
    assert_eq!(
        wrong.unwrap_err(),
        "c.yaml:2:44: `config.longest` must be a number of bytes, at least 0"
    );
    let absent = parse(&runner(), "{name: brevity, type: builtin}").unwrap_err();
    assert!(absent.contains("c.yaml:2:") && absent.contains("`config.longest`"), "{absent}");
}

#[test]
fn a_metric_without_settings_refuses_them() {
    let entry = "{name: response_match_score, type: builtin, config: {longest: 3}}";
    let refused = parse(&runner(), entry).unwrap_err();
    assert!(
        refused.contains("`response_match_score` has no setting `config.longest`"),
        "{refused}"
    );
}
