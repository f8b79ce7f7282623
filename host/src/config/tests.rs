//! What a configuration may say, and what is said about one that may not be used.

use std::{path::Path, time::Duration};

use super::{
    Config, EvaluatorConfig, EvaluatorKind, Grader, Isolation, OutputFormat, Overrides, Role,
    TextSimilarity,
};
use crate::{
    json::Value,
    metric::{AlignmentSettings, Comparator, MatchType, Order, Pattern, Tolerance},
};

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
    assert_eq!((builtin.threshold, builtin.match_type), (0.9, Some(MatchType::AnyOrder)));
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
    Overrides { retries: Some(1), ..Overrides::default() }.apply(&mut overridden);
    assert_eq!((overridden.retries, retries(&overridden)), (1, vec![None; 3]));

    let nothing =
        parse("max_error_rate:\nfail_fast:\nretries:\nevaluators: [{name: a, type: builtin}]");
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
    let config = parse("evaluators: [{name: a, type: code, path: a.py}, {name: b, type: builtin}]");
    let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!() };
    assert_eq!(
        (code.threshold, code.timeout, code.executor.as_str(), code.isolation),
        (0.5, Duration::from_secs(30), "local", Isolation::Auto)
    );
    assert!(code.config.is_empty());
    assert_eq!(config.evaluators[1].threshold(), 0.5);
    assert_eq!((config.output, config.group_by, config.trace_format), (None, None, None));
}

#[test]
fn a_key_left_without_a_value_has_its_default_where_that_is_to_have_none() {
    let config = parse(
        "eval_set:\ntrace_format:\noutput_format: ~\ngroup_by: null\nevaluators:\n\
         - {name: tool_trajectory_avg_score, type: builtin, threshold: , trajectory_match_type: , judge_model: }\n",
    );
    assert_eq!((config.eval_set, config.output, config.group_by), (None, None, None));
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
    assert_eq!((builtin.threshold, builtin.match_type), (0.5, None));
    assert_eq!(
        problems("evaluators: [{name: a, type: code, path: a.py, threshold: }]"),
        "c.yaml:1:57: `threshold` must be a number in 0..=1, not nothing"
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
                \x20 - name: polite\n    type: biultin\n  - type: code\n    path: 5\nouptut: json\n";
    assert_eq!(
        problems(text),
        "c.yaml:5:5: unknown key `treshold` in this evaluator (did you mean `threshold`?)\n\
         c.yaml:6:14: `timeout` must be a whole number of seconds, at least 1 (for example 30)\n\
         c.yaml:7:11: two evaluators are called `polite`; the first one is in line 2\n\
         c.yaml:8:11: `type` must be one of builtin, code, remote, openai_eval, linked, not `biultin` (did you mean `builtin`?)\n\
         c.yaml:9:5: the key `name` is missing in this evaluator\n\
         c.yaml:10:11: `path` must be text, not a number (put it in quotes if it is meant as text)\n\
         c.yaml:11:1: unknown key `ouptut` in the configuration (did you mean `output`?)"
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
            "c.yaml:1:43: `ref` must be a relative path of plain names (letters, digits, `_`, `-`, single dots between them), and `..` is none",
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
            "c.yaml:1:49: unknown key `path` in this evaluator (known keys: name, type, source, ref, threshold, timeout, config, retries, executor, limits, env, inherit_env, cwd, isolation)",
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
            "sources: here\nevaluators: [{name: a, type: builtin}]",
            "c.yaml:1:10: `sources` must be a mapping, not text (write `sources: {file: PATH}` or `{local: PATH}`)",
        ),
        (
            "sources: {locale: here}\nevaluators: [{name: a, type: builtin}]",
            "c.yaml:1:11: unknown key `locale` in `sources` (did you mean `local`?)",
        ),
        (
            "metrics: [a]\nevaluators: [{name: a, type: builtin}]",
            "c.yaml:1:1: `metrics` is no longer a key of the configuration (list them under `evaluators` with `type: builtin`)",
        ),
        (
            "evaluators: [{name: a, type: builtin, path: a.py}]",
            "c.yaml:1:39: unknown key `path` in this evaluator (known keys: name, type, threshold, trajectory_match_type, judge_model, judge_base_url, credential_ref, rubrics)",
        ),
    ] {
        assert_eq!(problems(text), expected, "{text}");
    }
}

