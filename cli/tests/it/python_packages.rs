//! Python evaluators whose packages may be there already, or are named by the evaluator itself.
//!
//! As in `requirements`, most of these have a shell script in place of uv, and the others make their packages themselves.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{fs, path::Path, process::Command};

use crate::{
    requirements::{
        ARGS, EVALUATOR, command, creations, environments, evaluate, make_wheels, run, with_uv,
    },
    support::{
        Directory, Ran, finish, has,
        place::{Place, TRACE},
        trace,
    },
};

/// Imports the SDK in a function that is never called, so that a false uv need not install it.
const IMPORTS_SDK: &str = "def never():\n    from agentevals_evaluator_sdk import evaluator\n";

/// An interpreter without packages, made once per directory.
#[expect(clippy::disallowed_methods, reason = "Python makes it")]
fn bare_python(directory: &Directory) -> String {
    let venv = directory.path().join("bare");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.unwrap().success());
    venv.join("bin/python").display().to_string()
}

/// A directory with the false uv and an evaluator of this text; `None` without Python.
fn with_evaluator(text: &str) -> Option<Directory> {
    let directory = with_uv("")?;
    fs::remove_file(directory.path().join("requirements.txt")).unwrap();
    directory.file("check.py", text);
    Some(directory)
}

/// Runs a command with this interpreter.
fn with_python(directory: &Directory, python: &str, args: &[&str]) -> Ran {
    finish(command(directory, args).env("EVALUATOR_PYTHON", python).spawn().unwrap())
}

fn evaluate_with(directory: &Directory, python: &str, more: &[&str]) -> Ran {
    let trace = trace(TRACE);
    with_python(directory, python, &[&ARGS[..], &["json", &trace], more].concat())
}

#[test]
fn an_evaluator_that_imports_the_sdk_gets_it_before_it_runs() {
    let Some(directory) = with_evaluator(&format!("{IMPORTS_SDK}{EVALUATOR}")) else { return };
    let python = bare_python(&directory);
    let ran = evaluate_with(&directory, &python, &[]).exits(0);
    assert_eq!(ran.evaluations(0), ["good PASSED"]);
    let log = fs::read_to_string(directory.path().join("uv.log")).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.trim_end().ends_with("/bin/python agentevals-evaluator-sdk"), "{log}");
    // It is kept.
    let again = evaluate_with(&directory, &python, &["--no-install"]).exits(0);
    assert!(!again.stderr.contains("installing"), "{}", again.stderr);
    assert_eq!((creations(&directory), environments(&directory).len()), (1, 1));
}

#[test]
fn only_an_import_that_it_cannot_do_without_counts() {
    let Some(directory) = with_evaluator("") else { return };
    let python = bare_python(&directory);
    let sdk = "agentevals_evaluator_sdk";
    for (text, installs) in [
        (format!("import {sdk}\n"), true),
        (format!("import json, {sdk} as s\n"), true),
        (format!("from {sdk} import (\n  evaluator,\n)\n"), true),
        (format!("from {sdk}.types import x\n"), true),
        (format!("def f():\n    import {sdk}\n"), true),
        (format!("if True:\n    import {sdk}\n"), true),
        (format!("try:\n    import {sdk}\nexcept KeyError:\n    pass\n"), true),
        (format!("try:\n    import {sdk}\nexcept ImportError:\n    pass\n"), false),
        (
            format!("try:\n    import {sdk}\nexcept (KeyError, ModuleNotFoundError):\n    pass\n"),
            false,
        ),
        (format!("try:\n    import {sdk}\nexcept:\n    pass\n"), false),
        (format!("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {sdk}\n"), false),
        (format!("'''\nimport {sdk}\n'''\n# import {sdk}\n"), false),
        ("import helper\n".to_owned(), true),
    ] {
        directory.file("check.py", &text);
        directory.file("helper.py", format!("import {sdk}"));
        let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(0);
        let will = checked.stdout.contains("virtual environment will be built with uv");
        assert_eq!(will, installs, "{text}\n{}", checked.stdout);
    }
    // A copy next to the evaluator is the SDK that it will import.
    directory.file("check.py", format!("import {sdk}\n"));
    directory.file(&format!("{sdk}/__init__.py"), "");
    let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(0);
    assert!(!checked.stdout.contains("virtual environment"), "{}", checked.stdout);
}

