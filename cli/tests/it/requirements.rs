//! Python evaluators that bring a `requirements.txt`.
//!
//! Most of these have a shell script in place of uv, which makes environments at once and says what it was asked for. Two
//! go through the real `venv` and pip, with packages made here and no network.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    Folder, Ran, finish, has,
    processes::{assert_gone, signal, wait_for_line},
    trace,
};

/// Passes if everything it was promised was installed.
pub(crate) const EVALUATOR: &str = "
import json, os, sys
json.load(sys.stdin)
environment = os.path.dirname(os.path.dirname(sys.executable))
print(json.dumps({'score': 1.0 if os.path.exists(environment + '/installed') else 0.0}))
";

/// Stands in for uv. While there is a file `hold`, installations wait.
pub(crate) const UV: &str = r#"
cd "$(dirname "$0")/.."
echo "$@" >>uv.log
case "$1" in
    venv) mkdir -p "$2/bin" && ln -s "$4" "$2/bin/python" ;;
    pip)
        sleep 600 &
        echo $$ $! >uv.pids
        while [ -e hold ]; do sleep 0.05; done
        kill $!
        echo "Resolved 1 package" >&2
        echo >"$(dirname "$(dirname "$5")")/installed" ;;
esac
"#;

/// A folder with the false uv, an evaluator and its requirements; `None` without Python.
pub(crate) fn with_uv(requirements: &str) -> Option<Folder> {
    if !has("python3") {
        return None;
    }
    let folder = Folder::new();
    folder.script("bin/uv", UV);
    folder.file("check.py", EVALUATOR);
    folder.file("requirements.txt", requirements);
    folder.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    Some(folder)
}

pub(crate) fn command(folder: &Folder, args: &[&str]) -> Command {
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = vec![folder.path().join("bin")];
    // No uv but the one of the test.
    folders.extend(std::env::split_paths(&path).filter(|folder| !folder.join("uv").exists()));
    let mut command = folder.command(args);
    for name in ["EVALUATOR_CACHE_DIR", "EVALUATOR_PYTHON_SDK", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command
        .env("PATH", std::env::join_paths(folders).unwrap())
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", folder.path().join("wheels"));
    command
}

pub(crate) fn run(folder: &Folder, args: &[&str]) -> Ran {
    finish(command(folder, args).spawn().unwrap())
}

pub(crate) const ARGS: [&str; 4] = ["run", "-c", "c.yaml", "-o"];

pub(crate) fn evaluate(folder: &Folder) -> Ran {
    let trace = trace("a01_otlp_basic_parts");
    run(folder, &[&ARGS[..], &["json", &trace]].concat())
}

/// Starts a run that writes what it has to say into a file.
pub(crate) fn start(folder: &Folder, stderr: &str) -> Child {
    let trace = trace("a01_otlp_basic_parts");
    let stderr = File::create(folder.path().join(stderr)).unwrap();
    let mut command = command(folder, &[&ARGS[..], &["json", "-v", &trace]].concat());
    command.stderr(Stdio::from(stderr)).spawn().unwrap()
}

/// Waits until a run has said something.
#[track_caller]
pub(crate) fn wait_until_said(folder: &Folder, stderr: &str, text: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(folder.path().join(stderr)).unwrap().contains(text) {
        assert!(begun.elapsed() < Duration::from_secs(60), "`{text}` was never said");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The environments that are there, in order of their names.
pub(crate) fn environments(folder: &Folder) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.path().join("cache/agentevals/venvs"));
    let mut paths: Vec<PathBuf> =
        entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

/// How often an environment was begun.
pub(crate) fn begun(folder: &Folder) -> usize {
    let log = fs::read_to_string(folder.path().join("uv.log")).unwrap_or_default();
    log.lines().filter(|line| line.starts_with("venv ")).count()
}

#[test]
fn an_environment_is_built_once_and_again_for_other_requirements() {
    let Some(folder) = with_uv("# nothing but this\nfirst>=1\n") else { return };
    // Another evaluator with the same requirements.
    folder.file("other/check.py", EVALUATOR);
    folder.file("other/requirements.txt", "# nothing but this\nfirst>=1\n");
    folder.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py}\n  - {name: other, type: code, path: other/check.py}\n",
    );
    let first = evaluate(&folder).exits(0);
    assert_eq!(first.evaluations(0), ["good PASSED", "other PASSED"]);
    let log = fs::read_to_string(folder.path().join("uv.log")).unwrap();
    let calls: Vec<&str> = log.lines().collect();
    assert_eq!(calls.len(), 3, "{log}");
    assert!(calls[1].ends_with("/bin/python agentevals-evaluator-sdk"), "{log}");
    assert!(calls[2].contains("/bin/python -r /"), "{log}");
    assert!(first.stderr.contains("installing requirements of check.py ..."), "{}", first.stderr);

    let second = evaluate(&folder).exits(0);
    assert_eq!((begun(&folder), environments(&folder).len()), (1, 1));
    assert!(!second.stderr.contains("installing"), "{}", second.stderr);

    folder.file("requirements.txt", "first>=2\n");
    evaluate(&folder).exits(0);
    assert_eq!((begun(&folder), environments(&folder).len()), (2, 2));
    // What was there before is still there.
    folder.file("requirements.txt", "# nothing but this\nfirst>=1\n");
    evaluate(&folder).exits(0);
    assert_eq!(begun(&folder), 2);
}

