//! Pipes, devices and links in place of the files of an evaluator: each is an error of its entry, and nothing waits for them.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    os::unix::fs::symlink,
    process::Child,
    thread,
    time::{Duration, Instant},
};

use crate::support::{Directory, Ran, finish, has, trace};

/// Time after which a command counts as waiting for a file.
const TIME_LIMIT: Duration = Duration::from_secs(100);

/// Waits for a command, and kills it if it waits for a file.
#[track_caller]
fn finishes(mut child: Child) -> Ran {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it waits for a file");
        }
        thread::sleep(Duration::from_millis(20));
    }
    finish(child)
}

impl Directory {
    fn pipe(&self, name: &str) {
        self.file(name, "");
        self.sh(&format!("rm '{name}' && mkfifo '{name}'"));
    }

    /// Checks and runs an evaluator. Returns what both wrote.
    #[track_caller]
    fn fails(&self, path: &str) -> String {
        let config =
            format!("evaluators:\n- {{name: odd, type: code, path: {path}, timeout: 10}}\n");
        self.file("c.yaml", config);
        let checked = finishes(self.command(&["check", "c.yaml"]).spawn().unwrap());
        assert_ne!(checked.code, Some(0), "{path}: {}{}", checked.stdout, checked.stderr);
        let traces = trace("i11_five_traces_plain");
        let ran = finishes(self.command(&["run", &traces, "-c", "c.yaml"]).spawn().unwrap());
        assert!(matches!(ran.code, Some(2 | 3)), "{path}: {}{}", ran.stdout, ran.stderr);
        [checked.stdout, checked.stderr, ran.stdout, ran.stderr].concat()
    }
}

#[test]
fn a_script_that_is_not_a_file_is_an_error() {
    let directory = Directory::new();
    for name in ["check.py", "check.js", "check.rs"] {
        directory.pipe(name);
        let said = directory.fails(name);
        assert!(said.contains("is neither a regular file nor a directory"), "{name}: {said}");
    }
    symlink("/dev/zero", directory.join("zero.py")).unwrap();
    let said = directory.fails("zero.py");
    assert!(said.contains("is neither a regular file nor a directory"), "{said}");
}

#[test]
fn requirements_and_modules_that_are_not_files_are_errors() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    for (name, special) in [("pipe", true), ("zero", false)] {
        let make = |file: &str| {
            let file = format!("{name}/{file}");
            directory.pipe(&file);
            if !special {
                std::fs::remove_file(directory.join(&file)).unwrap();
                symlink("/dev/zero", directory.join(&file)).unwrap();
            }
        };
        directory.file(&format!("{name}/check.py"), "import other\n");
        make("other.py");
        let said = directory.fails(&format!("{name}/check.py"));
        assert!(said.contains("`other`") || said.contains("No module named 'other'"), "{said}");
        make("requirements.txt");
        let said = directory.fails(&format!("{name}/check.py"));
        assert!(said.contains("requirements.txt: it is not a regular file"), "{said}");
    }
}

#[test]
fn a_manifest_that_is_not_a_file_is_an_error() {
    let directory = Directory::new();
    directory.file("package/src/main.rs", "fn main() {}");
    directory.pipe("package/Cargo.toml");
    for path in ["package", "package/Cargo.toml"] {
        let said = directory.fails(path);
        assert!(said.contains("Cargo.toml"), "{path}: {said}");
    }
}

#[test]
fn what_a_build_leaves_is_not_read_without_end() {
    if !has("cargo") {
        return;
    }
    let directory = Directory::new();
    let package =
        "[package]\nname = \"odd\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    directory.file("odd/Cargo.toml", package);
    directory.file("odd/src/main.rs", "fn main() { println!(\"{{\\\"score\\\": 1}}\"); }");
    directory.file("c.yaml", "evaluators:\n- {name: odd, type: code, path: odd}\n");
    let check = |args: &[&str]| {
        finishes(directory.command(&[&["check", "c.yaml"], args].concat()).spawn().unwrap())
    };
    check(&["--build"]).exits(0);
    assert!(!check(&[]).stderr.contains("not built"), "the program is up to date");
    // cargo's list of sources, next to the program.
    let list = directory.sh("find odd/target -path '*/debug/odd.d' -not -path '*/deps/*'").stdout;
    let list = directory.join(list.lines().next().unwrap());
    std::fs::remove_file(&list).unwrap();
    symlink("/dev/zero", &list).unwrap();
    let checked = check(&[]).exits(0);
    assert!(checked.stderr.contains("not built"), "{}", checked.stderr);
}