#[test]
fn modules_that_no_named_package_is_called_like_are_doubtful_until_the_environment_is_built() {
    let Some(directory) = with_evaluator("") else { return };
    let python = bare_python(&directory);
    let said = |text: &str| {
        directory.file("check.py", text);
        let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(0);
        assert!(checked.stdout.contains("will be built with"), "{}", checked.stdout);
        checked.stdout
    };
    let text = said("import torch\nfrom a.b import c\nimport agentevals_evaluator_sdk\n");
    assert!(
        text.contains("no package is named after what it imports as `torch`, `a`, so"),
        "{text}"
    );
    let block = "# /// script\n# dependencies = [\"Zope.Interface>=99\"]\n# ///\n";
    let text = said(&format!("{block}import zope_interface\nimport agentevals_evaluator_sdk\n"));
    assert!(!text.contains("no package is named"), "{text}");
    // Packages that share a module are named after what they add to it.
    let block = "# /// script\n# dependencies = [\"google-adk>=99\"]\n# ///\n";
    let adk = "from google.adk.evaluation.evaluator import Evaluator\nimport google.adk.agents\n";
    let text = said(&format!("{block}{adk}"));
    assert!(!text.contains("no package is named"), "{text}");
    let text = said(&format!("{block}{adk}import google.cloud.storage, google.auth\n"));
    assert!(text.contains("no package is named after what it imports as `google`, so"), "{text}");
    // The SDK is not listed twice where it is named, too.
    let block = "# /// script\n# dependencies = [\"Agentevals_Evaluator.SDK>=0.2\"]\n# ///\n";
    directory.file("check.py", format!("{block}import agentevals_evaluator_sdk\n"));
    let checked = with_python(&directory, &python, &["check", "--no-install", "c.yaml"]).exits(2);
    assert!(
        checked.stdout.contains("check.py needs 'Agentevals_Evaluator.SDK>=0.2', which"),
        "{}",
        checked.stdout
    );
}

/// Gives an interpreter packages: what an installation leaves of them.
fn install(directory: &Directory, packages: &[(&str, &str)]) -> String {
    for (name, version) in packages {
        directory.file(&format!("lib/{name}.py"), "");
        let info = format!("lib/{name}-{version}.dist-info/METADATA");
        directory.file(&info, format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"));
    }
    directory.path().join("lib").display().to_string()
}

#[test]
fn an_interpreter_that_has_everything_is_used_as_it_is_and_started_once_more() {
    let Some(directory) = with_evaluator(
        "# /// script\n# requires-python = \">=3.6\"\n# dependencies = [\"tiny>=2,<3\"]\n# ///\n\
         import json, os, sys\nimport tiny, agentevals_evaluator_sdk\nprint(json.dumps({'score': 1.0}))\n",
    ) else {
        return;
    };
    let python = bare_python(&directory);
    let lib = install(&directory, &[("tiny", "2.5"), ("agentevals_evaluator_sdk", "0.2.0")]);
    directory.file(
        "other/check.py",
        "import json, agentevals_evaluator_sdk\nprint(json.dumps({'score': 1.0}))\n",
    );
    directory.file("other/requirements.txt", "tiny # any\n");
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: check.py}\n  - {name: other, type: code, path: other/check.py}\n",
    );
    // A version manager's script, which tells every start.
    let shim = directory.script(
        "shim",
        &format!("echo x >>'{}/starts'\nexec {python} \"$@\"", directory.path().display()),
    );
    let trace = trace(TRACE);
    let mut run = command(&directory, &[&ARGS[..], &["json", &trace]].concat());
    run.env("EVALUATOR_PYTHON", shim).env("PYTHONPATH", lib);
    let ran = finish(run.spawn().unwrap()).exits(0);
    assert_eq!(ran.evaluations(0), ["good PASSED", "other PASSED"]);
    assert_eq!((creations(&directory), environments(&directory).len()), (0, 0));
    let starts = fs::read_to_string(directory.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 1, "one start answers all questions of a run");
}

