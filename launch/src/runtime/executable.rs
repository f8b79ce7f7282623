//! Programs that need no runtime.

use std::path::Path;

use super::{
    Availability, Built, Composition, Entrypoint, Environment, Launch, PrepareError, PrepareEvent,
    Runtime,
    companions::{self, Companions},
    environment, paths,
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

    fn availability(&self) -> Availability {
        Availability::Available { detail: "any executable file".to_owned() }
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
                // Only the evaluator knows whether it can stream (`--describe`), so both forms are offered. Not for
                // scripts: those written with an SDK are run by the runtime of their language, and asking any other
                // would run it, with all that it does, on nothing.
                let worker = (!environment::is_script(&program))
                    .then(|| CommandSpec::new(&program).arg("--stream"));
                Ok(Launch { one_shot: CommandSpec::new(program), worker })
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

    /// The program; of a script also what it names beside it, and its interpreter.
    fn composition(&self, _entrypoint: &Entrypoint, launch: &Launch) -> Composition {
        let program = Path::new(&launch.one_shot.program);
        let Some(interpreter) = environment::interpreter(program, &Environment::inherited()) else {
            return Composition { files: [program.to_owned()].into(), ..Composition::default() };
        };
        let Companions { files, untraceable } = companions::with_companions(program);
        Composition { files, untraceable, programs: [interpreter].into(), notes: Vec::new() }
    }
}
