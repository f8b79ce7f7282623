//! Our evaluators under the real hosts, as `evaluator export` and `evaluator serve` make them ready: do the hosts record what
//! a native run gives, and does any of them record a pass for an evaluator that broke?
//!
//! `cargo test -p evaluator-tests --test it interop -- --ignored --nocapture` installs the hosts (see
//! `tests/src/bench/peers.rs`), runs everything, and compares the results with `docs/explanation/interop.md`; with
//! `INTEROP=overwrite` it writes that page. A host that cannot be installed is reported and left out; with
//! `INTEROP=all` that is a failure.

mod case;
mod client;
mod conversation;
mod evaluators;
mod expected;
mod faults;
mod hosts;
mod injection;
mod native;
mod page;
mod place;
mod sdks;

use std::{env, path::Path, thread};

use case::Case;
use faults::Fault;
use hosts::Host;
use native::Native;
use page::{Page, Section};
use place::Place;
use serde_json::json;

#[test]
#[ignore = "installs the hosts and takes minutes"]
fn every_host_records_what_we_say_and_none_passes_what_broke() {
    let wish = env::var("INTEROP").unwrap_or_default();
    place::build();
    let (mut hosts, mut missing) = hosts::installed();
    if !["", "all", "overwrite"].contains(&&*wish) {
        hosts.retain(|host| host.target() == wish);
        assert!(
            !hosts.is_empty(),
            "INTEROP={wish}: neither all, nor overwrite, nor a host that is there"
        );
        missing.push("those that INTEROP does not name");
    }
    let (mut sections, mut complaints) = (Vec::new(), Vec::new());
    // Most of the time, they wait.
    thread::scope(|scope| {
        let running: Vec<_> =
            hosts.iter().map(|host| (host, scope.spawn(|| run(host.as_ref())))).collect();
        for (host, running) in running {
            match running.join() {
                Ok((section, of_host)) => {
                    complaints
                        .extend(of_host.iter().map(|text| format!("{}: {text}", host.name())));
                    sections.push(section);
                }
                // The reason is on standard error.
                Err(_) => complaints.push(format!("{}: cannot be run", host.name())),
            }
        }
    });
    let page = Page::new(&sections);
    println!("\n{}", page.text());
    if !missing.is_empty() {
        eprintln!("\n!!! SKIPPED: {}; NOTHING is known of them\n", missing.join(", "));
        assert!(!["all", "overwrite"].contains(&&*wish), "INTEROP={wish} needs all of them");
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    if wish == "overwrite" {
        page.write();
    }
    assert_eq!(page.complaint(missing.is_empty()), None);
}

/// Runs everything under one host. Returns its results and the problems.
fn run(host: &dyn Host) -> (Section, Vec<String>) {
    eprintln!("running {} ...", host.name());
    let place = Place::new(&host.name().replace([' ', ','], "-"));
    let (examples, own) = (examples(host, &place), own(host, &place));
    let broken: Vec<(Fault, Case)> =
        faults::ALL.map(|fault| (fault, faulty(fault, host, &place))).into();

    let cases: Vec<Case> = examples
        .iter()
        .chain(own.iter().map(|(case, _)| case))
        .chain(broken.iter().map(|(_, case)| case))
        .cloned()
        .collect();
    let mut recorded = host.judge(&cases, &place).into_iter();
    let natives = native::judge(&examples, &host.conversation(), host.threshold(), &place);

    let mut complaints = Vec::new();
    let mut complain = |case: &Case, complaint: Option<String>| {
        complaints.extend(complaint.map(|text| format!("{}: {text}", case.label)));
    };
    let mut judged = Vec::new();
    for (case, native) in examples.iter().zip(&natives) {
        let recorded = recorded.next().unwrap();
        let unheard = (case.judges_tools && !host.tells_tools()).then(Native::without_tools);
        let native = unheard.as_ref().unwrap_or(native);
        complain(case, expected::of_example(native, &recorded, host));
        judged.push((case.label.clone(), recorded));
    }
    for (case, expectation) in &own {
        let recorded = recorded.next().unwrap();
        complain(case, expected::of_own(expectation, &recorded));
        judged.push((format!("{} (in the host's terms)", case.name), recorded));
    }
    let is_theirs = |fault: &Fault| fault.in_python && host.own_kind().is_some();
    let theirs: Vec<Fault> = faults::ALL.into_iter().filter(is_theirs).collect();
    let own_kind = match &*theirs {
        [] => Vec::new(),
        some => host.judge_own_kind(some, &place),
    };
    let mut theirs = theirs.iter().zip(own_kind).peekable();
    let mut faults = Vec::new();
    for (fault, case) in &broken {
        let recorded = recorded.next().unwrap();
        complain(case, expected::of_fault(*fault, &recorded));
        let its = theirs.next_if(|(its, _)| its.name == fault.name).map(|(_, recorded)| recorded);
        faults.push((*fault, recorded, its));
    }
    let left = place.left_behind();
    if !left.is_empty() {
        complaints.push(format!("processes are left: {left:?}"));
    }
    let section = Section {
        host: host.name().to_owned(),
        evaluators: judged,
        faults,
        own_kind: host.own_kind(),
    };
    (section, complaints)
}

/// The examples that every host can run.
fn examples(host: &dyn Host, place: &Place) -> Vec<Case> {
    let examples = evaluators::examples().into_iter();
    examples
        .filter(|example| host.has_config() || !example.needs_config)
        .map(|example| {
            let config = if host.has_config() { example.config } else { json!({}) };
            let program = place::program(example.program);
            let case = case(example.name, &program, host, place);
            let judges_tools = example.judges_tools;
            Case { label: example.label.to_owned(), config, judges_tools, ..case }
        })
        .collect()
}

/// Evaluators in the host's own terms.
fn own(host: &dyn Host, place: &Place) -> Vec<(Case, evaluators::Own)> {
    let own = evaluators::own().into_iter().filter(|own| own.target == host.target());
    own.map(|own| {
        let program = place::program(own.program);
        let case = case(own.name, &program, host, place);
        (Case { label: format!("own {}", own.name), config: own.config.clone(), ..case }, own)
    })
    .collect()
}

fn faulty(fault: Fault, host: &dyn Host, place: &Place) -> Case {
    let program = Path::new(env!("CARGO_BIN_EXE_interop-fixture"));
    let case = case("faulty", program, host, place);
    let config = json!({"fault": fault.name});
    Case { label: fault.name.to_owned(), config, hangs: fault.hangs, ..case }
}

fn case(name: &str, program: &Path, host: &dyn Host, place: &Place) -> Case {
    Case {
        label: name.to_owned(),
        name: name.to_owned(),
        config: json!({}),
        program: program.to_owned(),
        exported: place.export(program, host.target()),
        hangs: false,
        judges_tools: false,
    }
}
