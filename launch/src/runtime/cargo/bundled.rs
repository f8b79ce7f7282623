//! Rust evaluators that were built on another machine.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::owner;
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{Entrypoint, Inputs, Language, Launch, PrepareError, PrepareEvent, Runtime, paths},
};

/// The compiled programs of a bundle, in place of a compiler.
#[derive(Debug)]
pub struct Bundled {
    programs: BTreeMap<PathBuf, (PathBuf, BTreeMap<String, String>)>,
}

impl Bundled {
    /// Takes the program of each source, and the digests of the files that it was built from, by their names.
    pub fn new(
        programs: impl IntoIterator<Item = (PathBuf, (PathBuf, BTreeMap<String, String>))>,
    ) -> Self {
        Self { programs: programs.into_iter().collect() }
    }

    fn find(&self, path: &Path) -> Result<&(PathBuf, BTreeMap<String, String>), PrepareError> {
        self.programs.get(&paths::resolve(path)?).ok_or_else(|| {
            let path = path.display();
            PrepareError::unusable(format!("{path} is not in the bundle; make the bundle again"))
        })
    }

    fn launch(&self, path: &Path) -> Result<Launch, PrepareError> {
        let (program, _) = self.find(path)?;
        let own = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let launch = Launch::new(CommandSpec::new(program)).with_stream();
        Ok(launch.with_visible([own.to_owned(), program.clone()]))
    }
}

impl Runtime for Bundled {
    fn name(&self) -> &str {
        Language::Rust.name()
    }

    fn extensions(&self) -> &[&str] {
        Language::Rust.extensions()
    }

    fn claims(&self, path: &Path) -> bool {
        owner::is_source(path)
    }

    fn availability(&self) -> Result<String, String> {
        Ok("compiled programs of a bundle".to_owned())
    }

    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let (program, _) = self.find(&entrypoint.path)?;
        Ok(format!("{}, of the bundle", program.display()))
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        _: &Cancellation,
        _: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        entrypoints.iter().map(|it| self.launch(&it.path)).collect()
    }

    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let code = self.find(&entrypoint.path).map(|(_, code)| code.clone()).unwrap_or_default();
        let files = [PathBuf::from(&launch.one_shot.program)].into();
        Inputs { files, code, ..Inputs::default() }
    }
}
