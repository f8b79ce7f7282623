//! Gates: decisions by all cases of an evaluator.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// A recording of that number of conversations of one turn.
pub(crate) fn recording(conversations: usize) -> String {
    let line = |number: usize| {
        let attribute =
            |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": format!("<{number}>")}]}]);
        let span = json!({
            "traceId": format!("t{number}"), "spanId": "s",
            "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
            "attributes": [
                attribute("gen_ai.operation.name", "chat"),
                attribute("gen_ai.input.messages", &said.to_string()),
            ],
        });
        format!("{span}\n")
    };
    (0..conversations).map(line).collect()
}

/// A directory with that many conversations, evaluators that score them, and a configuration with these lines of entries.
fn directory(conversations: usize, entries: &[&str]) -> Directory {
    let directory = Directory::new();
    directory.file("t.json", recording(conversations));
    directory.script("perfect", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.script("decent", r#"cat >/dev/null; echo '{"score": 0.7}'"#);
    // One conversation of all breaks.
    directory.script("frail", r#"grep -q '<0>' && exit 9; echo '{"score": 1}'"#);
    configure(&directory, "", entries);
    directory
}

fn configure(directory: &Directory, first_lines: &str, entries: &[&str]) {
    let entries = entries.iter().map(|entry| {
        let name = entry.split(',').next().unwrap();
        let path = name.split('_').next().unwrap();
        format!("  - {{type: code, path: ./{path}, name: {entry}}}\n")
    });
    let text = format!("{first_lines}evaluators:\n{}", entries.collect::<String>());
    directory.file("c.yaml", text);
}

fn run(directory: &Directory, options: &[&str]) -> Ran {
    directory.run(&[&["t.json", "-c", "c.yaml"], options].concat())
}

fn report(directory: &Directory, options: &[&str]) -> Ran {
    directory.evaluator(&[&["report", "r.evalrun"], options].concat())
}

#[test]
fn five_perfect_scores_are_not_enough_and_the_run_says_how_many_are() {
    let directory = directory(5, &["perfect"]);
    let ran = run(&directory, &["--gate", "perfect: mean >= 0.95", "-o", "json"]).exits(4);
    for says in [
        "`perfect: mean >= 0.95` cannot pass with 5 cases, whatever they score: 92 are needed",
        "gate perfect: mean >= 0.95: INCONCLUSIVE, 1.000 (0.211 to 1.000 with 95 % confidence) of 5 cases; about 92 cases that score like these would decide",
        "INCONCLUSIVE: 1 gate undecided (perfect: about 92 cases that score like these would decide); 5 passed, 0 failed",
    ] {
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    }
    let gate = &ran.json()["gates"][0];
    assert_eq!((&gate["verdict"], &gate["needed"]), (&json!("inconclusive"), &json!(92)));
    let last = run(&directory, &["--gate", "perfect: mean >= 0.95", "--log-format", "json"]);
    let last: Value =
        serde_json::from_str(last.exits(4).stderr.trim_end().lines().last().unwrap()).unwrap();
    assert_eq!(last["run"]["outcome"], "inconclusive");
}

#[test]
fn an_evaluator_with_a_gate_is_judged_by_it_alone() {
    let directory = directory(40, &["decent, threshold: 0.9"]);
    run(&directory, &[]).exits(1).says("FAILED: 0 passed, 40 failed");
    for (limit, code, says) in [
        ("0.4", 0, "PASSED: 1 gate passes; 0 passed, 40 failed"),
        ("0.69", 4, "INCONCLUSIVE: 1 gate undecided (decent: about "),
        ("0.9", 1, "FAILED: 1 gate fails (decent); 0 passed, 40 failed"),
    ] {
        run(&directory, &["--gate", &format!("decent: mean >= {limit}")]).exits(code).says(says);
    }
    // The share that passes is another measure.
    let both = ["--gate", "decent: mean >= 0.4", "--gate", "decent: pass_rate >= 0.4"];
    run(&directory, &both)
        .exits(1)
        .says("FAILED: 1 gate passes, 1 fails (decent pass_rate >= 0.4); ");
}

#[test]
fn a_gate_of_the_configuration_decides_and_options_replace_it() {
    let directory = directory(40, &["decent, gate: {mean: 0.9}"]);
    run(&directory, &[]).exits(1).says("FAILED: 1 gate fails (decent); 40 passed");
    run(&directory, &["--gate", "decent: mean >= 0.4"]).exits(0).says("PASSED: 1 gate passes; ");
    configure(&directory, "", &["decent, gate: {mean: 1}"]);
    run(&directory, &[]).exits(2).says("c.yaml:2:").says("no number of cases can show that mean");
    configure(&directory, "fail_fast: true\n", &["decent, gate: {mean: 0.9}"]);
    run(&directory, &[]).exits(2).says("c.yaml:1:").says("exclude each other");
}

#[test]
fn undecided_gates_pass_or_fail_where_that_is_asked_for() {
    let directory = directory(40, &["decent"]);
    let gate = ["--gate", "decent: mean >= 0.69", "--inconclusive"];
    run(&directory, &[&gate[..], &["pass"]].concat())
        .exits(0)
        .says("PASSED: 1 gate undecided (decent: ")
        .says(", which passes (--inconclusive pass); 40 passed");
    run(&directory, &[&gate[..], &["fail"]].concat())
        .exits(1)
        .says(", which fails (--inconclusive fail); 40 passed");
    // Gates of one evaluator are named with their measure.
    let gates = ["--gate", "decent: mean >= 0.69", "--gate", "decent: pass_rate >= 0.95"];
    run(&directory, &gates)
        .exits(4)
        .says("2 gates undecided (decent mean >= 0.69: ")
        .says("; decent pass_rate >= 0.95: ");
}

#[test]
fn failures_and_errors_outweigh_an_undecided_gate() {
    let directory = directory(5, &["perfect", "decent, threshold: 0.9"]);
    let gate = ["--gate", "perfect: mean >= 0.95"];
    run(&directory, &gate).exits(1).says("FAILED: 1 gate undecided (perfect: ");
    configure(&directory, "", &["perfect", "frail"]);
    run(&directory, &gate).exits(3).says("ERROR: 1 gate undecided (perfect: ");
    configure(&directory, "", &["perfect"]);
    run(&directory, &[&gate[..], &["-o", "json=/dev/full"]].concat()).exits(3).says("ERROR: ");
}

#[test]
fn a_tolerated_error_that_could_decide_leaves_the_gate_undecided() {
    let directory = directory(37, &["frail"]);
    let tolerant = ["--max-error-rate", "0.1", "--gate"];
    run(&directory, &[&tolerant[..], &["frail: pass_rate >= 0.9"]].concat())
        .exits(4)
        .says("; 1 error could decide");
    run(&directory, &[&tolerant[..], &["frail: pass_rate >= 0.7"]].concat()).exits(0);
    run(&directory, &["--gate", "frail: pass_rate >= 0.7"]).exits(3);
}

#[test]
fn a_saved_run_is_decided_as_the_run_was_or_by_other_gates() {
    let directory = directory(40, &["decent", "perfect"]);
    let gate = ["--gate", "decent: mean >= 0.69", "--confidence", "0.9"];
    let options = ["--save-run", "r.evalrun", "-o", "json"];
    let ran = run(&directory, &[&gate[..], &options].concat()).exits(4);
    assert_eq!(ran.json()["gates"][0]["confidence"], 0.9);
    let again = report(&directory, &["-o", "json"]).exits(4);
    assert_eq!(again.json()["gates"], ran.json()["gates"]);
    assert_eq!(again.json()["evaluators"], ran.json()["evaluators"]);
    // A gate of the same measure is replaced, others are added.
    let pass = ["--gate", "decent: mean >= 0.4", "--gate", "perfect: pass_rate >= 0.9"];
    report(&directory, &pass).exits(0).says("PASSED: 2 gates pass; 80 passed");
    report(&directory, &["--gate", "decent: mean >= 0.9"]).exits(1);
    report(&directory, &["--inconclusive", "pass"]).exits(0);
    report(&directory, &["--gate", "decnt: mean >= 0.9"]).exits(2).says("did you mean `decent`?");
}

#[test]
fn what_cannot_be_a_gate_is_refused_before_anything_runs() {
    let directory = directory(1, &["perfect"]);
    directory.script("perfect", "touch ran; echo '{\"score\": 1}'");
    let measured_twice = ["--gate", "perfect: mean >= 0.8", "--gate", "perfect: mean >= 0.9"];
    for (options, says) in [
        (
            &["--gate", "prefect: mean >= 0.8"][..],
            "the gate `prefect: mean >= 0.8` names no evaluator of the run; did you mean `perfect`?",
        ),
        (&["--gate", "x: mean >= 0.8"], "names no evaluator of the run; evaluators: perfect"),
        (
            &["--gate", "perfect: pass_rate >= 1"],
            "no number of cases can show that pass_rate is at least 1; leave the gate out, and every evaluation has to pass",
        ),
        (&["--gate", "perfect: mean <= 0"], "the comparison of a gate is `>=`, and here it is <="),
        (&["--gate", "perfect: mean >= 0"], "the limit 0 has to be between 0 and 1"),
        (&["--gate", "perfect: mean > 0.8"], "for '--gate <NAME: MEASURE >= LIMIT>'"),
        (&["--gate", "perfect: median >= 0.8"], "`median` is not a measure"),
        (&measured_twice, "are about the same measure; keep one of them"),
        (
            &["--gate", "perfect: mean >= 0.8", "--fail-fast"],
            "the gate `perfect: mean >= 0.8` and `--fail-fast` (key `fail_fast`) exclude each other",
        ),
        (&["--confidence", "1"], "must be between 0 and 1, both excluded"),
    ] {
        run(&directory, options).exits(2).says(says);
    }
    assert!(!directory.path().join("ran").exists());
}

#[test]
fn a_gate_may_be_about_an_evaluator_that_was_asked_nothing() {
    let directory = directory(1, &["perfect"]);
    // A span that is recorded twice with different content makes a conversation unusable.
    let other = recording(1).replace("<0>", "<1>");
    directory.file("t.json", recording(1) + &other);
    let forms = ["-o", "overview", "-o", "openmetrics=m.txt", "--save-run", "r.evalrun"];
    let ran = run(&directory, &forms).exits(3);
    let row = ran.stdout.lines().find(|line| line.starts_with("(all) ")).unwrap();
    assert_eq!(row.split_whitespace().last(), Some("1"), "{}", ran.stdout);
    let metrics = directory.read("m.txt");
    let line = "evaluator_evaluations{evaluator=\"(all)\",outcome=\"error\"} 1\n";
    assert!(metrics.contains(line), "{metrics}");
    report(&directory, &["--gate", "perfect: mean >= 0.5"])
        .exits(3)
        .says("gate perfect: mean >= 0.5: INCONCLUSIVE, 1 error; nothing was scored");
    report(&directory, &["--gate", "prefect: mean >= 0.5"])
        .exits(2)
        .says("did you mean `perfect`?");
}
