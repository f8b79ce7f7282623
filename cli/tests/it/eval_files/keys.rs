//! Keys of eval files that AgentV reads in another way, and files of other programs.

use serde_json::{Value, json};

use super::judge_server;
use crate::support::Directory;

fn test(entry: &str) -> String {
    format!("tests: [{{id: one, criteria: x, input: q, assertions: [{entry}]}}]\n")
}

#[test]
fn evaluators_that_every_output_passes_are_problems() {
    let directory = Directory::new();
    directory.file("out/one.txt", "Paris");
    for (entry, problem) in [
        (
            "{type: tool-trajectory, mode: exact, expected: []}",
            "`expected` is empty, so every output would pass",
        ),
        ("{type: tool-trajectory, mode: in_order, expected: []}", "`expected` is empty"),
        ("{type: tool-trajectory, mode: superset, expected: []}", "`expected` is empty"),
        (
            "{type: tool-trajectory, mode: any_order, minimums: {}}",
            "`minimums` has no number above 0",
        ),
        (
            "{type: tool-trajectory, mode: any_order, minimums: {a: 0}}",
            "`minimums` has no number above 0",
        ),
        ("{type: is-json, required: true, min_score: 0}", "`min_score` must be more than 0"),
        ("{type: is-json, required: true, min_score: 0.0}", "`min_score` must be more than 0"),
        ("{type: is-json, required: 0}", "`required` must be more than 0"),
        (
            "{type: rubrics, criteria: [{outcome: a, min_score: 0}]}",
            "`min_score` must be more than 0",
        ),
    ] {
        directory.file("e.yaml", test(entry));
        let ran = directory.run(&["e.yaml", "--outputs", "out"]).exits(2);
        assert!(ran.stderr.contains("e.yaml:1:"), "{entry}: {}", ran.stderr);
        ran.says(problem);
    }
    // No calls may be what is wanted.
    directory.file("e.yaml", test("{type: tool-trajectory, mode: subset, expected: []}"));
    directory.run(&["e.yaml", "--outputs", "out"]).exits(0);
}

#[test]
fn keys_that_agentv_knows_are_accepted_and_one_without_an_effect_is_not() {
    let directory = Directory::new();
    let suite = "$schema: s
name: n
description: d
category: c
version: '1'
author: a
tags: [t]
license: l
requires: {agentv: '>=4'}
metadata: {a: 1}
governance: {risk: high}
evaluator: llm-grader
x-shared: {a: '{{ x }}'}
";
    let test = "tests: [{id: one, criteria: x, input: q, suite: s, conversation_id: c, metadata: {}, evaluator: llm_judge, \
                assertions: [{type: is-json}]}]\n";
    directory.file("e.yaml", format!("{suite}{test}"));
    let ran = directory.evaluator(&["check", "e.yaml"]).exits(0);
    assert_eq!(ran.stderr, "");
    directory.file("e.yaml", format!("evaluators: [{{type: is-json}}]\n{test}"));
    let ran = directory.evaluator(&["check", "e.yaml"]).exits(2);
    ran.says("`evaluators` of a suite are not read by AgentV").says("write `assertions`");
}

#[test]
fn variables_in_more_braces_are_replaced() {
    let directory = Directory::new();
    directory
        .file("e.yaml", test("{type: llm-grader, prompt: 'A={{{output}}} {{{{ criteria }}}}'}"));
    directory.file("prompt.md", "{{{ output }}}");
    directory.file("f.yaml", test("{type: llm-grader, prompt: 'file://prompt.md'}"));
    let server = judge_server::start(Some(json!({"default": [{"text": "{\"score\": 1}"}]})));
    directory.file(
        "targets.yaml",
        format!(
            "targets:
  - {{name: default, provider: mock, response: Paris, grader_target: g}}
  - {{name: g, provider: openai, base_url: '{}/v1', model: m}}
",
            server.url()
        ),
    );
    for (file, expected) in [("e.yaml", "A={Paris} {{x}}"), ("f.yaml", "{Paris}")] {
        directory.run(&[file]).exits(0);
        let body: Value = serde_json::from_slice(&server.requests().last().unwrap().body).unwrap();
        assert_eq!(body["messages"][1]["content"], expected, "{file}");
    }
}

#[test]
fn a_prompt_without_variables_that_looks_like_a_template_is_a_warning() {
    let directory = Directory::new();
    let warning = "the prompt has no variable, so it takes the place of the criteria";
    directory.file(
        "targets.yaml",
        "targets: [{name: default, provider: mock, response: a, grader_target: default}]",
    );
    for (prompt, is_warned) in [
        ("Is it {output}?", true),
        ("Is it {{ outptu }}?", true),
        ("Is it polite?", false),
        ("Is it {{output}}?", false),
    ] {
        directory.file("e.yaml", test(&format!("{{type: llm-grader, prompt: '{prompt}'}}")));
        let ran = directory.evaluator(&["check", "e.yaml"]).exits(0);
        assert_eq!(ran.stderr.contains(warning), is_warned, "{prompt}: {}", ran.stderr);
    }
}

#[test]
fn files_of_other_programs_are_named_in_one_sentence() {
    let directory = Directory::new();
    let tests = "tests: [{vars: {input: q}, assert: [{type: contains, value: a}]}]\n";
    for (file, text, message) in [
        (
            "promptfooconfig.yaml",
            format!("prompts: [a]\nproviders: [b]\n{tests}"),
            "promptfooconfig.yaml: this is a configuration of promptfoo",
        ),
        (
            "promptfooconfig.json",
            "{\"tests\": []}".to_owned(),
            "promptfooconfig.json: this is a configuration of promptfoo",
        ),
        (
            "promptfooconfig.js",
            String::new(),
            "promptfooconfig.js: this is a configuration of promptfoo",
        ),
        (
            "a.yaml",
            format!("# promptfoo\ndefaultTest: {{}}\nprompts: [a]\n{tests}"),
            "this is a configuration of promptfoo",
        ),
        (
            "b.yaml",
            format!("providers: [a]\n{tests}"),
            "this is an eval file of AgentV 5 or a configuration of promptfoo",
        ),
        ("c.yaml", format!("default_test: {{}}\n{tests}"), "this is an eval file of AgentV 5"),
        ("d.eval.yaml", tests.to_owned(), "this is an eval file of AgentV 5"),
    ] {
        directory.file(file, text);
        for command in ["run", "check"] {
            let ran = directory.evaluator(&[command, file]).exits(2);
            assert!(ran.stderr.contains(message), "{command} {file}: {}", ran.stderr);
            assert_eq!(
                ran.stderr.matches("this is a").count(),
                1,
                "{command} {file}: {}",
                ran.stderr
            );
            assert_eq!(ran.stderr.matches(file).count(), 1, "{command} {file}: {}", ran.stderr);
        }
    }
}
