//! What the Python runtime has installers do, with a shell script in place of uv and of Python.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_host::{
    config::{Config, EvaluatorConfig, EvaluatorKind},
    executor::{Containment, Executor, Scope},
    process::{Cancellation, CommandSpec},
    run::{Request, Runner},
    runtime::{
        Entrypoint, Environment, Launch, PrepareError, PrepareEvent, Python, Runtime, Runtimes,
        requirements,
    },
};

const TRACE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/data/traces/k10_traj_three_turns.json");

/// Says which Python it is, and otherwise answers like an evaluator.
const PYTHON: &str = r#"
if [ "$1" = -c ]; then
    cat <<END
{"identity": {"tag": "cpython-399", "version": "3.99.${MINOR:-0}", "abi": ".so", "has_venv": true, "base": "/base/python"}, "executable": "", "answers": []}
END
else
    cat >/dev/null
    echo '{"score": 1}'
fi"#;

/// Notes its variables and the requirements it was given.
const UV: &str = r#"
case "$1" in
    venv) mkdir -p "$2/bin" && ln -s "$4" "$2/bin/python" ;;
    pip)
        env >>"$(dirname "$0")/../seen"
        [ "$6" = -r ] && { pwd; cat "$7"; } >"$(dirname "$0")/../given" ;;
esac
exit 0"#;

struct Fixture {
    directory: PathBuf,
    environment: Environment,
}

