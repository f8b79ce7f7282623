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
    Directory, Ran, finish, has,
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

/// A directory with the false uv, an evaluator and its requirements; `None` without Python.
pub(crate) fn with_uv(requirements: &str) -> Option<Directory> {
    if !has("python3") {
        return None;
    }
    let directory = Directory::new();
    directory.script("bin/uv", UV);
    directory.file("check.py", EVALUATOR);
    directory.file("requirements.txt", requirements);
    directory.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    Some(directory)
}

pub(crate) fn command(directory: &Directory, args: &[&str]) -> Command {
    let path = std::env::var_os("PATH").unwrap();
    let mut directories = vec![directory.path().join("bin")];
    // No uv but the one of the test.
    directories
        .extend(std::env::split_paths(&path).filter(|directory| !directory.join("uv").exists()));
    let mut command = directory.command(args);
    for name in ["EVALUATOR_CACHE_DIR", "EVALUATOR_PYTHON_SDK", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command
        .env("PATH", std::env::join_paths(directories).unwrap())
        .env("XDG_CACHE_HOME", directory.path().join("cache"))
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", directory.path().join("wheels"));
    command
}

pub(crate) fn run(directory: &Directory, args: &[&str]) -> Ran {
    finish(command(directory, args).spawn().unwrap())
}

pub(crate) const ARGS: [&str; 4] = ["run", "-c", "c.yaml", "-o"];

pub(crate) fn evaluate(directory: &Directory) -> Ran {
    let trace = trace("a01_otlp_basic_parts");
    run(directory, &[&ARGS[..], &["json", &trace]].concat())
}

/// Starts a run that writes what it has to say into a file.
pub(crate) fn start(directory: &Directory, stderr: &str) -> Child {
    let trace = trace("a01_otlp_basic_parts");
    let stderr = File::create(directory.path().join(stderr)).unwrap();
    let mut command = command(directory, &[&ARGS[..], &["json", "-v", &trace]].concat());
    command.stderr(Stdio::from(stderr)).spawn().unwrap()
}

/// Waits until a run has said something.
#[track_caller]
pub(crate) fn wait_until_said(directory: &Directory, stderr: &str, text: &str) {
    let started = Instant::now();
    while !fs::read_to_string(directory.path().join(stderr)).unwrap().contains(text) {
        assert!(started.elapsed() < Duration::from_secs(60), "`{text}` was never said");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The environments that are there, in order of their names.
pub(crate) fn environments(directory: &Directory) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.path().join("cache/agentevals/venvs"));
    let mut paths: Vec<PathBuf> =
        entries.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths
}

/// Returns how many times the creation of an environment was started.
pub(crate) fn creations(directory: &Directory) -> usize {
    let log = fs::read_to_string(directory.path().join("uv.log")).unwrap_or_default();
    log.lines().filter(|line| line.starts_with("venv ")).count()
}

#[test]
fn an_environment_is_built_once_and_again_for_other_requirements() {
    let Some(directory) = with_uv("# nothing but this\nfirst>=1\n") else { return };
    // Another evaluator with the same requirements.
    directory.file("other/check.py", EVALUATOR);
    directory.file("other/requirements.txt", "# nothing but this\nfirst>=1\n");
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py}\n  - {name: other, type: code, path: other/check.py}\n",
    );
    let first = evaluate(&directory).exits(0);
    assert_eq!(first.evaluations(0), ["good PASSED", "other PASSED"]);
    let log = fs::read_to_string(directory.path().join("uv.log")).unwrap();
    let calls: Vec<&str> = log.lines().collect();
    assert_eq!(calls.len(), 3, "{log}");
    assert!(calls[1].ends_with("/bin/python agentevals-evaluator-sdk"), "{log}");
    assert!(calls[2].contains("/bin/python -r /"), "{log}");
    assert!(first.stderr.contains("installing requirements of check.py ..."), "{}", first.stderr);

    let second = evaluate(&directory).exits(0);
    assert_eq!((creations(&directory), environments(&directory).len()), (1, 1));
    assert!(!second.stderr.contains("installing"), "{}", second.stderr);

    directory.file("requirements.txt", "first>=2\n");
    evaluate(&directory).exits(0);
    assert_eq!((creations(&directory), environments(&directory).len()), (2, 2));
    // What was there before is still there.
    directory.file("requirements.txt", "# nothing but this\nfirst>=1\n");
    evaluate(&directory).exits(0);
    assert_eq!(creations(&directory), 2);
}

