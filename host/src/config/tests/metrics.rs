//! Settings of built-in metrics.

use super::*;

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
    let read = builtin.settings["rubrics"].as_array().unwrap();
    assert_eq!(read[0].as_str(), Some("is kind"));
    assert_eq!(read[1].get("text").and_then(Value::as_str), Some("is brief"));

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
        "c.yaml:1:58: `response_match_score` has no setting `rubrics` (it belongs to \
         rubric_based_final_response_quality_v1, rubric_based_multi_turn_trajectory_quality_v1, \
         rubric_based_tool_use_quality_v1)"
    );
}

#[test]
fn settings_of_single_metrics_read() {
    let builtin = |entry: &str| {
        let config = parse(&format!("evaluators: [{{type: builtin, {entry}}}]"));
        let EvaluatorKind::Builtin(builtin) = config.evaluators[0].kind.clone() else { panic!() };
        builtin
    };
    // A budget is a limit, unless something else is said.
    let read = |entry| {
        let max = builtin(entry).settings.get("max").cloned();
        (max.map(|max| crate::json::to_python(&max)), builtin(entry).threshold)
    };
    assert_eq!(read("name: token_usage_v1"), (None, 0.5));
    assert_eq!(read("name: token_usage_v1, max: 1000"), (Some("1000".to_owned()), 1.0));
    let given = read("name: token_usage_v1, max: 0.5, threshold: 0.8");
    assert_eq!(given, (Some("0.5".to_owned()), 0.8));
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
         c.yaml:16:5: `tool_trajectory_alignment` has no setting `max` (it belongs to \
         inference_call_count_v1, invocation_duration_v1, token_usage_v1, tool_call_count_v1)"
    );
    for (entry, expected) in [
        (
            "name: response_match_score, ignore_args: true",
            "`response_match_score` has no setting `ignore_args` (it belongs to tool_trajectory_avg_score)",
        ),
        (
            "name: token_usage_v1, ignoreArgs: true",
            "`token_usage_v1` has no setting `ignoreArgs` (it belongs to tool_trajectory_avg_score)",
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
