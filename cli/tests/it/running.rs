//! Running what a configuration and the command line ask for.
#![cfg(unix)]

use std::fs;

use crate::support::{Directory, eval_set, trace};

const PASS: &str = r#"cat >/dev/null; echo '{"score": 1}'"#;
const FAIL: &str = r#"cat >/dev/null; echo '{"score": 0.25}'"#;

/// An entry for an executable file.
fn code(name: &str, path: &str) -> String {
    format!("  - {{name: {name}, type: code, path: {path}}}\n")
}

fn config(entries: &[String]) -> String {
    format!("evaluators:\n{}", entries.concat())
}

#[test]
fn exit_codes_tell_passed_failed_and_errored_apart() {
    let directory = Directory::new();
    directory.script("pass", PASS);
    directory.script("fail", FAIL);
    directory.script("unsure", r#"cat >/dev/null; echo '{"score": 0, "status": "NOT_EVALUATED"}'"#);
    directory.script("crash", "exit 9");
    let trace = trace("a01_otlp_basic_parts");
    for (evaluators, exit, verdict) in [
        (
            &["pass"][..],
            0,
            "PASSED: 1 passed, 0 failed, 0 errored, 0 not evaluated (1 evaluation in 1 conversation), 1 scored of 1 in total",
        ),
        (&["unsure"], 1, "NOTHING EVALUATED: 0 passed, 0 failed, 0 errored, 1 not evaluated"),
        (&["pass", "unsure"], 0, "PASSED: 1 passed, 0 failed, 0 errored, 1 not evaluated"),
        (&["pass", "fail"], 1, "FAILED: 1 passed, 1 failed, 0 errored, 0 not evaluated"),
        (&["pass", "fail", "crash"], 3, "ERROR: 1 passed, 1 failed, 1 errored, 0 not evaluated"),
    ] {
        let entries: Vec<String> = evaluators.iter().map(|name| code(name, name)).collect();
        directory.file("c.yaml", config(&entries));
        directory.run(&[&trace, "-c", "c.yaml"]).exits(exit).says(verdict);
    }
}

#[test]
fn golden_conversations_decide_and_their_absence_is_explained() {
    let directory = Directory::new();
    let goldens = eval_set("library");
    directory.run(&[&trace("k01_traj_exact"), "-e", &goldens]).exits(0).says("PASSED: 1 passed");
    directory
        .run(&[&trace("k02_traj_extra"), "-e", &goldens])
        .exits(1)
        .says("FAILED: 0 passed, 1 failed");
    let in_order = ["--trajectory-match-type", "in_order"];
    let k02 = trace("k02_traj_extra");
    directory.run(&[&[&*k02, "-e", &goldens][..], &in_order].concat()).exits(0);
    directory
        .run(&[&trace("i11_five_traces_plain"), "--no-config"])
        .exits(1)
        .says("tool_trajectory_avg_score: 5 conversations not evaluated: no eval set provided");
}

#[test]
fn the_command_line_overrides_the_configuration() {
    let directory = Directory::new();
    directory.script("half", r#"cat >/dev/null; echo '{"score": 0.5}'"#);
    let trace = trace("k02_traj_extra");
    let goldens = eval_set("library");
    directory.file(
        "c.yaml",
        "output_format: json\neval_set: no/such.json\nevaluators:\n  - {name: half, type: code, path: half}\n  \
             - {name: tool_trajectory_avg_score, type: builtin, trajectory_match_type: EXACT}\n",
    );
    let base = [&*trace, "-c", "c.yaml", "-e", &goldens];
    let run = |more: &[&str]| directory.run(&[&base[..], more].concat());

    assert_eq!(
        run(&[]).exits(1).evaluations(0),
        ["half PASSED", "tool_trajectory_avg_score FAILED"]
    );
    // Settings reach every built-in metric, and never a program.
    let ran = run(&["-t", "0.9", "--trajectory-match-type", "IN_ORDER"]).exits(0);
    assert_eq!(ran.evaluations(0), ["half PASSED", "tool_trajectory_avg_score PASSED"]);
    assert_eq!(
        run(&["-t", "0"]).exits(0).evaluations(0),
        ["half PASSED", "tool_trajectory_avg_score PASSED"]
    );
    // A metric named in addition to a configuration replaces the entry of its name, with its settings, or is appended.
    let metrics = ["-m", "tool_trajectory_avg_score", "-m", "response_match_score", "-t", "0"];
    let ran = run(&metrics).exits(0);
    assert_eq!(
        ran.evaluations(0),
        ["half PASSED", "tool_trajectory_avg_score PASSED", "response_match_score PASSED"]
    );
    run(&["-m", "half"]).exits(2).says("there is no metric `half`");
    // The form of the report, whichever way round.
    assert!(run(&["-o", "table"]).stdout.starts_with("Trace: "));
    assert!(run(&["-o", "summary"]).stdout.starts_with("Trace "));
    directory.file(
        "c.yaml",
        fs::read_to_string(directory.path().join("c.yaml"))
            .unwrap()
            .replace("json\neval", "table\neval"),
    );
    run(&["-o", "json"]).json();
    // The format of traces.
    let forced = run(&["-f", "jaeger-json", "-o", "summary"]).exits(3);
    assert!(forced.stdout.contains("Invalid Jaeger JSON format"), "{}", forced.stdout);
}

#[test]
fn grouping_and_formats_of_the_configuration_count() {
    let directory = Directory::new();
    let trace = trace("i11_five_traces_plain");
    directory.file(
        "c.yaml",
        "trace_format: jaeger-json\nevaluators: [{name: response_match_score, type: builtin}]\n",
    );
    directory.run(&[&trace, "-c", "c.yaml"]).exits(3).says("Invalid Jaeger JSON format");
    directory
        .run(&[&trace, "-c", "c.yaml", "-f", "OTLP-JSON"])
        .exits(1)
        .says("in 5 conversations)");
}

#[test]
fn metrics_named_twice_are_refused_without_a_configuration_only() {
    let directory = Directory::new();
    let trace = trace("k01_traj_exact");
    let twice = ["-m", "response_match_score", "-m", "response_match_score"];
    directory
        .run(&[&[&*trace][..], &twice].concat())
        .exits(2)
        .reports_nothing()
        .says("the metric `response_match_score` is given twice");
    directory.file("c.yaml", "evaluators: [{name: response_match_score, type: builtin}]\n");
    let ran =
        directory.run(&[&[&*trace, "-c", "c.yaml", "-o", "json"][..], &twice].concat()).exits(1);
    assert_eq!(ran.evaluations(0), ["response_match_score NOT_EVALUATED"]);
}

#[test]
fn the_report_does_not_depend_on_how_many_run_at_a_time() {
    let directory = Directory::new();
    // The first of the configuration is the last to finish.
    for (index, name) in ["e", "d", "c", "b", "a"].into_iter().enumerate() {
        let pause = 0.3 - 0.06 * index as f64;
        let end = if name == "b" { "echo bad >&2; exit 3" } else { r#"echo '{"score": 0.75}'"# };
        directory.script(name, &format!("cat >/dev/null; sleep {pause}; {end}"));
    }
    let entries = ["e", "d", "c", "b", "a"].map(|name| code(name, name));
    directory.file("c.yaml", config(&entries));
    let (plain, two) = (trace("a01_otlp_basic_parts"), trace("k01_traj_exact"));
    let report = |jobs: &str| {
        let ran =
            directory.run(&[&plain, &two, "-c", "c.yaml", "-o", "json", "--jobs", jobs]).exits(3);
        let expected = ["e PASSED", "d PASSED", "c PASSED", "b ERROR exited", "a PASSED"];
        assert_eq!(ran.evaluations(0), expected);
        let mut json = ran.json();
        for trace in json["traces"].as_array_mut().unwrap() {
            for metric in trace["metrics"].as_array_mut().unwrap() {
                assert!(metric["duration_ms"].take().is_f64());
            }
        }
        json
    };
    assert_eq!(report("1"), report("8"));
}

#[test]
fn what_evaluators_write_to_stderr_is_shown_when_it_is_wanted() {
    let directory = Directory::new();
    directory.script("chatty", "cat >/dev/null; echo from chatty >&2; echo '{\"score\": 1}'");
    directory.script("broken", "cat >/dev/null; echo from broken >&2; echo '{\"score\": 7}'");
    directory.file("c.yaml", config(&[code("chatty", "chatty"), code("broken", "broken")]));
    let trace = trace("a01_otlp_basic_parts");
    let ran = directory.run(&[&trace, "-c", "c.yaml"]).exits(3);
    assert!(!ran.stderr.contains("from chatty"), "{}", ran.stderr);
    ran.says("  | from broken\n");
    let ran = directory.run(&[&trace, "-c", "c.yaml", "-v"]).exits(3);
    assert!(!ran.stderr.contains("from chatty"), "{}", ran.stderr);
    directory.run(&[&trace, "-c", "c.yaml", "-vv"]).exits(3).says("  | from chatty\n");
}

#[test]
fn stderr_of_an_evaluator_that_always_breaks_is_not_shown_without_end() {
    let directory = Directory::new();
    directory.script("broken", "cat >/dev/null; echo tale of woe >&2; echo nonsense");
    // It never writes the same text twice.
    directory.script("varied", "cat >/dev/null; echo $$ other tales >&2; echo nonsense");
    directory.file("c.yaml", config(&[code("broken", "broken"), code("varied", "varied")]));
    let trace = trace("i11_five_traces_plain");
    for (more, equal, others) in [(&[][..], 1, 3), (&["-v"], 5, 5)] {
        let ran = directory.run(&[&[trace.as_str(), "-c", "c.yaml"], more].concat()).exits(3);
        assert_eq!(ran.stderr.matches("tale of woe").count(), equal, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("other tales").count(), others, "{}", ran.stderr);
    }
}

#[test]
fn an_evaluator_gets_the_settings_of_its_entry() {
    let directory = Directory::new();
    directory.script(
        "picky",
        r#"document=$(cat)
case "$document" in
*'"metric_name":"picky","threshold":0.125,"config":{"words":["a",null,1.5]},'*) echo '{"score": 0.125}';;
*) echo "$document" >&2; exit 4;;
esac"#,
    );
    directory.file(
        "c.yaml",
        "evaluators:\n  - name: picky\n    type: code\n    path: ./picky\n    threshold: 0.125\n    config: {words: [a, ~, 1.5]}\n",
    );
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml"]).exits(0);
}

#[test]
fn commands_are_known_by_the_names_agentevals_has_for_them() {
    let directory = Directory::new();
    directory.script("checks/polite", PASS);
    for args in [
        &["list", "--source", "builtin"][..],
        &["list", "-s", "builtin", "--refresh"],
        &["runtimes"],
        &["config", "tool_trajectory_avg_score"],
        &["config", "checks/polite"],
    ] {
        let short = directory.evaluator(args).exits(0);
        let long = directory.evaluator(&[&["evaluator"][..], args].concat()).exits(0);
        assert!(!short.stdout.is_empty() && short.stderr.is_empty(), "{args:?}: {short:?}");
        assert_eq!(short.stdout, long.stdout, "{args:?}");
    }
}

#[test]
fn a_printed_entry_can_be_run() {
    let directory = Directory::new();
    directory.script("checks/polite", PASS);
    let entry = directory.evaluator(&["config", "checks/polite"]).exits(0).stdout;
    directory.file("c.yaml", entry);
    let ran =
        directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["polite PASSED"]);
}

