//! Programs that try to break out of `executor: sandbox`, in every way in which evaluators are run, and honest ones that
//! must score the same in it. They are those of the crate `sandbox`, or of `EVALUATOR_PROBES_DIR`.
//!
//! Writes `docs/containment-matrix.md` with `CONTAINMENT=overwrite`.
#![cfg(target_os = "linux")]

mod page;
mod probes;
mod world;

use std::{collections::BTreeMap, env};

use evaluator_test_support::processes::wait_until;
use serde_json::{Value, json};

use self::{
    probes::{Probe, Way},
    world::{Snapshot, World, users},
};
use crate::containment::is_available;

/// Attacks that must work without containment: otherwise the decoys are at fault. None of them takes much memory or time.
const CONTROL: [&str; 8] = [
    "fs_home_dotfiles.py",
    "fs_list_home.py",
    "fs_write_own_source.py",
    "ipc_posix.py",
    "net_tcp_loopback.py",
    "net_unix_abstract.py",
    "proc_other_inputs.py",
    "sig_host.py",
];

#[test]
fn attacks_fail_in_every_way_of_running() {
    let probes = probes::attacks();
    if env::var_os("EVALUATOR_PROBES_DIR").is_none() {
        page::compare(&probes);
    }
    if !is_available() {
        return;
    }
    let mut wrong = Vec::new();
    for user in users() {
        let world = World::start(user);
        for way in Way::ALL {
            let tried: Vec<&Probe> = probes.iter().filter(|probe| probe.has(way)).collect();
            wrong.extend(attack(&world, way, &tried));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs attacks in one way. Returns what went wrong.
fn attack(world: &World, way: Way, probes: &[&Probe]) -> Vec<String> {
    let what = |probe: &str| format!("{probe}, {}, {}", way.name(), world.user.name());
    let before = world.snapshot();
    let report = match run(world, way, probes, "sandbox") {
        Some(report) => report,
        None => return Vec::new(),
    };
    let mut wrong = Vec::new();
    for (probe, results) in report {
        for result in results {
            if let Err(reason) = probes::contained(&probe, &result, world.user) {
                wrong.push(format!("{}: {reason}: {result}", what(&probe)));
            }
        }
    }
    let changed = Snapshot::difference(&before, &world.snapshot());
    if !changed.is_empty() {
        wrong.push(format!("{}: changed {changed:?}", what("all")));
    }
    // They sleep for minutes.
    wait_until(&what("processes that are left"), || world.left_behind().is_empty());
    wrong
}

/// Runs programs in one way with an executor. Returns their results by name, or `None` if the user cannot do that here.
fn run(
    world: &World,
    way: Way,
    probes: &[&Probe],
    executor: &str,
) -> Option<BTreeMap<String, Vec<Value>>> {
    let entries: Vec<Value> =
        probes.iter().map(|probe| way.entry(probe, world, executor)).collect();
    let config = world.file("c.yaml", &json!({"evaluators": entries}).to_string());
    let ran = world.evaluator(&["run", "-v", "-c", &config, "-o", "json", &world.traces(way)]);
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.stdout, ran.stderr));
    let is_forked = !ran.stderr.contains("a new process for every evaluation");
    assert!(is_forked || way != Way::Fork || !probes[0].is_attack, "{}", ran.stderr);
    let mut results: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for conversation in report["traces"].as_array().unwrap() {
        for result in conversation["metrics"].as_array().unwrap() {
            let name = result["metric_name"].as_str().unwrap().to_owned();
            let contained = result["containment"]["executor"].as_str();
            assert_eq!(contained, (executor == "sandbox").then_some("sandbox"), "{result}");
            results.entry(name).or_default().push(result.clone());
        }
    }
    assert_eq!(results.len(), probes.len(), "{}", ran.stderr);
    Some(results)
}

#[test]
fn attacks_work_without_containment() {
    let probes = probes::attacks();
    let probes: Vec<&Probe> =
        probes.iter().filter(|probe| CONTROL.contains(&probe.name.as_str())).collect();
    if probes.is_empty() {
        // Others than those of this repository.
        return;
    }
    for user in users() {
        let world = World::start(user);
        let results = run(&world, Way::OneShot, &probes, "local").unwrap();
        for (probe, results) in results {
            let escaped = &results[0]["details"]["escaped"];
            assert_eq!(escaped, true, "{probe}, {}: {}", user.name(), results[0]);
        }
    }
}

#[test]
fn honest_programs_score_the_same() {
    if !is_available() {
        return;
    }
    let probes = probes::honest();
    let probes: Vec<&Probe> = probes.iter().collect();
    for user in users() {
        let world = World::start(user);
        for way in [Way::OneShot, Way::Fork, Way::Stream] {
            let probes: Vec<&Probe> =
                probes.iter().copied().filter(|probe| probe.has(way)).collect();
            for (probe, results) in run(&world, way, &probes, "sandbox").unwrap() {
                for result in results {
                    let what = format!("{probe}, {}, {}", way.name(), user.name());
                    assert_eq!(result["score"], 1.0, "{what}: {result}");
                }
            }
        }
    }
}