#[test]
fn an_evaluator_that_names_no_package_costs_no_start() {
    let Some(directory) = with_evaluator("import json\nprint(json.dumps({'score': 1.0}))\n") else {
        return;
    };
    let starts = directory.path().join("starts");
    let bare = bare_python(&directory);
    // Not a script, or it is asked what it stands for.
    let hook = format!("open({:?}, 'a').write('x')\n", starts.display().to_string());
    directory.file("hook/sitecustomize.py", hook);
    let trace = trace(TRACE);
    let mut run = command(&directory, &[&ARGS[..], &["json", &trace]].concat());
    run.env("EVALUATOR_PYTHON", bare).env("PYTHONPATH", directory.path().join("hook"));
    assert_eq!(finish(run.spawn().unwrap()).exits(0).evaluations(0), ["good PASSED"]);
    assert_eq!(fs::read_to_string(starts).unwrap(), "x", "the evaluation itself");
}

#[test]
fn versions_and_markers_decide_what_is_missing() {
    let Some(directory) = with_evaluator("") else { return };
    let python = bare_python(&directory);
    // Markers are evaluated by the library that pip uses. A false one stands in for it.
    let lib = install(&directory, &[("tiny", "2.5"), ("agentevals_evaluator_sdk", "0.2.0")]);
    directory.file(
        "lib/packaging/markers.py",
        "class Marker:\n    def __init__(self, text): self.text = text\n    def evaluate(self): return 'holds' in self.text\n",
    );
    for (requirement, is_there) in [
        ("tiny", true),
        ("Tiny", true),
        ("tiny==2.5", true),
        ("tiny>=2, !=2.6", true),
        ("tiny~=2.0", true),
        ("tiny (<3)", true),
        ("tiny>2.5", false),
        ("tiny==3.*", false),
        ("tiny[extra]", false),
        ("absent", false),
        ("absent; os_name == 'x'", true),
        ("absent; os_name == 'holds'", false),
        ("tiny; os_name == 'holds'", true),
        ("agentevals-evaluator-sdk>=0.1", true),
        ("agentevals-evaluator-sdk>=9", false),
    ] {
        for in_file in [true, false] {
            let _ = fs::remove_file(directory.path().join("requirements.txt"));
            if in_file {
                directory.file("check.py", "");
                directory.file("requirements.txt", requirement);
            } else {
                let block = format!(
                    "# /// script\n# dependencies = [\n#   \"{requirement}\",\n# ]\n# ///\n"
                );
                directory.file("check.py", block);
            }
            let mut check = command(&directory, &["check", "c.yaml"]);
            check.env("EVALUATOR_PYTHON", &python).env("PYTHONPATH", &lib);
            let checked = finish(check.spawn().unwrap()).exits(0).stdout;
            assert_eq!(!checked.contains("will be built"), is_there, "{requirement}: {checked}");
        }
    }
}

#[test]
fn packages_of_the_block_are_installed_with_those_of_the_requirements_file() {
    let Some(directory) = with_evaluator(&format!(
        "# /// script\n# dependencies = [\"first>=1\", \"second @ https://e.invalid/s.whl\"]\n# ///\n{EVALUATOR}"
    )) else {
        return;
    };
    let python = bare_python(&directory);
    directory.file("requirements.txt", "third\n");
    evaluate_with(&directory, &python, &[]).exits(0);
    let log = fs::read_to_string(directory.path().join("uv.log")).unwrap();
    let last = log.lines().last().unwrap();
    let expected = format!(
        "-r {} first>=1 second @ https://e.invalid/s.whl",
        directory.path().join("requirements.txt").display()
    );
    assert!(last.ends_with(&expected), "{last}");
    // Another block is another environment.
    directory.file(
        "check.py",
        format!("# /// script\n# dependencies = [\"first>=2\"]\n# ///\n{EVALUATOR}"),
    );
    evaluate_with(&directory, &python, &[]).exits(0);
    assert_eq!((creations(&directory), environments(&directory).len()), (2, 2));
}

