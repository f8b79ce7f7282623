//! What a configuration may say, and what is said about one that may not be used.

mod graders;
mod metrics;

use std::{path::Path, time::Duration};

use evaluator_test_support::Directory;

use super::{Config, EvaluatorConfig, EvaluatorKind, Isolation, OutputFormat, Overrides};
use crate::{json::Value, metric::MatchType};

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("eval_config.yaml")).unwrap()
}

fn problems(text: &str) -> String {
    Config::parse(text, Path::new("c.yaml")).unwrap_err().to_string()
}

#[test]
fn a_whole_configuration_reads() {
    let config = parse(
        "eval_set: sets/trips.json\ntrace_format: otlp-json\noutput_format: json\ngroup_by: conversation\nevaluators:\n\
         - {name: tool_trajectory_avg_score, type: builtin, threshold: '0.9', trajectoryMatchType: any_order}\n\
         - name: polite\n  type: code\n  path: checks/polite.rs\n  threshold: 0.7\n  timeout: 5\n  config: {words: [please], since: 2024-01-02}\n",
    );
    assert_eq!(config.eval_set.as_deref(), Some(Path::new("sets/trips.json")));
    assert_eq!(config.output, Some(OutputFormat::Json));
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
    assert_eq!(
        (builtin.threshold, builtin.settings[MatchType::KEY].as_str()),
        (0.9, Some("any_order"))
    );
    let EvaluatorKind::Code(code) = &config.evaluators[1].kind else { panic!() };
    assert_eq!(
        (code.path.as_path(), code.timeout),
        (Path::new("checks/polite.rs"), Duration::from_secs(5))
    );
    assert_eq!(code.config["since"].as_str(), Some("2024-01-02"));
    assert!(matches!(&code.config["words"], Value::Array(words) if words.len() == 1));
}

#[test]
fn what_a_run_does_about_errors_is_read() {
    let config = parse(
        "max_error_rate: '0.25'\nfail_fast: yes\nretries: 2\nevaluators:\n\
         - {name: a, type: code, path: a.py, retries: 0}\n\
         - {name: b, type: remote, ref: b.py, retries: 5}\n\
         - {name: c, type: code, path: c.py}\n",
    );
    assert_eq!((config.max_error_rate, config.fail_fast, config.retries), (0.25, true, 2));
    let retries = |config: &Config| {
        let of = |evaluator: &EvaluatorConfig| match &evaluator.kind {
            EvaluatorKind::Code(code) => code.retries,
            EvaluatorKind::Remote(remote) => remote.at("b.py").retries,
            _ => None,
        };
        config.evaluators.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(retries(&config), [Some(0), Some(5), None]);
    let mut overridden = config.clone();
    Overrides { retries: Some(1), ..Overrides::default() }
        .apply(&mut overridden, &crate::metric::built_in());
    assert_eq!((overridden.retries, retries(&overridden)), (1, vec![None; 3]));

    let nothing = parse(
        "max_error_rate:\nfail_fast:\nretries:\nevaluators: [{name: safety_v1, type: builtin}]",
    );
    assert_eq!((nothing.max_error_rate, nothing.fail_fast, nothing.retries), (0.0, false, 0));
    assert_eq!(
        problems(
            "max_error_rate: 5\nfail_fast: soon\nretries: 1.5\nmax_eror_rate: 1\nevaluators:\n\
             - {name: a, type: code, path: a.py, retries: -1}\n\
             - {name: b, type: remote, ref: b.py, retries: often}\n\
             - {name: c, type: code, path: c.py, retrys: 101}\n"
        ),
        "c.yaml:1:17: `max_error_rate` must be in 0..=1, not 5\n\
         c.yaml:2:12: `fail_fast` must be true or false, not text\n\
         c.yaml:3:10: `retries` must be a whole number in 0..=100, not 1.5\n\
         c.yaml:4:1: unknown key `max_eror_rate` in the configuration (did you mean `max_error_rate`?)\n\
         c.yaml:6:46: `retries` must be a whole number in 0..=100, not -1\n\
         c.yaml:7:47: `retries` must be a whole number in 0..=100, not text\n\
         c.yaml:8:37: unknown key `retrys` in this evaluator (did you mean `retries`?)"
    );
}

#[test]
fn defaults_are_those_of_the_format() {
    let config = parse(
        "evaluators: [{name: a, type: code, path: a.py}, {name: tool_trajectory_avg_score, type: builtin}]",
    );
    let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!() };
    assert_eq!(
        (code.threshold, code.timeout, code.executor.as_str(), code.isolation),
        (0.5, Duration::from_secs(30), "local", Isolation::Auto)
    );
    assert!(code.config.is_empty());
    assert_eq!(config.evaluators[1].threshold(), 0.5);
    assert_eq!((config.output, config.group_by), (None, None));
    assert!(config.trace_format.is_none());
}

