//! Programs that need no runtime.

use std::path::Path;

use super::{
    Built, Entrypoint, Environment, Inputs, Launch, PrepareError, PrepareEvent, Runtime,
    environment,
    imports::{self, Imports},
    paths,
};
use crate::process::{Cancellation, CommandSpec};

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

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        _cancellation: &Cancellation,
        _on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        entrypoints
            .iter()
            .map(|Entrypoint { path: source, .. }| {
                // Links are kept: a program may look at the name it was started by.
                let program = paths::absolute(source);
                if !program.exists() {
                    return Err(paths::not_found(source));
                }
                let launch = Launch::new(CommandSpec::new(&program));
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
        let Imports { files, dynamic_code } = imports::of_script(program);
        Inputs { files, dynamic_code, programs: [interpreter].into(), notes: Vec::new() }
    }
}