#[test]
fn two_runs_at_once_build_once() {
    let Some(directory) = with_uv("first\n") else { return };
    directory.file("hold", "");
    let first = start(&directory, "first");
    wait_for_line(&directory.path().join("uv.pids"));
    let second = start(&directory, "second");
    wait_until_said(
        &directory,
        "second",
        "waiting for another run that installs the same requirements",
    );
    fs::remove_file(directory.path().join("hold")).unwrap();
    for run in [first, second] {
        assert_eq!(finish(run).exits(0).evaluations(0), ["good PASSED"]);
    }
    assert_eq!(creations(&directory), 1);
}

#[test]
fn what_a_killed_run_has_left_is_built_again() {
    let Some(directory) = with_uv("first\n") else { return };
    directory.file("hold", "");
    let mut killed = start(&directory, "killed");
    let pids = wait_for_line(&directory.path().join("uv.pids"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    // Its installer ends with it, so nothing holds the lock.
    pids.split(' ').for_each(assert_gone);
    let [half_built] = &environments(&directory)[..] else { panic!("one was started") };
    directory.file(&format!("{}/left", half_built.display()), "");
    fs::remove_file(directory.path().join("hold")).unwrap();
    assert_eq!(evaluate(&directory).exits(0).evaluations(0), ["good PASSED"]);
    assert_eq!(creations(&directory), 2);
    assert!(!half_built.join("left").exists());
}

#[test]
fn an_environment_that_lost_its_interpreter_is_built_again() {
    let Some(directory) = with_uv("first\n") else { return };
    evaluate(&directory).exits(0);
    let python = environments(&directory)[0].join("bin/python");
    fs::remove_file(&python).unwrap();
    std::os::unix::fs::symlink("/nowhere/python", &python).unwrap();
    assert_eq!(evaluate(&directory).exits(0).evaluations(0), ["good PASSED"]);
    assert_eq!(creations(&directory), 2);
}

#[test]
fn an_interrupted_installation_leaves_nothing() {
    let Some(directory) = with_uv("first\n") else { return };
    directory.file("hold", "");
    let run = start(&directory, "stderr");
    let pids = wait_for_line(&directory.path().join("uv.pids"));
    assert!(signal("INT", &run.id().to_string()));
    let ran = finish(run).exits(3);
    assert_eq!(ran.evaluations(0), ["good ERROR cancelled"]);
    for pid in pids.split(' ') {
        assert_gone(pid);
    }
    assert_eq!(environments(&directory), [""; 0].map(PathBuf::from));
}

#[test]
fn an_installer_that_fails_is_the_error_of_that_evaluator() {
    let Some(directory) = with_uv("first\n") else { return };
    directory.script(
        "bin/uv",
        "[ $1 = venv ] && exec mkdir -p $2\necho 'error: No space left on device (os error 28)' >&2; exit 2",
    );
    directory.file("plain/check.py", EVALUATOR.replace("/installed", ""));
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py}\n  - {name: plain, type: code, path: plain/check.py}\n",
    );
    let ran = evaluate(&directory).exits(3);
    assert_eq!(ran.evaluations(0), ["good ERROR prepare_failed", "plain PASSED"]);
    assert_eq!(
        ran.error_of("good"),
        "Dependency installation failed: uv cannot install agentevals-evaluator-sdk, which every Python evaluator gets \
         (exit code 2)\nerror: No space left on device (os error 28)\nhint: the disk is full; free some space, or set \
         EVALUATOR_CACHE_DIR to a directory on another one"
    );
    assert_eq!(environments(&directory), [""; 0].map(PathBuf::from));
}