#[test]
fn a_key_left_without_a_value_has_its_default_where_that_is_to_have_none() {
    let config = parse(
        "eval_set:\ntrace_format:\noutput_format: ~\ngroup_by: null\nevaluators:\n\
         - {name: tool_trajectory_avg_score, type: builtin, threshold: , trajectory_match_type: , judge_model: }\n",
    );
    assert_eq!((config.eval_set, config.output, config.group_by), (None, None, None));
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
    assert_eq!((builtin.threshold, builtin.settings.len()), (0.5, 0));
    assert_eq!(
        problems("evaluators: [{name: a, type: code, path: a.py, threshold: }]"),
        "c.yaml:1:57: `threshold` must be a number in 0..=1, not nothing"
    );
    assert_eq!(
        problems(
            "evaluators: [{name: safety_v1, type: builtin}]\nmax_error_rate: 10000000000000000000"
        ),
        "c.yaml:2:17: `max_error_rate` must be in 0..=1, not 10000000000000000000"
    );
}

#[test]
fn places_begin_and_end_with_whole_characters() {
    for text in
        ["evaluators:\n  - \u{e9}: x\n", "\u{e9}", "evaluators:\n  - {\u{2603}: \u{2603}}\n"]
    {
        let error = Config::parse(text, Path::new("c.yaml")).unwrap_err();
        for place in error.problems.iter().filter_map(|problem| problem.place) {
            assert!(text.get(place.start..place.end).is_some(), "{place:?} of {text:?}");
        }
    }
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let text = "evaluators:\n  - name: polite\n    type: code\n    path: a.py\n    treshold: 0.5\n    timeout: soon\n\
                \x20 - name: polite\n    type: biultin\n  - type: code\n    path: 5\ngroup_bi: trace\n";
    assert_eq!(
        problems(text),
        "c.yaml:5:5: unknown key `treshold` in this evaluator (did you mean `threshold`?)\n\
         c.yaml:6:14: `timeout` must be a whole number of seconds, at least 1 (for example 30)\n\
         c.yaml:7:11: two evaluators are called `polite`; the first one is in line 2\n\
         c.yaml:8:11: `type` must be one of builtin, code, remote, openai_eval, llm_judge, linked, metric, not `biultin` (did you mean `builtin`?)\n\
         c.yaml:9:5: the key `name` is missing in this evaluator\n\
         c.yaml:10:11: `path` must be text, not a number (put it in quotes if it is meant as text)\n\
         c.yaml:11:1: unknown key `group_bi` in the configuration (did you mean `group_by`?)"
    );
}