#[test]
fn rubrics_are_texts_or_have_ids() {
    let rubrics = |list: &str| {
        let text = format!(
            "evaluators: [{{name: rubric_based_tool_use_quality_v1, type: builtin, rubrics: {list}}}]"
        );
        Config::parse(&text, Path::new("c.yaml"))
    };
    let config = rubrics("[is kind, {id: a, text: is brief}]").unwrap();
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
    let read: Vec<_> =
        builtin.rubrics.iter().map(|it| (it.id.as_deref(), it.text.as_str())).collect();
    assert_eq!(read, [(None, "is kind"), (Some("a"), "is brief")]);

    for (list, expected) in [
        ("x", "`rubrics` must be a list, not text"),
        ("['  ']", "`rubrics[]` is blank"),
        ("[5]", "`rubrics[]` must be text, not a number"),
        ("[{id: a}]", "the key `text` is missing in this rubric"),
        ("[{id: a, text: b, x: c}]", "unknown key `x` in this rubric"),
        ("[{id: a, text: b}, {id: a, text: c}]", "two rubrics have the id `a`"),
    ] {
        let error = rubrics(list).unwrap_err().to_string();
        assert!(error.contains(expected), "{list}: {error}");
    }
    assert_eq!(
        problems("evaluators: [{name: response_match_score, type: builtin, rubrics: [x]}]"),
        "c.yaml:1:67: `response_match_score` reads no `rubrics` (only metrics called `rubric_based_...` do)"
    );
}

#[test]
fn settings_of_single_metrics_read() {
    let builtin = |entry: &str| {
        let config = parse(&format!("evaluators: [{{type: builtin, {entry}}}]"));
        let EvaluatorKind::Builtin(builtin) = config.evaluators[0].kind.clone() else { panic!() };
        builtin
    };
    for (given, expected) in
        [("true", true), ("yes", true), ("1", true), ("'T'", true), ("off", false), ("0.0", false)]
    {
        let entry = format!("name: tool_trajectory_avg_score, ignore_args: {given}");
        assert_eq!(builtin(&entry).ignore_args, expected, "{given}");
    }
    assert!(builtin("name: tool_trajectory_avg_score, ignoreArgs: on").ignore_args);
    assert!(!builtin("name: tool_trajectory_avg_score").ignore_args);

    // A budget is a limit, unless something else is said.
    let read = |entry| (builtin(entry).max, builtin(entry).threshold);
    assert_eq!(read("name: token_usage_v1"), (None, 0.5));
    assert_eq!(read("name: token_usage_v1, max: 1000"), (Some(1000.0), 1.0));
    assert_eq!(read("name: token_usage_v1, max: 0.5, threshold: 0.8"), (Some(0.5), 0.8));

    let alignment = builtin("name: tool_trajectory_alignment").alignment;
    assert_eq!(alignment, AlignmentSettings::default());
    let alignment = builtin(
        "name: tool_trajectory_alignment, order: unordered, args: {a: ignore, b: numeric, c: {compare: numeric, \
         tolerance: 0.5}, d: {compare: regex, pattern: 'x+'}, e: regex, '*': {compare: set}}, \
         tools: {search: {q: subset}}",
    )
    .alignment;
    assert_eq!(alignment.order, Order::Unordered);
    let numeric = |absolute| Comparator::Numeric(Tolerance { absolute, ..Tolerance::default() });
    let expected = [
        ("a", Comparator::Ignore),
        ("b", numeric(0.0)),
        ("c", numeric(0.5)),
        ("d", Comparator::Regex(Some(Pattern::new("x+").unwrap()))),
        ("e", Comparator::Regex(None)),
        ("*", Comparator::Set),
    ];
    let args: Vec<_> = alignment.args.iter().map(|(key, it)| (key.as_str(), it.clone())).collect();
    assert_eq!(args, expected);
    assert_eq!(alignment.comparator("search", "q"), &Comparator::Subset);
}

