//! The configuration of the working directory, and runs that come to nothing without one.
#![cfg(unix)]

use crate::support::{Directory, eval_set, output_formats, trace};

const NAMES: [&str; 3] = ["eval_config.yaml", "eval_config.yml", "eval_config.json"];

/// A configuration with the program `pass`, as YAML and JSON have it.
const CONFIG: &str = r#"{"evaluators": [{"name": "pass", "type": "code", "path": "./pass"}]}"#;

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("pass", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory
}

#[test]
fn a_run_uses_the_configuration_of_its_directory_and_says_so() {
    for name in NAMES {
        let directory = directory();
        directory.file(name, CONFIG);
        let trace = trace("a01_otlp_basic_parts");
        let ran = directory.run(&[&trace, "-o", "json"]).exits(0);
        assert_eq!(ran.evaluations(0), ["pass PASSED"]);
        ran.says(&format!("using the configuration {name} of this directory"));
        // The one that is named counts alone.
        directory.file("other.yaml", "evaluators: [{name: tool_call_count_v1, type: builtin}]\n");
        let ran = directory.run(&[&trace, "-c", "other.yaml", "-o", "json"]).exits(1);
        assert_eq!(ran.evaluations(0), ["tool_call_count_v1 NOT_EVALUATED"]);
        assert!(!ran.stderr.contains("eval_config"), "{}", ran.stderr);
        let ran = directory.run(&[&trace, "--no-config", "-o", "json"]).exits(1);
        assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score NOT_EVALUATED"]);
        assert!(!ran.stderr.contains("eval_config"), "{}", ran.stderr);
        directory.run(&[&trace, "--no-config", "-c", "other.yaml"]).exits(2).reports_nothing();
    }
}

#[test]
fn a_run_that_names_nothing_says_what_to_do() {
    let directory = directory();
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("k01_traj_exact"));
    let ran = directory.run(&[&trace]).exits(2).reports_nothing();
    for way in
        ["--evaluator PATH", "-m NAME", "`evaluator list`", "-c FILE", "`evaluator init NAME`"]
    {
        assert!(ran.stderr.contains(way), "{way}: {}", ran.stderr);
    }
    directory.file("c.yaml", CONFIG);
    for named in [
        &["-e", &*goldens][..],
        &["-m", "tool_call_count_v1"],
        &["-c", "c.yaml"],
        &["--evaluator", "pass"],
        &["--no-config"],
    ] {
        let ran = directory.run(&[&[&*trace], named].concat());
        assert!(!ran.stderr.contains("nothing says"), "{named:?}: {}", ran.stderr);
    }
}

#[test]
fn what_is_in_the_directory_is_checked_like_any_other_configuration() {
    let directory = directory();
    let trace = trace("a01_otlp_basic_parts");
    directory.file("eval_config.yaml", CONFIG.replace("path", "pathh"));
    directory.run(&[&trace]).exits(2).reports_nothing().says("eval_config.yaml:1:50");
    std::fs::remove_file(directory.path().join("eval_config.yaml")).unwrap();
    std::os::unix::fs::symlink("gone", directory.path().join("eval_config.yaml")).unwrap();
    directory.run(&[&trace]).exits(2).reports_nothing().says("cannot read the configuration");
    // A directory is not a configuration.
    let other = Directory::new();
    std::fs::create_dir(other.path().join("eval_config.yaml")).unwrap();
    other.run(&[&trace]).exits(2).says("there is no eval_config.yaml here");
}

#[test]
fn two_configurations_in_one_directory_are_a_usage_error() {
    let trace = trace("a01_otlp_basic_parts");
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let directory = directory();
        directory.file(NAMES[one], CONFIG);
        directory.file(NAMES[other], CONFIG);
        let both = format!(
            "several configurations in this directory, {} and {};",
            NAMES[one], NAMES[other]
        );
        for args in [&["run", &trace][..], &["check"], &["update"], &["serve"]] {
            directory.evaluator(args).exits(2).reports_nothing().says(&both);
        }
        directory.run(&[&trace, "-c", NAMES[one]]).exits(0);
        directory.run(&[&trace, "--no-config"]).exits(1);
    }
}

#[test]
fn metrics_of_the_command_line_are_run_alone_as_in_agentevals() {
    let directory = directory();
    directory.file("eval_config.yaml", CONFIG);
    let goldens = eval_set("library");
    let trace = trace("k01_traj_exact");
    let args = [&*trace, "-e", &goldens, "-m", "tool_trajectory_avg_score", "-o", "json"];
    let ran = directory.run(&args).exits(0);
    assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score PASSED"]);
    ran.says("eval_config.yaml of this directory is not used, because -m names what to run");
    let ran = directory.run(&[&args[..], &["-c", "eval_config.yaml"]].concat()).exits(0);
    assert_eq!(ran.evaluations(0), ["pass PASSED", "tool_trajectory_avg_score PASSED"]);
    let ran = directory.run(&[&args[..], &["--no-config"]].concat()).exits(0);
    assert!(!ran.stderr.contains("eval_config"), "{}", ran.stderr);
}

