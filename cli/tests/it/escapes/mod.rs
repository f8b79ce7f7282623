//! Programs that try to break out of `executor: sandbox`, in every way in which evaluators are run, and honest ones that
//! must score the same in it. They are those of the crate `sandbox`, or of `EVALUATOR_PROBES_DIR`.
//!
//! Writes `docs/explanation/containment-matrix.md` with `CONTAINMENT=overwrite`.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod page;
mod probes;
mod world;

use std::{collections::BTreeMap, env, path::Path};

use evaluator_test_support::processes::wait_until;
use serde_json::{Value, json};

use self::{
    probes::{Level, Probe, Way},
    world::{Snapshot, World, users},
};
use crate::{
    containment::{has_level, is_available},
    support::Directory,
};

/// Attacks that must work without containment: otherwise the decoys are at fault. None of them takes much memory or time.
const CONTROL: [&str; 10] = [
    "fs_home_dotfiles.py",
    "fs_lease.py",
    "fs_list_home.py",
    "fs_watch.py",
    "fs_write_own_source.py",
    "ipc_posix.py",
    "net_tcp_loopback.py",
    "net_unix_abstract.py",
    "proc_other_inputs.py",
    "sig_host.py",
];

#[test]
fn attacks_fail_in_every_way_of_running() {
    attacks_fail(Level::Full);
}

#[test]
fn attacks_fail_at_the_partial_level() {
    attacks_fail(Level::Partial);
}

