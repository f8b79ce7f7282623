//! Rust evaluators from source to running program, with the real cargo.
//!
//! Programs here print a word instead of a result: how they are built and started is the matter, not what they say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod lone_files;
mod packages;
mod workspaces;

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use evaluator_host::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Cargo, Entrypoint, Environment, Launch, PrepareError, PrepareEvent, Runtime, Runtimes,
    },
};

/// A directory of one test, with a cache for generated packages that all tests share.
struct Fixture {
    directory: PathBuf,
    environment: Environment,
}

impl Fixture {
    /// `name` is that of the test. The same directory in every run, as it decides the names in the cache, which would grow
    /// otherwise; not below the target directory, where files would be found to lie in this very workspace.
    fn new(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
        let base = std::env::temp_dir().join(format!("evaluator-cargo-{:016x}", hasher.finish()));
        let directory = evaluator_test_support::unshared(&base).join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        fs::create_dir_all(&directory).unwrap();
        // Kept between runs of the tests, so that the dependencies of lone files are compiled once.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators");
        let environment = Environment::inherited()
            .with("EVALUATOR_CACHE_DIR", cache)
            .with("EVALUATOR_CARGO_PROFILE", "");
        Self { directory: directory.canonicalize().unwrap(), environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A package without dependencies.
    fn package(&self, files: &[(&str, &str)]) {
        self.file(
            "Cargo.toml",
            "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
        );
        for (name, text) in files {
            self.file(name, text);
        }
    }

    fn cargo(&self) -> Cargo {
        Cargo::new(self.environment.clone())
    }

    fn prepare<P: AsRef<Path>>(
        &self,
        sources: &[P],
    ) -> (Vec<Result<Launch, PrepareError>>, Vec<PrepareEvent>) {
        let sources: Vec<Entrypoint> =
            sources.iter().map(|source| source.as_ref().to_owned().into()).collect();
        let mut events = Vec::new();
        let results =
            self.cargo().prepare(&sources, &Cancellation::new(), &mut |event| events.push(event));
        (results, events)
    }

    /// What the prepared program of one source prints.
    fn output_of(&self, source: &Path) -> String {
        let (mut results, _) = self.prepare(&[source]);
        one_shot(&results.remove(0).unwrap_or_else(|error| panic!("{error:?}")))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "starts what was prepared, without the supervision that others test"
)]
fn start(command: &CommandSpec) -> Output {
    let mut process = std::process::Command::new(&command.program);
    process.args(&command.args).stdin(Stdio::null());
    for (name, value) in &command.env {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    process.output().unwrap()
}

fn stdout(command: &CommandSpec) -> String {
    let output = start(command);
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn one_shot(launch: &Launch) -> String {
    stdout(&launch.one_shot)
}

fn worker(launch: &Launch) -> String {
    stdout(launch.worker.as_ref().expect("Rust evaluators may stream"))
}

fn says(word: &str) -> String {
    format!(
        "fn main() {{ println!(\"{word} {{}}\", std::env::args().skip(1).collect::<String>()) }}\n"
    )
}

/// Whether anything was compiled. Other tests may make cargo wait, which it tells even when it has nothing to do.
fn compiles(events: &[PrepareEvent]) -> bool {
    events.iter().any(
        |event| matches!(event, PrepareEvent::Progress { line } if line.starts_with("Compiling ")),
    )
}

fn failure(result: &Result<Launch, PrepareError>) -> (&str, &str) {
    match result {
        Err(PrepareError::BuildFailed { summary, rendered }) => (summary, rendered),
        other => panic!("expected a failed build, got {other:?}"),
    }
}

#[test]
fn a_program_that_does_not_compile_does_not_keep_the_others_from_running() {
    let fixture =
        Fixture::new("a_program_that_does_not_compile_does_not_keep_the_others_from_running");
    fixture.package(&[
        ("src/bin/good.rs", &says("good")),
        ("src/bin/bad.rs", "fn main() {\n    let score: f64 = \"high\";\n}\n"),
        ("examples/shown.rs", &says("shown")),
    ]);
    let sources = ["src/bin/good.rs", "src/bin/bad.rs", "examples/shown.rs", "src/bin/good.rs"];
    let (results, events) = fixture.prepare(&sources.map(|source| fixture.path(source)));

    let good = results[0].as_ref().unwrap();
    assert_eq!(one_shot(good), "good");
    assert_eq!(worker(good), "good --stream");
    assert_eq!(results[3].as_ref(), Ok(good));
    let shown = results[2].as_ref().unwrap();
    assert_eq!(one_shot(shown), "shown");
    assert_eq!(worker(shown), "shown --stream");

    let (summary, rendered) = failure(&results[1]);
    assert_eq!(
        summary,
        format!("{} does not compile: 1 error", fixture.path("src/bin/bad.rs").display())
    );
    assert!(
        rendered.starts_with("error[E0308]: mismatched types\n --> src/bin/bad.rs:2:22\n"),
        "{rendered}"
    );
    let shown = |event: &PrepareEvent| matches!(event, PrepareEvent::Diagnostic { rendered } if rendered.contains("E0308"));
    assert!(events.iter().any(shown), "{events:?}");
    assert!(compiles(&events), "{events:?}");
    // Not where the user's own programs are.
    assert!(Path::new(&good.one_shot.program).starts_with(fixture.path("target/evaluator")));
    assert!(!fixture.path("target/debug/good").exists());
}

#[test]
fn an_edit_is_seen_and_nothing_is_compiled_without_one() {
    let fixture = Fixture::new("an_edit_is_seen_and_nothing_is_compiled_without_one");
    fixture.package(&[("src/main.rs", &says("one"))]);
    let source = fixture.path("src/main.rs");
    assert_eq!(fixture.output_of(&source), "one");
    let (_, events) = fixture.prepare(&[&source]);
    assert!(!compiles(&events), "{events:?}");
    fixture.file("src/main.rs", &says("two"));
    let (results, _) = fixture.prepare(&[source]);
    let launch = results[0].as_ref().unwrap();
    assert_eq!((one_shot(launch), worker(launch)), ("two".to_owned(), "two --stream".to_owned()));
}

#[test]
fn flags_and_directories_of_an_outer_cargo_do_not_reach_the_build() {
    const INSIDE: &str = "EVALUATOR_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // These would fail the build, or move its results. They must be in the environment of a whole process.
        let this_test =
            "cargo_runtime::flags_and_directories_of_an_outer_cargo_do_not_reach_the_build";
        let command = CommandSpec::new(std::env::current_exe().unwrap())
            .args(["--exact", this_test])
            .env(INSIDE, "1")
            .env("RUSTFLAGS", "--not-a-flag")
            .env("CARGO_ENCODED_RUSTFLAGS", "--not-a-flag")
            .env("CARGO_TARGET_DIR", "/not/a/directory/of/this/package")
            .env("RUSTC", "/not/a/compiler")
            .env("RUSTC_WORKSPACE_WRAPPER", "/not/a/wrapper");
        let output = stdout(&command);
        assert!(output.contains("1 passed"), "{output}");
        return;
    }
    let fixture = Fixture::new("flags_and_directories_of_an_outer_cargo_do_not_reach_the_build");
    fixture.package(&[("src/main.rs", &says("untouched"))]);
    let (results, _) = fixture.prepare(&[&fixture.directory]);
    let launch = results[0].as_ref().unwrap();
    assert!(
        Path::new(&launch.one_shot.program).starts_with(fixture.path("target/evaluator")),
        "{launch:?}"
    );
    assert_eq!(
        (one_shot(launch), worker(launch)),
        ("untouched".to_owned(), "untouched --stream".to_owned())
    );
}

#[test]
fn a_build_that_takes_too_long_is_stopped() {
    let fixture = Fixture::new("a_build_that_takes_too_long_is_stopped");
    fixture.package(&[
        ("src/main.rs", &says("never")),
        ("build.rs", "fn main() { std::thread::sleep(std::time::Duration::from_secs(1000)); }"),
    ]);
    let cargo = fixture.cargo().with_build_limit(Duration::from_secs(1));
    let results =
        cargo.prepare(&[fixture.directory.clone().into()], &Cancellation::new(), &mut |_| ());
    let (summary, _) = failure(&results[0]);
    let cargo = fixture.environment.find_program("cargo").unwrap();
    assert_eq!(
        summary,
        format!(
            "{} was not built: {} took longer than 1 s and was stopped",
            fixture.directory.display(),
            cargo.display()
        )
    );
}

#[test]
fn without_cargo_a_run_says_what_to_install() {
    let fixture = Fixture::new("without_cargo_a_run_says_what_to_install");
    let source = fixture.file("lone.rs", "fn main() {}");
    let runtimes = Runtimes::in_environment(&fixture.environment.clone().with("PATH", ""));
    let results = runtimes.prepare_all(&[source.into()], &Cancellation::new(), &mut |_| ());
    assert_eq!(
        results[0].as_ref().unwrap_err().to_string(),
        "runtime not available: cargo was not found on PATH; install Rust from https://rustup.rs"
    );
}
