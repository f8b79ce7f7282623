//! Rust evaluators from source to running program, with the real cargo.
//!
//! Programs here print a word instead of a result: how they are built and started is the matter, not what they say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

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

/// A folder of one test, with a cache for generated packages that all tests share.
struct Fixture {
    folder: PathBuf,
    environment: Environment,
}

impl Fixture {
    /// `name` is that of the test. The same folder in every run, as it decides the names in the cache, which would grow
    /// otherwise; not below the target folder, where files would be found to lie in this very workspace.
    fn new(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
        let folder = std::env::temp_dir()
            .join(format!("evaluator-cargo-{:016x}", hasher.finish()))
            .join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        // Kept between runs of the tests, so that the dependencies of lone files are compiled once.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluator-cache");
        let environment = Environment::inherited()
            .with("EVALUATOR_CACHE_DIR", cache)
            .with("EVALUATOR_CARGO_PROFILE", "");
        Self { folder: folder.canonicalize().unwrap(), environment }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
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
        fs::remove_dir_all(&self.folder).unwrap();
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
    // Not where the user's own builds go.
    assert!(
        fixture.path("target/evaluator/dev").exists()
            || fixture.path("target/evaluator/debug").exists()
    );
    assert!(!fixture.path("target/debug").exists());
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
fn a_library_that_does_not_compile_is_blamed_for_its_programs() {
    let fixture = Fixture::new("a_library_that_does_not_compile_is_blamed_for_its_programs");
    fixture.package(&[
        ("src/lib.rs", "pub fn score() -> f64 { \"\" }"),
        ("src/main.rs", &says("main")),
    ]);
    let (results, _) = fixture.prepare(&[&fixture.folder]);
    let (summary, rendered) = failure(&results[0]);
    assert_eq!(
        summary,
        format!("{} does not compile: 1 error in `mine`, which it uses", fixture.folder.display())
    );
    assert!(rendered.contains("--> src/lib.rs:1:25"), "{rendered}");
}

#[test]
fn a_package_is_named_by_its_folder_or_manifest() {
    let fixture = Fixture::new("a_package_is_named_by_its_folder_or_manifest");
    fixture.package(&[("src/main.rs", &says("package"))]);
    let runtimes = Runtimes::in_environment(&fixture.environment);
    let paths = [fixture.folder.clone(), fixture.path("Cargo.toml"), fixture.path("src/main.rs")];
    let results = runtimes.prepare_all(&paths.map(Into::into), &Cancellation::new(), &mut |_| ());
    for result in &results {
        assert_eq!(one_shot(result.as_ref().unwrap()), "package");
    }
}

#[test]
fn a_program_that_needs_a_feature_gets_it() {
    let fixture = Fixture::new("a_program_that_needs_a_feature_gets_it");
    fixture.package(&[("src/bin/extra.rs", &says("extra")), ("src/main.rs", &says("main"))]);
    fixture.file(
        "Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[features]\nmore = []\n\
         [[bin]]\nname = \"extra\"\nrequired-features = [\"more\"]\n",
    );
    let sources = ["src/bin/extra.rs", "src/main.rs"].map(|source| fixture.path(source));
    let (results, _) = fixture.prepare(&sources);
    assert_eq!(worker(results[0].as_ref().unwrap()), "extra --stream");
    assert_eq!(worker(results[1].as_ref().unwrap()), "main --stream");
}

#[test]
fn a_member_of_a_workspace_is_built_on_its_own() {
    let fixture = Fixture::new("a_member_of_a_workspace_is_built_on_its_own");
    fixture.file("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n");
    for (name, text) in [("a", says("a")), ("b", "fn main() { broken }".to_owned())] {
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fixture.file(&format!("{name}/Cargo.toml"), &manifest);
        fixture.file(&format!("{name}/src/main.rs"), &text);
    }
    fixture.file("scripts/lone.rs", &says("lone"));
    let sources = ["a/src/main.rs", "b", "scripts/lone.rs", ""].map(|source| fixture.path(source));
    let (results, _) = fixture.prepare(&sources);
    assert_eq!(one_shot(results[0].as_ref().unwrap()), "a");
    assert!(failure(&results[1]).1.contains("cannot find value `broken`"));
    assert_eq!(one_shot(results[2].as_ref().unwrap()), "lone");
    assert_eq!(
        results[3].as_ref().unwrap_err().to_string(),
        format!(
            "{} is a workspace, not a package; name the folder of one of its packages: a, b",
            fixture.path("Cargo.toml").display()
        )
    );
}

#[test]
fn a_file_in_src_that_is_not_a_program_says_what_is() {
    let fixture = Fixture::new("a_file_in_src_that_is_not_a_program_says_what_is");
    fixture.package(&[("src/main.rs", &says("main")), ("src/scoring.rs", "")]);
    let (results, _) = fixture.prepare(&[fixture.path("src/scoring.rs")]);
    assert_eq!(
        results[0].as_ref().unwrap_err().to_string(),
        format!(
            "{} is a module of package `mine`, not a program; name one of its programs: mine (src/main.rs)",
            fixture.path("src/scoring.rs").display()
        )
    );
}

#[test]
fn a_manifest_that_cargo_refuses_is_told_in_its_words() {
    let fixture = Fixture::new("a_manifest_that_cargo_refuses_is_told_in_its_words");
    fixture.file("Cargo.toml", "[package]\nname = \n");
    let source = fixture.file("src/main.rs", "");
    let (results, _) = fixture.prepare(&[source]);
    let (summary, rendered) = failure(&results[0]);
    assert!(
        summary
            .starts_with(&format!("cargo cannot read {}: ", fixture.path("Cargo.toml").display())),
        "{summary}"
    );
    assert!(
        rendered.contains("--> Cargo.toml:2:8") || rendered.contains("Cargo.toml:2:8"),
        "{rendered}"
    );
}

#[test]
fn a_lone_file_can_use_the_sdk_and_serde_and_is_compiled_in_its_place() {
    let fixture =
        Fixture::new("a_lone_file_can_use_the_sdk_and_serde_and_is_compiled_in_its_place");
    let text = "use evaluator_sdk as _;\nuse serde::Deserialize;\n#[derive(Deserialize)]\nstruct Word(String);\n\
                mod helper;\n\
                fn main() {\n    let Word(word) = serde_json::from_str(helper::JSON).unwrap();\n    println!(\"{word}\");\n}\n";
    fixture.file("helper.rs", "pub const JSON: &str = include_str!(\"data.json\");");
    fixture.file("data.json", "\"from data\"");
    let source = fixture.file("lone.rs", text);
    assert_eq!(fixture.output_of(&source), "from data");

    fixture.file("lone.rs", &text.replace("{word}", "{}"));
    let (results, _) = fixture.prepare(&[&source]);
    let (summary, rendered) = failure(&results[0]);
    assert_eq!(summary, format!("{} does not compile: 1 error", source.display()));
    assert!(rendered.contains(&format!("--> {}:8:15", source.display())), "{rendered}");
}

#[test]
fn frontmatter_is_a_manifest_and_errors_point_into_the_file() {
    let fixture = Fixture::new("frontmatter_is_a_manifest_and_errors_point_into_the_file");
    fixture.file(
        "lib/Cargo.toml",
        "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    fixture.file("lib/src/lib.rs", "pub const WORD: &str = \"from lib\";");
    let text = "#!/usr/bin/env evaluator\n---cargo\n[dependencies]\nwords = { path = \"lib\" }\n---\n\
                fn main() {\n    println!(\"{}\", words::WORD);\n}\n";
    let source = fixture.file("front.rs", text);
    assert_eq!(fixture.output_of(&source), "from lib");

    fixture.file("front.rs", &text.replace("WORD", "SPEECH"));
    let (results, _) = fixture.prepare(&[&source]);
    let (_, rendered) = failure(&results[0]);
    assert!(rendered.contains(&format!("--> {}:7:", source.display())), "{rendered}");

    fixture.file("front.rs", &text.replace("\"lib\"", "\"gone\""));
    let (results, _) = fixture.prepare(&[&source]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.starts_with(&format!("{} was not built: ", source.display())), "{summary}");

    fixture.file("front.rs", &text.replace("words =", "words"));
    let (results, _) = fixture.prepare(&[&source]);
    let error = results[0].as_ref().unwrap_err().to_string();
    assert!(
        error
            .starts_with(&format!("{}:4: embedded manifest is not valid TOML: ", source.display())),
        "{error}"
    );
}

#[test]
fn a_cargo_block_in_the_leading_comment_is_a_manifest() {
    let fixture = Fixture::new("a_cargo_block_in_the_leading_comment_is_a_manifest");
    let source = fixture.file(
        "block.rs",
        "//! Says a word.\n//!\n//! ```cargo\n//! [package]\n//! edition = \"2015\"\n//! ```\n\
         fn main() { let async = \"2015\"; println!(\"{}\", async); }\n",
    );
    assert_eq!(fixture.output_of(&source), "2015");
}

#[test]
fn names_that_are_not_crate_names_work_and_equal_names_do_not_meet() {
    let fixture = Fixture::new("names_that_are_not_crate_names_work_and_equal_names_do_not_meet");
    let manifest = "//! ```cargo\n//! ```\n";
    let names = [
        "3 d.rs",
        "überprüfung.rs",
        "fn.rs",
        "a/test.rs",
        "b/test.rs",
        "-x.rs",
        "build.RS",
        "it's [a] \"b\" #.rs",
    ];
    let sources = names.map(|name| {
        let word = name.replace('"', "'");
        fixture.file(name, &format!("{manifest}{}", says(&word)))
    });
    let (results, _) = fixture.prepare(&sources);
    for (name, result) in names.iter().zip(&results) {
        assert_eq!(one_shot(result.as_ref().unwrap()), name.replace('"', "'"));
    }
}

#[test]
fn two_runs_of_one_script_at_once_both_get_it() {
    let fixture = Fixture::new("two_runs_of_one_script_at_once_both_get_it");
    for round in 0..3 {
        // Differs from what an earlier run of this test left in the cache: there is something to write and to build.
        let word = format!("shared-{}-{round}", std::process::id());
        let source = fixture.file("shared.rs", &format!("---\n---\n{}", says(&word)));
        let begin = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let run = || {
                begin.wait();
                fixture.output_of(&source)
            };
            let runs = [(); 4].map(|()| scope.spawn(run));
            for run in runs {
                assert_eq!(run.join().unwrap(), word);
            }
        });
    }
}