#[test]
fn settings_of_single_metrics_are_checked() {
    let text = "evaluators:\n  - name: tool_trajectory_alignment\n    type: builtin\n    order: sorted\n    args:\n      \
                a: exakt\n      b: {compare: numeric, tolerance: -1}\n      c: {compare: regex, pattern: '('}\n      \
                d: {compare: set, tolerance: 1}\n      e: {tolerance: 1}\n      on: ignore\n    tools:\n      f: [a]\n      \
                g: {a: ignroe}\n    odrer: ordered\n    max: 5\n";
    assert_eq!(
        problems(text),
        "c.yaml:4:12: `order` must be one of ordered, unordered, not `sorted`\n\
         c.yaml:6:10: `args.a` must be one of exact, ignore, subset, set, numeric, regex, not `exakt` (did you mean `exact`?)\n\
         c.yaml:7:40: `tolerance` must be at least 0, and finite, not -1\n\
         c.yaml:8:36: `pattern` is not a regular expression: found open group without closing ')'\n\
         c.yaml:9:25: unknown key `tolerance` in this comparator (known keys: compare)\n\
         c.yaml:10:10: the key `compare` is missing in `args.e` (one of exact, ignore, subset, set, numeric, regex)\n\
         c.yaml:11:7: keys in `args` must be text, not a boolean (put it in quotes)\n\
         c.yaml:13:10: `tools.f` must be a mapping, not a list\n\
         c.yaml:14:14: `tools.g.a` must be one of exact, ignore, subset, set, numeric, regex, not `ignroe` (did you mean `ignore`?)\n\
         c.yaml:15:5: unknown key `odrer` in this evaluator (did you mean `order`?)\n\
         c.yaml:16:5: `tool_trajectory_alignment` has no setting `max` (it belongs to tool_call_count_v1, \
         inference_call_count_v1, token_usage_v1, invocation_duration_v1)"
    );
    for (entry, expected) in [
        (
            "name: response_match_score, ignore_args: true",
            "`response_match_score` has no setting `ignore_args` (it belongs to tool_trajectory_avg_score)",
        ),
        (
            "name: tool_trajectory_avg_score, ignore_args: maybe",
            "`ignore_args` must be true or false, not text",
        ),
        ("name: token_usage_v1, max: lots", "`max` must be a number, not text"),
        ("name: token_usage_v1, max: .inf", "`max` must be at least 0, and finite, not inf"),
    ] {
        let found = problems(&format!("evaluators: [{{type: builtin, {entry}}}]"));
        assert!(found.ends_with(expected), "{found}");
    }
    // One complaint about an entry without a name is enough.
    assert_eq!(
        problems("evaluators: [{type: builtin, max: 5}]"),
        "c.yaml:1:14: the key `name` is missing in this evaluator"
    );
}