#[test]
fn single_problems_say_what_to_write() {
    for (text, expected) in [
        ("", "c.yaml: a configuration is a mapping with the key `evaluators`, not nothing"),
        ("[]", "c.yaml:1:1: a configuration is a mapping with the key `evaluators`, not a list"),
        ("eval_set: a.json", "c.yaml:1:1: the key `evaluators` is missing"),
        ("evaluators: []", "c.yaml:1:13: `evaluators` is empty"),
        ("evaluators: 5", "c.yaml:1:13: `evaluators` must be a list, not a number"),
        (
            "evaluators: [polite]",
            "c.yaml:1:14: an evaluator is a mapping with `name` and `type`, not text (write `- name: NAME` with `type:` below it)",
        ),
        (
            "evaluators: [{name: 5, type: builtin}]",
            "c.yaml:1:21: `name` must be text, not a number (put it in quotes if it is meant as text)",
        ),
        (
            "evaluators: [{name: a}]",
            "c.yaml:1:14: the key `type` is missing in this evaluator (builtin, code or remote)",
        ),
        (
            "evaluators: [{name: a, type: code}]",
            "c.yaml:1:14: the key `path` is missing in this evaluator",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, threshold: 1.5}]",
            "c.yaml:1:59: `threshold` must be in 0..=1, not 1.5",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, threshold: .nan}]",
            "c.yaml:1:59: `threshold` must be in 0..=1, not NaN",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, timeout: 0.5}]",
            "c.yaml:1:57: `timeout` must be a whole number of seconds, at least 1 (for example 30)",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, config: }]",
            "c.yaml:1:54: `config` must be a mapping, not nothing",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, config: {1: x}}]",
            "c.yaml:1:57: keys in `config` must be text, as in JSON (put it in quotes)",
        ),
        (
            "evaluators: [{name: a, type: remote}]",
            "c.yaml:1:14: the key `ref` is missing in this evaluator (e.g. evaluators/NAME/NAME.py)",
        ),
        (
            "evaluators: [{name: a, type: remote, source: builtin, ref: a/b.py}]",
            "c.yaml:1:46: the source `builtin` has nothing to fetch (write `type: builtin`)",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: ../x.py}]",
            "c.yaml:1:43: `ref` must be a relative path of plain names (letters, digits, `_`, `-`, single dots between them), and `..` is not one",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: 'a\\b.py'}]",
            "c.yaml:1:43: `ref` must not contain `\\`",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: a/b.rb}]",
            "c.yaml:1:43: no runtime runs `.rb` files (.py, .js, .mjs, .cjs, .ts, .mts, .cts, .rs are known) (did you mean `.rs`?)",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: a/b}]",
            "c.yaml:1:43: `ref` must name a file with the extension of a language (.py, .js, .mjs, .cjs, .ts, .mts, .cts, .rs)",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: 5}]",
            "c.yaml:1:43: `ref` must be text, not a number (put it in quotes if it is meant as text)",
        ),
        (
            "evaluators: [{name: a, type: remote, rfe: x.py, ref: y.py}]",
            "c.yaml:1:38: unknown key `rfe` in this evaluator (did you mean `ref`?)",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: y.py, path: x.py}]",
            "c.yaml:1:49: unknown key `path` in this evaluator (known keys: name, type, source, ref, threshold, timeout, config, contract, function, retries, limits, env, inherit_env, cwd, isolation, models, target, executor, sandbox, docker, missing_turns, repeat, gate, certificate, mutate)",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, isolation: proces}]",
            "c.yaml:1:59: `isolation` must be one of auto, process, not `proces` (did you mean `process`?)",
        ),
        (
            "evaluators: [{name: a, type: remote, ref: a.py, isolation: true}]",
            "c.yaml:1:60: `isolation` must be text, not a boolean (put it in quotes if it is meant as text)",
        ),
        (
            "evaluators: [{name: a, type: code, path: a.py, isolate: process}]",
            "c.yaml:1:48: unknown key `isolate` in this evaluator (did you mean `isolation`?)",
        ),
        (
            "sources: here\nevaluators: [{name: safety_v1, type: builtin}]",
            "c.yaml:1:10: `sources` must be a mapping, not text (write `sources: {file: PATH}` or `{local: PATH}`)",
        ),
        (
            "sources: {locale: here}\nevaluators: [{name: safety_v1, type: builtin}]",
            "c.yaml:1:11: unknown key `locale` in `sources` (did you mean `local`?)",
        ),
        (
            "metrics: [a]\nevaluators: [{name: safety_v1, type: builtin}]",
            "c.yaml:1:1: `metrics` is no longer a key of the configuration (list them under `evaluators` with `type: builtin`)",
        ),
        (
            "evaluators: [{name: safety_v1, type: builtin, path: a.py}]",
            "c.yaml:1:47: unknown key `path` in this evaluator (known keys: name, type, threshold, judge, judge_model, judge_base_url, credential_ref, trajectory_match_type, config, missing_turns, repeat, gate, certificate, mutate)",
        ),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
}