#[test]
fn metrics_that_need_a_judge_say_so_and_others_say_that_they_need_none() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    let run = |more: &[&str]| directory.run(&[&[&*trace, "-o", "json"], more].concat());
    for metric in ["multi_turn_task_success_v1", "safety_v1"] {
        let ran = run(&["-m", metric, "-j", "some-model"]).exits(3);
        assert_eq!(ran.evaluations(0), [format!("{metric} ERROR metric_failed")]);
        let error = ran.error_of(metric);
        assert!(error.starts_with(&format!("{metric} needs a judge model")), "{error}");
        assert!(!ran.stderr.contains("has no effect"), "{}", ran.stderr);
    }
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: tool_trajectory_avg_score, type: builtin, judgeBaseUrl: u}\n",
    );
    run(&["-c", "c.yaml"])
        .exits(1)
        .says("tool_trajectory_avg_score uses no judge, so `judge_base_url` has no effect");
    // The run has no credentials, so an entry that names one cannot be scored.
    directory.file(
        "d.yaml",
        "evaluators:\n  - {name: tool_trajectory_avg_score, type: builtin, credential_ref: secret}\n",
    );
    run(&["-c", "d.yaml"]).exits(1);
    let goldens = eval_set("library");
    let ran = run(&["-c", "d.yaml", "-e", &goldens]).exits(3);
    let error = ran.error_of("tool_trajectory_avg_score");
    assert!(error.contains("references credential 'secret', which was not provided"), "{error}");
    let model = "tool_trajectory_avg_score uses no judge, so `judge_model` has no effect";
    run(&["--no-config", "-j", "some-model"]).exits(1).says(model);
    let both = ["-m", "tool_trajectory_avg_score", "-m", "safety_v1", "-j", "some-model"];
    assert!(!run(&both).exits(3).stderr.contains("has no effect"));
}

