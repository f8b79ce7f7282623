//! Our evaluators under the real hosts, as `evaluator export` makes them ready: do they record what a native run gives, and
//! does any of them record a pass for an evaluator that broke?
//!
//! `cargo test -p evaluator-tests --test interop -- --ignored --nocapture` prints the matrix, and writes it to `interop.md` in
//! cargo's target folder. The hosts are installed there, from PyPI and npm, in the releases that are named in
//! `tests/src/bench/peers.rs`; where one cannot be had, that is said, and it is left out.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "whole commands are tested")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod case;
mod hosts;
mod native;

use std::{env, fs};

use case::{Case, Place, Recorded, Verdict};
use evaluator_tests::bench::build;
use hosts::Host;

/// Programs among the examples, and the evaluators in them.
const EVALUATORS: [(&str, &[&str]); 4] = [
    ("response_quality", &["response_quality"]),
    ("exact_match", &["exact_match"]),
    ("consensus", &["consensus"]),
    ("hygiene", &["no_repeated_calls", "no_failed_tools"]),
];

/// What [`faulty`](../fixtures/interop/main.rs) does.
const FAULTS: [&str; 10] = [
    "error",
    "panic",
    "exit 3",
    "exit 0 without an answer",
    "abort",
    "stack overflow",
    "segfault",
    "killed",
    "score NaN",
    "score 2",
];

#[test]
#[ignore = "installs the hosts and takes minutes"]
fn every_host_records_what_we_say_and_none_passes_what_broke() {
    let place = Place::new();
    let hosts = hosts::installed();
    let mut complaints = Vec::new();
    let mut lines = vec![
        "| host | case | recorded | as it should be |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for host in &hosts {
        eprintln!("running {} ...", host.name());
        let cases = cases(&place, host.as_ref());
        let recorded = host.judge(&cases, &place);
        assert_eq!(recorded.len(), cases.len(), "{}", host.name());
        for (case, recorded) in cases.iter().zip(&recorded) {
            let complaint = complaint(case, recorded, host.as_ref());
            let verdict = complaint.as_deref().unwrap_or("yes");
            lines.push(format!("| {} | {} | {recorded} | {verdict} |", host.name(), case.label()));
            complaints
                .extend(complaint.map(|text| format!("{}, {}: {text}", host.name(), case.label())));
        }
    }
    let matrix = lines.join("\n") + "\n";
    println!("\n{matrix}");
    fs::write(build::target().join("interop.md"), &matrix).unwrap();
    if hosts.is_empty() {
        eprintln!("\n!!! SKIPPED: no host could be installed; NOTHING WAS TRIED\n");
        assert!(env::var_os("INTEROP_REQUIRED").is_none(), "INTEROP_REQUIRED is set");
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Every evaluator and every fault, exported for a host.
fn cases(place: &Place, host: &dyn Host) -> Vec<Case> {
    let mut cases = Vec::new();
    for (program, names) in EVALUATORS {
        let program = place.program(program);
        let exported = place.export(&program, host.target());
        cases.extend(names.iter().map(|name| Case {
            name: (*name).to_owned(),
            program: program.clone(),
            exported: exported.clone(),
            fault: String::new(),
        }));
    }
    let program = env!("CARGO_BIN_EXE_interop-fixture").into();
    let exported = place.export(&program, host.target());
    let faults = ["stray output"].iter().chain(&FAULTS);
    cases.extend(faults.map(|fault| Case {
        name: "faulty".to_owned(),
        program: program.clone(),
        exported: exported.clone(),
        fault: (*fault).to_owned(),
    }));
    cases
}

/// What is wrong with what a host recorded.
fn complaint(case: &Case, recorded: &Recorded, host: &dyn Host) -> Option<String> {
    if FAULTS.contains(&&*case.fault) {
        return match recorded.verdict {
            Verdict::Pass => Some("A PASS of an evaluator that broke".to_owned()),
            Verdict::Lost => Some("lost".to_owned()),
            Verdict::Fail | Verdict::Error if recorded.reason.is_empty() => {
                Some("nobody is told why".to_owned())
            }
            Verdict::Fail | Verdict::Error => None,
        };
    }
    let native = native::judge(case, host.turns());
    if recorded.score != Some(native.score) {
        return Some(format!("the score is {}", native.score));
    }
    if (recorded.verdict == Verdict::Pass) != native.passed {
        return Some(format!("passed: {}", native.passed));
    }
    // ADK wants a score for every turn, also of evaluators that give none.
    let turns = if native.turns.is_empty() && host.fills_turns() {
        vec![native.score; host.turns()]
    } else {
        native.turns
    };
    if recorded.turns.as_ref().is_some_and(|recorded| *recorded != turns) {
        return Some(format!("the turns have {turns:?}"));
    }
    // Every word of an explanation that a native run gives is there, where the host has room for any.
    let lost = native.reasons.iter().find(|reason| !recorded.reason.contains(reason.as_str()));
    lost.filter(|_| host.explains()).map(|reason| format!("the reason `{reason}` is not there"))
}