#[test]
fn flags_and_folders_of_an_outer_cargo_do_not_reach_the_build() {
    const INSIDE: &str = "EVALUATOR_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        // These would fail the build, or move its results. They must be in the environment of a whole process.
        let this_test = "flags_and_folders_of_an_outer_cargo_do_not_reach_the_build";
        let command = CommandSpec::new(std::env::current_exe().unwrap())
            .args(["--exact", this_test])
            .env(INSIDE, "1")
            .env("RUSTFLAGS", "--not-a-flag")
            .env("CARGO_ENCODED_RUSTFLAGS", "--not-a-flag")
            .env("CARGO_TARGET_DIR", "/not/a/folder/of/this/package")
            .env("RUSTC", "/not/a/compiler")
            .env("RUSTC_WORKSPACE_WRAPPER", "/not/a/wrapper");
        let output = stdout(&command);
        assert!(output.contains("1 passed"), "{output}");
        return;
    }
    let fixture = Fixture::new("flags_and_folders_of_an_outer_cargo_do_not_reach_the_build");
    fixture.package(&[("src/main.rs", &says("untouched"))]);
    let (results, _) = fixture.prepare(&[&fixture.folder]);
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
        cargo.prepare(&[fixture.folder.clone().into()], &Cancellation::new(), &mut |_| ());
    let (summary, _) = failure(&results[0]);
    let cargo = fixture.environment.find_program("cargo").unwrap();
    assert_eq!(
        summary,
        format!(
            "{} was not built: {} took longer than 1 s and was stopped",
            fixture.folder.display(),
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
