//! Errors of a run: where they are reported, which are tolerated, when the run stops, and what is retried.
#![cfg(unix)]

use crate::support::{Directory, output_formats, trace};
use serde_json::json;

const PASS: &str = r#"cat >/dev/null; echo '{"score": 1}'"#;
const FAIL: &str = r#"cat >/dev/null; echo '{"score": 0.25}'"#;
const CRASH: &str = "cat >/dev/null; echo boom >&2; exit 9";

/// Ends by a signal that others send, until it was started so often; then it answers.
fn flaky(name: &str, failures: usize) -> String {
    format!(
        "cat >/dev/null; echo x >>{name}.runs\n\
         if [ $(wc -l <{name}.runs) -le {failures} ]; then kill -KILL $$; fi\n\
         echo '{{\"score\": 1}}'"
    )
}

fn config(first_lines: &str, entries: &[&str]) -> String {
    let entry = |entry: &&str| {
        let (name, more) = entry.split_once(' ').unwrap_or((entry, ""));
        let name = name.trim_end_matches(',');
        format!("  - {{name: {name}, type: code, path: ./{name}, {more}}}\n")
    };
    format!("{first_lines}evaluators:\n{}", entries.iter().map(entry).collect::<String>())
}

fn directory(first_lines: &str, entries: &[&str]) -> Directory {
    let directory = Directory::new();
    directory.script("pass", PASS);
    directory.script("fail", FAIL);
    directory.script("crash", CRASH);
    directory.script("later", PASS);
    directory.file("c.yaml", config(first_lines, entries));
    directory
}

fn lines(directory: &Directory, file: &str) -> usize {
    std::fs::read_to_string(directory.path().join(file)).unwrap_or_default().lines().count()
}

