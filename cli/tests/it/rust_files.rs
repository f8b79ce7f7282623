//! Rust evaluators through the whole program: built by cargo, run by cargo.
#![cfg(unix)]

use crate::support::{self, Directory, Ran, TWO_EVALUATORS, trace};

const WITH_SDK: &str = r#"
use evaluator_sdk::{Config, EvalInput, evaluator};

#[derive(serde::Deserialize)]
struct Settings {
    score: f64,
}

#[evaluator]
fn with_sdk(_: &EvalInput, Config(settings): Config<Settings>) -> f64 {
    eprintln!("asked for {}", settings.score);
    settings.score
}

fn main() -> std::process::ExitCode {
    with_sdk::run()
}
"#;

const WITHOUT_SDK: &str = r#"
use std::io::Read;

fn main() {
    let mut document = String::new();
    std::io::stdin().read_to_string(&mut document).unwrap();
    assert!(document.starts_with("{\"protocol_version\":"));
    println!("{{\"score\": 0.75}}");
}
"#;

const BROKEN: &str = "fn main() {\n    let score: f64 = \"high\";\n}\n";

/// Runs over two conversations.
fn run(directory: &Directory, more: &[&str]) -> Ran {
    let (one, other) = (trace("a01_otlp_basic_parts"), trace("k01_traj_exact"));
    directory.run(&[&[&one, &other, "-c", "c.yaml"], more].concat())
}

#[test]
fn lone_files_run_and_one_that_does_not_compile_is_its_own_error() {
    let directory = Directory::new();
    directory.file("with_sdk.rs", WITH_SDK);
    directory.file("without_sdk.rs", WITHOUT_SDK);
    directory.file("broken.rs", BROKEN);
    directory.file(
        "c.yaml",
        "evaluators:\n\
         \x20 - {name: broken, type: code, path: broken.rs}\n\
         \x20 - {name: broken_again, type: code, path: broken.rs}\n\
         \x20 - {name: with_sdk, type: code, path: with_sdk.rs, config: {score: 0.5}}\n\
         \x20 - {name: without_sdk, type: code, path: without_sdk.rs}\n\
         \x20 - {name: misused, type: code, path: with_sdk.rs, config: {score: high}}\n",
    );
    let many = trace("i14_fifteen_traces");
    let misused = "misused ERROR exited";
    // Few conversations have a process each; many are given to warm workers where the program streams.
    for (more, conversations) in [(vec!["-o", "json"], 2), (vec!["-o", "json", &many], 17)] {
        let ran = run(&directory, &more).exits(3);
        assert_eq!(ran.json()["traces"].as_array().unwrap().len(), conversations);
        for conversation in 0..conversations {
            assert_eq!(
                ran.evaluations(conversation),
                [
                    "broken ERROR prepare_failed",
                    "broken_again ERROR prepare_failed",
                    "with_sdk PASSED",
                    "without_sdk PASSED",
                    misused
                ]
            );
        }
        assert_eq!(ran.json()["traces"][1]["metrics"][3]["score"], 0.75);
        assert_eq!(ran.error_of("broken"), "broken.rs does not compile: 1 error");
        let error = ran.error_of("misused");
        assert!(error.contains("config.score"), "{error}");
        // As cargo renders it, with the user's own path, once.
        let ran = ran.says("error[E0308]: mismatched types");
        let ran = ran.says("broken.rs:2:22");
        ran.says("evaluator: broken: broken.rs does not compile: 1 error");
    }
}

