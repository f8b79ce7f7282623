//! Python files, run by an interpreter that is on this machine.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Availability, Environment, Launch, PrepareError, PrepareEvent, Runtime, Syntax, environment,
    paths, syntax,
    tool::{self, Stream},
};
use crate::process::{Cancellation, CommandSpec};

/// Variable that names the interpreter, as a path or a name on `PATH`.
const INTERPRETER_VARIABLE: &str = "EVALUATOR_PYTHON";

/// Runs `.py` files with the first interpreter found: `$EVALUATOR_PYTHON`, the active virtual environment, `python3`, `python`.
#[derive(Clone, Debug)]
pub struct Python {
    environment: Environment,
}

impl Python {
    /// Looks for the interpreter in this environment.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self { environment }
    }

    fn interpreter(&self) -> Result<PathBuf, String> {
        if let Some(chosen) = self.environment.get(INTERPRETER_VARIABLE) {
            return self.environment.find_program(chosen).ok_or_else(|| {
                format!(
                    "{INTERPRETER_VARIABLE} names `{}`, which is not a program; correct or unset it",
                    chosen.display()
                )
            });
        }
        self.active_virtual_environment()
            .or_else(|| {
                let names: &[&str] = if cfg!(windows) { &["python"] } else { &["python3", "python"] };
                names.iter().find_map(|name| self.environment.find_program(name))
            })
            .ok_or_else(|| {
                format!("python3 was not found on PATH; install Python 3 or point {INTERPRETER_VARIABLE} at it")
            })
    }

    /// The interpreter of `$VIRTUAL_ENV`. It may be gone: a shell keeps the variable after the folder was deleted.
    fn active_virtual_environment(&self) -> Option<PathBuf> {
        let folder = Path::new(self.environment.get("VIRTUAL_ENV")?);
        let python = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
        self.environment.find_program(folder.join(python))
    }
}

/// How long a wrapper may take to say which interpreter it stands for.
const WRAPPER_LIMIT: Duration = Duration::from_secs(10);

/// The interpreter behind a wrapper script. Version managers put such scripts on `PATH`, and looking the version up again
/// for every evaluation costs more than the interpreter itself needs to start. What does not answer is used as it is.
fn unwrapped(interpreter: PathBuf, cancellation: &Cancellation) -> PathBuf {
    if !environment::is_script(&interpreter) {
        return interpreter;
    }
    let ask = CommandSpec::new(&interpreter).args(["-c", "import sys; print(sys.executable)"]);
    let mut answer = None;
    let status = tool::run(&ask, WRAPPER_LIMIT, cancellation, &mut |stream, line| {
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

impl Runtime for Python {
    fn name(&self) -> &str {
        "Python"
    }

    fn extensions(&self) -> &[&str] {
        &[".py"]
    }

    fn availability(&self) -> Availability {
        match self.interpreter() {
            Ok(path) => Availability::Available { detail: path.display().to_string() },
            Err(reason) => Availability::Missing { reason },
        }
    }

    fn prepare(
        &self,
        sources: &[PathBuf],
        cancellation: &Cancellation,
        _on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        let interpreter = self.interpreter().map(|found| unwrapped(found, cancellation));
        sources
            .iter()
            .map(|source| {
                let source = paths::resolve(source)?;
                let python = interpreter
                    .clone()
                    .map_err(|reason| PrepareError::RuntimeMissing { reason })?;
                Ok(Launch { one_shot: CommandSpec::new(python).arg(source), worker: None })
            })
            .collect()
    }

    fn check_syntax(&self, source: &Path, cancellation: &Cancellation) -> Syntax {
        match self.interpreter() {
            Ok(interpreter) => syntax::python(&interpreter, source, cancellation),
            Err(reason) => Syntax::Unchecked { reason },
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::{Folder, no_events};

    fn interpreter_in(environment: Environment) -> Result<PathBuf, String> {
        Python::new(environment).interpreter()
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
    fn the_command_is_interpreter_and_absolute_path() {
        let folder = Folder::new("python-argv");
        let python = folder.program("bin/python3");
        let source = folder.file("check.py", "");
        let runtime = Python::new(Environment::new([("PATH", folder.path("bin"))]));
        let results = runtime.prepare(
            &[source.clone(), folder.path("gone.py")],
            &Cancellation::new(),
            &mut no_events,
        );
        assert_eq!(results[0].as_ref().unwrap().one_shot, CommandSpec::new(python).arg(source));
        assert_eq!(results[1], Err(PrepareError::NotFound { path: folder.path("gone.py") }));
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