#[test]
fn check_and_update_use_it_too() {
    let directory = directory();
    let none = "there is no eval_config.yaml or eval_config.yml or eval_config.json in ";
    directory.evaluator(&["check"]).exits(2).reports_nothing().says(none);
    directory
        .evaluator(&["update"])
        .exits(2)
        .says("evaluators.lock does not exist in this directory");
    directory.file("eval_config.yml", CONFIG);
    let used = "using the configuration eval_config.yml of this directory";
    let ran = directory.evaluator(&["check"]).exits(0).says(used);
    assert!(ran.stdout.contains("[PASS]  pass"), "{}", ran.stdout);
    directory.evaluator(&["update"]).exits(0).says(used).says("nothing to update");
    directory
        .evaluator(&["update", "--no-config"])
        .exits(2)
        .says("evaluators.lock does not exist in this directory");
}

#[test]
fn a_run_that_scores_nothing_fails_unless_that_is_allowed() {
    let directory = directory();
    directory.script("unsure", r#"cat >/dev/null; echo '{"score": 0, "status": "NOT_EVALUATED"}'"#);
    let trace = trace("a01_otlp_basic_parts");
    let config = |more: &str, path: &str| {
        directory.file(
            "c.yaml",
            format!("{more}evaluators: [{{name: it, type: code, path: ./{path}}}]\n"),
        );
    };
    let hint = "; a run that scores nothing fails (--allow-unevaluated lets it pass)";
    config("", "unsure");
    for form in output_formats() {
        let ran = directory.run(&[&trace, "-c", "c.yaml", "-o", form]).exits(1);
        ran.says("NOTHING EVALUATED: 0 passed").says(hint);
    }
    let ran = directory.run(&[&trace, "-c", "c.yaml", "--allow-unevaluated"]).exits(0);
    assert!(!ran.says("NOTHING EVALUATED: ").stderr.contains("a run that"));
    config("allow_unevaluated: true\n", "unsure");
    directory.run(&[&trace, "-c", "c.yaml"]).exits(0).says("NOTHING EVALUATED: ");
    // It allows nothing else.
    directory.run(&[&trace, "-c", "c.yaml", "--require-evaluated"]).exits(1).says("FAILED: ");
    directory.script("broken", "exit 1");
    config("allow_unevaluated: true\n", "broken");
    directory.run(&[&trace, "-c", "c.yaml"]).exits(3).says("ERROR: ");
    config("allow_unevaluated: true\nrequire_evaluated: true\n", "unsure");
    directory.run(&[&trace, "-c", "c.yaml"]).exits(2).says("contradict each other");
    let both = ["--allow-unevaluated", "--require-evaluated"];
    directory.run(&[&[&*trace][..], &both].concat()).exits(2).reports_nothing();
}

#[test]
fn what_is_not_evaluated_has_no_score_in_reports_for_people() {
    let directory = directory();
    directory.script(
        "unsure",
        r#"cat >/dev/null; echo '{"score": 0, "status": "NOT_EVALUATED", "per_invocation_scores": [0]}'"#,
    );
    directory.script("crash", "echo gone >&2; exit 9");
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: unsure, type: code, path: ./unsure}\n  - {name: crash, type: code, path: ./crash}\n",
    );
    let trace = trace("a01_otlp_basic_parts");
    let stdout = |form: &str| directory.run(&[&trace, "-c", "c.yaml", "-o", form]).exits(3).stdout;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let table = stdout("table");
    let row = |mark: &str| words(table.lines().find(|line| line.starts_with(mark)).unwrap());
    assert_eq!(row("[----]")[..4], ["[----]", "unsure", "N/A", "NOT_EVALUATED"]);
    assert_eq!(row("[ERR ]")[..5], ["[ERR", "]", "crash", "N/A", "ERROR"]);
    let summary = stdout("summary");
    assert!(summary.contains("[----] unsure: N/A (NOT_EVALUATED)"), "{summary}");
    assert!(summary.contains("[ERR ] crash: ERROR - "), "{summary}");
    for form in ["table", "summary", "markdown", "github", "junit"] {
        assert!(!stdout(form).contains("0.0000"), "{form}: {}", stdout(form));
    }
    let json: serde_json::Value = serde_json::from_str(&stdout("json")).unwrap();
    let metrics = &json["traces"][0]["metrics"];
    let status = |index: usize| (&metrics[index]["eval_status"], &metrics[index]["outcome"]);
    assert_eq!(status(0), (&"NOT_EVALUATED".into(), &"not_evaluated".into()));
    assert_eq!(status(1), (&"NOT_EVALUATED".into(), &"error".into()));
}

#[test]
fn a_report_that_cannot_be_written_is_never_called_passed() {
    let directory = directory();
    directory.file("eval_config.yaml", CONFIG);
    let trace = trace("a01_otlp_basic_parts");
    std::fs::create_dir(directory.path().join("there")).unwrap();
    let report = directory.path().join("there/report.json");
    // The directory goes away while the evaluator runs.
    directory.script("pass", r#"cat >/dev/null; rm -r there; echo '{"score": 1}'"#);
    let ran =
        directory.run(&[&trace, "-o", "json", "--output-file", report.to_str().unwrap()]).exits(3);
    let last = ran.stderr.lines().last().unwrap();
    assert!(last.starts_with("ERROR: 1 passed, 0 failed, 0 errored"), "{last}");
    assert!(last.contains("not everything could be written"), "{last}");
}