#[test]
fn errors_of_cargo_are_reported_in_its_words() {
    let directory = Directory::new();
    directory.file("package/Cargo.toml", "[package]\nname = 5\n");
    directory.file("package/src/main.rs", "fn main() {}");
    directory.file(
        "needy.rs",
        "//! ```cargo\n//! [dependencies]\n//! no-such-crate-anywhere = { path = \"nowhere\" }\n//! ```\nfn main() {}\n",
    );
    directory.script("good", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.file(
        "c.yaml",
        "evaluators:\n\
         \x20 - {name: package, type: code, path: package/src/main.rs}\n\
         \x20 - {name: needy, type: code, path: needy.rs}\n\
         \x20 - {name: good, type: code, path: good}\n",
    );
    let ran = run(&directory, &["-o", "json"]).exits(3);
    assert_eq!(
        ran.evaluations(0),
        ["package ERROR prepare_failed", "needy ERROR prepare_failed", "good PASSED"]
    );
    assert!(ran.error_of("package").contains("package/Cargo.toml"), "{}", ran.error_of("package"));
    assert!(
        ran.error_of("needy").starts_with("needy.rs was not built: "),
        "{}",
        ran.error_of("needy")
    );
    assert!(ran.stderr.contains("invalid type: integer `5`, expected a string"), "{}", ran.stderr);
}

const MOODY: &str = r#"
use evaluator_sdk::{Config, EvalInput, evaluator};

#[derive(serde::Deserialize)]
struct Settings {
    every: usize,
}

/// Does something else for every few conversations.
#[evaluator]
fn moody(input: &EvalInput, Config(settings): Config<Settings>) -> Result<f64, String> {
    let id = &input.invocations[0].invocation_id;
    let place = id.bytes().map(usize::from).sum::<usize>();
    eprintln!("judging {id}");
    match place % settings.every {
        1 => Err(format!("{id} is not to my taste")),
        2 => std::process::exit(9),
        3 => {
            println!("going to abort");
            std::process::abort()
        }
        _ => Ok(1.0),
    }
}

/// Chosen by its name.
#[evaluator]
fn never(_: &EvalInput) -> bool {
    false
}

fn main() -> std::process::ExitCode {
    evaluator_sdk::run_any(&[moody::EVALUATOR, never::EVALUATOR])
}
"#;

#[test]
fn warm_workers_change_nothing_in_the_report() {
    let directory = Directory::new();
    directory.file("moody.rs", MOODY);
    let many = trace("i14_fifteen_traces");
    let report = |isolation: &str, jobs: &str| {
        let entry = |name: &str, more: &str| {
            format!(
                "  - {{name: {name}, type: code, path: moody.rs, isolation: {isolation}{more}}}\n"
            )
        };
        let entries = [entry("moody", ", config: {every: 5}"), entry("never", "")];
        directory.file("c.yaml", format!("evaluators:\n{}", entries.concat()));
        let ran = run(&directory, &["-o", "json", "--jobs", jobs, &many]).exits(3);
        let mut report = ran.json();
        forget_durations(&mut report);
        report.to_string()
    };
    let alone = report("process", "1");
    for kind in ["code 9", "code 70", "FAILED", "is not to my taste", "going to abort"] {
        assert!(alone.contains(kind), "{kind}: {alone}");
    }
    for jobs in ["1", "2", "7"] {
        assert_eq!(report("auto", jobs), alone, "--jobs {jobs}");
    }
}

fn forget_durations(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(object) => {
            object.retain(|key, _| !key.contains("duration"));
            object.values_mut().for_each(forget_durations);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_durations),
        _ => {}
    }
}

#[test]
fn a_file_with_several_evaluators_has_an_entry_for_each() {
    let directory = Directory::new();
    directory.file("two.rs", TWO_EVALUATORS);
    let entries = directory.evaluator(&["config", "two.rs"]).exits(0).stdout;
    assert!(entries.contains("  # Always.\n  - name: always\n"), "{entries}");
    directory.file("c.yaml", entries);
    let ran = run(&directory, &["-o", "json"]).exits(1);
    assert_eq!(ran.evaluations(0), ["always PASSED", "never FAILED"]);
}

#[test]
fn a_file_that_does_not_compile_still_has_an_entry() {
    let directory = Directory::new();
    directory.file("broken.rs", BROKEN);
    let ran = directory.evaluator(&["config", "broken.rs"]).exits(0);
    assert!(ran.stdout.contains("  - name: broken\n"), "{}", ran.stdout);
    ran.says("the entry has the file's own name");
}

const COMPARES: &str = r#"
use evaluator_sdk::{Expected, Invocations, evaluator};

#[evaluator]
fn compares(turns: Invocations<'_>, golden: Expected<'_>) -> bool {
    turns.iter().zip(golden).all(|(turn, golden)| turn.user_content == golden.user_content)
}

fn main() -> std::process::ExitCode {
    compares::run()
}
"#;

#[test]
fn an_evaluator_that_needs_golden_turns_does_not_judge_without_them_as_metrics_do() {
    let directory = Directory::new();
    directory.file("compares.rs", COMPARES);
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: compares, type: code, path: compares.rs}\n  \
         - {name: response_match_score, type: builtin, threshold: 0}\n",
    );
    let library = std::fs::read_to_string(support::eval_set("library")).unwrap();
    let mut one: serde_json::Value = serde_json::from_str(&library).unwrap();
    let cases = one["eval_cases"].as_array_mut().unwrap();
    cases.retain(|case| case["eval_id"] == "weather");
    directory.file("one.json", one.to_string());
    let neither = ["compares NOT_EVALUATED", "response_match_score NOT_EVALUATED"];
    // The eval set has a case for one of the two conversations.
    let ran = run(&directory, &["-o", "json", "-e", "one.json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["compares PASSED", "response_match_score PASSED"]);
    assert_eq!(ran.evaluations(1), neither);
    let reason = &ran.json()["traces"][1]["metrics"][0]["details"]["reason"];
    assert!(reason.as_str().unwrap().contains("compares with golden turns"), "{reason}");
    // Without an eval set nothing is judged at all, which is not green.
    let ran = run(&directory, &["-o", "json"]).exits(1);
    for conversation in [0, 1] {
        assert_eq!(ran.evaluations(conversation), neither);
    }
    ran.says("NOTHING EVALUATED: ");
}
