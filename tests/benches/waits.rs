//! How long people wait: for a first build, for a first run, for a run after an edit.
//!
//! `cargo bench -p evaluator-tests --bench waits`. Builds from nothing into temporary directories, so it takes minutes, and
//! wants crates that are downloaded already (it fetches them first). Compares with what cargo and the interpreters need by
//! themselves on the same machine in the same run.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and may panic")]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use evaluator_tests::bench::{
    build::{cargo, clean, root},
    directory::BenchDirectory,
    is_wanted,
};

fn main() {
    if !is_wanted() {
        return;
    }
    let directory = BenchDirectory::new();
    run(cargo(root()).args(["fetch", "--quiet", "--locked"]));
    run(cargo(root()).args(["build", "--quiet", "-p", "evaluator-cli"]));
    println!("{:<64} {:>10} {:>10}  compared with", "what", "measured", "to reach");
    scaffold(directory.path());
    first_command(directory.path());
}

/// A new package: its crates, its first build, the loop of editing and running it.
fn scaffold(directory: &Path) {
    run(Command::new(root().join("target/debug/evaluator"))
        .args(["init", "my_check"])
        .current_dir(directory));
    let package = directory.join("my_check");

    let tree = cargo(&package).args(["tree", "--prefix", "none"]).output().unwrap();
    let crates: BTreeSet<String> = String::from_utf8(tree.stdout)
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split(" (").next().unwrap().to_owned())
        .collect();
    row(
        "crates in the tree of a new package, itself included",
        &crates.len().to_string(),
        "24",
        "",
    );

    // The least an evaluator could be built from.
    let bare = directory.join("bare");
    fs::create_dir_all(bare.join("src")).unwrap();
    let manifest = "[package]\nname = \"bare\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
                    serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";
    fs::write(bare.join("Cargo.toml"), manifest).unwrap();
    fs::write(
        bare.join("src/main.rs"),
        "fn main() { println!(\"{}\", serde_json::json!({\"score\": 1.0})); }",
    )
    .unwrap();
    run(cargo(&bare).args(["fetch", "--quiet"]));
    run(cargo(&package).args(["fetch", "--quiet"]));
    let least = time(cargo(&bare).args(["build", "--release", "--quiet"]));
    let build = time(cargo(&package).args(["build", "--release", "--quiet"]));
    row(
        "`cargo build --release` of a new package, empty target",
        &seconds(build),
        "12 s",
        &format!("serde and serde_json alone: {} ({:.1} x)", seconds(least), ratio(build, least)),
    );

    run(cargo(&package).args(["build", "--quiet"]));
    let source = package.join("src/main.rs");
    let text = fs::read_to_string(&source).unwrap();
    let input = directory.join("input.json");
    fs::write(&input, r#"{"metric_name": "my_check", "invocations": [{"final_response": "yes"}]}"#)
        .unwrap();
    let mut loops = Vec::new();
    let mut builds = Vec::new();
    for round in 0..5 {
        fs::write(&source, format!("{text}\n// {round}\n")).unwrap();
        loops.push(time(
            cargo(&package).args(["run", "--quiet"]).stdin(fs::File::open(&input).unwrap()),
        ));
        fs::write(&source, format!("{text}\n// {round}, again\n")).unwrap();
        builds.push(time(cargo(&package).args(["build", "--quiet"])));
    }
    row(
        "edit a line and `cargo run` the new package",
        &seconds(median(loops)),
        "",
        &format!("`cargo build` alone: {}", seconds(median(builds))),
    );
}

/// The first command of the README in a fresh clone.
fn first_command(directory: &Path) {
    let clone = directory.join("clone");
    run(Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&clone));
    let readme = fs::read_to_string(clone.join("README.md")).unwrap();
    let command = readme.split("```sh\n").nth(1).unwrap().split("\n```").next().unwrap();
    let first = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(&clone);
        clean(&mut shell);
        shell
    };
    let cold = time(&mut first());
    row("the README's first command in a fresh clone", &seconds(cold), "150 s", "");
    let warm = median((0..7).map(|_| time(&mut first())).collect());
    let python = median((0..7).map(|_| time(Command::new("python3").args(["-c", "0"]))).collect());
    let node = median((0..7).map(|_| time(Command::new("node").args(["-e", "0"]))).collect());
    row(
        "the README's first command, once built",
        &seconds(warm),
        "0.5 s",
        &format!(
            "one start of python3: {}, of node: {}; it starts three of each",
            seconds(python),
            seconds(node)
        ),
    );
}

fn row(what: &str, measured: &str, to_reach: &str, compared: &str) {
    println!("{what:<64} {measured:>10} {to_reach:>10}  {compared}");
}

fn run(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn time(command: &mut Command) -> Duration {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().unwrap();
    let elapsed = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    elapsed
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