#[test]
fn mistakes_in_a_block_are_errors_of_that_evaluator_with_their_line() {
    let Some(directory) = with_evaluator("") else { return };
    let python = bare_python(&directory);
    for (block, expected) in [
        (
            "# /// script\n# requires-python = \">=3.99\"\n# ///\n",
            "check.py:2: it requires Python >=3.99, and ",
        ),
        (
            "# /// script\n# dependencies = [\n#  \"--index-url x\"]\n# ///\n",
            "check.py:3: dependencies: ",
        ),
        ("# /// script\n# dependencies = []\n", "check.py:1: this block of metadata is not closed"),
        ("# /// script\n# dependencies = [\n# ///\n", "check.py:"),
    ] {
        directory.file("check.py", format!("{block}{EVALUATOR}"));
        let ran = evaluate_with(&directory, &python, &[]).exits(3);
        let error = ran.error_of("good");
        assert!(error.contains(expected), "{error}");
        let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(2).stdout;
        assert!(checked.contains(expected), "{checked}");
    }
    assert_eq!(creations(&directory), 0);
}

#[test]
fn without_installing_every_command_says_what_to_type() {
    let Some(directory) = with_evaluator(&format!(
        "# /// script\n# dependencies = [\"tiny>=2\"]\n# ///\n{IMPORTS_SDK}{EVALUATOR}"
    )) else {
        return;
    };
    let python = bare_python(&directory);
    let expected = format!(
        "check.py needs agentevals-evaluator-sdk, 'tiny>=2', which {python} does not have, and nothing is to be installed; \
         type `{python} -m pip install agentevals-evaluator-sdk 'tiny>=2'`, or point EVALUATOR_PYTHON at an interpreter that \
         has what is missing"
    );
    let ran = evaluate_with(&directory, &python, &["--no-install"]).exits(3);
    assert_eq!(ran.error_of("good"), format!("runtime not available: {expected}"));
    let checked = with_python(&directory, &python, &["check", "--no-install", "c.yaml"]).exits(2);
    assert!(checked.stdout.contains(&expected), "{}", checked.stdout);
    let args = ["serve", "--no-install", "--addr", "127.0.0.1:0", "-c", "c.yaml"];
    let served = with_python(&directory, &python, &args).exits(2);
    assert!(served.stderr.contains(&expected), "{}", served.stderr);
    assert_eq!((creations(&directory), environments(&directory).len()), (0, 0));
}

#[test]
fn without_a_network_the_error_ends_with_what_to_type() {
    let Some(directory) = with_evaluator(&format!("{IMPORTS_SDK}{EVALUATOR}")) else { return };
    let python = bare_python(&directory);
    directory.script(
        "bin/uv",
        "[ $1 = venv ] && exec mkdir -p $2\necho 'error: dns error: failed to lookup' >&2; exit 2",
    );
    let ran = evaluate_with(&directory, &python, &[]).exits(3);
    let error = ran.error_of("good");
    let last = error.lines().last().unwrap();
    assert!(last.starts_with("hint: the package index cannot be reached"), "{error}");
    assert!(
        last.contains(&format!("type `{python} -m pip install agentevals-evaluator-sdk`")),
        "{error}"
    );
    assert!(last.contains("EVALUATOR_PYTHON"), "{error}");
}

#[test]
fn check_looks_for_the_modules_that_an_evaluator_imports_when_it_starts() {
    let Some(directory) = with_evaluator(
        "import json, os.path\nimport no_such_module.part\nimport helper\nfrom . import x\n\
         if __name__ == '__main__':\n    import none_in_main\n\
         def f():\n    import none_in_function\n\
         try:\n    import none_optional\nexcept ImportError:\n    pass\n",
    ) else {
        return;
    };
    let python = bare_python(&directory);
    directory.file(
        "helper.py",
        "from none_in_helper import y\nraise SystemExit('nothing is executed')\n",
    );
    let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(2).stdout;
    let expected = format!(
        "[FAIL]  good  modules `no_such_module.part` (check.py:2), `none_in_main` (check.py:6), `none_in_helper` (helper.py:1) \
         are not installed for {python}; name the package in requirements.txt next to the file or in a `# /// script` block, or \
         type `{python} -m pip install PACKAGE`, or point EVALUATOR_PYTHON at "
    );
    assert!(checked.contains(&expected), "{checked}");
    directory
        .file("check.py", "import json\nwith suppress(ImportError):\n    import none_optional\n");
    with_python(&directory, &python, &["check", "c.yaml"]).exits(0);
    directory.file("check.py", "x = (\n");
    let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(2).stdout;
    assert!(checked.contains("check.py\", line 1") && checked.contains("SyntaxError"), "{checked}");
    directory.file("check.py", "import no_such_module\n");
    let error = evaluate_with(&directory, &python, &[]).exits(3).error_of("good");
    assert!(
        error.contains(
            "No module named 'no_such_module'\n(name the package of 'no_such_module' in "
        ),
        "{error}"
    );
    directory.file("check.py", "import json\n");
    let checked = with_python(&directory, &python, &["check", "c.yaml"]).exits(0).stdout;
    assert!(checked.contains(&format!("(Python: {python}, version 3.")), "{checked}");
}