#[test]
fn the_letter_of_the_judge_takes_no_number_of_jobs() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    let run = |more: &[&str]| directory.run(&[&[&*trace, "--no-config"], more].concat());
    // The metric uses no judge, and warns if one is named.
    run(&["-j", "4-mini", "--jobs", "2"]).exits(1).says("judge_model");
    run(&["-j", "3"]).exits(2).reports_nothing().says("write --jobs for the number of parallel");
    run(&["-j3"]).exits(2).reports_nothing().says("write --jobs");
    run(&["-j", "m", "--judge-model", "m"]).exits(2).reports_nothing();
}

#[test]
fn a_run_may_require_that_every_evaluator_scores() {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: response_match_score, type: builtin}\n",
    );
    let trace = trace("k01_traj_exact");
    directory.run(&[&trace, "--no-config"]).exits(1).says("NOTHING EVALUATED: 0 passed");
    directory.run(&[&trace, "-c", "c.yaml"]).exits(0);
    let message = "scored no conversation, and every evaluator must score one";
    let args = ["-c", "c.yaml", "--require-evaluated"];
    directory
        .run(&[&[&*trace], &args[..]].concat())
        .exits(1)
        .says(&format!("response_match_score: {message}"))
        .says("FAILED: 1 passed, 0 failed, 0 errored, 1 not evaluated (2 evaluations in 1 conversation), 1 scored of 2 in total");
    for (form, expected) in [
        ("junit", "<testcase classname=\"require_evaluated\" name=\"response_match_score\""),
        ("markdown", "- response\\_match\\_score: scored no conversation"),
        ("github", "::error title=response_match_score::scored no conversation"),
        ("json", "\"missing_scores\": [\n    \"response_match_score\"\n  ]"),
    ] {
        let ran = directory.run(&[&[&*trace, "-o", form], &args[..]].concat()).exits(1);
        assert!(ran.stdout.contains(expected), "{form}: {}", ran.stdout);
    }
    // Every golden case has to have a recording, too.
    let goldens = eval_set("library");
    directory.run(&[&[&*trace, "-e", &goldens], &args[..]].concat()).exits(1);
    let mut one: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(goldens).unwrap()).unwrap();
    let cases = one["eval_cases"].as_array_mut().unwrap();
    cases.retain(|case| case["eval_id"] == "traj_ab");
    directory.file("one.json", one.to_string());
    directory.run(&[&[&*trace, "-e", "one.json"], &args[..]].concat()).exits(0);
    // The configuration may say so, too.
    directory.file(
        "d.yaml",
        "require_evaluated: true\nevaluators: [{name: response_match_score, type: builtin}]\n",
    );
    directory.run(&[&trace, "-c", "d.yaml"]).exits(1).says(message);
}