#[test]
fn an_unknown_executor_is_an_error_before_anything_is_installed() {
    let Some(directory) = with_uv("first\n") else { return };
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py, executor: moon}\n",
    );
    let ran = evaluate(&directory).exits(3);
    let error = ran.error_of("good");
    assert!(error.starts_with("unknown executor `moon` (available: "), "{error}");
    assert_eq!(creations(&directory), 0);
}

#[test]
fn check_says_what_will_be_built_and_builds_nothing() {
    let Some(directory) = with_uv("first\n") else { return };
    let check = |code| run(&directory, &["check", "c.yaml"]).exits(code).stdout;
    let before = check(0);
    assert!(
        before.contains("requirements.txt: virtual environment will be built with uv)"),
        "{before}"
    );
    assert_eq!(creations(&directory), 0);
    evaluate(&directory).exits(0);
    let environment = &environments(&directory)[0];
    let expected = format!("requirements.txt: virtual environment {})", environment.display());
    let after = check(0);
    assert!(after.contains(&expected), "{after}");

    fs::remove_file(directory.path().join("requirements.txt")).unwrap();
    directory.file("requirements.txt/this", "is a directory");
    let unreadable = check(2);
    assert!(unreadable.contains("Dependency installation failed: cannot read "), "{unreadable}");
}

#[test]
fn a_python_without_venv_says_what_to_install() {
    let Some(directory) = with_uv("first\n") else { return };
    fs::remove_file(directory.path().join("bin/uv")).unwrap();
    let python = directory.script(
        "bin/bare-python",
        "[ \"$1\" = -m ] && { echo 'No module named venv' >&2; exit 1; }\n\
         echo '{\"identity\": {\"tag\": \"cpython-399\", \"version\": \"3.99.0\", \"abi\": \".so\", \"has_venv\": false, \
         \"base\": \"/bare\"}, \"executable\": \"\", \"answers\": []}'",
    );
    let mut check = command(&directory, &["check", "c.yaml"]);
    let checked = finish(check.env("EVALUATOR_PYTHON", &python).spawn().unwrap()).exits(2);
    assert!(checked.stdout.contains("apt install python3-venv"), "{}", checked.stdout);
    let trace = trace("a01_otlp_basic_parts");
    let mut run = command(&directory, &[&ARGS[..], &["json", &trace]].concat());
    let ran = finish(run.env("EVALUATOR_PYTHON", &python).spawn().unwrap()).exits(3);
    let error = ran.error_of("good");
    assert!(error.starts_with("Dependency installation failed: python -m venv cannot "), "{error}");
    assert!(error.contains("\nNo module named venv\nhint: this Python lacks "), "{error}");
}

/// Writes wheels: a wheel is a zip file with the code and three files about it.
const MAKE_WHEELS: &str = r#"
import sys, zipfile
directory = sys.argv[1]
for name in ["agentevals_evaluator_sdk", "tiny"]:
    info = f"{name}-9.9.dist-info/"
    with zipfile.ZipFile(f"{directory}/{name}-9.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "def score(): return 0.75\n")
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(info + "RECORD", "")
"#;

/// Whether the machine's Python can make environments; fills `wheels` if so.
#[expect(clippy::disallowed_methods, reason = "wheels are made by Python itself")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn make_wheels(directory: &Path) -> bool {
    if !has("python3") {
        return false;
    }
    let wheels = directory.join("wheels");
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
    let directory = Directory::new();
    if !make_wheels(directory.path()) {
        return;
    }
    directory.file(
        "check.py",
        "import json, sys, tiny, agentevals_evaluator_sdk\n\
         print(json.dumps({'score': tiny.score(), 'details': {'prefix': sys.prefix}}))\n",
    );
    directory.file("requirements.txt", "tiny >= 9\n");
    directory.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    let ran = evaluate(&directory).exits(0);
    let metric = &ran.json()["traces"][0]["metrics"][0];
    assert_eq!(metric["score"], 0.75);
    let environment = environments(&directory).remove(0);
    assert_eq!(metric["details"]["prefix"], environment.to_str().unwrap());
    // Nothing is looked for any more.
    fs::remove_dir_all(directory.path().join("wheels")).unwrap();
    evaluate(&directory).exits(0);
}