#[test]
fn check_does_not_fail_modules_that_an_evaluator_finds_by_its_own_search_path() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("lib/shared.py", "import json\ndef answer(): print(json.dumps({'score': 1}))\n");
    directory.file("plain.py", "from shared import answer\nanswer()\n");
    directory.file("moved.py", "import os, sys\nsys.path.insert(0, os.path.dirname(__file__) + '/lib')\nfrom shared import answer\nanswer()\n");
    directory.file("paths.py", "from sys import path\npath.append('lib')\n");
    directory.file("indirect.py", "import paths\nfrom shared import answer\nanswer()\n");
    let entries = [
        (
            "moved",
            "moved.py",
            "",
            "module `shared` (moved.py:3) is looked for only when it runs, because moved.py changes the search path",
        ),
        ("indirect", "indirect.py", "", "because paths.py changes the search path"),
        ("set", "plain.py", ", env: {PYTHONPATH: lib}", "because its entry sets PYTHONPATH"),
    ];
    let entry = |(name, path, more, _): &(&str, &str, &str, &str)| {
        format!("- {{name: {name}, type: code, path: {path}{more}}}\n")
    };
    let config = format!("evaluators:\n{}", entries.iter().map(entry).collect::<String>());
    directory.file("c.yaml", config);
    let checked = run(&directory, &["check", "c.yaml"]).exits(0).stdout;
    for (name, .., remark) in entries {
        let line = checked.lines().find(|line| line.starts_with(&format!("[PASS]  {name} ")));
        assert!(line.is_some_and(|line| line.contains(remark)), "{name}: {checked}");
    }
    let expected = ["moved PASSED", "indirect PASSED", "set PASSED"];
    assert_eq!(evaluate(&directory).exits(0).evaluations(0), expected);
}

#[test]
fn a_fetched_evaluator_may_name_packages_of_the_index_only() {
    if !has("python3") {
        return;
    }
    let path = "evaluators/polite/polite.py";
    let place =
        Place::new(&format!("evaluators:\n  - {{name: good, type: remote, ref: {path}}}\n"));
    let python = bare_python(&place.directory);
    let uv = with_uv("").unwrap();
    let run = |dependency: &str| {
        let block = format!("# /// script\n# dependencies = [\"{dependency}\"]\n# ///\n");
        place.server.file(path, format!("{block}{IMPORTS_SDK}{EVALUATOR}"));
        let bin = format!("{}:/usr/bin:/bin", uv.path().join("bin").display());
        let _ = fs::remove_file(place.directory.path().join("evaluators.lock"));
        let _ = fs::remove_dir_all(place.cached("github"));
        let mut command = place.command(&["run", &trace(TRACE), "-c", "c.yaml", "-o", "json"]);
        command.env("EVALUATOR_PYTHON", &python).env("PATH", bin).env_remove("EVALUATOR_CACHE_DIR");
        finish(command.spawn().unwrap())
    };
    let ran = run("tiny>=2").exits(0);
    assert_eq!(ran.evaluations(0), ["good PASSED"]);
    let log = fs::read_to_string(uv.path().join("uv.log")).unwrap();
    assert!(log.trim_end().ends_with("/bin/python tiny>=2"), "{log}");
    let mut check = place.command(&["check", "c.yaml"]);
    let checked = finish(check.env("EVALUATOR_PYTHON", &python).spawn().unwrap()).exits(0).stdout;
    assert!(
        checked.contains("(Python: ") && checked.contains("script metadata: virtual environment /"),
        "{checked}"
    );
    for refused in ["tiny @ https://e.invalid/t.whl", "--index-url https://e.invalid", "./lib"] {
        let ran = run(refused).exits(3);
        let error = ran.error_of("good");
        assert!(error.contains("polite.py:2: dependencies: "), "{error}");
        assert!(error.contains("may only name packages of the index"), "{error}");
    }
    assert_eq!(creations(&uv), 1);
}