#[test]
fn gates_are_read_with_their_evaluators() {
    let entry = |more: &str| format!("evaluators: [{{name: a, type: code, path: a.py, {more}}}]");
    let gates = |text: &str| {
        let config = parse(text);
        let gates = config.gates.iter().map(|gate| (gate.to_string(), gate.confidence));
        gates.collect::<Vec<_>>()
    };
    assert_eq!(gates(&entry("gate: {mean: 0.8}")), [("a: mean >= 0.8".to_owned(), 0.95)]);
    assert_eq!(
        gates(&entry("gate: {pass_rate: 0.95, pass^3: 0.5, confidence: 0.99}")),
        [("a: pass_rate >= 0.95".to_owned(), 0.99), ("a: pass^3 >= 0.5".to_owned(), 0.99)]
    );
    for (gate, expected) in [
        (
            "gate: 0.8",
            "c.yaml:1:54: `gate` must be a mapping, not a number (e.g. `gate: {mean: 0.8}`)",
        ),
        ("gate: {}", "c.yaml:1:54: `gate` has no measure (e.g. `gate: {mean: 0.8}`)"),
        (
            "gate: {mean: 1}",
            "c.yaml:1:61: no number of cases can show that mean is at least 1; leave the gate out, and every evaluation has to pass",
        ),
        (
            "gate: {mean: 0}",
            "c.yaml:1:61: `mean` must be a number between 0 and 1, both excluded, not a number",
        ),
        (
            "gate: {median: 0.5}",
            "c.yaml:1:63: `median` is not a measure; `mean`, `pass_rate` and `pass^K`, e.g. `pass^3`, are",
        ),
        (
            "gate: {mean: 0.5, confidence: 2}",
            "c.yaml:1:61: the confidence 2 has to be between 0 and 1, both excluded",
        ),
    ] {
        assert_eq!(problems(&entry(gate)), expected, "{gate}");
    }
    let both = format!("{}\nfail_fast: true", entry("gate: {mean: 0.8}"));
    assert_eq!(
        problems(&both),
        "c.yaml:2:12: `fail_fast` and the gate `a: mean >= 0.8` exclude each other: a gate is decided by all cases (leave one of them out)"
    );
}

#[test]
fn a_file_of_agentevals_with_another_name_of_a_key_is_read_with_a_warning() {
    for (keys, expected) in [
        ("output: json", OutputFormat::Json),
        ("output_format: json\noutput: summary", OutputFormat::Json),
    ] {
        let config = parse(&format!("{keys}\nevaluators: [{{name: safety_v1, type: builtin}}]"));
        assert_eq!(config.output, Some(expected));
        assert_eq!(config.warnings[0].hint.as_deref(), Some("write `output_format`"));
    }
}

