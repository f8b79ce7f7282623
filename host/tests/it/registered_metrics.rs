//! Metrics and models that a host registers: they are read, checked and asked as built-in ones are.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{path::Path, sync::Arc};

use evaluator_host::{
    config::Config,
    document::Fields,
    metric::{Metric, MetricInput, Outcome, Scored, Setting},
    models::{Endpoint, Fake, ModelError, Provider, Reply, Settings},
    run::{Request, Runner},
};

/// Scores 1 if the answers of the agent are at most `config.longest` bytes long in all, and there are at most `turns` turns.
#[derive(Debug, Default)]
struct Brevity {
    longest: u32,
    turns: Option<u32>,
}

const SETTINGS: [Setting; 2] = [
    Setting::new(
        "config",
        r#"{"type": "object", "required": ["longest"]}"#,
        "config: {longest: 9}\n",
    ),
    Setting::new("turns", r#"{"type": "integer"}"#, "turns: 5\n").alias("maxTurns"),
];

impl Metric for Brevity {
    fn name(&self) -> &str {
        "brevity"
    }

    fn description(&self) -> &str {
        "Whether the answers are short"
    }

    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        let longest = fields.require("config").and_then(|field| {
            let mut fields = field.fields("`config`")?;
            let longest = fields.require("longest").and_then(|field| field.whole(0..=1_000_000));
            fields.finish();
            longest
        });
        let turns = fields.take_either("turns", "maxTurns").and_then(|field| field.whole(1..=100));
        Some(Arc::new(Self { longest: longest.unwrap_or_default(), turns }))
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let length: usize = input
            .turns
            .iter()
            .map(|turn| turn.final_text.as_deref().unwrap_or_default().len())
            .sum();
        let few = self.turns.is_none_or(|most| input.turns.len() <= most as usize);
        let score = if few && length <= self.longest as usize { 1.0 } else { 0.0 };
        Outcome::Scored(Scored::new(score))
    }
}

fn runner() -> Runner {
    let mut runner = Runner::default();
    runner.registries.metrics.register(Brevity::default());
    runner
}

fn parse(runner: &Runner, entry: &str) -> Result<Config, String> {
    let text = format!("evaluators:\n  - {entry}\n");
    runner.parse_config(&text, Path::new("c.yaml")).map_err(|error| error.to_string())
}

/// The score of an entry over a recording with an answer.
fn score(runner: &Runner, entry: &str) -> Option<f64> {
    let config = parse(runner, entry).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    let traces = vec![data.join("traces/a01_otlp_basic_parts.json")];
    let request = Request::new(traces, config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let report = runtime.block_on(runner.run(&request, &mut |_| {}));
    let conversation = report.conversations.iter().next().unwrap().unwrap();
    conversation.evaluations[0].score
}

#[test]
fn settings_of_a_registered_metric_reach_it() {
    let score = |longest| {
        let entry = format!("{{name: brevity, type: builtin, config: {{longest: {longest}}}}}");
        score(&runner(), &entry)
    };
    assert_eq!(score(0), Some(0.0));
    assert_eq!(score(1_000_000), Some(1.0));
}

/// Models of any name that begins with `mine`, to which every answer is kind.
#[derive(Debug)]
struct Mine;

impl Provider for Mine {
    fn forms(&self) -> Vec<String> {
        vec!["mineNAME".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.starts_with("mine")
    }

    fn connect(&self, _: &str, _: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        Ok(Arc::new(Fake::answering(|_| {
            let text = r#"{"steps": [], "result": "kind"}"#.to_owned();
            Ok(Reply { text, ..Reply::default() })
        })))
    }
}

#[test]
fn graders_ask_models_of_registered_providers() {
    let mut runner = runner();
    runner.registries.models.register(Mine);
    let entry = "{name: a, type: openai_eval, grader: {type: label_model, model: mine7, labels: [kind, rude], \
                 passing_labels: [kind], input: [{role: user, content: 'Is {{ item.actual_response }} kind?'}]}}";
    assert_eq!(score(&runner, entry), Some(1.0));
}

#[test]
fn wrong_settings_are_problems_with_a_position() {
    let wrong = parse(&runner(), "{name: brevity, type: builtin, config: {longest: short}}");
    assert_eq!(
        wrong.unwrap_err(),
        "c.yaml:2:54: `longest` must be a whole number in 0..=1000000, not text"
    );
    let absent = parse(&runner(), "{name: brevity, type: builtin}").unwrap_err();
    assert_eq!(absent, "c.yaml:2:5: the key `config` is missing in this evaluator");
    let unknown = parse(&runner(), "{name: brevity, type: builtin, config: {longest: 1, x: 2}}");
    assert!(unknown.unwrap_err().contains("unknown key `x` in `config`"));
    let foreign = parse(&runner(), "{name: token_usage_v1, type: builtin, maxTurns: 3}");
    assert_eq!(
        foreign.unwrap_err(),
        "c.yaml:2:43: `token_usage_v1` has no setting `maxTurns` (it belongs to brevity)"
    );
}

#[test]
fn settings_of_a_registered_metric_are_in_the_schema() {
    let schema = evaluator_host::config::schema(&runner().registries);
    let builtin = &schema["properties"]["evaluators"]["items"]["oneOf"][0]["properties"];
    assert_eq!(builtin["turns"]["type"], "integer");
    assert_eq!(builtin["config"]["required"][0], "longest");
}

#[test]
fn a_metric_without_settings_refuses_them() {
    let entry = "{name: response_match_score, type: builtin, config: {longest: 3}}";
    let refused = parse(&runner(), entry).unwrap_err();
    assert!(
        refused.contains("`response_match_score` has no setting `config` (it belongs to brevity)"),
        "{refused}"
    );
}