#[test]
fn pip_installs_what_a_lone_file_needs_and_check_looks_there() {
    let directory = Directory::new();
    if !make_wheels(directory.path()) {
        return;
    }
    directory.file(
        "check.py",
        "# /// script\n# dependencies = [\"tiny\"]\n# ///\n\
         import json, tiny, agentevals_evaluator_sdk\nprint(json.dumps({'score': tiny.score()}))\n",
    );
    directory.file("c.yaml", "evaluators:\n  - {name: good, type: code, path: check.py}\n");
    let ran = evaluate(&directory).exits(0);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.75);
    let environment = environments(&directory).remove(0);
    let checked = run(&directory, &["check", "c.yaml"]).exits(0).stdout;
    let expected = format!("script metadata: virtual environment {}", environment.display());
    assert!(checked.contains(&expected), "{checked}");
    // The environment is looked at, not the interpreter it was made from.
    let text = fs::read_to_string(directory.path().join("check.py")).unwrap();
    directory.file("check.py", format!("{text}import none_such\n"));
    let checked = run(&directory, &["check", "c.yaml"]).exits(2).stdout;
    let python = environment.join("bin/python");
    let expected =
        format!("module `none_such` (check.py:6) is not installed for {}", python.display());
    assert!(checked.contains(&expected), "{checked}");
    assert!(Path::new(&python).is_file());
}

/// A command of another user than root; `None` where there is no way to be one.
#[expect(clippy::disallowed_methods, reason = "helper of a test")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn as_nobody(directory: &Directory, args: &[&str]) -> Option<Command> {
    use std::os::unix::{fs::MetadataExt, process::CommandExt};
    let is_root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let mut may_enter = Command::new("ls");
    may_enter.arg(directory.path()).uid(65534).gid(65534);
    let may_enter = is_root && may_enter.output().is_ok_and(|it| it.status.success());
    if !may_enter {
        eprintln!("SKIPPED: there is no second user here who could read the directory of the test");
    }
    may_enter.then(|| {
        let mut command = command(directory, args);
        command.uid(65534).gid(65534);
        command
    })
}

#[test]
fn two_users_share_one_environment() {
    use std::os::unix::fs::PermissionsExt;
    let Some(directory) = with_evaluator(&format!("{IMPORTS_SDK}{EVALUATOR}")) else { return };
    let trace = trace(TRACE);
    let args = [&ARGS[..], &["json", "-v", &trace]].concat();
    let cache = directory.path().join("cache/agentevals/venvs");
    fs::create_dir_all(&cache).unwrap();
    for open in [directory.path().to_owned(), cache.clone()] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    // One that both may start.
    let python = "/usr/bin/python3";
    let Some(mut other) = as_nobody(&directory, &args).filter(|_| Path::new(python).exists())
    else {
        return;
    };
    directory.file("hold", "");
    let first = command(&directory, &args).env("EVALUATOR_PYTHON", python).spawn().unwrap();
    crate::support::processes::wait_for_line(&directory.path().join("uv.pids"));
    // The lock file is that of the first user, and the other may only read it.
    let stderr = fs::File::create(directory.path().join("other")).unwrap();
    let second = other.env("EVALUATOR_PYTHON", python).stderr(stderr).spawn().unwrap();
    crate::requirements::wait_until_said(&directory, "other", "waiting for another run");
    fs::remove_file(directory.path().join("hold")).unwrap();
    for run in [first, second] {
        assert_eq!(finish(run).exits(0).evaluations(0), ["good PASSED"]);
    }
    assert_eq!((creations(&directory), environments(&directory).len()), (1, 1));
}
