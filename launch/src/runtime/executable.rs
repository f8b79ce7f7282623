//! Files that need no runtime.

use std::path::{Path, PathBuf};

use super::{
    Built, Entrypoint, Environment, Inputs, Launch, PrepareError, PrepareEvent, Runtime, imports,
    paths::{absolute, around, is_narrow, not_found},
};
use crate::{
    environment,
    process::{Cancellation, CommandSpec},
};

/// Runs executable files as they are: compiled programs, and scripts with a `#!` line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executable;

impl Runtime for Executable {
    fn name(&self) -> &str {
        "Executable"
    }

    /// None: it is asked after all runtimes that name extensions.
    fn extensions(&self) -> &[&str] {
        &[]
    }

    fn claims(&self, path: &Path) -> bool {
        environment::is_executable(path)
    }

    fn availability(&self) -> Result<String, String> {
        Ok("any executable file".to_owned())
    }

    /// Also looks for the interpreter of a script. What `env` finds depends on the `PATH` of the entry, and an image has
    /// interpreters of its own.
    fn inspect(&self, Entrypoint { path, image, .. }: &Entrypoint) -> Result<String, PrepareError> {
        let interpreter = environment::interpreter(path, &Environment::inherited());
        match interpreter.filter(|it| image.is_none() && it.is_absolute() && !it.exists()) {
            Some(interpreter) => Err(PrepareError::unusable(format!(
                "the first line of {} names the interpreter {}, which does not exist",
                path.display(),
                interpreter.display()
            ))),
            None => self.availability().map_err(PrepareError::runtime_missing),
        }
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        _cancellation: &Cancellation,
        _on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        entrypoints
            .iter()
            .map(|Entrypoint { path: source, image, .. }| {
                // Links are kept: a program may look at the name it was started by.
                let program = absolute(source);
                if !program.exists() {
                    return Err(not_found(source));
                }
                let visible = match image {
                    Some(_) => program.parent().map(Path::to_owned).into_iter().collect(),
                    None => visible(&program),
                };
                let launch = Launch::new(CommandSpec::new(&program)).with_visible(visible);
                // Only the evaluator knows whether it can stream (`--describe`), so both forms are offered. Not for scripts:
                // those written with an SDK are run by the runtime of their language, and a question to any other would run
                // it.
                Ok(if environment::is_script(&program) { launch } else { launch.with_stream() })
            })
            .collect()
    }

    fn built(&self, entrypoint: &Entrypoint) -> Built {
        let entrypoints = std::slice::from_ref(entrypoint);
        let mut launches = self.prepare(entrypoints, &Cancellation::new(), &mut |_| ());
        launches
            .pop()
            .and_then(Result::ok)
            .map_or(Built::Unknown, |launch| Built::Ready(Box::new(launch)))
    }

    /// The program; of a script also the files that it names next to it, and its interpreter.
    fn inputs(&self, _entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let program = Path::new(&launch.one_shot.program);
        let Some(interpreter) = environment::interpreter(program, &Environment::inherited()) else {
            return Inputs { files: [program.to_owned()].into(), ..Inputs::default() };
        };
        Inputs { programs: [interpreter].into(), ..imports::of_script(program) }
    }
}

/// Returns the paths that an executable file reads in a sandbox: its directory, and that of its interpreter's installation.
fn visible(program: &Path) -> Vec<PathBuf> {
    let environment = Environment::inherited();
    let mut visible = vec![around(program, &environment)];
    // A link is shown with its target.
    let real = program.canonicalize().ok();
    visible.extend(real.filter(|real| real != program).map(|real| around(&real, &environment)));
    let interpreter = environment::interpreter(program, &environment);
    for file in interpreter.into_iter().filter(|file| file.is_file()) {
        let installed = file.canonicalize().ok();
        // PREFIX/bin/NAME, with its libraries in PREFIX.
        let prefix = installed.as_deref().and_then(|real| real.parent()?.parent());
        let prefix = prefix.filter(|prefix| is_narrow(prefix, &environment)).map(Path::to_owned);
        visible.extend(prefix);
        visible.push(file);
    }
    visible
}