fn attacks_fail(level: Level) {
    let probes = probes::attacks();
    if env::var_os("EVALUATOR_PROBES_DIR").is_none() {
        page::compare(&probes);
    }
    if !has_level(level.name()) {
        return;
    }
    let mut wrong = Vec::new();
    for user in users() {
        let world = World::start(user);
        for way in level.ways() {
            let tried: Vec<&Probe> = probes.iter().filter(|probe| probe.has(*way)).collect();
            wrong.extend(attack(&world, *way, level, &tried));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs attacks in one way. Returns what went wrong.
fn attack(world: &World, way: Way, level: Level, probes: &[&Probe]) -> Vec<String> {
    let what = |probe: &str| format!("{probe}, {}, {}", way.name(), world.user.name());
    let package = world.package(probes);
    let before = world.snapshot();
    let report = match way {
        Way::Build if !world.has_cargo() => {
            world::skip(&what("all"));
            return Vec::new();
        }
        Way::Build => build(world, level, &package, probes),
        _ => run(world, way, probes, Some(level)),
    };
    let mut wrong = Vec::new();
    for (probe, results) in report {
        for result in results {
            if let Err(reason) = probes::contained(&probe, &result, level, world.user) {
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

/// Builds a package whose build script runs programs. Returns their results by name.
fn build(
    world: &World,
    level: Level,
    package: &Path,
    probes: &[&Probe],
) -> BTreeMap<String, Vec<Value>> {
    let read = [&[world.tools()], &*world.python_prefixes].concat();
    let entry = json!({
        "name": "package", "type": "code", "path": package, "executor": "sandbox",
        "sandbox": {"level": level.name(), "read": read},
    });
    let mut results = results(world, Way::Build, &[entry], Some(level));
    let answer = results.remove("package").unwrap().remove(0);
    let answers = answer["details"].as_object().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(answers.len(), probes.len());
    answers
        .iter()
        .map(|(name, answer)| (name.trim_end_matches(".rs").to_owned(), vec![answer.clone()]))
        .collect()
}

/// Runs programs in one way, contained at a level or not at all. Returns their results by name.
fn run(
    world: &World,
    way: Way,
    probes: &[&Probe],
    level: Option<Level>,
) -> BTreeMap<String, Vec<Value>> {
    // A run has at most 32 interpreters that are forked.
    let runs = probes.chunks(30).map(|probes| {
        let entries: Vec<Value> =
            probes.iter().map(|probe| way.entry(probe, world, level)).collect();
        results(world, way, &entries, level)
    });
    let results: BTreeMap<_, _> = runs.flatten().collect();
    assert_eq!(results.len(), probes.len());
    results
}

/// Runs the entries of a configuration, and returns the results by name.
fn results(
    world: &World,
    way: Way,
    entries: &[Value],
    level: Option<Level>,
) -> BTreeMap<String, Vec<Value>> {
    let replies = world.file("replies", "\"yes\"\n");
    let model = format!("fake:{replies}");
    let config = json!({"judge": {"model": model}, "evaluators": entries});
    let config = world.file("c.yaml", &config.to_string());
    let ran = world.evaluator(&["run", "-v", "-c", &config, "-o", "json", &world.traces(way)]);
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", ran.stdout, ran.stderr));
    let is_forked = !ran.stderr.contains("a new process for every evaluation");
    assert!(is_forked || way != Way::Fork, "{}", ran.stderr);
    let mut results: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for conversation in report["traces"].as_array().unwrap() {
        for result in conversation["metrics"].as_array().unwrap() {
            let name = result["metric_name"].as_str().unwrap().to_owned();
            let contained = result["containment"]["level"].as_str();
            assert_eq!(contained, level.map(Level::name), "{result}");
            results.entry(name).or_default().push(result.clone());
        }
    }
    results
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
        let results = run(&world, Way::OneShot, &probes, None);
        for (probe, results) in results {
            let escaped = &results[0]["details"]["escaped"];
            assert_eq!(escaped, true, "{probe}, {}: {}", user.name(), results[0]);
        }
    }
}

#[test]
fn honest_programs_score_the_same() {
    honest(Level::Full, |_| true);
}

#[test]
fn honest_programs_score_the_same_at_the_partial_level() {
    // POSIX semaphores need `/dev/shm`.
    honest(Level::Partial, |probe| !probe.name.starts_with("py_multiprocessing"));
}

fn honest(level: Level, works: impl Fn(&Probe) -> bool) {
    if !has_level(level.name()) {
        return;
    }
    let probes = probes::honest();
    for user in users() {
        let world = World::start(user);
        for way in [Way::OneShot, Way::Fork, Way::Stream] {
            if !level.ways().contains(&way) {
                continue;
            }
            let mine = |probe: &&Probe| probe.has(way) && works(probe);
            let probes: Vec<&Probe> = probes.iter().filter(mine).collect();
            for (probe, results) in run(&world, way, &probes, Some(level)) {
                for result in results {
                    let score = &result["score"];
                    assert_eq!(score, 1.0, "{probe}, {}, {}: {result}", way.name(), user.name());
                }
            }
        }
    }
}

#[test]
fn examples_and_templates_score_the_same() {
    if !is_available() {
        return;
    }
    let directory = Directory::new();
    for name in ["polite.py", "brief.js"] {
        directory.evaluator(&["init", name]).exits(0);
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let entries = [
        ("polite", directory.join("polite/polite.py")),
        ("brief", directory.join("brief/brief.js")),
        ("grounded_numbers", examples.join("evaluators/grounded_numbers.py")),
        ("latency_budget", examples.join("evaluators/latency_budget.js")),
    ];
    let has_node =
        !directory.evaluator(&["runtimes"]).stdout.contains("JavaScript  .js, .mjs, .cjs  no");
    let entries: Vec<Value> = entries
        .iter()
        .filter(|(_, path)| has_node || path.extension().is_some_and(|it| it == "py"))
        .map(|(name, path)| json!({"name": name, "type": "code", "path": path, "timeout": 300}))
        .collect();
    let traces = ["booking.json", "change.json", "expenses.jsonl"]
        .map(|name| examples.join("traces").join(name).to_str().unwrap().to_owned());
    let scores = |executor: &str| -> Vec<(Value, Value, Value)> {
        let config = json!({"defaults": {"executor": executor}, "evaluators": entries});
        directory.file("c.yaml", config.to_string());
        let args = ["-c", "c.yaml", "-o", "json"].into_iter().chain(traces.iter().map(|it| &**it));
        let ran = directory.run(&args.collect::<Vec<_>>());
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let results = report["traces"].as_array().unwrap().iter();
        let results = results.flat_map(|it| it["metrics"].as_array().unwrap());
        results
            .map(|it| {
                assert_eq!(it["error"], Value::Null, "{it}");
                (
                    it["metric_name"].clone(),
                    it["score"].clone(),
                    it["per_invocation_scores"].clone(),
                )
            })
            .collect()
    };
    assert_eq!(scores("local"), scores("sandbox"));
}
