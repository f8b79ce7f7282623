//! The command alone is built from the same units as the workspace with its tests.

use std::{collections::BTreeSet, env, path::Path, process::Command};

use serde_json::Value;

/// Returns what cargo would compile for a command: packages with their targets, features and settings.
///
/// Cargo lists it on a stable toolchain only if it is told to act as another one.
fn units(command: &[&str]) -> BTreeSet<String> {
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
    let unit = |unit: &Value| {
        let mut profile = unit["profile"].clone();
        // The profile of tests has another name and the same settings.
        profile.as_object_mut().unwrap().remove("name");
        let target = &unit["target"];
        format!(
            "{} ({} {}), features {}, profile {profile}",
            unit["pkg_id"], target["kind"], unit["mode"], unit["features"]
        )
    };
    graph["units"].as_array().unwrap().iter().map(unit).collect()
}

#[test]
fn the_first_run_after_the_tests_compiles_nothing_again() {
    let tested = units(&["test", "--workspace", "--no-run"]);
    let again: Vec<_> =
        units(&["build"]).into_iter().filter(|unit| !tested.contains(unit)).collect();
    assert!(
        again.is_empty(),
        "tests need features that the command lacks: name them in cli/Cargo.toml\n{}",
        again.join("\n")
    );
}
