//! Graders of OpenAI, which are read and checked.

use super::*;

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
    assert_eq!(similar.grader, Grader::TextSimilarity("fuzzy_match"));
    let EvaluatorKind::OpenAiEval(labels) = &config.evaluators[1].kind else { panic!() };
    assert_eq!((labels.threshold, labels.timeout), (0.5, Duration::from_secs(60)));
    let Grader::LabelModel(model) = &labels.grader else { panic!() };
    assert_eq!(model.input[1].content, "Is {{ item.actual_response }} kind?");
    assert_eq!(model.input[0].role, "developer");
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
    Overrides { metrics, ..Overrides::default() }.apply(&mut config, &Metrics::default());
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
         c.yaml:6:3: unknown key `path` in this evaluator (known keys: name, type, threshold, timeout, grader, missing_turns)\n\
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
    assert!(problems(silent).contains("no message of `input` refers to the item"));
}
