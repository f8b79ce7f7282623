//! When `.ci/run` and `.ci/full` run the steps of `.ci/steps`: both scripts in a small repository with steps of its own.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test may panic, and starts the scripts"
)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Steps that note that they ran, skip something, or fail.
const STEPS: &str = r#"full_steps() {
    printf '%s\n' 'pages waits docs' 'sources compiles */src/*' 'skips compiles docs' 'fails compiles broken'
}
common=(toolchain)
pages() { echo "built the pages"; }
sources() { echo "looked at sources"; }
skips() { echo "SKIPPED: a part (no tool)"; }
fails() { test ! -e broken; echo "not reached after a failure"; }
"#;

struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate").join(name);
        let _ = fs::remove_dir_all(&path);
        let repository = Self(path);
        for program in ["cargo", "rustup", "python3", "node", "npm"] {
            repository.script(&format!("bin/{program}"), "#!/bin/sh\n");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for script in [".ci/run", ".ci/full"] {
            repository.script(script, &fs::read_to_string(root.join(script)).unwrap());
        }
        repository.file(".ci/steps", STEPS);
        repository.file(".gitignore", "bin\n");
        repository.file("ci/gitlab.yml", "");
        for file in ["docs/page.md", "one/src/deep/mod.rs", "toolchain"] {
            repository.file(file, "first");
        }
        repository.git(&["init", "--quiet"]);
        repository.commit();
        repository
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn script(&self, name: &str, text: &str) {
        self.file(name, text);
        fs::set_permissions(self.0.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let mut git = Command::new("git");
        let output = git.current_dir(&self.0).args(identity).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs a script and returns whether it succeeded, and what it printed.
    fn run(&self, script: &str, args: &[&str]) -> (bool, String) {
        let path = format!("{}/bin:{}", self.0.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.arg(script).args(args).current_dir(&self.0).env("PATH", path);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        (output.status.success(), text.concat())
    }

    fn passed(&self) -> String {
        fs::read_to_string(self.0.join("ci/full.passed")).unwrap_or_default()
    }
}

/// Names of the steps of `.ci/steps` in the table of times.
fn steps(printed: &str) -> Vec<&str> {
    let times = printed.split_once("  seconds  step\n").unwrap().1;
    let mut names: Vec<_> =
        times.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    names.retain(|name| ["pages", "sources", "skips", "fails"].contains(name));
    names.sort_unstable();
    names
}

#[test]
fn a_step_runs_again_after_a_change_of_its_files_only() {
    let repository = Repository::new("changes");
    let (succeeded, printed) = repository.run(".ci/run", &[]);
    assert!(succeeded, "{printed}");
    assert_eq!(steps(&printed), ["fails", "pages", "skips", "sources"], "nothing is recorded");
    assert_eq!(repository.passed(), "", "only .ci/full records");

    let first = repository.git(&["rev-parse", "HEAD"]);
    let (succeeded, printed) = repository.run(".ci/full", &[]);
    assert!(succeeded, "{printed}");
    for part in ["built the pages", "looked at sources", "format", "clippy", "tests", "in all"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // A step that skipped a part has not passed.
    let passed = format!("pages {first}\nsources {first}\nfails {first}\n");
    assert_eq!(repository.passed(), passed);
    repository.commit();
    assert_eq!(steps(&repository.run(".ci/run", &[]).1), ["skips"]);

    // Not committed, committed, a new file, and a file that every step depends on.
    repository.file("one/src/deep/mod.rs", "second");
    assert_eq!(steps(&repository.run(".ci/run", &[]).1), ["skips", "sources"]);
    repository.commit();
    assert_eq!(steps(&repository.run(".ci/run", &[]).1), ["skips", "sources"]);
    repository.file("docs/new.md", "");
    assert_eq!(steps(&repository.run(".ci/run", &[]).1), ["pages", "skips", "sources"]);
    repository.file("toolchain", "second");
    assert_eq!(steps(&repository.run(".ci/run", &[]).1), ["fails", "pages", "skips", "sources"]);
}

#[test]
fn steps_that_are_named_run_alone_and_keep_the_lines_of_the_others() {
    let repository = Repository::new("named");
    assert!(repository.run(".ci/full", &[]).0);
    let before = repository.passed();
    repository.file("other", "");
    let second = repository.commit();

    let (succeeded, printed) = repository.run(".ci/full", &["pages"]);
    assert!(succeeded && !printed.contains("clippy"), "{printed}");
    assert_eq!(steps(&printed), ["pages"]);
    let line = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(repository.passed(), before.replace(&line(&before), &format!("pages {second}")));

    let (succeeded, printed) = repository.run(".ci/full", &["page"]);
    assert!(!succeeded && printed.contains("there is no step `page`"), "{printed}");
}

#[test]
fn a_commit_that_is_missing_means_that_the_step_runs() {
    let repository = Repository::new("missing");
    repository.file("ci/full.passed", &format!("pages {}\n", "0".repeat(40)));
    let (_, printed) = repository.run(".ci/run", &[]);
    assert!(printed.contains("with step pages: commit 0000"), "{printed}");
    assert!(steps(&printed).contains(&"pages"));
}

#[test]
fn a_step_that_fails_is_named_after_all_have_ended_and_is_not_recorded() {
    let repository = Repository::new("failure");
    repository.file("broken", "");
    repository.commit();
    let (succeeded, printed) = repository.run(".ci/full", &[]);
    assert!(!succeeded && printed.contains("FAILED: fails"), "{printed}");
    assert!(printed.contains("built the pages") && !printed.contains("not reached"), "{printed}");
    let passed = repository.passed();
    assert!(passed.contains("sources ") && !passed.contains("fails"), "{passed}");
}

#[test]
fn changes_that_are_not_committed_are_not_recorded() {
    let repository = Repository::new("uncommitted");
    repository.file("docs/page.md", "second");
    let (succeeded, printed) = repository.run(".ci/full", &[]);
    assert!(succeeded && printed.contains("stays as it is"), "{printed}");
    assert_eq!(repository.passed(), "");
}

#[test]
fn every_pattern_of_the_table_names_files_and_every_step_is_defined() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = r#"
        git rev-parse --git-dir >/dev/null 2>&1 || { echo "SKIPPED: no git repository" >&2; exit; }
        . .ci/steps
        while read -r name lane patterns; do
            [ "$(type -t "$name")" = function ] || echo "$name is not defined"
            [ "$lane" = waits ] || [ "$lane" = compiles ] || echo "$name has no lane"
            read -ra patterns <<<"$patterns"
            for pattern in "${patterns[@]}" "${common[@]}"; do
                [ -n "$(git ls-files -- "$pattern" | sed -n 1p)" ] || echo "$name: $pattern names no file"
            done
        done < <(full_steps)
    "#;
    let output = Command::new("bash").args(["-c", script]).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
}
