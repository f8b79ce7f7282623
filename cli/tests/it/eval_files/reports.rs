//! Reports of eval files in every form.

use std::fs;

use evaluator_test_support::finish;
use serde_json::json;

use super::command::{report, two_tests};
use crate::support::Directory;

#[test]
fn forms_of_the_report() {
    let directory = two_tests();
    let args = [
        "capitals.yaml",
        "--outputs",
        "out",
        "-o",
        "junit",
        "-o",
        "table=t.txt",
        "-o",
        "summary=s.txt",
    ];
    let ran = directory.run(&args);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains(
            r#"<testsuite name="capitals" tests="2" failures="1" errors="0" skipped="0">"#
        ),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("contains-&lt;b&gt;Rome fail"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("FAILED: 1 passed, 1 failed, 0 errored (2 tests)"),
        "{}",
        ran.stderr
    );
    let table = directory.read("t.txt");
    assert!(table.starts_with("Test: one\n"), "{table}");
    assert!(table.contains("[PASS]    contains-Paris "), "{table}");
    let reason = "\n  capitals: contains-<b>Rome fail: contains \"<b>Rome\"\n";
    assert!(table.contains(reason), "{table}");
    let summary = directory.read("s.txt");
    assert!(!summary.contains("contains-Paris") && summary.contains("[FAIL]"), "{summary}");
    assert!(summary.contains("Test two:\n  [FAIL] capitals: 0.0000 (FAILED)"), "{summary}");
    let args = ["run", "capitals.yaml", "--outputs", "out", "-o", "markdown", "-o", "github=g.txt"];
    let mut command = directory.command(&args);
    command.env("GITHUB_STEP_SUMMARY", directory.join("job.md"));
    let ran = finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.starts_with("### FAILED: 1 passed, 1 failed"), "{}", ran.stdout);
    let row = "| ❌ | `two` in `capitals.yaml` | capitals | 0.0000 |";
    assert!(ran.stdout.contains(row), "{}", ran.stdout);
    let reason = "below the threshold 0.8: contains-&lt;b>Rome fail";
    assert!(ran.stdout.contains(reason), "{}", ran.stdout);
    let annotations = directory.read("g.txt");
    let annotation = "::error file=capitals.yaml,title=capitals on two::score 0.0000 is below";
    assert!(annotations.starts_with(annotation), "{annotations}");
    assert_eq!(directory.read("job.md").trim(), ran.stdout.trim());
}

#[cfg(unix)]
#[test]
fn tables_have_the_first_line_of_an_error_and_the_others_below() {
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "tests:
  - id: a
    criteria: x
    input: q
    assertions: [{name: g, type: code-grader, command: 'echo first >&2; echo second >&2; exit 3'}]
",
    );
    directory.file("out/a.txt", "Paris");
    let args =
        ["e.yaml", "--outputs", "out", "-o", "table", "-o", "markdown=m.md", "-o", "summary=s.txt"];
    let ran = directory.run(&args).exits(3);
    let table = &ran.stdout;
    let (cells, below) = table.split_once("  Error of e: metric_failed\n").unwrap();
    assert!(cells.contains("`g` broke: the program exited with code 3: first\n"), "{table}");
    assert!(cells.contains("[ERR ]    g "), "{table}");
    assert_eq!(below, "    | second\n\n");
    let (markdown, summary) = (directory.read("m.md"), directory.read("s.txt"));
    assert!(markdown.contains("first<details><summary>more</summary>\\| second"), "{markdown}");
    assert!(summary.contains("exited with code 3: first ["), "{summary}");
    assert!(!format!("{table}{markdown}{summary}").contains("\\n"));
}