impl Fixture {
    fn new(name: &str, requirements: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("requirements-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let directory = directory.canonicalize().unwrap();
        let environment = Environment::new([("PATH", "/usr/bin:/bin")])
            .with("EVALUATOR_PYTHON", directory.join("bin/python3"))
            .with("PATH", format!("{}:/usr/bin:/bin", directory.join("bin").display()))
            .with("HOME", directory.join("home"));
        let fixture = Self { directory, environment };
        fixture.script("bin/python3", PYTHON);
        fixture.script("bin/uv", UV);
        fixture.file("check.py", "");
        fixture.file("requirements.txt", requirements);
        fixture
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

    fn script(&self, name: &str, text: &str) {
        let path = self.file(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn prepare(
        &self,
        python: &Python,
        fetched: bool,
    ) -> (Result<Launch, PrepareError>, Vec<PrepareEvent>) {
        let mut events = Vec::new();
        let entrypoint = Entrypoint { fetched, ..Entrypoint::from(self.path("check.py")) };
        let mut results = python.prepare(&[entrypoint], &Cancellation::new(), &mut |event| {
            events.push(event);
        });
        (results.remove(0), events)
    }

    fn launch(&self, python: &Python) -> CommandSpec {
        self.prepare(python, false).0.unwrap().one_shot
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).unwrap();
    }
}

#[test]
fn the_program_is_the_interpreter_of_the_environment() {
    let fixture = Fixture::new("program", "a\n");
    let python = Python::new(fixture.environment.clone());
    let (launch, events) = fixture.prepare(&python, false);
    let command = launch.unwrap().one_shot;
    let venvs = fixture.path("home/.cache/agentevals/venvs");
    let program = PathBuf::from(&command.program);
    assert!(program.starts_with(&venvs) && program.ends_with("bin/python"), "{command:?}");
    assert_eq!(command.args, [fixture.path("check.py")]);
    assert_eq!(
        events[0],
        PrepareEvent::Started { what: "installing requirements of check.py".to_owned() }
    );
    let Some(PrepareEvent::Finished { what }) = events.last() else { panic!("{events:?}") };
    assert!(what.starts_with("installed requirements of check.py in "), "{what}");

    let (launch, events) = fixture.prepare(&python, false);
    assert_eq!(launch.unwrap().one_shot, command);
    assert_eq!(events, [], "it is there");
}

#[test]
fn another_interpreter_or_sdk_is_another_environment() {
    let fixture = Fixture::new("identity", "a\n");
    let at = |environment: Environment| fixture.launch(&Python::new(environment)).program;
    let first = at(fixture.environment.clone());
    assert_eq!(at(fixture.environment.clone()), first);
    assert_ne!(at(fixture.environment.clone().with("MINOR", "1")), first);
    assert_ne!(at(fixture.environment.clone().with("EVALUATOR_PYTHON_SDK", "none")), first);
    let elsewhere =
        at(fixture.environment.clone().with("EVALUATOR_CACHE_DIR", fixture.path("elsewhere")));
    assert!(Path::new(&elsewhere).starts_with(fixture.path("elsewhere/venvs")));
    assert_eq!(
        Path::new(&elsewhere).strip_prefix(fixture.path("elsewhere/venvs")),
        Path::new(&first).strip_prefix(fixture.path("home/.cache/agentevals/venvs"))
    );
}

#[test]
fn the_installation_of_a_fetched_evaluator_sees_no_secrets() {
    let fixture = Fixture::new("fetched", "# -*- coding: utf-7 -*-\na >= 1  # why\n");
    let environment = fixture
        .environment
        .clone()
        .with("OPENAI_API_KEY", "very-secret")
        .with("UV_INDEX_URL", "https://index.invalid");
    let python = Python::new(environment);
    fixture.prepare(&python, true).0.unwrap();
    let seen = fs::read_to_string(fixture.path("seen")).unwrap();
    assert!(!seen.contains("very-secret"), "{seen}");
    assert!(seen.contains("UV_INDEX_URL=https://index.invalid"), "{seen}");
    // What was understood is installed, far from files that could be taken for packages.
    let given = fs::read_to_string(fixture.path("given")).unwrap();
    let (cwd, packages) = given.split_once('\n').unwrap();
    assert_eq!(packages, "a >= 1\n");
    assert!(Path::new(cwd).starts_with(fixture.path("home/.cache/agentevals/venvs")), "{cwd}");

    fs::remove_dir_all(fixture.path("home")).unwrap();
    fixture.prepare(&python, false).0.unwrap();
    let seen = fs::read_to_string(fixture.path("seen")).unwrap();
    assert!(seen.contains("very-secret"), "one's own evaluator may need it to reach the index");
}

#[test]
fn a_fetched_evaluator_cannot_choose_where_packages_come_from() {
    let fixture = Fixture::new("refused", "a\n-i https://elsewhere.invalid\n");
    let python = Python::new(fixture.environment.clone());
    let expected = format!(
        "Dependency installation failed: {}, line 2: installer options are not allowed: `-i https://elsewhere.invalid`\n\
         hint: an evaluator that was fetched or is contained may only name packages of the index, such as `rapidfuzz>=3`",
        fixture.path("requirements.txt").display()
    );
    assert_eq!(fixture.prepare(&python, true).0.unwrap_err().to_string(), expected);
    let entrypoint = Entrypoint { fetched: true, ..Entrypoint::from(fixture.path("check.py")) };
    assert_eq!(python.inspect(&entrypoint).unwrap_err().to_string(), expected);
    assert!(!fixture.path("home").exists(), "nothing was started");
    assert!(requirements::check_plain("a\n-i x").is_err());
    // One's own may.
    fixture.prepare(&python, false).0.unwrap();
}

#[test]
fn a_package_of_this_machine_is_installed_as_it_is_now() {
    let fixture = Fixture::new("local", "./lib\n");
    fixture.file("lib/pyproject.toml", "");
    let python = Python::new(fixture.environment.clone());
    fixture.script("bin/uv", &format!("echo \"$@\" >>\"$(dirname \"$0\")/../calls\"\n{UV}"));
    let first = fixture.launch(&python).program;
    let calls = fs::read_to_string(fixture.path("calls")).unwrap();
    assert!(calls.trim_end().ends_with("requirements.txt --refresh"), "{calls}");
    assert_eq!(calls.matches("--refresh").count(), 1, "{calls}");
    let given = fs::read_to_string(fixture.path("given")).unwrap();
    assert_eq!(given.lines().next(), fixture.directory.to_str());
    assert_eq!(fixture.launch(&python).program, first);
    fixture.file("lib/code.py", "new");
    assert_ne!(fixture.launch(&python).program, first);
}

#[test]
fn an_installer_that_never_ends_is_stopped() {
    let fixture = Fixture::new("limit", "a\n");
    fixture.script("bin/uv", "sleep 600");
    let python =
        Python::new(fixture.environment.clone()).with_install_limit(Duration::from_secs(1));
    let error = fixture.prepare(&python, false).0.unwrap_err().to_string();
    assert!(error.contains("took longer than 1 s and was stopped\nhint: "), "{error}");
}

#[test]
fn requirements_that_change_while_they_are_installed_are_no_success() {
    let fixture = Fixture::new("changing", "a\n");
    fixture.script("bin/uv", &format!("{UV_CHANGING}\n{UV}"));
    let python = Python::new(fixture.environment.clone());
    let error = fixture.prepare(&python, false).0.unwrap_err().to_string();
    assert!(error.ends_with("changed while it was installed\nhint: run again"), "{error}");
}

const UV_CHANGING: &str = r#"[ "$6" = -r ] && echo b >>"$(dirname "$0")/../requirements.txt""#;

/// Runs commands through `sh`, and leaves a note.
#[derive(Debug)]
struct Noting {
    note: PathBuf,
}

impl Executor for Noting {
    fn name(&self) -> &str {
        "noting"
    }
    fn check(&self, _: &Containment) -> Result<String, String> {
        Ok(String::new())
    }
    fn wrap(&self, command: CommandSpec, _: &Scope<'_>) -> Result<CommandSpec, String> {
        let script = format!("echo \"$0\" >'{}'; exec \"$0\" \"$@\"", self.note.display());
        let args = command.args.clone();
        let wrapped = CommandSpec::new("sh").args(["-c", &script]).arg(&command.program).args(args);
        Ok(CommandSpec { env: command.env, ..wrapped })
    }
}

#[tokio::test]
async fn the_environment_runs_in_the_chosen_executor() {
    let fixture = Fixture::new("executor", "a\n");
    let mut runner = Runner::default();
    runner.registries.runtimes = Runtimes::in_environment(&fixture.environment);
    runner.registries.executors.register_executor(Noting { note: fixture.path("note") });
    let mut evaluator = EvaluatorConfig::code("good", fixture.path("check.py"));
    if let EvaluatorKind::Code(code) = &mut evaluator.kind {
        code.executor = "noting".to_owned();
    }
    let mut config = Config::default();
    config.evaluators = vec![evaluator];
    let request = Request::new([TRACE], config);
    let report = runner.run(&request, &mut |_| ()).await;
    let evaluation = &report.conversations.get(0).unwrap().unwrap().evaluations[0];
    assert_eq!((evaluation.score, &evaluation.error), (Some(1.0), &None));
    let program = fs::read_to_string(fixture.path("note")).unwrap();
    assert!(program.contains("/agentevals/venvs/cpython-399-"), "{program}");
}
