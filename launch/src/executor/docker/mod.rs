//! The executor `docker`: every program in a container of its own, started by the command line of Docker or Podman.
//!
//! The client of the engine is what the supervisor starts. It passes streams and the exit code on, so a container is
//! supervised like a process; only its end is different, see [`CommandSpec::container`].

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use evaluator_sandbox::filter::docker_profile;
use tempfile::TempDir;

use super::{Contained, Containment, Docker, Executor, Scope};
use crate::process::CommandSpec;

mod arguments;
mod engine;
mod guard;
mod image;
mod owner;
mod variables;

use engine::Engine;
pub use image::Image;
use image::filter_name;

/// Runs every program in a container of its own, with the files of an image.
#[derive(Debug, Default)]
pub struct DockerExecutor {
    /// Engines that were looked for, by the key `engine` of the settings.
    engines: Mutex<BTreeMap<Option<String>, Result<Engine, String>>>,
    /// Ids of the images that were looked up last, by the settings.
    ids: Mutex<BTreeMap<Docker, String>>,
    /// Directory of the files with filters.
    filters: OnceLock<Result<TempDir, String>>,
}

impl DockerExecutor {
    /// Returns the directory of the files with filters, which engines read at each start.
    fn filters(&self) -> Result<&Path, String> {
        let written = self.filters.get_or_init(|| {
            let write = || {
                let directory = tempfile::Builder::new().prefix("evaluator-docker-").tempdir()?;
                for network in [false, true] {
                    let file = directory.path().join(filter_name(network));
                    fs::write(file, docker_profile(network).to_string())?;
                }
                Ok(directory)
            };
            write().map_err(|error: io::Error| format!("its filter cannot be written: {error}"))
        });
        written.as_ref().map(TempDir::path).map_err(Clone::clone)
    }

    /// Returns the engine of these settings. The first call removes the containers of hosts that were killed.
    fn engine(&self, containment: &Containment) -> Result<Engine, String> {
        let chosen = &containment.docker.engine;
        let mut engines = lock(&self.engines);
        let engine = engines.entry(chosen.clone()).or_insert_with(|| {
            let engine = Engine::find(chosen.as_deref())?;
            engine.remove_orphans()?;
            Ok(engine)
        });
        engine.clone()
    }
}

/// Locks a cache, which no code leaves halfway through a change.
fn lock<T>(cache: &Mutex<T>) -> MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Executor for DockerExecutor {
    fn name(&self) -> &str {
        "docker"
    }

    fn contains(&self) -> bool {
        true
    }

    /// Looks for the engine and, if the settings name one, for the image, and removes the containers of hosts that were
    /// killed. Downloads nothing.
    fn check(&self, containment: &Containment) -> Result<String, String> {
        let engine = self.engine(containment)?;
        let Some(name) = &containment.docker.image else { return Ok(engine.describe()) };
        let found = match engine.image_id(name) {
            Ok(id) => id,
            Err(_) if containment.docker.pull => "which will be downloaded".to_owned(),
            Err(reason) => return Err(reason),
        };
        Ok(format!("{}, image {name} ({found})", engine.describe()))
    }

    fn contained(&self, containment: &Containment) -> Option<Contained> {
        Some(Contained {
            executor: self.name().to_owned(),
            network: containment.network,
            image: lock(&self.ids).get(&containment.docker).cloned(),
            ..Contained::default()
        })
    }

    fn image(&self, containment: &Containment) -> Result<Option<Image>, String> {
        let engine = self.engine(containment)?;
        let name = containment.docker.image.clone().ok_or(
            "it needs an image with the interpreter and packages of the evaluator: `docker: {image: NAME}`",
        )?;
        let id = engine.image_id(&name).or_else(|missing| {
            if !containment.docker.pull {
                return Err(missing);
            }
            engine.pull(&name)?;
            engine.image_id(&name)
        })?;
        let volumes = engine.volumes(&id)?;
        lock(&self.ids).insert(containment.docker.clone(), id.clone());
        Ok(Some(Image { name, id, engine, volumes, filters: self.filters()?.to_owned() }))
    }

    fn wrap(&self, command: CommandSpec, scope: &Scope<'_>) -> Result<CommandSpec, String> {
        let image = scope.image.ok_or("its image was not looked up before the start")?;
        image.run(command, scope.containment, scope.visible)
    }
}
