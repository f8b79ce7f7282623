//! Graders of OpenAI, which are read and checked.

use super::*;
use crate::judging::grader::{Grader, Part};

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
    assert_eq!(similar.grader.kind(), "text_similarity");
    let EvaluatorKind::OpenAiEval(labels) = &config.evaluators[1].kind else { panic!() };
    assert_eq!((labels.threshold, labels.timeout), (0.5, Duration::from_secs(60)));
    let Grader::LabelModel(model) = &labels.grader else { panic!() };
    let [Part::Text(text)] = &model.input[1].parts[..] else { panic!() };
    assert!(text.has_references());
    assert_eq!(model.input[0].role, crate::models::Role::Developer);
    assert_eq!(config.warnings, []);
    let mut config = Config { eval_set: None, ..config };
    let error = config.ensure_runnable().unwrap_err().to_string();
    assert!(
        error.contains("`sim` compares with expected answers, and there is no eval set"),
        "{error}"
    );
    // What the command line puts in its place can be run.
    let metrics = vec!["sim".to_owned(), "kind".to_owned()];
    Overrides { metrics, ..Overrides::default() }.apply(&mut config, &crate::metric::built_in());
    assert!(config.ensure_runnable().is_ok());
}

#[test]
fn graders_of_openai_are_checked() {
    let text = "evaluators:\n- name: a\n  type: openai_eval\n  threshold: 2\n  timeout: 0\n  path: x.py\n  grader:\n    \
                type: text_similarity\n    evaluation_metric: rouge_6\n    reference: '{{ item.exp }}'\n\
                - {name: b, type: openai_eval}\n\
                - {name: c, type: openai_eval, grader: [x]}\n\
                - {name: d, type: openai_eval, grader: {type: scoremodel}}\n\
                - {name: e, type: openai_eval, grader: {evaluation_metric: bleu}}\n\
                - name: f\n  type: openai_eval\n  grader:\n    type: label_model\n    input:\n    \
                - {role: usr, content: hello}\n    - {role: user, content: '{{ sample.output_txt }}'}\n    - text\n    \
                labels: [good, good, no]\n    passing_labels: [god]\n";
    let found = problems(text);
    for problem in [
        "c.yaml:4:14: `threshold` must be in 0..=1, not 2",
        "c.yaml:5:12: `timeout` must be a whole number of seconds, at least 1 (for example 30)",
        "c.yaml:6:3: unknown key `path` in this evaluator (known keys: name, type, execution, threshold, timeout, base_url, \
         api_key_env, judge, grader, missing_turns, repeat, gate, certificate, mutate)",
        "c.yaml:9:24: `evaluation_metric` must be one of fuzzy_match, bleu, ",
        "not `rouge_6` (did you mean `rouge_1`?)",
        "c.yaml:10:16: `reference` refers to `{{ item.exp }}`, but `item` has no `exp` (it has actual_response, \
         expected_response, user_content, invocation_id, tool_calls)",
        "c.yaml:11:3: the key `grader` is missing in this evaluator (one of string_check, text_similarity, multi, ",
        "c.yaml:12:40: `grader` must be a mapping, not a list",
        "c.yaml:13:47: `type` must be one of text_similarity, string_check, multi, label_model, score_model, python, not \
         `scoremodel` (did you mean `score_model`?)",
        "c.yaml:14:40: the key `type` is missing in this grader",
        "c.yaml:18:5: the key `model` is missing in this grader",
        "c.yaml:20:14: `role` must be one of user, assistant, system, developer, not `usr` (did you mean `user`?)",
        "c.yaml:21:29: `content` refers to `{{ sample.output_txt }}`, but `sample` has no `output_txt` (did you mean \
         `output_text`?)",
        "c.yaml:22:7: a message of `input` is a mapping with `role` and `content`, not text",
        "c.yaml:23:20: `labels` has `good` twice",
        "c.yaml:23:26: `labels` must be text, not a boolean (put it in quotes if it is meant as text)",
        "c.yaml:24:22: `passing_labels` has `god`, which is not in `labels` (one of good)",
    ] {
        assert!(found.contains(problem), "{problem}\n---\n{found}");
    }
    let warned = |grader: &str| {
        let text = format!("evaluators: [{{name: a, type: openai_eval, {grader}}}]");
        let warnings = parse(&text).warnings;
        warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    let grader = "grader: {type: label_model, model: m, input: [{role: user, content: '{{ item.user_content }}'}], labels: [a]";
    assert_eq!(
        warned(&format!("threshold: 0.5, {grader}, passing_labels: [a]}}")),
        [
            "every label passes, so that no turn can fail",
            "`threshold` has no effect with this label_model"
        ]
    );
    let silent = "evaluators: [{name: a, type: openai_eval, grader: {type: label_model, model: m, labels: [a, b], \
                  passing_labels: [a], input: [{role: user, content: Is it kind?}]}}]";
    assert!(problems(silent).contains("no message of `input` refers to the item"));
}

/// Returns the configuration of an entry with this grader.
fn entry(grader: &str) -> String {
    format!("eval_set: s.json\nevaluators:\n- {{name: a, type: openai_eval, grader: {grader}}}\n")
}

#[test]
fn graders_without_a_model_can_be_run() {
    for (grader, compares) in [
        ("{type: string_check, operation: eq}", true),
        ("{type: string_check, name: x, operation: like, reference: Rome}", false),
        (
            "{type: string_check, operation: ne, input: '{{ sample.output_text }}', reference: ''}",
            false,
        ),
        ("{type: text_similarity, evaluation_metric: 'rouge_l:stem', pass_threshold: 0.9}", true),
        (
            "{type: multi, calculate_output: 'max(x, y) ^ 2', graders: {x: {type: string_check, operation: eq, reference: Rome}, \
             y: {type: text_similarity, evaluation_metric: gleu}}}",
            true,
        ),
    ] {
        let mut config = parse(&entry(grader));
        config.eval_set = None;
        let runnable = config.ensure_runnable().map_err(|error| error.to_string());
        match compares {
            true => assert!(runnable.unwrap_err().contains("there is no eval set"), "{grader}"),
            false => assert_eq!(runnable, Ok(()), "{grader}"),
        }
    }
    let text = entry("{type: text_similarity, evaluation_metric: bleu, pass_threshold: 0.9}");
    let EvaluatorKind::OpenAiEval(openai) = &parse(&text).evaluators[0].kind else { panic!() };
    assert!((openai.threshold - 0.9).abs() < 1e-12);
}

#[test]
fn mistakes_of_graders_without_a_model_are_found() {
    for (grader, problem) in [
        ("{type: string_check}", "the key `operation` is missing"),
        ("{type: string_check, operation: neq}", "`operation` is `ne`, not `neq` (write `ne`)"),
        (
            "{type: string_check, operation: ilike, reference: ''}",
            "every text contains an empty text",
        ),
        (
            "{type: string_check, operation: eq, input: a, reference: a}",
            "neither `input` nor `reference`",
        ),
        (
            "{type: string_check, operation: eq, pass_threshold: 1}",
            "a turn passes if the check holds",
        ),
        (
            "{type: string_check, operation: eq, labels: [a]}",
            "`labels` does not belong to this grader",
        ),
        (
            "{type: string_check, operation: eq, reference: '{{ item.x'}",
            "has a `{{` without its `}}`",
        ),
        ("{type: text_similarity}", "the key `evaluation_metric` is missing"),
        (
            "{type: text_similarity, evaluation_metric: bleu, wordnet: /x}",
            "cannot read /x/index.noun",
        ),
        (
            "{type: multi, graders: {}, calculate_output: x}",
            "`calculate_output` refers to `x`, which is not a grader",
        ),
        (
            "{type: multi, graders: {one: {type: string_check, operation: eq}}, calculate_output: ome / 2}",
            "(did you mean `one`?)",
        ),
        (
            "{type: multi, graders: {a-b: {type: string_check, operation: eq}}, calculate_output: a - b}",
            "`a-b` cannot be used as a name",
        ),
        (
            "{type: multi, graders: {x: {type: multi}}, calculate_output: x}",
            "a multi grader cannot contain another one",
        ),
    ] {
        let found = problems(&entry(grader));
        assert!(found.contains(problem), "{grader}\n{found}");
    }
}

#[test]
fn unknown_keys_of_graders_are_warnings() {
    let config = parse(&entry("{type: string_check, operation: eq, colour: red, oparation: ne}"));
    let warnings: Vec<String> = config.warnings.iter().map(|it| format!("{it:?}")).collect();
    assert!(warnings[0].contains("unknown key `colour` in this grader is ignored"), "{warnings:?}");
    assert!(warnings[1].contains("did you mean `operation`?"), "{warnings:?}");
}

#[test]
fn graders_that_ask_models_are_checked() {
    let with = |more: &str| format!("{{type: score_model, model: m, {more}}}");
    let input = "input: [{role: user, content: '{{ item.actual_response }}'}]";
    for (more, problem) in [
        ("range: [0, 1]".to_owned(), "the key `input` is missing"),
        (format!("range: [1, 0], {input}"), "`range` must be two numbers"),
        (format!("range: [0, x], {input}"), "`range` must be two numbers"),
        (format!("range: [0, .inf], {input}"), "`range` must be two numbers"),
        (format!("sampling_params: {{temperature: 3}}, {input}"), "a number in 0..=2"),
        (format!("sampling_params: {{seed: x}}, {input}"), "a whole number"),
        (format!("sampling_params: {{max_completions_tokens: 0}}, {input}"), "at least 1"),
        (format!("sampling_params: {{reasoning_effort: hig}}, {input}"), "did you mean `high`?"),
        (
            "input: [{role: user, content: [{type: input_image}, '{{ item.user_content }}']}]"
                .to_owned(),
            "`image_url` is missing",
        ),
        (
            "input: [{role: user, content: {type: input_vidio, text: x}}]".to_owned(),
            "must be one of input_text",
        ),
        ("input: [{role: user, content: []}]".to_owned(), "`content` is empty"),
        (format!("labels: [a], {input}"), "`labels` does not belong to this grader"),
    ] {
        let found = problems(&entry(&with(&more)));
        assert!(found.contains(problem), "{more}\n{found}");
    }
    let config = parse(&entry(&with(&format!(
        "sampling_params: {{colour: 1, max_completion_tokens: 5}}, {input}"
    ))));
    let warnings = format!("{:?}", config.warnings);
    assert!(warnings.contains("did you mean `max_completions_tokens`?"), "{warnings}");
    for (source, problem) in
        [("''", "`source`"), ("'def score(): pass'", "does not define `grade`")]
    {
        let found = problems(&entry(&format!("{{type: python, source: {source}}}")));
        assert!(found.contains(problem), "{source}\n{found}");
    }
}

#[test]
fn answers_are_graded_here() {
    let execution = |word: &str| {
        entry("{type: string_check, operation: eq}")
            .replace("grader:", &format!("execution: {word}, grader:"))
    };
    assert_eq!(parse(&execution("local")).warnings, []);
    let found = problems(&execution("api"));
    assert!(found.contains("OpenAI's Evals API ends on 2026-11-30"), "{found}");
    let found = problems(&execution("locl"));
    assert!(found.contains("`execution` must be one of local, not `locl`"), "{found}");
    let key = entry("{type: string_check, operation: eq}")
        .replace("grader:", "api_key_env: 'sk-123456', grader:");
    let found = problems(&key);
    assert!(
        found.contains("is the name of a variable of the environment") && !found.contains("sk-1"),
        "{found}"
    );
}
