//! The walk-through of the README: its commands are run, and print what it says.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests may panic")]

use std::{env, fs, os::unix::fs::symlink, path::Path, process::Command};

use evaluator_test_support::run;

use crate::support::{Directory, Ran, has};

/// The README from a heading to the next one of the same level.
fn section(heading: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, section) = readme.split_once(&format!("\n## {heading}\n")).unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

/// Contents of the blocks of a language, in order.
fn blocks<'a>(section: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    section.split(&*fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Runs a block of commands, each after `$ `, and checks that the lines without it are what they print.
#[track_caller]
fn console(directory: &Directory, block: &str) -> Ran {
    let is_output = |line: &&str| line.starts_with(['{', '[']);
    let output: String = block.lines().filter(is_output).map(|line| format!("{line}\n")).collect();
    let lines = block.lines().filter(|line| !is_output(line));
    let commands: Vec<&str> = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line)).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_evaluator")).parent().unwrap();
    let path = env::var("PATH").unwrap();
    let ran = run(Command::new("sh")
        .args(["-c", &commands.join("\n")])
        .current_dir(directory.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("templates"))
        .env("CARGO_NET_OFFLINE", "true"));
    assert!(output.is_empty() || ran.stdout == output, "{block}: {ran:?}");
    ran
}

#[test]
fn five_minutes_do_what_the_readme_says() {
    if !has("python3") || !has("node") {
        return;
    }
    let directory = Directory::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    symlink(root.join("examples"), directory.join("examples")).unwrap();
    let section = section("Five minutes");
    let [create, by_hand, over_recordings, failing, ..] = blocks(&section, "console")[..] else {
        panic!("four blocks are expected: {section}")
    };
    // The tests of the new package come with it, and are run where all templates are.
    console(&directory, create.lines().next().unwrap()).exits(0);
    // The versions that this workspace was built with are on this machine; others may not be.
    fs::copy(root.join("Cargo.lock"), directory.join("my_check/Cargo.lock")).unwrap();
    console(&directory, by_hand).exits(0);
    directory.file("eval_config.yaml", blocks(&section, "yaml")[0]);
    console(&directory, over_recordings).exits(0);
    let ran = console(&directory, failing).exits(0);
    assert!(ran.stdout.ends_with("exit code 1\n"), "{ran:?}");
}
