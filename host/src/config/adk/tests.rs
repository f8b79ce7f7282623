//! What ADK's configurations may say here, and what is said about one that may not be used.

use std::{path::Path, time::Duration};

use evaluator_protocol::Contract;
use evaluator_test_support::Directory;

use super::recognize;
use crate::{
    config::{CodeConfig, Config, EvaluatorKind},
    json,
    metric::MatchType,
};

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("test_config.json")).unwrap()
}

fn problems(text: &str) -> String {
    Config::parse(text, Path::new("c.json")).unwrap_err().to_string()
}

fn code(config: &Config, index: usize) -> &CodeConfig {
    let EvaluatorKind::Code(code) = &config.evaluators[index].kind else { panic!("{config:?}") };
    code
}

#[test]
fn criteria_are_entries_in_their_order() {
    let config = parse(
        r#"{"criteria": {
              "response_match_score": 0.8,
              "mine": {"threshold": "0.25", "min_length": 10, "fooBar": {"x_y": null}, "n": 1e2},
              "tool_trajectory_avg_score": {"threshold": true, "matchType": " any-order ", "ignore_args": "Yes"}},
            "customMetrics": {"mine": {"codeConfig": {"name": "checks/mine.rs"}}}}"#,
    );
    let shown: Vec<(&str, f64)> =
        config.evaluators.iter().map(|it| (it.name.as_str(), it.threshold())).collect();
    assert_eq!(
        shown,
        [("response_match_score", 0.8), ("mine", 0.25), ("tool_trajectory_avg_score", 1.0)]
    );
    let mine = code(&config, 1);
    assert_eq!(
        (mine.path.as_path(), mine.timeout),
        (Path::new("checks/mine.rs"), Duration::from_secs(60))
    );
    assert_eq!((mine.args.len(), mine.executor.as_str()), (0, "local"));
    let settings = json::Value::Object(mine.config.clone());
    assert_eq!(
        json::to_string(&settings, json::NonFinite::Null),
        r#"{"min_length":10,"fooBar":{"x_y":null},"n":100.0}"#
    );
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[2].kind else { panic!() };
    let settings = json::Value::Object(builtin.settings.clone());
    assert_eq!(
        json::to_string(&settings, json::NonFinite::Null),
        r#"{"ignore_args":"Yes","trajectory_match_type":"ANY_ORDER"}"#
    );
    assert_eq!(config.evaluators[1].place.unwrap().line, 3);
    assert_eq!((config.warnings, config.notes), (vec![], vec![]));
}