#[test]
fn every_form_tells_the_kind_the_reason_and_the_end_of_stderr() {
    let directory = Directory::new();
    let long = "i=0; while [ $i -lt 1000 ]; do echo \"line $i of a long tale\" >&2; i=$((i+1)); done; echo the last words >&2";
    directory.script("exits", &format!("cat >/dev/null; {long}; exit 3"));
    directory.script("hangs", &format!("cat >/dev/null; {long}; sleep 600"));
    directory.script("babbles", &format!("cat >/dev/null; {long}; echo nonsense"));
    directory.script("dies", &format!("cat >/dev/null; {long}; kill -SEGV $$"));
    directory
        .script("leaks", &format!("cat >/dev/null; {long}; sleep 600 & echo '{{\"score\": 1}}'"));
    directory.script(
        "says",
        &format!("cat >/dev/null; {long}; echo '{{\"error\": \"no such model\"}}'"),
    );
    directory.script("pass", PASS);
    for (name, kind, reason) in [
        ("exits", "exited", "exited with code 3"),
        ("hangs", "timed_out", "timed out after 3s"),
        ("babbles", "bad_answer", "its output is not JSON"),
        ("dies", "signalled", "killed by signal 11 (SIGSEGV)"),
        ("leaks", "leaked_pipe", "still has its stdout open"),
        ("says", "reported", "no such model"),
    ] {
        let limit = if name == "hangs" { 3 } else { 60 };
        directory.file("c.yaml", config("", &[&format!("{name} timeout: {limit}"), "pass"]));
        for form in output_formats() {
            let args = [&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", form];
            let ran = directory.run(&args).exits(3);
            // The summary on stdout is that of agentevals; stderr has the rest.
            let extra = if form == "summary" { &*ran.stderr } else { "" };
            let shown = format!("{}{extra}", ran.stdout);
            // The JSON report has the texts of agentevals.
            let reason = match (form, name) {
                ("json", "babbles") => "produced invalid JSON",
                ("json", "dies") => "exited with code -11",
                _ => reason,
            };
            for part in [kind, reason, "the last words"] {
                assert!(shown.contains(part), "{name} {form}: no {part} in {shown}");
            }
            assert!(ran.stdout.len() < 20_000, "{name} {form}: {} bytes", ran.stdout.len());
            if form == "json" {
                let json = ran.json();
                let metrics = &json["traces"][0]["metrics"];
                let stderr = metrics[0]["stderr"].as_str().unwrap();
                assert!(stderr.ends_with("line 999 of a long tale\nthe last words"), "{stderr}");
                assert!(stderr.starts_with("[... what was before is left out ...]\nline 8"));
                assert!(metrics[1].get("stderr").is_none() && metrics[1].get("attempts").is_none());
            }
        }
    }
}

/// Scores the first conversation that it is given, and breaks on all others.
const ONCE: &str = "cat >/dev/null; mkdir once.ran 2>/dev/null || { echo boom >&2; exit 9; }; echo '{\"score\": 1}'";

#[test]
fn a_share_of_errors_can_be_tolerated_and_is_reported() {
    let directory = directory("", &["pass"]);
    directory.script("once", ONCE);
    let five = trace("i11_five_traces_plain");
    let run = |config: &str, more: &[&str]| {
        directory.file("c.yaml", config);
        let _ = std::fs::remove_dir(directory.path().join("once.ran"));
        directory.run(&[&[&*five, "-c", "c.yaml"], more].concat())
    };
    // 4 of 10.
    let some = config("", &["pass", "once"]);
    run(&some, &[]).exits(3).says("ERROR: 6 passed, 0 failed, 4 errored, 0 not evaluated (");
    run(&some, &["--max-error-rate", "0.39"])
        .exits(3)
        .says("; 4 errors not tolerated, because they are too many (a share of 0.4000, and up to 0.39 is tolerated)");
    run(&some, &["--max-error-rate", "0.4"]).exits(0).says(
        "PASSED: 6 passed, 0 failed, 4 errored, 0 not evaluated (10 evaluations in 5 conversations), 6 scored of 10 in total; 4 errors tolerated (a share of 0.4000, and up to 0.4 is tolerated)",
    );
    // The configuration says it, too, and the command line wins.
    let tolerant = config("max_error_rate: 0.5\n", &["pass", "once"]);
    run(&tolerant, &[]).exits(0);
    run(&tolerant, &["--max-error-rate", "0"]).exits(3);
    // The error stays visible everywhere.
    for form in output_formats() {
        let ran = run(&tolerant, &["-o", form]).exits(0).says("4 errors tolerated");
        assert!(ran.stdout.contains("exited with code 9: boom"), "{form}: {}", ran.stdout);
        match form {
            "json" => {
                let json = ran.json();
                assert_eq!(
                    (&json["max_error_rate"], &json["errors_tolerated"]),
                    (&json!(0.5), &json!(true))
                );
                assert_eq!(json["summary"]["errored"], 4);
            }
            "junit" => assert!(
                ran.stdout.contains("<property name=\"errors_tolerated\" value=\"true\"/>")
                    && ran.stdout.contains(" errors=\"4\""),
                "{}",
                ran.stdout
            ),
            "markdown" => assert!(ran.stdout.contains("4 errors tolerated")),
            _ => {}
        }
    }
    // A failure is never made green, nor is a run in which nothing was scored.
    let failing = config("max_error_rate: 1\n", &["pass", "once", "fail"]);
    run(&failing, &[]).exits(1).says("FAILED: 6 passed, 5 failed, 4 errored");
    run(&config("max_error_rate: 1\n", &["crash"]), &[])
        .exits(3)
        .says("5 errors not tolerated, because nothing was scored");
}

#[test]
fn errors_of_an_evaluator_that_scored_nothing_are_never_tolerated() {
    let directory = directory("", &["pass", "later", "crash"]);
    // It judges nothing, and breaks where it would have to.
    directory.script(
        "unsure",
        "cat >/dev/null; mkdir unsure.ran 2>/dev/null || exit 9; echo '{\"score\": 0, \"status\": \"NOT_EVALUATED\"}'",
    );
    let five = trace("i11_five_traces_plain");
    for name in ["crash", "unsure"] {
        directory.file("c.yaml", config("", &["pass", "later", name]));
        for form in output_formats() {
            let _ = std::fs::remove_dir(directory.path().join("unsure.ran"));
            let args = [&*five, "-c", "c.yaml", "--max-error-rate", "1", "-o", form];
            let ran = directory.run(&args).exits(3);
            assert!(form != "json" || ran.json()["errors_tolerated"] == false, "{}", ran.stdout);
            ran.says(&format!("not tolerated, because {name} broke and scored nothing"));
        }
    }
    // One conversation is not too few to say so.
    let one = trace("a01_otlp_basic_parts");
    directory.file("c.yaml", config("require_evaluated: true\n", &["pass", "crash"]));
    directory
        .run(&[&one, "-c", "c.yaml", "--max-error-rate", "1"])
        .exits(3)
        .says("not tolerated, because crash broke and scored nothing");
    // A broken evaluator is an error, and not a failure in addition.
    for form in ["github", "junit", "markdown"] {
        let ran = directory.run(&[&one, "-c", "c.yaml", "-o", form]).exits(3);
        assert!(!(ran.stdout + &ran.stderr).contains("scored no conversation"), "{form}");
    }
}

#[test]
fn inputs_that_cannot_be_used_are_never_tolerated() {
    let directory = directory("", &["pass"]);
    let good = trace("a01_otlp_basic_parts");
    directory.file("broken.json", "{");
    let run = |more: &[&str]| directory.run(&[&[&*good, "-c", "c.yaml"], more].concat());
    run(&["broken.json", "--max-error-rate", "1"]).exits(3).says(
        "1 error outside of any conversation; 1 error not tolerated, because those outside of any conversation never are (a share of 0.5000",
    );
    directory.run(&["broken.json", "-c", "c.yaml", "--max-error-rate", "1"]).exits(3);
    run(&["-e", "broken.json", "--max-error-rate", "1"]).exits(3).says("ERROR: 1 passed");
}

#[test]
fn the_last_line_begins_with_the_word_of_the_exit_code() {
    let directory = directory("", &["pass"]);
    directory.file("fail.yaml", config("", &["fail"]));
    directory.file("crash.yaml", config("", &["crash"]));
    directory.file("broken.yaml", "evaluators: 5\n");
    directory.file("answers/one.txt", "Paris");
    let tests = |value: &str| {
        format!(
            "tests: [{{id: one, criteria: x, input: q, assertions: [{{type: contains, value: {value}}}]}}]\n"
        )
    };
    directory.file("pass.eval.yaml", tests("Paris"));
    directory.file("fail.eval.yaml", tests("Rome"));
    directory.file("broken.eval.yaml", "tests: 5\n");
    let trace = trace("k01_traj_exact");
    for (args, code, word, outcome) in [
        (&[&trace, "-c", "c.yaml"][..], 0, "PASSED: 1 passed", "passed"),
        (&[&trace, "-c", "fail.yaml"], 1, "FAILED: 0 passed, 1 failed", "failed"),
        (&[&trace, "--no-config"], 1, "NOTHING EVALUATED: ", "failed"),
        (&[&trace, "-c", "broken.yaml"], 2, "NOT RUN: ", "not_run"),
        (&[&trace, "--nonsense"], 2, "NOT RUN: ", "not_run"),
        (&["gone.json"], 2, "NOT RUN: ", "not_run"),
        (&[&trace, "-c", "crash.yaml"], 3, "ERROR: 0 passed, 0 failed, 1 errored", "error"),
        (&["c.yaml", "pass.eval.yaml"], 2, "NOT RUN: ", "not_run"),
        (&["pass.eval.yaml", "--outputs", "answers"], 0, "PASSED: 1 passed", "passed"),
        (&["fail.eval.yaml", "--outputs", "answers"], 1, "FAILED: 0 passed, 1 failed", "failed"),
        (&["broken.eval.yaml", "--outputs", "answers"], 2, "NOT RUN: ", "not_run"),
        (&["pass.eval.yaml", "--outputs", "c.yaml"], 2, "NOT RUN: ", "not_run"),
    ] {
        let last = |more: &[&str]| {
            let ran = directory.run(&[args, more].concat()).exits(code);
            ran.stderr.lines().last().unwrap_or_default().to_owned()
        };
        let line = last(&[]);
        assert!(line.starts_with(word), "{args:?}: {line}");
        let quiet = last(&["-q"]);
        assert_eq!(quiet, if code == 0 { String::new() } else { line.clone() }, "{args:?}");
        let json: serde_json::Value =
            serde_json::from_str(&last(&["--log-format", "json"])).unwrap();
        assert_eq!(json["message"], line, "{args:?}");
        assert_eq!(
            (&json["run"]["exit_code"], &json["run"]["outcome"]),
            (&json!(code), &json!(outcome))
        );
    }
}

#[test]
fn a_refused_report_ends_with_the_word_of_its_exit_code() {
    let directory = directory("", &["pass"]);
    directory.run(&[&trace("k01_traj_exact"), "-c", "c.yaml", "--save-run", "r.evalrun"]).exits(0);
    directory.file("damaged.evalrun", "{}\n");
    for args in [
        &["report", "gone.evalrun"][..],
        &["report", "damaged.evalrun"],
        &["report", "r.evalrun", "--nonsense"],
        &["report", "r.evalrun", "-o", "json=r.evalrun"],
    ] {
        let ran = directory.evaluator(args).exits(2);
        assert_eq!(ran.stderr.lines().last(), Some("NOT RUN: nothing was evaluated"), "{args:?}");
    }
}

#[test]
fn rates_and_retries_outside_of_their_range_are_refused() {
    let directory = directory("", &["pass"]);
    let trace = trace("a01_otlp_basic_parts");
    for (args, message) in [
        (["--max-error-rate", "1.5"], "must be in 0..=1"),
        (["--max-error-rate", "-1"], "unexpected argument '-1'"),
        (["--max-error-rate", "NaN"], "must be in 0..=1"),
        (["--max-error-rate", "some"], "not a number"),
        (["--retries", "-1"], "unexpected argument '-1'"),
        (["--retries", "101"], "must be a whole number from 0 to 100"),
        (["--retries", "two"], "must be a whole number from 0 to 100"),
    ] {
        directory
            .run(&[&trace, "-c", "c.yaml", args[0], args[1]])
            .exits(2)
            .reports_nothing()
            .says(message);
    }
}

#[test]
fn fail_fast_begins_nothing_after_the_first_failure_or_error() {
    for (bad, exit, word, counts) in [
        ("fail", 1, "FAILED", "1 passed, 1 failed, 0 errored"),
        ("crash", 3, "ERROR", "1 passed, 0 failed, 1 errored"),
    ] {
        let directory = directory("", &["pass", bad, "later"]);
        directory.script("later", "echo x >>later.runs; cat >/dev/null; echo '{\"score\": 1}'");
        let five = trace("i11_five_traces_plain");
        let args = [&*five, "-c", "c.yaml", "--jobs", "1", "--fail-fast"];
        let ran = directory.run(&[&args[..], &["-o", "json"]].concat()).exits(exit);
        assert_eq!(lines(&directory, "later.runs"), 0);
        let kind = if bad == "fail" { "fail FAILED" } else { "crash ERROR exited" };
        assert_eq!(ran.evaluations(0), ["pass PASSED", kind, "later ERROR not_run"]);
        let rest: Vec<String> =
            ["pass", bad, "later"].map(|name| format!("{name} ERROR not_run")).to_vec();
        assert_eq!(ran.evaluations(4), rest);
        let text = ran.error_of("later");
        assert!(text.contains("was not run, because the run had stopped at an earlier"), "{text}");
        let json = ran.json();
        assert_eq!(json["partial"], true);
        assert!(json["partial_reason"].as_str().unwrap().contains("fail-fast"));
        assert_eq!(
            (&json["summary"]["not_run"], &json["summary"]["total"]),
            (&json!(13), &json!(15))
        );
        let ran = ran.says(&format!(
            "{word}: {counts}, 0 not evaluated, 13 not run (15 evaluations in 5 conversations), "
        ));
        ran.says("; partial: the run stopped at the first failure or error (fail-fast)");
        // Unknown results are never tolerated.
        let tolerant = [&args[..], &["--max-error-rate", "1"]].concat();
        directory.run(&tolerant).exits(exit);
        for form in ["junit", "markdown", "github"] {
            let ran = directory.run(&[&args[..], &["-o", form]].concat()).exits(exit);
            let expected = match form {
                "junit" => "<property name=\"partial\" value=\"true\"/>",
                "github" => "::error title=partial report::the run stopped",
                _ => "partial: the run stopped",
            };
            assert!(ran.stdout.contains(expected), "{form}: {}", ran.stdout);
            assert!(form != "junit" || ran.stdout.contains(" skipped=\"13\""), "{}", ran.stdout);
        }
    }
}

#[test]
fn fail_fast_changes_nothing_where_nothing_goes_wrong() {
    let directory = directory("fail_fast: true\n", &["pass", "later"]);
    let ran =
        directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.json()["summary"]["passed"], 10);
    assert!(ran.json().get("partial").is_none());
}