#[test]
fn no_report_has_a_secret_that_an_agent_or_a_program_repeats() {
    const TOKEN: &str = "decoy-0123456789abcdef";
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "tests:
  - id: answers
    criteria: x
    input: q
    expected_output: {a: 1}
    assertions:
      - {name: judge, type: llm-grader, prompt: 'G {{output}}'}
      - {name: fields, type: field-accuracy, fields: [{path: a, match: exact}]}
  - {id: breaks, criteria: x, input: q, assertions: [{name: c, type: is-json}], execution: {target: broken}}
",
    );
    directory.file(
        "targets.yaml",
        r#"targets:
  - {name: default, provider: cli, command: 'printf "{\"a\": \"$DECOY_TOKEN\"}" > {OUTPUT_FILE}', grader_target: g}
  - {name: broken, provider: cli, command: 'echo "$DECOY_TOKEN" >&2; exit 3', grader_target: g}
  - {name: g, provider: mock, response: '{"score": 0.5}'}
"#,
    );
    let files = ["j.json", "j.xml", "m.md", "g.txt", "t.txt"];
    let mut args = vec!["run", "e.yaml", "-v", "--judge-cassette", "c.jsonl"];
    args.extend(["-o", "json=j.json", "-o", "junit=j.xml", "-o", "markdown=m.md"]);
    args.extend(["-o", "github=g.txt", "-o", "table=t.txt"]);
    let mut command = directory.command(&args);
    command.env("DECOY_TOKEN", TOKEN);
    let ran = finish(command.spawn().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for file in files {
        let text = directory.read(file);
        assert!(!text.contains(TOKEN) && text.contains("redacted:DECOY"), "{file}: {text}");
    }
    assert!(!format!("{}{}{}", ran.stdout, ran.stderr, directory.read("c.jsonl")).contains(TOKEN));
    let report = report(&directory.read("j.json"));
    let judge = &report["results"][0]["evaluators"][0]["judge"];
    assert_eq!(judge["prompt"]["user"], "G {\"a\": \"<redacted:DECOY_TOKEN>\"}");
}

#[test]
fn no_prompt_in_a_report_has_a_secret() {
    const KEY: &str = "sk-decoy-0123456789abcdef";
    let directory = Directory::new();
    let padding = "x".repeat(80);
    directory.file(
        "e.yaml",
        format!("tests: [{{id: a, criteria: x, input: '{padding} ${{{{ DECOY_API_KEY }}}}', assertions: [{{type: contains, value: Paris}}]}}]"),
    );
    directory.file("out/a.txt", "Paris");
    let said = json!([{"role": "user", "parts": [{"type": "text", "content": format!("{padding} {KEY}")}]}]);
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": "t", "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
        "attributes": [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", &said.to_string()),
        ],
    });
    directory.file("t.json", span.to_string());
    let of_suite = ["e.yaml", "--outputs", "out"];
    let of_traces = ["t.json", "--no-config", "-m", "performance"];
    for args in [&of_suite[..], &of_traces[..]] {
        let more = ["-o", "json", "--save-run", "r.evalrun"];
        let mut command = directory.command(&[&["run"], args, &more].concat());
        command.env("DECOY_API_KEY", KEY);
        let ran = finish(command.spawn().unwrap());
        let saved = directory.read("r.evalrun");
        assert!(saved.contains("\"prompt\":\"xxx"), "{saved} {}", ran.stderr);
        for text in [&ran.stdout, &saved] {
            // Neither is its beginning, where the prompt is cut.
            assert!(!text.contains("sk-decoy"), "{args:?}: {text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn junit_has_durations_warnings_and_errors_of_the_run() {
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "tests: [{id: one, criteria: x, input: q, assertions: [{type: llm-grader, weight: 0, prompt: 'G {{output}} {{none}}'}]}]",
    );
    // The cassette cannot be saved, because its directory is gone.
    directory.file(
        "targets.yaml",
        "targets:
  - {name: default, provider: cli, command: 'sleep 0.2; rm -r rec; echo a > {OUTPUT_FILE}', grader_target: g}
  - {name: g, provider: mock, response: '{\"score\": 1}'}
",
    );
    fs::create_dir(directory.join("rec")).unwrap();
    let args = ["run", "e.yaml", "-o", "junit", "--judge-cassette", "rec/c.jsonl"];
    let ran = directory.evaluator(&args);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let junit = &ran.stdout;
    for part in [
        r#"<testsuites name="evaluator" tests="2" failures="1" errors="1" skipped="0">"#,
        "prompts have no variable `none`; it stays as it is",
        r#"<testsuite name="inputs" tests="1" failures="0" errors="1" skipped="0">"#,
        "c.jsonl",
        "warning: all weights are 0, so the score is 0",
    ] {
        assert!(junit.contains(part), "{part} is not in {junit}");
    }
    let (_, time) = junit.split_once(r#"name="one" time=""#).unwrap();
    let seconds: f64 = time.split('"').next().unwrap().parse().unwrap();
    assert!(seconds >= 0.2, "{junit}");
}