#[test]
fn a_metric_that_no_recording_can_be_judged_by_is_refused() {
    assert_eq!(
        problems("evaluators: [{name: per_turn_user_simulator_quality_v1, type: builtin}]"),
        "c.yaml:1:63: `per_turn_user_simulator_quality_v1` cannot be used here: it judges a simulated user, and a \
         recording has none"
    );
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
fn metrics_named_beside_a_configuration_replace_or_join_it() {
    let text = "evaluators: [{name: m, type: code, path: m.py, threshold: 0.1}, {name: n, type: builtin, threshold: 0.2}]";
    let overrides = Overrides {
        metrics: vec!["m".into(), "x".into(), "x".into()],
        threshold: Some(0.9),
        ..Overrides::default()
    };
    let mut config = parse(text);
    overrides.apply(&mut config);
    let shown: Vec<(&str, bool, f64)> = config
        .evaluators
        .iter()
        .map(|e| (e.name.as_str(), matches!(e.kind, EvaluatorKind::Builtin(_)), e.threshold()))
        .collect();
    assert_eq!(shown, [("m", true, 0.9), ("n", true, 0.2), ("x", true, 0.9)]);

    let mut config = parse(text);
    Overrides { threshold: Some(0.9), ..Overrides::default() }.apply(&mut config);
    assert_eq!(
        config.evaluators.iter().map(EvaluatorConfig::threshold).collect::<Vec<_>>(),
        [0.1, 0.9]
    );

    let mut config = Config::default();
    Overrides::default().apply(&mut config);
    assert_eq!(config.evaluators[0].name, "tool_trajectory_avg_score");
}

#[test]
fn graders_of_openai_read() {
    let text = "eval_set: s.json\nevaluators:\n\
                - {name: sim, type: openai_eval, threshold: 0.8, grader: {type: text_similarity, evaluation_metric: fuzzy_match}}\n\
                - name: kind\n  type: openai_eval\n  timeout: 60\n  grader:\n    type: label_model\n    model: gpt-5\n    input:\n    \
                - {role: developer, content: Judge.}\n    \
                - {role: user, content: {type: input_text, text: 'Is {{ item.actual_response }} kind?'}}\n    \
                labels: [kind, rude]\n    passing_labels: [kind]\n";
    let config = parse(text);
    let EvaluatorKind::OpenAiEval(similar) = &config.evaluators[0].kind else { panic!() };
    assert_eq!((similar.threshold, similar.timeout), (0.8, Duration::from_secs(120)));
    assert_eq!(similar.grader, Grader::TextSimilarity(TextSimilarity::FuzzyMatch));
    let EvaluatorKind::OpenAiEval(labels) = &config.evaluators[1].kind else { panic!() };
    assert_eq!((labels.threshold, labels.timeout), (0.5, Duration::from_secs(60)));
    let Grader::LabelModel(model) = &labels.grader else { panic!() };
    assert_eq!(model.input[1].content, "Is {{ item.actual_response }} kind?");
    assert_eq!(model.input[0].role, Role::Developer);
    assert_eq!(config.warnings, []);

    let error = config.ensure_runnable().unwrap_err().to_string();
    assert_eq!(
        error,
        "eval_config.yaml:3:21: `type: openai_eval` cannot be run by this version (`sim`) (the built-in \
         `response_match_score` compares words (ROUGE-1))\n\
         eval_config.yaml:5:9: `type: openai_eval` cannot be run by this version (`kind`) (write a `type: code` \
         evaluator that asks the model)"
    );
    let mut config = Config { eval_set: None, ..config };
    let error = config.ensure_runnable().unwrap_err().to_string();
    assert!(
        error.contains("`sim` compares with expected answers, and there is no eval set"),
        "{error}"
    );
    // What the command line puts in its place can be run.
    let metrics = vec!["sim".to_owned(), "kind".to_owned()];
    Overrides { metrics, ..Overrides::default() }.apply(&mut config);
    assert!(config.ensure_runnable().is_ok());
}

#[test]
fn graders_of_openai_are_checked() {
    let text = "evaluators:\n- name: a\n  type: openai_eval\n  threshold: 2\n  timeout: 0\n  path: x.py\n  grader:\n    \
                type: text_similarity\n    evaluation_metric: rouge_6\n    reference: x\n\
                - {name: b, type: openai_eval}\n\
                - {name: c, type: openai_eval, grader: [x]}\n\
                - {name: d, type: openai_eval, grader: {type: score_model}}\n\
                - {name: e, type: openai_eval, grader: {evaluation_metric: bleu}}\n\
                - name: f\n  type: openai_eval\n  grader:\n    type: label_model\n    input:\n    \
                - {role: usr, content: hello}\n    - {role: user, content: '{{ sample.output_text }}'}\n    - text\n    \
                labels: [good, good, no]\n    passing_labels: [god]\n";
    assert_eq!(
        problems(text),
        "c.yaml:4:14: `threshold` must be in 0..=1, not 2\n\
         c.yaml:5:12: `timeout` must be a whole number of seconds, at least 1 (for example 30)\n\
         c.yaml:6:3: unknown key `path` in this evaluator (known keys: name, type, threshold, timeout, grader)\n\
         c.yaml:9:24: `evaluation_metric` must be one of fuzzy_match, bleu, gleu, meteor, cosine, rouge_1, rouge_2, \
         rouge_3, rouge_4, rouge_5, rouge_l, not `rouge_6` (did you mean `rouge_1`?)\n\
         c.yaml:10:5: `reference` cannot be set in this grader (it is graded against the expected answer of the eval set)\n\
         c.yaml:11:3: the key `grader` is missing in this evaluator (one of type text_similarity or label_model)\n\
         c.yaml:12:40: `grader` must be a mapping, not a list\n\
         c.yaml:13:47: `type` must be one of text_similarity, label_model, not `score_model`\n\
         c.yaml:14:40: the key `type` is missing in this grader (text_similarity or label_model)\n\
         c.yaml:18:5: the key `model` is missing in this grader\n\
         c.yaml:20:14: `role` must be one of user, assistant, system, developer, not `usr` (did you mean `user`?)\n\
         c.yaml:21:29: `content` refers to `{{ sample.output_text }}`, but nothing is sampled (the recorded answer is \
         {{ item.actual_response }})\n\
         c.yaml:22:7: a message of `input` is a mapping with `role` and `content`, not text\n\
         c.yaml:23:20: `labels` has `good` twice\n\
         c.yaml:23:26: `labels` must be text, not a boolean (put it in quotes if it is meant as text)\n\
         c.yaml:24:22: `passing_labels` has `god`, which is not in `labels` (one of good)"
    );
    let warned = |grader: &str| {
        let text = format!("evaluators: [{{name: a, type: openai_eval, {grader}}}]");
        let warnings = parse(&text).warnings;
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    let grader = "grader: {type: label_model, model: m, input: [{role: user, content: '{{ item.x }}'}], labels: [a]";
    assert_eq!(
        warned(&format!("threshold: 0.5, {grader}, passing_labels: [a]}}")),
        [
            "every label passes, so that no turn can fail",
            "`threshold` has no effect with a label_model"
        ]
    );
    let silent = "evaluators: [{name: a, type: openai_eval, grader: {type: label_model, model: m, labels: [a, b], \
                  passing_labels: [a], input: [{role: user, content: Is it kind?}]}}]";
    assert!(problems(silent).contains("no message of `input` speaks of the item"));
}

#[test]
fn a_remote_entry_has_the_settings_of_a_program() {
    let text = "sources: {local: here}\nevaluators:\n- {name: a, type: remote, ref: e/a.py}\n\
                - {name: b, type: remote, source: company, ref: e/b/src/main.rs, threshold: 0.9, timeout: 5, config: {x: 1}, executor: docker, isolation: process}\n";
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
        (5, "docker", 1, Isolation::Process)
    );
}