#[test]
fn fail_fast_stops_at_a_file_that_cannot_be_used() {
    let directory = directory("fail_fast: true\n", &["pass"]);
    directory.script("pass", "echo x >>pass.runs; echo '{\"score\": 1}'");
    directory.file("broken.json", "{");
    let good = trace("a01_otlp_basic_parts");
    let ran = directory.run(&["broken.json", &good, "-c", "c.yaml", "-o", "json"]).exits(3);
    assert_eq!(ran.evaluations(0), ["pass ERROR not_run"]);
    assert_eq!(lines(&directory, "pass.runs"), 0);
}

#[test]
fn what_may_pass_by_itself_is_tried_again_and_says_so() {
    let directory = directory("", &["flaky", "pass"]);
    directory.script("flaky", &flaky("flaky", 2));
    let trace = trace("a01_otlp_basic_parts");
    let forget = || drop(std::fs::remove_file(directory.path().join("flaky.runs")));
    directory.run(&[&trace, "-c", "c.yaml"]).exits(3);
    for form in output_formats() {
        forget();
        let args = [&*trace, "-c", "c.yaml", "--retries", "3", "-o", form];
        let ran = directory.run(&args).exits(0);
        assert_eq!(lines(&directory, "flaky.runs"), 3);
        let warning = "it answered only at attempt 3 (before: signalled, signalled)";
        if form == "json" {
            let json = ran.json();
            let metrics = &json["traces"][0]["metrics"];
            assert_eq!(
                (&metrics[0]["attempts"], &metrics[0]["warnings"][0]),
                (&json!(3), &json!(warning))
            );
            assert!(metrics[1].get("attempts").is_none());
        }
        if form == "junit" {
            let attempts = "<property name=\"attempts\" value=\"3\"/>";
            assert!(
                ran.stdout.contains(attempts) && ran.stdout.contains(warning),
                "{}",
                ran.stdout
            );
        }
        ran.says(warning).says("PASSED: 2 passed");
    }
    // It stays an error when there are not enough attempts.
    forget();
    for form in output_formats() {
        forget();
        let ran = directory.run(&[&trace, "-c", "c.yaml", "--retries", "1", "-o", form]).exits(3);
        assert!(ran.stdout.contains("(attempt 2; before: signalled)"), "{form}: {}", ran.stdout);
        assert_eq!(lines(&directory, "flaky.runs"), 2);
    }
}