#[test]
fn two_runs_at_once_build_once() {
    let Some(folder) = with_uv("first\n") else { return };
    folder.file("hold", "");
    let first = start(&folder, "first");
    wait_for_line(&folder.path().join("uv.pids"));
    let second = start(&folder, "second");
    wait_until_said(
        &folder,
        "second",
        "waiting for another run that installs the same requirements",
    );
    fs::remove_file(folder.path().join("hold")).unwrap();
    for run in [first, second] {
        assert_eq!(finish(run).exits(0).evaluations(0), ["good PASSED"]);
    }
    assert_eq!(begun(&folder), 1);
}

#[test]
fn what_a_killed_run_has_left_is_waited_for_and_built_anew() {
    let Some(folder) = with_uv("first\n") else { return };
    folder.file("hold", "");
    let mut killed = start(&folder, "killed");
    wait_for_line(&folder.path().join("uv.pids"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let [half_built] = &environments(&folder)[..] else { panic!("one was begun") };
    folder.file(&format!("{}/left", half_built.display()), "");
    // The installer of the dead run still writes into it.
    let next = start(&folder, "next");
    wait_until_said(&folder, "next", "waiting for another run");
    assert_eq!(begun(&folder), 1);
    fs::remove_file(folder.path().join("hold")).unwrap();
    assert_eq!(finish(next).exits(0).evaluations(0), ["good PASSED"]);
    assert_eq!(begun(&folder), 2);
    assert!(!half_built.join("left").exists());
}

#[test]
fn an_environment_that_lost_its_interpreter_is_built_anew() {
    let Some(folder) = with_uv("first\n") else { return };
    evaluate(&folder).exits(0);
    let python = environments(&folder)[0].join("bin/python");
    fs::remove_file(&python).unwrap();
    std::os::unix::fs::symlink("/nowhere/python", &python).unwrap();
    assert_eq!(evaluate(&folder).exits(0).evaluations(0), ["good PASSED"]);
    assert_eq!(begun(&folder), 2);
}

#[test]
fn an_interrupted_installation_leaves_nothing() {
    let Some(folder) = with_uv("first\n") else { return };
    folder.file("hold", "");
    let run = start(&folder, "stderr");
    let pids = wait_for_line(&folder.path().join("uv.pids"));
    assert!(signal("INT", &run.id().to_string()));
    let ran = finish(run).exits(3);
    assert_eq!(ran.evaluations(0), ["good ERROR cancelled"]);
    for pid in pids.split(' ') {
        assert_gone(pid);
    }
    assert_eq!(environments(&folder), [""; 0].map(PathBuf::from));
}

#[test]
fn an_installer_that_fails_is_the_error_of_that_evaluator() {
    let Some(folder) = with_uv("first\n") else { return };
    folder.script(
        "bin/uv",
        "[ $1 = venv ] && exec mkdir -p $2\necho 'error: No space left on device (os error 28)' >&2; exit 2",
    );
    folder.file("plain/check.py", EVALUATOR.replace("/installed", ""));
    folder.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py}\n  - {name: plain, type: code, path: plain/check.py}\n",
    );
    let ran = evaluate(&folder).exits(3);
    assert_eq!(ran.evaluations(0), ["good ERROR prepare_failed", "plain PASSED"]);
    assert_eq!(
        ran.error_of("good"),
        "Dependency installation failed: uv cannot install agentevals-evaluator-sdk, which every Python evaluator gets \
         (exit code 2)\nerror: No space left on device (os error 28)\nhint: the disk is full; free some space, or set \
         EVALUATOR_CACHE_DIR to a directory on another one"
    );
    assert_eq!(environments(&folder), [""; 0].map(PathBuf::from));
}

#[test]
fn an_executor_that_nobody_knows_is_an_error_before_anything_is_installed() {
    let Some(folder) = with_uv("first\n") else { return };
    folder.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py, executor: moon}\n",
    );
    let ran = evaluate(&folder).exits(3);
    assert_eq!(ran.error_of("good"), "unknown executor `moon` (available: local)");
    assert_eq!(begun(&folder), 0);
}