/// Stands in for the pip of an interpreter. A new one has the file that runs it in another environment.
const FALSE_PIP: &str =
    "open(__file__ + '.log', 'a').write(' '.join(__import__('sys').argv[1:]) + '\\n')\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "Python makes the interpreter")]
fn an_environment_gets_a_pip_of_its_own_only_if_that_of_the_interpreter_is_old() {
    let directory = Directory::new();
    if !make_wheels(directory.path()) {
        return;
    }
    let bare = directory.path().join("bare");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&bare).status();
    assert!(made.unwrap().success());
    let packages = Command::new(bare.join("bin/python"))
        .args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')"])
        .output()
        .unwrap();
    let pip = PathBuf::from(String::from_utf8(packages.stdout).unwrap()).join("pip");
    fs::create_dir(&pip).unwrap();
    fs::write(pip.join("__init__.py"), "__version__ = '22.0.2'\n").unwrap();
    directory.file("check.py", EVALUATOR.replace("/installed", "/evaluator-complete"));
    let evaluate = |requirement: &str| {
        directory.file("requirements.txt", requirement);
        let trace = trace("a01_otlp_basic_parts");
        let mut run = command(&directory, &[&ARGS[..], &["json", &trace]].concat());
        run.env("EVALUATOR_PYTHON", bare.join("bin/python"));
        assert_eq!(finish(run.spawn().unwrap()).exits(0).evaluations(0), ["good PASSED"]);
        let made = environments(&directory).into_iter().map(|it| it.join("bin/pip").exists());
        made.filter(|has_pip| *has_pip).count()
    };
    directory.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    assert_eq!((evaluate("tiny"), environments(&directory).len()), (1, 1));
    let runner = pip.join("__pip-runner__.py");
    fs::write(&runner, FALSE_PIP).unwrap();
    assert_eq!((evaluate("tiny # again"), environments(&directory).len()), (1, 2));
    let imports_setuptools = |environment: &PathBuf| {
        let mut python = Command::new(environment.join("bin/python"));
        python.args(["-c", "import setuptools"]).status().unwrap().success()
    };
    let is_old = Command::new(bare.join("bin/python"))
        .args(["-c", "import sys; sys.exit(sys.version_info >= (3, 12))"])
        .status();
    let expected = if is_old.unwrap().success() { 2 } else { 0 };
    let environments = environments(&directory);
    assert_eq!(environments.iter().filter(|it| imports_setuptools(it)).count(), expected);
    let log = fs::read_to_string(runner.with_extension("py.log")).unwrap();
    let calls: Vec<&str> = log.lines().collect();
    assert!(
        calls[0].starts_with("install ") && calls[0].ends_with(" agentevals-evaluator-sdk"),
        "{log}"
    );
    assert!(
        calls[1].ends_with(&format!("-r {}", directory.path().join("requirements.txt").display())),
        "{log}"
    );
    assert_eq!(calls.len(), 2, "{log}");
}

#[test]
fn pip_s_complaint_is_the_error_of_that_evaluator() {
    let directory = Directory::new();
    if !make_wheels(directory.path()) {
        return;
    }
    directory.file("check.py", "");
    let requirements = directory.file("requirements.txt", "tiny\nno-such-package-here==1.2\n");
    directory.file("c.yaml", "evaluators:\n  - {name: bad, type: code, path: check.py}\n");
    let ran = evaluate(&directory).exits(3);
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
    assert_eq!(environments(&directory), [""; 0].map(PathBuf::from));
}
