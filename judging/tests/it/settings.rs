//! The keys of `judge:`: reading, positions of mistakes, layers.

use std::{path::PathBuf, time::Duration};

use evaluator_document::{Field, Node, NodeKind, Span};
use evaluator_judging::{
    JudgeSettings, Paths,
    judge::{Criterion, OnFailure},
    read, read_model_options,
};
use evaluator_models::Mode;

struct AsWritten;

impl Paths for AsWritten {
    fn existing(&self, field: Field<'_>) -> Option<PathBuf> {
        field.text().map(PathBuf::from)
    }

    fn written(&self, field: Field<'_>) -> Option<PathBuf> {
        field.text().map(PathBuf::from)
    }
}

fn parse(yaml: &str) -> Result<JudgeSettings, String> {
    evaluator_document::parse(yaml, "c.yaml".as_ref(), |root, problems| {
        let node = |kind| Node { span: Span::default(), kind };
        let key = node(NodeKind::Scalar("judge".into()));
        let entry = node(NodeKind::Mapping(vec![(key, root?.clone())]));
        read(&mut entry.field("", problems).fields("this entry")?, &AsWritten)
    })
    .map_err(|error| error.to_string())
}

fn options(json: &str) -> JudgeSettings {
    evaluator_document::parse(json, "c.json".as_ref(), |root, problems| {
        Some(read_model_options(root?.field("judge_model_options", problems)))
    })
    .unwrap()
}

#[test]
fn every_key_is_read() {
    let settings = parse(
        "model: openai/gpt-4o-mini\nsamples: 5\n\
         params: {temperature: 0.0, max_output_tokens: 4096, seed: 7, reasoning_effort: low}\n\
         drop_params: true\ntimeout: 120\nretries: {attempts: 6, max_wait: 60, total: 300}\n\
         concurrency: {max: 8, adaptive: true}\n\
         rate: {requests_per_minute: 300, tokens_per_minute: 200000}\n\
         budget: {calls: 2000, tokens: 3000000, money: 5.00}\n\
         prices: prices.yaml\ncassette: judge.cassette.jsonl\nmode: auto\nerrors: not_evaluated\n\
         min_readable: 2\ncomplete: true\nmin_agreement: 0.8\non_disagreement: error\nswap: false\n\
         api_key_env: MY_KEY\ncredentials: {team: {kind: env, name: TEAM_KEY}}\nreask: 1\n",
    )
    .unwrap();
    assert_eq!(settings.models, ["openai/gpt-4o-mini"]);
    assert_eq!(settings.params.temperature, Some(0.0));
    assert_eq!((settings.params.seed, settings.params.max_output_tokens), (Some(7), Some(4096)));
    assert_eq!(settings.drop_params, Some(true));
    assert_eq!(settings.limits().timeout, Duration::from_secs(120));
    assert_eq!(settings.limits().concurrency.max, 8);
    assert_eq!(settings.budget.money.unwrap().to_string(), "5");
    assert_eq!(settings.credentials["team"], "TEAM_KEY");
    assert_eq!(settings.mode, Some(Mode::Auto));
    let rules = settings.criterion(Criterion::default()).rules;
    assert_eq!((rules.errors, rules.min_readable), (OnFailure::NotEvaluated, Some(2)));
    // A word that is a boolean in YAML.
    assert_eq!(parse("mode: off").unwrap().mode, Some(Mode::Off));
}

#[test]
fn mistakes_have_positions_and_hints() {
    for (yaml, expected) in [
        ("modell: x", "c.yaml:1:1: unknown key `modell` in `judge` (did you mean `model`"),
        ("model: x\nmodels: [x, y]", "c.yaml:2:9: `models` and `model` are the same setting"),
        ("models: [x, x]", "`models` has `x` twice"),
        ("samples: 0", "`samples` must be a whole number in 1..=1000"),
        ("params: {temprature: 0}", "did you mean `temperature`"),
        ("params: {temperature: -1}", "`temperature` must be at least 0"),
        ("timeout: 0", "`timeout` must be a positive number of seconds"),
        ("retries: {attempts: many}", "`attempts` must be a whole number"),
        ("concurrency: 8", "`concurrency` must be a mapping"),
        ("budget: {money: -5}", "`money` must be at least 0"),
        ("budget: {call: 5}", "did you mean `calls`"),
        ("mode: relay", "did you mean `replay`"),
        ("errors: fail", "`errors` must be one of error, not_evaluated"),
        ("min_agreement: 80", "`min_agreement` must be in 0..=1"),
        ("api_key: sk-123", "`api_key` must not be in a configuration"),
        ("api_key_env: sk-123", "must be the name of an environment variable"),
        ("prompts: {final_response_match: a.md}", "did you mean `final_response_match_v2`"),
        ("credentials: {a: {kind: file, name: X}}", "`kind` must be one of env"),
    ] {
        let error = parse(yaml).unwrap_err();
        assert!(error.contains(expected), "{yaml}: {error}");
        assert!(!error.contains("sk-123"), "{error}");
    }
}

#[test]
fn prompts_are_checked_when_they_are_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let yaml = format!("prompts: {{final_response_match_v2: '{}'}}", file.path().display());
    std::fs::write(file.path(), "Is it right?\n=====\n{{respnse}}\n").unwrap();
    let error = parse(&yaml).unwrap_err();
    assert!(error.contains("line 3: the prompt has no variable `respnse`"), "{error}");
    assert!(error.contains("did you mean `response`?"), "{error}");
    std::fs::write(file.path(), "Is {{response}} right?").unwrap();
    let settings = parse(&yaml).unwrap();
    assert!(settings.prompts["final_response_match_v2"].template.is_some());
    // A prompt that changed is another judge.
    let before = settings.identity();
    std::fs::write(file.path(), "Is {{response}} right!").unwrap();
    assert_ne!(parse(&yaml).unwrap().identity(), before);
}

#[test]
fn an_entry_wins_key_by_key() {
    let run = parse("model: a\nparams: {temperature: 1, seed: 7}\nbudget: {calls: 9}").unwrap();
    let entry = parse("params: {temperature: 0}\nsamples: 3").unwrap();
    let both = entry.over(&run);
    assert_eq!((both.models, both.samples), (vec!["a".to_owned()], Some(3)));
    assert_eq!((both.params.temperature, both.params.seed), (Some(0.0), Some(7)));
    assert_eq!(both.budget.calls, None, "the budget of the run is not that of the entry");
}

#[test]
fn options_of_adk_are_mapped() {
    let settings = options(
        r#"{"judgeModel": "m", "numSamples": 3, "parallelismLimit": 2, "judgeModelConfig": {
            "temperature": 0.5, "topP": 0.9, "topK": 40, "maxOutputTokens": 100, "seed": 1,
            "stopSequences": ["END"], "systemInstruction": {"parts": [{"text": "Be strict."}]},
            "responseMimeType": "application/json", "thinkingConfig": {"thinkingBudget": 0}}}"#,
    );
    assert_eq!((settings.models, settings.samples), (vec!["m".to_owned()], Some(3)));
    let params = settings.params;
    assert_eq!((params.temperature, params.top_p, params.top_k), (Some(0.5), Some(0.9), Some(40)));
    assert_eq!((params.max_output_tokens, params.seed), (Some(100), Some(1)));
    assert_eq!((params.stop, params.thinking_budget), (vec!["END".to_owned()], Some(0)));
    assert_eq!(settings.system_instruction.as_deref(), Some("Be strict."));
    assert_eq!(params.json_schema.unwrap().schema, serde_json::json!({"type": "object"}));
}
