//! Programs of eval files: what reaches their command line, and `--contain`.

use serde_json::json;

use crate::support::Directory;

const TEST: &str = "tests: [{id: one, criteria: x, input: '$(touch ran)', assertions: [{type: contains, value: Paris}]}]";

#[cfg(unix)]
#[test]
fn a_placeholder_within_quotes_is_a_problem() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    for (command, place) in [
        (r#"'echo "{PROMPT}" > {OUTPUT_FILE}'"#, "`{PROMPT}` stands within double quotes"),
        (r#""echo '{PROMPT}' > {OUTPUT_FILE}""#, "`{PROMPT}` stands within single quotes"),
        ("'echo `echo {EVAL_ID}` > {OUTPUT_FILE}'", "`{EVAL_ID}` stands within backquotes"),
        ("'echo ${PROMPT} > {OUTPUT_FILE}'", "`{PROMPT}` stands behind `$`"),
        (r"'echo \{PROMPT} > {OUTPUT_FILE}'", "`{PROMPT}` stands behind a backslash"),
        (
            "|\n      cat > {OUTPUT_FILE} <<END\n      {PROMPT}\n      END",
            "`{PROMPT}` stands in a here-document",
        ),
        (
            r#"'echo {FILES}', files_format: '"{basename}"'"#,
            "`{basename}` stands within double quotes",
        ),
    ] {
        let text =
            format!("targets:\n  - name: default\n    provider: cli\n    command: {command}\n");
        let text = text.replace("', files_format", "'\n    files_format");
        directory.file("targets.yaml", text);
        for evaluator in ["run", "check"] {
            let ran = directory.evaluator(&[evaluator, "e.yaml"]).exits(2);
            assert!(ran.stderr.contains("targets.yaml:"), "{command}: {}", ran.stderr);
            ran.says(place).says("values of placeholders are quoted already");
        }
    }
    assert!(!directory.join("ran").exists());
    // The command may be in a variable, whose text is known when it is needed.
    directory.file(
        "targets.yaml",
        "targets: [{name: default, provider: cli, command: '${{ AGENT_COMMAND }}'}]",
    );
    let mut command = directory.command(&["run", "e.yaml"]);
    command.env("AGENT_COMMAND", "echo \"{PROMPT}\" > {OUTPUT_FILE}");
    let ran = evaluator_test_support::finish(command.spawn().unwrap()).exits(2);
    ran.says("targets.yaml:1:").says("`{PROMPT}` stands within double quotes");
    assert!(!directory.join("ran").exists());
}

#[cfg(unix)]
#[test]
fn values_of_placeholders_are_single_words() {
    let directory = Directory::new();
    directory.file("a file.md", "text");
    directory.file("show", "#!/bin/sh\nfor word; do printf '[%s]' \"$word\"; done\n");
    for (id, input, command, expected) in [
        (
            "2",
            "it's `touch ran` $(touch ran)",
            "sh show {PROMPT} \"$(sh show {EVAL_ID})\" > {OUTPUT_FILE}",
            "[it's `touch ran` $(touch ran)][[2]]",
        ),
        ("2", "q", "echo {EVAL_ID}>{OUTPUT_FILE}", "2\n"),
        ("a b", "q", "sh show x/{EVAL_ID}.json {ATTEMPT} > {OUTPUT_FILE}", "[x/a b.json][0]"),
        ("2", "q", "sh show {FILES} > {OUTPUT_FILE}", "[--file][a file.md][x]"),
    ] {
        let test = json!({
            "id": id, "criteria": "x", "input": input, "input_files": ["a file.md"],
            "assertions": [{"type": "equals", "value": expected}]
        });
        // Files are a part of the prompt.
        let has_files = command.contains("FILES");
        let mut test = test;
        if !has_files {
            test.as_object_mut().unwrap().remove("input_files");
        }
        directory.file("e.yaml", json!({"tests": [test]}).to_string());
        let target = json!({"name": "default", "provider": "cli", "command": command, "files_format": "--file {basename} x"});
        directory.file("targets.yaml", json!({"targets": [target]}).to_string());
        let ran = directory.run(&["e.yaml", "-o", "json"]);
        assert_eq!(ran.code, Some(0), "{command}: {}{}", ran.stdout, ran.stderr);
    }
    assert!(!directory.join("ran").exists());
}

#[test]
fn contained_runs_of_eval_files_start_no_program() {
    let directory = Directory::new();
    let entries = [
        (
            "{name: g, type: code-grader, command: 'touch ran; exit 3'}",
            "e.yaml:1:55: `g` starts the program `touch ran; exit 3`",
        ),
        (
            "{name: g, type: code-grader, command: [touch, ran]}",
            "`g` starts the program `touch ran`",
        ),
        (
            "{name: g, type: llm-grader, prompt: {command: [touch, ran]}}",
            "`g` starts the program `touch ran`",
        ),
        (
            "{name: g, type: composite, aggregator: {type: code-grader, path: touch ran}, assertions: [{name: a, type: is-json}]}",
            "`g` starts the program `touch ran`",
        ),
        (
            "{name: g, type: llm-grader, target: judge}",
            "targets.yaml:1:54: the target `judge`, which judges, starts the program `touch ran`",
        ),
    ];
    let targets = "targets: [{name: t, provider: mock, response: '{}'}, {name: judge, provider: cli, command: touch ran}]";
    directory.file("targets.yaml", targets);
    directory.file("out/one.txt", "{}");
    for (entry, message) in entries {
        directory.file(
            "e.yaml",
            format!("tests: [{{id: one, criteria: x, input: q, assertions: [{entry}]}}]"),
        );
        for command in ["run", "check"] {
            let args = [command, "e.yaml", "--contain", "--outputs", "out", "--grader-target", "t"];
            let ran = directory.evaluator(&args).exits(2);
            assert_eq!(ran.stdout, "", "{entry}");
            ran.says(message).says("leave --contain out, grade recorded outputs with --outputs");
        }
    }
    directory
        .file("e.yaml", "tests: [{id: one, criteria: x, input: q, assertions: [{type: is-json}]}]");
    let args = ["e.yaml", "--contain", "--target", "judge"];
    directory.run(&args).exits(2).says("the target `judge` starts the program `touch ran`");
    assert!(!directory.join("ran").exists());
    // Without a program there is nothing to contain.
    for rest in [&["--outputs", "out"][..], &["--target", "t"]] {
        for command in ["run", "check"] {
            directory.evaluator(&[&[command, "e.yaml", "--contain"], rest].concat()).exits(0);
        }
    }
}