#[test]
fn check_says_what_will_be_built_and_builds_nothing() {
    let Some(folder) = with_uv("first\n") else { return };
    let check = |code| run(&folder, &["check", "c.yaml"]).exits(code).stdout;
    let before = check(0);
    assert!(
        before.contains("requirements.txt: virtual environment will be built with uv)"),
        "{before}"
    );
    assert_eq!(begun(&folder), 0);
    evaluate(&folder).exits(0);
    let environment = &environments(&folder)[0];
    let expected = format!("requirements.txt: virtual environment {})", environment.display());
    let after = check(0);
    assert!(after.contains(&expected), "{after}");

    fs::remove_file(folder.path().join("requirements.txt")).unwrap();
    folder.file("requirements.txt/this", "is a folder");
    let unreadable = check(2);
    assert!(unreadable.contains("Dependency installation failed: cannot read "), "{unreadable}");
}

#[test]
fn a_python_without_venv_says_what_to_install() {
    let Some(folder) = with_uv("first\n") else { return };
    fs::remove_file(folder.path().join("bin/uv")).unwrap();
    let python = folder.script(
        "bin/bare-python",
        "[ \"$1\" = -m ] && { echo 'No module named venv' >&2; exit 1; }\n\
         echo '{\"identity\": {\"tag\": \"cpython-399\", \"version\": \"3.99.0\", \"abi\": \".so\", \"has_venv\": false, \
         \"base\": \"/bare\"}, \"executable\": \"\", \"answers\": []}'",
    );
    let mut check = command(&folder, &["check", "c.yaml"]);
    let checked = finish(check.env("EVALUATOR_PYTHON", &python).spawn().unwrap()).exits(2);
    assert!(checked.stdout.contains("apt install python3-venv"), "{}", checked.stdout);
    let trace = trace("a01_otlp_basic_parts");
    let mut run = command(&folder, &[&ARGS[..], &["json", &trace]].concat());
    let ran = finish(run.env("EVALUATOR_PYTHON", &python).spawn().unwrap()).exits(3);
    let error = ran.error_of("good");
    assert!(error.starts_with("Dependency installation failed: python -m venv cannot "), "{error}");
    assert!(error.contains("\nNo module named venv\nhint: this Python lacks "), "{error}");
}

/// Writes wheels: a wheel is a zip file with the code and three files about it.
const MAKE_WHEELS: &str = r#"
import sys, zipfile
folder = sys.argv[1]
for name in ["agentevals_evaluator_sdk", "tiny"]:
    info = f"{name}-9.9.dist-info/"
    with zipfile.ZipFile(f"{folder}/{name}-9.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "def score(): return 0.75\n")
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
"#;

/// Whether the machine's Python can make environments; fills `wheels` if so.
#[expect(clippy::disallowed_methods, reason = "wheels are made by Python itself")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn make_wheels(folder: &Path) -> bool {
    if !has("python3") {
        return false;
    }
    let wheels = folder.join("wheels");
    fs::create_dir_all(&wheels).unwrap();
    let python = |args: &[&str]| {
        Command::new("python3").args(args).stdin(Stdio::null()).output().unwrap().status.success()
    };
    let has_venv = python(&["-c", "import venv, ensurepip"]);
    if !has_venv {
        eprintln!("SKIPPED: python3 has no venv and ensurepip");
    }
    has_venv && python(&["-c", MAKE_WHEELS, wheels.to_str().unwrap()])
}

#[test]
fn pip_installs_the_sdk_and_then_the_requirements() {
    let folder = Folder::new();
    if !make_wheels(folder.path()) {
        return;
    }
    folder.file(
        "check.py",
        "import json, sys, tiny, agentevals_evaluator_sdk\n\
         print(json.dumps({'score': tiny.score(), 'details': {'prefix': sys.prefix}}))\n",
    );
    folder.file("requirements.txt", "tiny >= 9\n");
    folder.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    let ran = evaluate(&folder).exits(0);
    let metric = &ran.json()["traces"][0]["metrics"][0];
    assert_eq!(metric["score"], 0.75);
    let environment = environments(&folder).remove(0);
    assert_eq!(metric["details"]["prefix"], environment.to_str().unwrap());
    // Nothing is looked for any more.
    fs::remove_dir_all(folder.path().join("wheels")).unwrap();
    evaluate(&folder).exits(0);
}

#[test]
fn pip_s_complaint_is_the_error_of_that_evaluator() {
    let folder = Folder::new();
    if !make_wheels(folder.path()) {
        return;
    }
    folder.file("check.py", "");
    let requirements = folder.file("requirements.txt", "tiny\nno-such-package-here==1.2\n");
    folder.file("c.yaml", "evaluators:\n  - {name: bad, type: code, path: check.py}\n");
    let ran = evaluate(&folder).exits(3);
    let error = ran.error_of("bad");
    let headline = format!(
        "Dependency installation failed: pip cannot install {} (exit code 1)\n",
        requirements.display()
    );
    assert!(error.starts_with(&headline), "{error}");
    assert!(
        error.contains("ERROR: No matching distribution found for no-such-package-here==1.2"),
        "{error}"
    );
    assert!(error.ends_with("\nhint: no such package or version is in the index for this Python, if the index can be reached; correct the requirement"), "{error}");
    assert_eq!(environments(&folder), [""; 0].map(PathBuf::from));
}
