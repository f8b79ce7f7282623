//! Rust packages that share one build directory.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::support::{Directory, Ran, finish, has, trace};

/// Runs `evaluator`, or cargo as the author does, without a build directory that the environment chooses.
fn run(directory: &Directory, args: &[&str]) -> Ran {
    let mut command = directory.command(args);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_")) {
        if name != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    finish(command.env("CARGO_NET_OFFLINE", "true").spawn().unwrap())
}

fn cargo(directory: &Directory, package: &str, args: &str) -> String {
    // Incremental or not, a package is compiled again if that changes.
    let unset = "unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR CARGO_BUILD_BUILD_DIR CARGO_INCREMENTAL RUSTC_WORKSPACE_WRAPPER RUSTFLAGS";
    let place = directory.join(package).display().to_string();
    let output = directory.sh(&format!("{unset}; cd '{place}' && cargo {args}"));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stderr
}

/// A package with a program that gives this score.
fn package(directory: &Directory, place: &str, name: &str, score: u8, more: &str) {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n{more}"
    );
    directory.file(&format!("{place}/Cargo.toml"), manifest);
    let program = format!("fn main() {{ println!(\"{{{{\\\"score\\\": {score}}}}}\"); }}\n");
    directory.file(&format!("{place}/src/main.rs"), program);
}

#[test]
fn packages_that_are_made_in_one_directory_compile_their_dependencies_once() {
    if !has("cargo") {
        return;
    }
    let directory = Directory::new();
    let says = "Rust packages next to it share their builds, by .cargo/config.toml.";
    for (name, is_first) in [("one", true), ("two", false)] {
        let created = run(&directory, &["init", name, "--runtime", "rs"]).exits(0);
        assert_eq!(created.stdout.contains(says), is_first, "{}", created.stdout);
    }
    // A small dependency in place of the SDK, and its program.
    directory.file("slow/Cargo.toml", "[package]\nname = \"slow\"\nversion = \"0.1.0\"\n");
    directory.file("slow/src/lib.rs", "");
    let dependency = format!("[dependencies]\nslow = {{ path = {:?} }}\n", directory.join("slow"));
    for name in ["one", "two"] {
        package(&directory, name, name, 1, &dependency);
    }
    let first = cargo(&directory, "one", "test --no-run");
    assert!(first.contains("Compiling slow"), "{first}");
    let second = cargo(&directory, "two", "test --no-run");
    assert!(second.contains("Compiling two") && !second.contains("Compiling slow"), "{second}");

    // The host takes what the authors have compiled, and they take what it compiles.
    cargo(&directory, "one", "clean");
    run(&directory, &["run", &trace("k01_traj_exact")]).exits(0);
    for name in ["one", "two"] {
        let again = cargo(&directory, name, "build");
        assert!(!again.contains("Compiling slow"), "{again}");
    }
    let ignored = directory.read(".cargo/.gitignore");
    assert_eq!(ignored, "/build\n");
}

#[test]
fn a_package_that_has_the_name_of_another_one_is_not_taken_for_it() {
    if !has("cargo") {
        return;
    }
    // Packages next to each other, of which the author has built the other one, and packages of one configuration.
    for (good, bad, run_both) in [("good", "bad", false), ("a/good", "b/bad", true)] {
        let directory = Directory::new();
        directory.file(".cargo/config.toml", "[build]\nbuild-dir = \"shared\"\n");
        package(&directory, good, "check", 1, "");
        package(&directory, bad, "check", 0, "");
        cargo(&directory, good, "build");
        let entry = |path: &str| format!("- {{name: {path}, type: code, path: {path}}}\n");
        let both = if run_both { entry(good) } else { String::new() };
        directory.file("eval_config.yaml", format!("evaluators:\n{both}{}", entry(bad)));
        let ran = run(&directory, &["run", &trace("k01_traj_exact"), "-o", "json"]).exits(1);
        let expected = [format!("{good} PASSED"), format!("{bad} FAILED")];
        assert_eq!(ran.evaluations(0), expected[usize::from(!run_both)..]);
    }
}
