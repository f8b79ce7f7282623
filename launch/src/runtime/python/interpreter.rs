//! Which interpreter runs evaluators, and what it is.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{
        Environment, environment,
        tool::{self, Stream},
    },
};

/// Variable that names the interpreter, as a path or a name on `PATH`.
pub(super) const INTERPRETER_VARIABLE: &str = "EVALUATOR_PYTHON";

/// How long an interpreter may take to say what it is.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The first interpreter found: `$EVALUATOR_PYTHON`, the active virtual environment, `python3`, `python`.
pub(super) fn find(environment: &Environment) -> Result<PathBuf, String> {
    if let Some(chosen) = environment.get(INTERPRETER_VARIABLE) {
        return environment.find_program(chosen).ok_or_else(|| {
            format!(
                "{INTERPRETER_VARIABLE} names `{}`, which is not a program; correct or unset it",
                chosen.display()
            )
        });
    }
    active_virtual_environment(environment)
        .or_else(|| {
            let names: &[&str] = if cfg!(windows) { &["python"] } else { &["python3", "python"] };
            names.iter().find_map(|name| environment.find_program(name))
        })
        .ok_or_else(|| {
            format!("python3 was not found on PATH; install Python 3 or point {INTERPRETER_VARIABLE} at it")
        })
}

/// The interpreter of `$VIRTUAL_ENV`. It may be gone: a shell keeps the variable after the folder was deleted.
fn active_virtual_environment(environment: &Environment) -> Option<PathBuf> {
    let folder = Path::new(environment.get("VIRTUAL_ENV")?);
    environment.find_program(in_virtual_environment(folder))
}

/// Where the interpreter of a virtual environment is.
pub(super) fn in_virtual_environment(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// The interpreter behind a wrapper script. Version managers put such scripts on `PATH`, and looking the version up again
/// for every evaluation costs more than the interpreter itself needs to start. What does not answer is used as it is.
pub(super) fn unwrapped(interpreter: PathBuf, cancellation: &Cancellation) -> PathBuf {
    if !environment::is_script(&interpreter) {
        return interpreter;
    }
    let ask = CommandSpec::new(&interpreter).args(["-c", "import sys; print(sys.executable)"]);
    let mut answer = None;
    let status = tool::run(&ask, ANSWER_LIMIT, cancellation, &mut |stream, line| {
        if stream == Stream::Stdout {
            answer = Some(PathBuf::from(line));
        }
    });
    match (status, answer) {
        (Ok(status), Some(real)) if status.success() && real.is_absolute() && real.is_file() => {
            real
        }
        _ => interpreter,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    fn interpreter_in(environment: Environment) -> Result<PathBuf, String> {
        find(&environment)
    }

    #[test]
    fn the_variable_wins_over_the_virtual_environment_which_wins_over_the_path() {
        let folder = Folder::new("python-order");
        let chosen = folder.program("chosen/pypy");
        let venv = folder.program("venv/bin/python");
        folder.program("bin/python");
        let python3 = folder.program("bin/python3");

        let environment = Environment::new([("PATH", folder.path("bin"))]);
        assert_eq!(interpreter_in(environment.clone()).unwrap(), python3);
        let environment = environment.with("VIRTUAL_ENV", folder.path("venv"));
        assert_eq!(interpreter_in(environment.clone()).unwrap(), venv);
        let environment = environment.with("EVALUATOR_PYTHON", &chosen);
        assert_eq!(interpreter_in(environment).unwrap(), chosen);
    }

    #[test]
    fn a_deleted_virtual_environment_is_passed_over() {
        let folder = Folder::new("python-deleted-venv");
        let python = folder.program("bin/python");
        let environment =
            Environment::new([("PATH", folder.path("bin")), ("VIRTUAL_ENV", folder.path("gone"))]);
        assert_eq!(interpreter_in(environment).unwrap(), python);
    }

    #[test]
    fn a_wrong_variable_is_an_error_not_a_silent_fallback() {
        let environment = Environment::inherited().with("EVALUATOR_PYTHON", "python-9-not-here");
        assert_eq!(
            interpreter_in(environment).unwrap_err(),
            "EVALUATOR_PYTHON names `python-9-not-here`, which is not a program; correct or unset it"
        );
    }

    #[test]
    fn a_wrapper_is_asked_for_the_interpreter_it_stands_for() {
        let folder = Folder::new("python-wrapper");
        let real = folder.program("real/python3");
        let wrapper = folder.script("shims/python3", &format!("echo {}", real.display()));
        assert_eq!(unwrapped(wrapper, &Cancellation::new()), real);
        for silent in ["", "echo relative", "echo /no/such/file", "exit 3"] {
            let wrapper = folder.script("shims/python3", silent);
            assert_eq!(unwrapped(wrapper.clone(), &Cancellation::new()), wrapper, "{silent}");
        }
    }

    #[test]
    fn without_an_interpreter_the_hint_says_what_to_install() {
        let reason = interpreter_in(Environment::default()).unwrap_err();
        assert_eq!(
            reason,
            "python3 was not found on PATH; install Python 3 or point EVALUATOR_PYTHON at it"
        );
    }
}