#[test]
fn what_an_evaluator_decides_is_never_tried_again() {
    let directory = Directory::new();
    let counted = |name: &str, end: &str| {
        directory.script(name, &format!("cat >/dev/null; echo x >>{name}.runs; {end}"));
    };
    counted("fails", r#"echo '{"score": 0}'"#);
    counted("exits", "exit 137");
    counted("reports", r#"echo '{"error": {"kind": "timeout", "message": "try again"}}'"#);
    counted("babbles", "echo nonsense");
    counted("aborts", "kill -ABRT $$");
    let names = ["fails", "exits", "reports", "babbles", "aborts"];
    directory.file("c.yaml", config("retries: 5\n", &names));
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml"]).exits(3);
    for name in names {
        assert_eq!(lines(&directory, &format!("{name}.runs")), 1, "{name}");
    }
}

#[test]
fn retries_of_an_entry_are_its_own_and_the_command_line_decides_for_all() {
    let directory = Directory::new();
    for name in ["own", "runs"] {
        directory.script(name, &format!("cat >/dev/null; echo x >>{name}.runs; kill -TERM $$"));
    }
    directory.file("c.yaml", config("retries: 1\n", &["own retries: 0", "runs"]));
    let trace = trace("a01_otlp_basic_parts");
    let counts = |more: &[&str]| {
        for name in ["own.runs", "runs.runs"] {
            directory.file(name, "");
        }
        directory.run(&[&[&*trace, "-c", "c.yaml"], more].concat()).exits(3);
        [lines(&directory, "own.runs"), lines(&directory, "runs.runs")]
    };
    assert_eq!(counts(&[]), [1, 2]);
    assert_eq!(counts(&["--retries", "2"]), [3, 3]);
    assert_eq!(counts(&["--retries", "0"]), [1, 1]);
}

#[test]
fn a_timeout_is_tried_again() {
    let directory = Directory::new();
    directory.script(
        "slow",
        "cat >/dev/null; echo x >>slow.runs; [ $(wc -l <slow.runs) -gt 1 ] || sleep 600; echo '{\"score\": 1}'",
    );
    directory.file("c.yaml", config("", &["slow timeout: 5"]));
    directory
        .run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "--retries", "1"])
        .exits(0)
        .says("it answered only at attempt 2 (before: timed_out)");
}
