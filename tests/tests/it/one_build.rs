//! The command alone is built from the same units as the workspace with its tests.

use std::{
    collections::BTreeMap,
    env,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    process::Command,
};

use serde_json::Value;

/// Returns what cargo would compile for a command: names of units by a hash of all that decides how they are compiled.
///
/// Cargo lists it on a stable toolchain only if it is told to act as another one.
fn units(command: &[&str]) -> BTreeMap<u64, String> {
    let output = Command::new(env!("CARGO"))
        .args(command)
        .args(["--locked", "--offline", "-Z", "unstable-options", "--unit-graph"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap())
        .env("RUSTC_BOOTSTRAP", "1")
        // A setting that would hide what this test looks for.
        .env_remove("CARGO_RESOLVER_FEATURE_UNIFICATION")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Value = serde_json::from_slice(&output.stdout).unwrap();
    let units = graph["units"].as_array().unwrap();
    let mut hashes = vec![None; units.len()];
    let name = |unit: &Value| format!("{} with features {}", unit["pkg_id"], unit["features"]);
    (0..units.len()).map(|at| (hash(units, at, &mut hashes), name(&units[at]))).collect()
}

/// Hash of a unit and of what it depends on.
fn hash(units: &[Value], at: usize, hashes: &mut [Option<u64>]) -> u64 {
    if let Some(hash) = hashes[at] {
        return hash;
    }
    let unit = &units[at];
    let mut profile = unit["profile"].clone();
    // The profile of tests has another name and the same settings.
    profile.as_object_mut().unwrap().remove("name");
    let mut hasher = DefaultHasher::new();
    for part in [&unit["pkg_id"], &unit["target"], &unit["mode"], &unit["features"], &profile] {
        part.to_string().hash(&mut hasher);
    }
    let dependencies = unit["dependencies"].as_array().unwrap().iter();
    let indexes = dependencies.map(|it| it["index"].as_u64().unwrap() as usize);
    let mut below: Vec<u64> = indexes.map(|at| hash(units, at, hashes)).collect();
    below.sort_unstable();
    below.hash(&mut hasher);
    *hashes[at].insert(hasher.finish())
}

#[test]
fn the_first_run_after_the_tests_compiles_nothing_again() {
    let tested = units(&["test", "--workspace", "--no-run"]);
    let mut again = units(&["build"]);
    again.retain(|hash, _| !tested.contains_key(hash));
    let again: Vec<_> = again.into_values().collect();
    assert!(
        again.is_empty(),
        "tests need features that the command lacks: name them in cli/Cargo.toml\n{}",
        again.join("\n")
    );
}
