//! Programs of eval files: what reaches their command line, and `--contain`.

use serde_json::{Value, json};

use crate::support::{Directory, has};

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

#[cfg(target_os = "linux")]
#[test]
fn commands_of_targets_are_contained_as_graders_are() {
    if !can_contain() {
        return;
    }
    let (directory, other) = (Directory::new(), Directory::new());
    directory.file("note", "of the directory");
    other.file("secret", "of another directory");
    let secret = other.join("secret");
    let agent = format!(
        "{{ cat note {{PROMPT_FILE}} {{FILES}}; touch ran && echo changed; cat {}; echo $DECOY_TOKEN; }} > {{OUTPUT_FILE}}",
        secret.display()
    );
    let judge =
        "if touch ran; then s=0; else s=1; fi; echo \"{\\\"score\\\": $s}\" > {OUTPUT_FILE}";
    let targets = json!({"targets": [
        {"name": "default", "provider": "cli", "command": agent, "grader_target": "judge"},
        {"name": "judge", "provider": "cli", "command": judge},
    ]});
    directory.file("targets.yaml", targets.to_string());
    let has = |value: &str| json!({"name": value, "type": "contains", "value": value});
    let has_not =
        |value: &str| json!({"name": value, "type": "contains", "value": value, "negate": true});
    let test = json!({
        "id": "one", "criteria": "x", "input": "it's asked", "input_files": ["note"],
        "assertions": [
            has("of the directory"), has("it's asked"), has_not("changed"), has_not("of another directory"),
            has_not("decoy-0123456789"), {"name": "judge", "type": "llm-grader", "prompt": "{{output}}"},
        ],
    });
    for (execution, option, scores) in [
        (json!({}), "-v", [1, 1, 0, 0, 0, 0]),
        (json!({}), "--contain", [1; 6]),
        (json!({"executor": "sandbox"}), "-v", [1; 6]),
    ] {
        directory.file("e.yaml", json!({"execution": execution, "tests": [test]}).to_string());
        directory.evaluator(&["check", "e.yaml"]).exits(0);
        let mut command = directory.command(&["run", "e.yaml", "-o", "json", "-v", option]);
        command.env("DECOY_TOKEN", "decoy-0123456789");
        let ran = evaluator_test_support::finish(command.spawn().unwrap());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let evaluators = report["results"][0]["evaluators"].as_array().unwrap();
        let found: Vec<_> = evaluators.iter().map(|it| it["score"].as_f64()).collect();
        assert_eq!(found, scores.map(|it| Some(f64::from(it))), "{}{}", ran.stdout, ran.stderr);
        let is_contained = scores[2] == 1;
        assert_eq!(directory.join("ran").exists(), !is_contained);
        assert_eq!(ran.stderr.contains("default: sandbox: "), is_contained, "{}", ran.stderr);
        let _ = std::fs::remove_file(directory.join("ran"));
    }
    // What the command lacks is named.
    directory.file(
        "targets.yaml",
        format!("targets: [{{name: default, provider: cli, command: 'cat {}'}}]", secret.display()),
    );
    directory.file("e.yaml", TEST);
    let ran = directory.run(&["e.yaml", "--contain"]).exits(3);
    assert!(
        ran.stdout.contains("the command of the target exited with code 1: cat: "),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("but the sandbox does not show it"), "{}", ran.stdout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_a_contained_grader_asks_is_contained() {
    if !has("python3") || !can_contain() {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "ask.py",
        r#"import json, os, urllib.request
url = os.environ["AGENTV_TARGET_PROXY_URL"] + "/invoke"
headers = {"authorization": "Bearer " + os.environ["AGENTV_TARGET_PROXY_TOKEN"], "content-type": "application/json"}
with urllib.request.urlopen(urllib.request.Request(url, b'{"question": "q", "target": "other"}', headers)) as answer:
    print(json.dumps({"score": 1, "reasoning": answer.read().decode()}))
"#,
    );
    let other = "if touch ran; then echo free; else echo held; fi > {OUTPUT_FILE}";
    let targets = json!({"targets": [
        {"name": "default", "provider": "mock", "response": "Paris", "grader_target": "default"},
        {"name": "other", "provider": "cli", "command": other},
    ]});
    directory.file("targets.yaml", targets.to_string());
    let grader =
        json!({"name": "g", "type": "code-grader", "command": ["python3", "ask.py"], "target": {}});
    let suite =
        json!({"tests": [{"id": "one", "criteria": "x", "input": "q", "assertions": [grader]}]});
    directory.file("e.yaml", suite.to_string());
    for (option, answer) in [("--contain", "held"), ("-v", "free")] {
        let ran = directory.run(&["e.yaml", "-o", "json", option]).exits(0);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let reason = report["results"][0]["evaluators"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(answer), "{option}: {reason}");
    }
}

#[test]
fn settings_of_containment_that_make_no_sense_are_problems_with_their_positions() {
    let directory = Directory::new();
    directory.file("out/one.txt", "Paris");
    directory.file("out/two", "x");
    let check = "assertions: [{type: contains, value: Paris}]";
    let test = |test: &str| format!("tests: [{{id: one, criteria: x, input: q, {test}}}]");
    for (execution, message) in [
        ("executor: moon", "`executor` must be"),
        ("executor: sandbox, sandbox: {netwrok: true}", "did you mean `network`?"),
        ("executor: sandbox, network: true", "`network` is a key of `sandbox`"),
        ("sandbox: {network: true}", "`sandbox` has no effect with `executor: local`"),
        ("executor: docker, sandbox: {}, docker: {image: a}", "`sandbox` has no effect with"),
        ("executor: docker", "`executor: docker` needs the name of an image"),
        ("executor: sandbox, sandbox: {write: [.]}", "which contains the eval file, "),
        ("executor: sandbox, sandbox: {read: [nothing]}", "/nothing, which does not exist"),
    ] {
        directory.file("e.yaml", format!("execution: {{{execution}}}\n{}", test(check)));
        for command in ["run", "check"] {
            let ran = directory.evaluator(&[command, "e.yaml", "--outputs", "out"]).exits(2);
            assert!(ran.stderr.contains("e.yaml:1:"), "{execution}: {}", ran.stderr);
            assert!(ran.stderr.contains(message), "{execution}: {}", ran.stderr);
        }
    }
    // These are keys of a suite.
    directory.file("e.yaml", test(&format!("{check}, execution: {{executor: sandbox}}")));
    directory.evaluator(&["check", "e.yaml"]).exits(2).says("unknown key `executor`");
    directory.file("targets.yaml", "targets: [{name: t, provider: mock, response: '{}'}]");
    let asks = "assertions: [{name: g, type: code-grader, command: [./g], target: {max_calls: 1}}]";
    let grades = "assertions: [{name: g, type: code-grader, command: [./g]}]";
    for (execution, test_keys, message) in [
        (
            "executor: docker, docker: {image: a}",
            asks,
            "e.yaml:2:55: `target` is a server of this machine, which a container",
        ),
        (
            "executor: sandbox, sandbox: {level: partial}",
            asks,
            "e.yaml:2:55: `target` is a server of this machine, which a sandbox",
        ),
        (
            "executor: sandbox, sandbox: {write: [out], read: [out/two]}",
            grades,
            "`g`: `read` names ",
        ),
    ] {
        directory.file("e.yaml", format!("execution: {{{execution}}}\n{}", test(test_keys)));
        for command in ["run", "check"] {
            let args = [command, "e.yaml", "--outputs", "out", "--grader-target", "t"];
            let ran = directory.evaluator(&args).exits(2);
            assert!(ran.stderr.contains(message), "{execution}: {}", ran.stderr);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn keys_of_the_sandbox_hold_for_targets_and_graders() {
    if !can_contain() {
        return;
    }
    let (directory, other) = (Directory::new(), Directory::new());
    other.file("note", "Paris");
    std::fs::create_dir(directory.join("changed")).unwrap();
    let note = other.join("note");
    let agent = format!("touch changed/by-target && cat {} > {{OUTPUT_FILE}}", note.display());
    let targets = json!({"targets": [{"name": "default", "provider": "cli", "command": agent}]});
    directory.file("targets.yaml", targets.to_string());
    let grader = "touch changed/by-grader && ! touch ran && echo '{\"score\": 1}'";
    let sandbox = json!({"write": ["changed"], "read": [note]});
    let suite = json!({
        "execution": {"executor": "sandbox", "sandbox": sandbox},
        "tests": [{"id": "one", "criteria": "x", "input": "q", "assertions": [
            {"type": "contains", "value": "Paris"},
            {"name": "g", "type": "code-grader", "command": grader},
        ]}],
    });
    directory.file("e.yaml", suite.to_string());
    for option in ["-v", "--contain"] {
        directory.run(&["e.yaml", option]).exits(0);
        for name in ["changed/by-target", "changed/by-grader"] {
            std::fs::remove_file(directory.join(name)).unwrap();
        }
    }
    assert!(!directory.join("ran").exists());
}

#[cfg(unix)]
#[test]
fn a_prompt_that_no_shell_can_read_is_an_error() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST.replace("'$(touch ran)'", "\"a\\0b\""));
    let target =
        "targets: [{name: default, provider: cli, command: 'echo Paris {PROMPT} > {OUTPUT_FILE}'}]";
    directory.file("targets.yaml", target);
    let ran = directory.run(&["e.yaml"]).exits(3);
    assert!(ran.stdout.contains("the prompt has a NUL character"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn commands_that_judge_do_not_wait_for_jobs() {
    let directory = Directory::new();
    let test = |id: &str| {
        let grader = "{name: g, type: llm-grader, prompt: 'G {{output}}'}";
        format!("  - {{id: {id}, criteria: x, input: q, assertions: [{grader}]}}\n")
    };
    directory.file("e.yaml", format!("tests:\n{}{}", test("one"), test("two")));
    directory.file("out/one.txt", "Paris");
    directory.file("out/two.txt", "Rome");
    // Each answers when both have started.
    directory.file(
        "targets.yaml",
        r#"targets:
  - {name: default, provider: mock, response: x, grader_target: g}
  - name: g
    provider: cli
    timeout_seconds: 20
    command: 'touch started.$$; until [ $(ls | grep -c ^started) = 2 ]; do sleep 0.1; done; echo "{\"score\": 1}" > {OUTPUT_FILE}'
"#,
    );
    let args = ["e.yaml", "--outputs", "out", "--jobs", "1", "--max-retries", "0"];
    directory.run(&args).exits(0);
}

#[cfg(unix)]
#[test]
fn a_command_that_takes_too_long_is_repeated_with_the_number_of_the_attempt() {
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    let targets = |limit: u32| {
        format!(
            "targets: [{{name: default, provider: cli, timeout_seconds: 2, command: 'echo {{ATTEMPT}} >> attempts; [ {{ATTEMPT}} = {limit} ] || sleep 60; echo Paris > {{OUTPUT_FILE}}'}}]"
        )
    };
    directory.file("targets.yaml", targets(2));
    directory.run(&["e.yaml"]).exits(0);
    assert_eq!(directory.read("attempts"), "0\n1\n2\n");
    directory.file("targets.yaml", targets(9));
    let ran = directory.run(&["e.yaml", "--max-retries", "1"]).exits(3);
    let error = "the command of the target timed out after 2s (2 of 2 attempts)";
    assert!(ran.stdout.contains(error), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn a_command_that_judges_is_repeated_as_often_as_the_option_says() {
    let directory = Directory::new();
    let grader = "{name: g, type: llm-grader, prompt: 'G {{output}}'}";
    let suite = format!("tests: [{{id: one, criteria: x, input: q, assertions: [{grader}]}}]");
    directory.file("e.yaml", suite);
    let judge = "{name: g, provider: cli, timeout_seconds: 1, command: 'echo x >> asked; sleep 60 > {OUTPUT_FILE}'}";
    let tested = "{name: default, provider: mock, response: x, grader_target: g}";
    directory.file("targets.yaml", format!("targets: [{tested}, {judge}]"));
    for (retries, asked) in [("0", "x\n"), ("1", "x\nx\n")] {
        let ran = directory.run(&["e.yaml", "--max-retries", retries]).exits(3);
        let error =
            "`g` broke: timeout: model `cli/g`: the command of the target timed out after 1s";
        assert!(ran.stdout.contains(error), "{}", ran.stdout);
        assert_eq!(directory.read("asked"), asked);
        std::fs::remove_file(directory.join("asked")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_contained_command_may_have_a_temporary_directory_of_its_own() {
    if !can_contain() {
        return;
    }
    let directory = Directory::new();
    directory.file("e.yaml", TEST);
    let command = "mkdir -p /tmp/own/target; export TMPDIR=/tmp/own; cat {PROMPT_FILE}; echo Paris > {OUTPUT_FILE}";
    let targets = json!({"targets": [{"name": "default", "provider": "cli", "command": command}]});
    directory.file("targets.yaml", targets.to_string());
    directory.run(&["e.yaml", "--contain"]).exits(0);
}

/// A container engine that runs the commands of its one image on this machine.
#[cfg(unix)]
const ENGINE: &str = r#"case "$*" in
  info*) echo 27.0 ;;
  *Config.Volumes*) echo null ;;
  "image inspect"*) echo sha256:fake ;;
  run*)
    while [ "$1" != sha256:fake ]; do shift; done
    shift
    exec "$@" ;;
esac
"#;

#[cfg(unix)]
#[test]
fn commands_of_an_image_are_not_files_of_the_working_directory() {
    let directory = Directory::new();
    directory.script("bin/docker", ENGINE);
    directory.script("sh", "echo 'of the working directory' >&2; exit 1");
    let docker = "execution: {executor: docker, docker: {image: a}}";
    directory.file("e.yaml", format!("{docker}\n{TEST}"));
    let target = "targets: [{name: default, provider: cli, command: 'echo Paris > {OUTPUT_FILE}'}]";
    directory.file("targets.yaml", target);
    let mut command = directory.command(&["run", "e.yaml"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", directory.join("bin").display()));
    evaluator_test_support::finish(command.spawn().unwrap()).exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn contained_programs_read_the_directory_of_the_file_and_change_nothing() {
    if !has("python3") || !can_contain() {
        return;
    }
    let directory = Directory::new();
    directory.file("note", "Paris");
    directory.file(
        "judge.py",
        "note = open('note').read()\ntry:\n    open('ran', 'w')\nexcept OSError:\n    print('{\"score\": %d}' % (note == 'Paris'))\n",
    );
    let judge = "grep -q Paris note && ! touch ran && echo '{\"score\": 1}'";
    directory.file("judge.sh", judge);
    directory.file("prompt.sh", "! touch ran && cat note\n");
    directory
        .file("targets.yaml", "targets: [{name: t, provider: mock, response: '{\"score\": 1}'}]");
    directory.file("out/one.txt", "{}");
    for entry in [
        "{name: g, type: code-grader, command: sh judge.sh}",
        "{name: g, type: code-grader, command: [python3, judge.py]}",
        "{name: g, type: composite, aggregator: {type: code-grader, path: sh judge.sh}, assertions: [{name: a, type: is-json}]}",
        "{name: g, type: llm-grader, target: t, prompt: {command: [sh, prompt.sh]}}",
    ] {
        let test = format!("tests: [{{id: one, criteria: x, input: q, assertions: [{entry}]}}]");
        for (execution, option) in [("", "--contain"), ("execution: {executor: sandbox}\n", "-v")] {
            directory.file("e.yaml", format!("{execution}{test}"));
            let args = ["e.yaml", "--outputs", "out", "-v", option];
            let ran = directory.run(&args).exits(0);
            assert!(ran.stderr.contains("g: sandbox: "), "{entry}: {}", ran.stderr);
            assert!(!directory.join("ran").exists(), "{entry}");
        }
    }
}

/// Returns true if this machine can contain programs.
#[cfg(target_os = "linux")]
fn can_contain() -> bool {
    let directory = Directory::new();
    directory.script("bin/true", "exit 0");
    let config = "evaluators:\n- {name: a, type: code, path: bin/true, executor: sandbox}\n";
    directory.file("available.yaml", config);
    let ran = directory.evaluator(&["check", "available.yaml"]);
    let required = std::env::var_os("CONTAINMENT_TESTS").is_some_and(|it| it == "required");
    assert!(!required || ran.code == Some(0), "{}{}", ran.stdout, ran.stderr);
    ran.code == Some(0)
}

#[cfg(target_os = "linux")]
#[test]
fn graders_in_python_are_forks_of_one_interpreter() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let entry = "{name: g, type: code-grader, command: [python3, judge.py]}";
    let test = |id| format!("- {{id: t{id}, criteria: x, input: q, assertions: [{entry}]}}\n");
    directory.file("e.yaml", format!("tests:\n{}", (0..6).map(test).collect::<String>()));
    let row = |id| format!("{{\"test_id\": \"t{id}\", \"output\": \"x\"}}\n");
    directory.file("rows.jsonl", (0..6).map(row).collect::<String>());
    directory.file(
        "judge.py",
        "import json, os\nparent = open('/proc/%d/comm' % os.getppid()).read().strip()\nprint(json.dumps({'score': 1, 'reasoning': parent}))\n",
    );
    let ran = directory.run(&["e.yaml", "--outputs", "rows.jsonl", "-o", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    for result in report["results"].as_array().expect("a list") {
        let parent = result["evaluators"][0]["reason"].as_str().unwrap_or_default();
        assert!(parent.starts_with("python"), "{parent}: {}", ran.stdout);
    }
}

#[cfg(unix)]
#[test]
fn programs_get_files_events_and_the_origin_of_the_output() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("docs/note.md", "a\r\nb\r\n");
    directory.file(
        "e.yaml",
        "metadata: {owner: me, tags: [a], level: {min: 1}}
governance: {risk: low}
x-shared: &shared {type: code-grader, command: [python3, dump.py]}
tests:
  - id: one
    criteria: x
    conversation_id: c7
    metadata: {tags: [b, a], level: {max: 2}, owner: you}
    input:
      - {role: system, content: Be brief.}
      - {role: system, content: Be kind.}
      - {role: user, content: [{type: text, value: Read it.}, {type: file, value: docs/../docs/note.md}]}
    expected_output: [{role: assistant, content: [{type: file, value: docs/note.md}]}]
    assertions: [*shared]
",
    );
    directory.file(
        "dump.py",
        "import sys\nopen('payload.json', 'w').write(sys.stdin.read())\nprint('{\"score\": 1}')\n",
    );
    directory.file(
        "answer.json",
        r#"{"output": [
            {"role": "assistant", "content": "Looking", "start_time": "t1", "tool_calls": [
                {"tool": "read", "id": "c1", "input": {"a": 1}, "output": "text", "duration_ms": 5, "end_time": "t2"},
                {"tool": "stop", "status": "error"}]},
            {"role": "assistant", "content": "Done", "end_time": "t3"}]}"#,
    );
    directory.file(
        "targets.yaml",
        "targets: [{name: default, provider: cli, command: 'cp answer.json {OUTPUT_FILE}'}]",
    );
    directory.run(&["e.yaml"]).exits(0);
    let payload: Value = serde_json::from_str(&directory.read("payload.json")).unwrap();
    let path = directory.path().canonicalize().unwrap().join("docs/note.md");
    let path = path.to_string_lossy();
    let file = json!({
        "type": "file", "value": "docs/../docs/note.md", "path": "docs/../docs/note.md", "text": "a\nb\n", "resolved_path": path
    });
    assert_eq!(payload["input"][2]["content"][1], file);
    assert_eq!(payload["expected_output"][0]["content"][0]["text"], "a\nb\n");
    assert_eq!(payload["input_files"], json!([path]));
    let messages = &payload["trace"]["messages"];
    assert_eq!(&payload["messages"], messages);
    assert_eq!(messages[0], json!({"role": "system", "content": "Be brief.\n\nBe kind."}));
    let asked = format!("Read it.\n<file: path=\"{path}\">");
    assert_eq!(messages[1], json!({"role": "user", "content": asked}));
    assert_eq!(
        payload["trace"]["metadata"],
        json!({"provider": "cli", "target": "default", "eval_case_id": "one", "provider_session_id": "c7"})
    );
    let events = payload["trace"]["events"].as_array().unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "message",
        "message",
        "message",
        "tool_call",
        "tool_result",
        "tool_call",
        "message",
        "final_response",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        events[2]["message"],
        json!({"role": "assistant", "content": "Looking"}),
        "tool calls are events of their own"
    );
    assert_eq!((&events[2]["timestamp"], &events[3]["duration_ms"]), (&json!("t1"), &json!(5)));
    assert_eq!(
        events[4],
        json!({
            "event_id": "message-2-tool-0-result", "parent_event_id": "message-2-tool-0", "ordinal": 4, "type": "tool_result",
            "timestamp": "t2", "tool": {"name": "read", "call_id": "c1", "output": "text", "status": "ok"},
            "metadata": {"message_index": 2, "tool_index": 0}
        })
    );
    assert_eq!(events[5]["tool"], json!({"name": "stop", "status": "error"}));
    assert_eq!(
        events[7],
        json!({
            "event_id": "final-response", "parent_event_id": "message-3", "ordinal": 7, "type": "final_response",
            "timestamp": "t3", "message": {"role": "assistant", "content": "Done"}, "metadata": {"message_index": 3}
        })
    );
    let metadata = json!({"tags": ["a", "b"], "level": {"max": 2, "min": 1}, "owner": "you", "governance": {"risk": "low"}});
    assert_eq!(payload["metadata"], metadata);
    // An output with a message of the user is the whole conversation.
    let whole =
        r#"{"output": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}"#;
    directory.file("answer.json", whole);
    directory.run(&["e.yaml"]).exits(0);
    let payload: Value = serde_json::from_str(&directory.read("payload.json")).unwrap();
    assert_eq!(payload["messages"].as_array().unwrap().len(), 2);
}