#[test]
fn a_run_may_require_a_share_of_the_conversations_of_every_evaluator() {
    let directory = Directory::new();
    let unless = |word: &str| {
        format!(
            "document=$(cat); case \"$document\" in *{word}*) echo '{{\"score\": 0, \"status\": \"NOT_EVALUATED\"}}';; \
             *) echo '{{\"score\": 1}}';; esac"
        )
    };
    directory.script("unsure", &unless("shrug"));
    directory.script("sure", "cat >/dev/null; echo '{\"score\": 1}'");
    let program = |name: &str| format!("  - {{name: {name}, type: code, path: {name}}}\n");
    let config =
        |policy: &str| format!("{policy}evaluators:\n{}{}", program("sure"), program("unsure"));
    let span = |number: usize, answer: &str| {
        serde_json::json!({
            "traceId": format!("{number:032x}"), "spanId": format!("{number:016x}"), "name": "chat",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2",
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": r#"[{"role": "user", "content": "hi"}]"#,
                "gen_ai.output.messages":
                    serde_json::json!([{"role": "assistant", "content": answer}]).to_string(),
            },
        })
        .to_string()
    };
    let spans = [span(1, "yes"), span(2, "yes"), span(3, "yes"), span(4, "shrug")];
    directory.file("t.jsonl", spans.join("\n"));
    directory.file("c.yaml", config(""));
    let base = ["t.jsonl", "-c", "c.yaml"];
    let message =
        "unsure: scored 3 of 4 conversations, and every evaluator must score a share of 0.95";
    let last = "7 scored of 8 in total; 1 conversation dropped out of an evaluator";
    directory.run(&base).exits(0).says(last);
    for (options, code) in [
        (&["--require-evaluated"][..], 0),
        (&["--require-evaluated", "0.75"], 0),
        (&["--require-evaluated=0.75"], 0),
        (&["--require-evaluated", "0.95"], 1),
    ] {
        let ran = directory.run(&[&base, options].concat()).exits(code);
        ran.says(last);
    }
    directory.run(&[&base[..], &["--require-evaluated", "0.95"]].concat()).exits(1).says(message);
    // What follows the option may be a trace.
    directory.run(&["-c", "c.yaml", "--require-evaluated", "t.jsonl"]).exits(0);
    directory
        .run(&[&base[..], &["--require-evaluated=2"]].concat())
        .exits(2)
        .says("must be in 0..=1");
    for (value, code) in [("true", 0), ("0.75", 0), ("0.95", 1), ("0", 0), ("2", 2)] {
        directory.file("c.yaml", config(&format!("require_evaluated: {value}\n")));
        directory.run(&base).exits(code);
    }
}
