//! Images, and the commands that run programs in their containers.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{arguments, engine::Engine, guard, owner, variables};
use crate::{
    executor::{Containment, Visible},
    process::{CommandSpec, Starter},
};

/// An image of a container engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) engine: Engine,
    /// Directories that it declares as volumes.
    pub(super) volumes: BTreeSet<String>,
    /// Directory of the files with filters.
    pub(super) filters: PathBuf,
}

impl Image {
    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the command that runs `command` in a container of this image.
    ///
    /// # Errors
    ///
    /// A path that must not be shown to programs, or that does not exist.
    pub fn run(
        &self,
        command: CommandSpec,
        containment: &Containment,
        visible: &Visible,
    ) -> Result<CommandSpec, String> {
        let Self { id, engine, volumes, filters, .. } = self;
        let mounts = guard::mounts(&command, containment, visible)?;
        // What is mounted there replaces the volume, too.
        let is_mounted = |path: &&String| mounts.iter().any(|mount| mount.path == Path::new(path));
        let volumes = volumes.iter().filter(|path| !is_mounted(path)).map(String::as_str).collect();
        let owner = owner::this_process();
        let (client, passed) = variables::split(&command);
        let mut args: Vec<OsString> = vec!["run".into()];
        args.extend(arguments::hardening(containment, &command.resources));
        args.extend(engine.arguments(containment.tmp, &volumes).into_iter().map(OsString::from));
        let mut filter = OsString::from("--security-opt=seccomp=");
        filter.push(filters.join(filter_name(containment.network)));
        args.push(filter);
        args.push(format!("--label={}={owner}", owner::LABEL).into());
        args.extend(mounts.iter().map(guard::Mount::argument));
        args.extend(passed);
        args.push(arguments::directory(&command, &mounts));
        args.extend([OsStr::new(id).to_owned(), command.program.clone()]);
        args.extend(command.args);
        Ok(CommandSpec {
            args,
            env: client,
            starter: Some(Starter {
                program: command.program,
                codes: &[125, 126, 127],
                prefix: engine.error_prefix(),
            }),
            container: Some(owner::names(&owner)),
            ..CommandSpec::new(engine.program())
        })
    }
}

/// File with the filter of system calls for a container.
pub(super) fn filter_name(network: bool) -> &'static str {
    if network { "network.json" } else { "no-network.json" }
}