#[test]
fn broken_yaml_has_a_place() {
    let error = Config::parse("evaluators:\n  - name: [a\n    type: code\n", Path::new("c.yaml"))
        .unwrap_err();
    assert_eq!(error.problems.len(), 1);
    assert!(error.problems[0].place.is_some_and(|place| place.line >= 2), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Config::load(Path::new("no/such.yaml")).unwrap_err().to_string();
    assert!(error.starts_with("no/such.yaml: cannot read the configuration: "), "{error}");
}

#[test]
fn metrics_named_next_to_a_configuration_replace_or_join_it() {
    let text = "evaluators: [{name: m, type: code, path: m.py, threshold: 0.1}, {name: safety_v1, type: builtin, threshold: 0.2}]";
    let overrides = Overrides {
        metrics: vec!["m".into(), "x".into(), "x".into()],
        threshold: Some(0.9),
        ..Overrides::default()
    };
    let mut config = parse(text);
    overrides.apply(&mut config, &crate::metric::built_in());
    let shown: Vec<(&str, bool, f64)> = config
        .evaluators
        .iter()
        .map(|e| (e.name.as_str(), matches!(e.kind, EvaluatorKind::Builtin(_)), e.threshold()))
        .collect();
    assert_eq!(shown, [("m", true, 0.9), ("safety_v1", true, 0.2), ("x", true, 0.9)]);

    let mut config = parse(text);
    Overrides { threshold: Some(0.9), ..Overrides::default() }
        .apply(&mut config, &crate::metric::built_in());
    assert_eq!(
        config.evaluators.iter().map(EvaluatorConfig::threshold).collect::<Vec<_>>(),
        [0.1, 0.9]
    );

    let mut config = Config::default();
    Overrides::default().apply(&mut config, &crate::metric::built_in());
    assert_eq!(config.evaluators[0].name, "tool_trajectory_avg_score");
}

#[test]
fn a_remote_entry_has_the_settings_of_a_program() {
    let text = "sources: {local: here}\nevaluators:\n- {name: a, type: remote, ref: e/a.py}\n\
                - {name: b, type: remote, source: company, ref: e/b/src/main.rs, threshold: 0.9, timeout: 5, config: {x: 1}, executor: moon, isolation: process}\n";
    let config = Config::parse(text, Path::new("c.yaml")).unwrap();
    assert_eq!(config.sources.local.as_deref(), Some(Path::new("here")));
    let remote = |index: usize| match &config.evaluators[index].kind {
        EvaluatorKind::Remote(remote) => remote,
        other => panic!("{other:?}"),
    };
    assert_eq!(remote(0).wanted.to_string(), "github e/a.py");
    assert_eq!(config.evaluators[1].threshold(), 0.9);
    let code = remote(1).at("/there/main.rs");
    assert_eq!(
        (code.timeout.as_secs(), code.executor.as_str(), code.config.len(), code.isolation),
        (5, "moon", 1, Isolation::Process)
    );
}

#[test]
fn an_extended_configuration_is_combined_key_by_key() {
    let directory = Directory::new("extended-config");
    directory.file(
        "base.yaml",
        "defaults: {executor: docker, docker: {image: 'policy:1', network: true}}\n\
         judge: {model: openai/policy, samples: 3, budget: {calls: 9}}\nretries: 2\nfail_fast: true\n\
         sources: {local: ours}\n",
    );
    directory.file("ours/readme", "");
    directory.file("a.py", "");
    let file = directory.file(
        "c.yaml",
        "extends: base.yaml\ndefaults: {docker: {network: false}}\njudge: {samples: 1, budget: {tokens: 5}}\n\
         fail_fast: false\nevaluators: [{name: a, type: code, path: a.py}]\n",
    );
    let config = Config::load(&file).unwrap();
    let program = config.evaluators[0].program().unwrap();
    let containment = &program.containment;
    assert_eq!((&*program.executor, containment.network), ("docker", false));
    assert_eq!(containment.docker.image.as_deref(), Some("policy:1"));
    assert_eq!(
        (config.judge.models(), config.judge.samples),
        (vec!["openai/policy".to_owned()], Some(1))
    );
    assert_eq!((config.judge.budget.calls, config.judge.budget.tokens), (Some(9), Some(5)));
    assert_eq!((config.retries, config.fail_fast), (2, false));
    assert!(config.sources.local.is_some_and(|path| path.ends_with("ours")));
    assert_eq!(config.file, Some(file));
}