#[test]
fn thresholds_are_read_as_pydantic_reads_numbers() {
    for (given, expected) in [
        ("0", 0.0),
        ("1", 1.0),
        ("1e-1", 0.1),
        ("true", 1.0),
        ("false", 0.0),
        (r#"" 0.5 ""#, 0.5),
        (r#""+.5""#, 0.5),
        (r#""0_0.2_5""#, 0.25),
        (r#"{"threshold": "5e-1"}"#, 0.5),
    ] {
        let config = parse(&format!(r#"{{"criteria": {{"response_match_score": {given}}}}}"#));
        assert_eq!(config.evaluators[0].threshold(), expected, "{given}");
    }
    for (given, expected) in [
        (
            "null",
            "1:39: the criterion of `response_match_score` must be a number or an object, not null (for example 0.8 or {\"threshold\": 0.8})",
        ),
        (
            "[0.5]",
            "1:39: the criterion of `response_match_score` must be a number or an object, not an array (for example 0.8 or {\"threshold\": 0.8})",
        ),
        ("\"high\"", "1:39: the threshold of `response_match_score` must be a number, not text"),
        ("{}", "1:39: the key `threshold` is missing in the criterion of `response_match_score`"),
        (
            r#"{"threshold": null}"#,
            "1:53: the threshold of `response_match_score` must be a number, not null",
        ),
        (
            r#"{"threshold": [1]}"#,
            "1:53: the threshold of `response_match_score` must be a number, not an array",
        ),
        (
            "-0.5",
            "1:39: the threshold of `response_match_score` must be in 0..=1, not -0.5 (here scores are in 0..=1, whatever they are in ADK)",
        ),
        (
            "Infinity",
            "1:39: the threshold of `response_match_score` must be in 0..=1, not inf (here scores are in 0..=1, whatever they are in ADK)",
        ),
        (
            "NaN",
            "1:39: the threshold of `response_match_score` must be in 0..=1, not NaN (here scores are in 0..=1, whatever they are in ADK)",
        ),
        (
            "\"-inf\"",
            "1:39: the threshold of `response_match_score` must be in 0..=1, not -inf (here scores are in 0..=1, whatever they are in ADK)",
        ),
        (
            "123456789012345678901234567890",
            "1:39: the threshold of `response_match_score` must be in 0..=1, not 123456789012345680000000000000 (here scores are in 0..=1, whatever they are in ADK)",
        ),
    ] {
        let found = problems(&format!(r#"{{"criteria": {{"response_match_score": {given}}}}}"#));
        assert_eq!(found, format!("c.json:{expected}"), "{given}");
    }
}

#[test]
fn match_types_are_names_in_any_spelling_or_numbers() {
    let read = |given: &str| {
        let text = format!(
            r#"{{"criteria": {{"tool_trajectory_avg_score": {{"threshold": 1, "match_type": {given}}}}}}}"#
        );
        Config::parse(&text, Path::new("c.json")).ok().map(|config| {
            let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
            MatchType::named(builtin.settings[MatchType::KEY].as_str().unwrap()).unwrap()
        })
    };
    for (given, expected) in [
        ("\"exact\"", Some(MatchType::Exact)),
        ("\"in order\"", Some(MatchType::InOrder)),
        ("\"Any-Order\"", Some(MatchType::AnyOrder)),
        ("0", Some(MatchType::Exact)),
        ("1.0", Some(MatchType::InOrder)),
        ("true", Some(MatchType::InOrder)),
        ("2", Some(MatchType::AnyOrder)),
        ("3", None),
        ("0.5", None),
        ("\"0\"", None),
        ("\"inorder\"", None),
        ("null", None),
        ("[]", None),
    ] {
        assert_eq!(read(given), expected, "{given}");
    }
}

#[test]
fn what_a_program_is_called_with_stands_in_its_criterion() {
    let config = parse(
        r#"{"criteria": {
              "list": {"threshold": 0.5, "command": ["bin/check", "--a", "b c"], "timeout": 2.5, "on_error": "fail", "x": 1},
              "line": {"threshold": 0.5, "command": "check 'b c' d\\ e"},
              "name": 0.5},
            "custom_metrics": {
              "list": {"code_config": {"name": "shim.run"}},
              "line": {"code_config": {"name": "my_pkg.metrics.fn"}},
              "name": {"code_config": {"name": "my-check"}}}}"#,
    );
    let list = code(&config, 0);
    assert_eq!(
        (list.path.as_path(), &*list.args),
        (Path::new("bin/check"), &["--a".to_owned(), "b c".to_owned()][..])
    );
    assert_eq!(
        (list.timeout, list.config.keys().collect::<Vec<_>>()),
        (Duration::from_millis(2500), vec![&"x".to_owned()])
    );
    let line = code(&config, 1);
    assert_eq!(
        (line.path.as_path(), &*line.args),
        (Path::new("check"), &["b c".to_owned(), "d e".to_owned()][..])
    );
    assert!(line.command && code(&config, 2).command);
    assert_eq!(
        config.notes[0].message,
        "`on_error` has no effect here: a metric that breaks is an error"
    );
}

#[test]
fn a_python_function_needs_a_file_or_a_command() {
    for (name, fits) in [
        ("checks/polite.rs", true),
        ("polite.rs", true),
        ("polite.PY", true),
        ("my.check.mjs", true),
        ("./polite.sh", true),
        ("polite", true),
        ("polite-1.2", true),
        ("my_pkg.metrics.fn", false),
        ("adk_process_metric.run", false),
        ("mäß.prüfe", false),
    ] {
        let text = format!(
            r#"{{"criteria": {{"m": 0.5}}, "custom_metrics": {{"m": {{"code_config": {{"name": "{name}"}}}}}}}}"#
        );
        let read = Config::parse(&text, Path::new("c.json"));
        assert_eq!(read.is_ok(), fits, "{name}: {read:?}");
        if let Err(error) = read {
            let (module, _) = name.rsplit_once('.').unwrap();
            let expected = format!(
                "c.json:1:75: `{name}` is a Python function, and there is no {}.py next to the configuration (name a file \
                 or a program, or give the criterion a `command`)",
                module.replace('.', "/")
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn a_python_function_of_a_file_is_called_as_adk_does() {
    let directory = Directory::new("adk-config");
    directory.file(
        "my_pkg/metrics.py",
        "def fn(eval_metric, actual, expected, scenario):\n    return 1\n",
    );
    let text = r#"{"criteria": {"m": {"threshold": 0.7, "n": 1}},
                   "custom_metrics": {"m": {"code_config": {"name": "my_pkg.metrics.fn"}}}}"#;
    let config = Config::load(&directory.file("c.json", text)).unwrap();
    assert!(config.ensure_runnable().is_ok());
    let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!() };
    assert_eq!(code.path, directory.path("my_pkg/metrics.py"));
    assert_eq!((code.contract, code.function.as_deref()), (Some(Contract::Adk), Some("fn")));
    assert!(!code.command && code.threshold == 0.7);
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let text = r#"{
  "criteria": {
    "a": {"threshold": 0.5, "command": 5, "timeout": 0, "on_error": "ignore"},
    "b": {"threshold": 0.5, "command": ["x", 5]},
    "c": {"threshold": 0.5, "command": "it's"},
    "d": {"threshold": 0.5, "command": "x"},
    "e": 0.5, "f": 0.5, "g": 0.5, "h": 0.5,
    "tool_call_count_v1": 5,
    "hallucinations_v1": {"threshold": 0.5, "judge_model_options": {"num_sample": 3}},
    "response_match_score": {"threshold": 0.5, "ignore_args": true, "treshold": 1},
    "respnse_match_score": null,
    "": 0.5,
    "e": 0.6
  },
  "custom_metrics": {
    "a": {"code_config": {"name": "x.y"}},
    "b": {"code_config": {"name": "x.y"}},
    "c": {"code_config": {"name": "x.y"}},
    "d": {"code_config": {"name": "x.py"}},
    "e": {"code_config": {"nmae": "x.py"}},
    "f": {"code_config": {"name": "x.py", "args": []}, "desription": ""},
    "g": {},
    "h": {"code_config": {"name": ""}, "codeConfig": {"name": "x.py"}}
  },
  "customMetric": {}
}"#;
    assert_eq!(
        problems(text),
        "c.json:3:40: `command` must be a list of texts, or text, not a number\n\
         c.json:3:54: `timeout` must be a number of seconds above 0, not 0 (for example 30)\n\
         c.json:3:69: `on_error` must be one of raise, fail, not `ignore`\n\
         c.json:4:46: `command` must be a list of texts, not a number\n\
         c.json:5:40: `command` has a quote without its end\n\
         c.json:6:40: `command` and `code_config` both say what to run (keep one of them; `code_config` names `x.py`)\n\
         c.json:8:27: the threshold of `tool_call_count_v1` must be in 0..=1, not 5 (a budget is `max`, for example \
         {\"threshold\": 1, \"max\": 5})\n\
         c.json:9:69: unknown key `num_sample` in `judge_model_options` (did you mean `num_samples`?)\n\
         c.json:10:48: `response_match_score` has no setting `ignore_args` (it belongs to tool_trajectory_avg_score)\n\
         c.json:10:69: unknown key `treshold` in this criterion (did you mean `threshold`?)\n\
         c.json:11:5: `respnse_match_score` is neither in `custom_metrics` nor a built-in metric (did you mean \
         `response_match_score`?)\n\
         c.json:11:28: the criterion of `respnse_match_score` must be a number or an object, not null (for example 0.8 \
         or {\"threshold\": 0.8})\n\
         c.json:12:5: a metric needs a name\n\
         c.json:13:5: `e` is given twice; the first one is in line 7 (keep one of them)\n\
         c.json:20:26: the key `name` is missing in `code_config`\n\
         c.json:20:27: unknown key `nmae` in `code_config` (did you mean `name`?)\n\
         c.json:21:43: `code_config` has only a `name` (settings stand in the criterion, and so does a `command` with \
         arguments)\n\
         c.json:21:56: unknown key `desription` in this custom metric (did you mean `description`?)\n\
         c.json:22:5: the key `code_config` is missing in the custom metric `g` (for example {\"code_config\": {\"name\": \
         \"checks/polite.rs\"}})\n\
         c.json:23:35: `name` is empty\n\
         c.json:23:40: `codeConfig` and `code_config` are the same key (keep one of them)\n\
         c.json:25:3: unknown key `customMetric` in an EvalConfig of ADK (did you mean `customMetrics`?)"
    );
    for (text, expected) in [
        (r#"{"criteria": {}}"#, "1:14: `criteria` is empty, so nothing would be evaluated"),
        (r#"{"criteria": null}"#, "1:14: `criteria` must be an object, not null"),
        (
            r#"{"custom_metrics": null}"#,
            r#"1:1: the key `criteria` is missing (for example {"criteria": {"response_match_score": 0.8}})"#,
        ),
        ("{\"criteria\": {\n \"a\": 0.5,}}", "2:10: not JSON: trailing comma"),
        ("{\"criteria\": {\n", "2:1: not JSON: unexpected end of text"),
    ] {
        assert!(problems(text).starts_with(&format!("c.json:{expected}")), "{}", problems(text));
    }
}

#[test]
fn descriptions_of_metrics_are_checked() {
    let metric = |more: &str| {
        format!(
            r#"{{"criteria": {{"m": 0.5}}, "custom_metrics": {{"m": {{"code_config": {{"name": "m.py"}}, {more}}}}}}}"#
        )
    };
    let interval = |interval: &str| {
        metric(&format!(
            r#""metricInfo": {{"metricName": "m", "description": "d", "metricValueInfo": {{"interval": {interval}}}}}"#
        ))
    };
    for described in [
        interval(r#"{"min_value": "0", "maxValue": true, "openAtMax": 1}"#),
        metric(r#""description": "says it", "metric_info": null"#),
    ] {
        assert_eq!(parse(&described).warnings, []);
    }

    let warned = |text: &str| parse(text).warnings.pop().unwrap().message;
    assert_eq!(
        warned(&interval(r#"{"min_value": 2, "max_value": 1}"#)),
        "no number is in an interval from 2 to 1"
    );
    assert_eq!(
        warned(&interval(r#"{"min_value": 1, "max_value": 1, "open_at_min": true}"#)),
        "no number is in an interval from 1 to 1"
    );
    assert_eq!(
        warned(&interval(r#"{"min_value": -1, "max_value": Infinity}"#)),
        "scores outside of 0..=1 are errors here, whatever the interval says"
    );
    let unused = r#"{"criteria": {"response_match_score": 0.5}, "custom_metrics": {"m": {"code_config": {"name": "a.b"}}}}"#;
    assert_eq!(warned(unused), "`m` is not in `criteria`, so it is not evaluated");

    let slip = r#"{"criteria": {"m": {"threshold": 0.5, "tiemout": 3, "comment": "c"}}, "custom_metrics": {"m": {"code_config": {"name": "m.py"}}}}"#;
    assert_eq!(parse(slip).warnings.len(), 1);
    assert_eq!(warned(slip), "`tiemout` is passed to the program as a setting");

    for (text, expected) in [
        (metric(r#""metric_info": {}"#), "the key `metric_name` is missing in `metric_info`"),
        (
            metric(r#""metric_info": {"metric_name": 5, "metric_value_info": {}}"#),
            "`metric_name` must be text",
        ),
        (
            metric(r#""metric_info": {"metric_name": "m", "metric_value_info": {"x": 1}}"#),
            "unknown key `x`",
        ),
        (interval("{}"), "the key `min_value` is missing in `interval`"),
        (
            interval(r#"{"min_value": "low", "max_value": NaN}"#),
            "`min_value` must be a number, not text",
        ),
        (interval(r#"{"min_value": 0, "max_value": NaN}"#), "`max_value` must be a number"),
        (interval("[0, 1]"), "`interval` must be an object, not an array"),
    ] {
        assert!(problems(&text).contains(expected), "{text}: {}", problems(&text));
    }
}

#[test]
fn metrics_that_ask_a_judge_are_read_with_their_settings() {
    let config = parse(
        r#"{"criteria": {"rubric_based_tool_use_quality_v1": {"threshold": 0.5,
              "judgeModelOptions": {"judge_model": "m", "num_samples": 3, "judge_model_config": null},
              "rubrics": [{"rubricId": "r", "rubric_content": {"text_property": "is kind"}, "type": "x"}]}},
            "user_simulator_config": {"anything": [1]}, "liveModelConfig": {}}"#,
    );
    let EvaluatorKind::Builtin(builtin) = &config.evaluators[0].kind else { panic!() };
    assert_eq!(builtin.judge.models, ["m"]);
    let rubric = &builtin.settings["rubrics"].as_array().unwrap()[0];
    assert_eq!(rubric.get("text").and_then(json::Value::as_str), Some("is kind"));
    assert_eq!(config.notes.len(), 2);
    let found = problems(
        r#"{"criteria": {"rubric_based_tool_use_quality_v1": {"threshold": 0.5, "judge_model_options": {"num_samples": 0},
              "rubrics": [{"rubric_id": "r"}, 5]}, "safety_v1": {"threshold": 0.5, "rubrics": []}}}"#,
    );
    for part in [
        "`num_samples` must be a whole number, at least 1",
        "the key `rubric_content` is missing in this rubric",
        "`rubrics[]` must be an object, not a number",
        "unknown key `rubrics` in this criterion",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
}

#[test]
fn a_custom_metric_says_what_its_program_may_use_and_see() {
    let config = parse(
        r#"{"criteria": {"mine": {"threshold": 0.5, "env": "prod"}},
            "custom_metrics": {"mine": {"code_config": {"name": "mine.py"}, "cwd": "data",
              "limits": {"memory": "1GiB", "cpu": 5}, "env": ["OPENAI_API_KEY"], "inheritEnv": false}}}"#,
    );
    let mine = code(&config, 0);
    assert_eq!(mine.process.cwd.as_deref(), Some(Path::new("data")));
    assert_eq!(mine.process.limits.resources.memory, Some(1 << 30));
    assert_eq!(mine.process.limits.resources.cpu, Some(5));
    assert_eq!(mine.process.env.variables, [("OPENAI_API_KEY".to_owned(), None)]);
    assert_eq!(mine.process.env.inherit, Some(false));
    assert_eq!(
        mine.config["env"].as_str(),
        Some("prod"),
        "keys of the criterion are the program's"
    );
    let wrong = problems(
        r#"{"criteria": {"mine": 0.5}, "custom_metrics": {"mine": {"code_config": {"name": "mine.py"}, "limits": {"cpu": 0}}}}"#,
    );
    assert!(wrong.contains("`cpu` must be a whole number of seconds, at least 1"), "{wrong}");
}

#[test]
fn content_decides() {
    for (text, expected) in [
        (r#"{"criteria": {}}"#, Some(true)),
        (" \n{\"customMetrics\": {}}", Some(true)),
        (r#"{"user_simulator_config": {}}"#, Some(true)),
        (r#"{"criteria": {"a": 0.5},}"#, Some(false)),
        ("\u{feff}{\"criteria\": {}}", Some(false)),
        (r#"{"custom_metrics": {"#, Some(false)),
        (r#"{"evaluators": [], "criteria": {}}"#, None),
        (r#"{"evaluators": [{"name": "criteria""#, None),
        (r#"{"criterai": {}}"#, None),
        ("{}", None),
        ("{evaluators: []}", None),
        (r#"{"eval_set": "criteria"}"#, None),
        ("criteria: {a: 0.5}", None),
        (r#"["criteria"]"#, None),
        ("", None),
    ] {
        assert_eq!(recognize(text).map(|read| read.is_ok()), expected, "{text}");
    }
}
