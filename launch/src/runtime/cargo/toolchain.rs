//! Cargo, and how it is called.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::{
    executor::Containment,
    process::{Cancellation, CommandSpec},
};

/// Time limit for calls that compile nothing. They may wait for the lock of the package cache.
pub(super) const QUERY_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Cargo, and how it is called.
#[derive(Clone, Debug)]
pub(super) struct Toolchain {
    /// The program and its environment.
    pub(super) cargo: CommandSpec,
    /// Profile of all builds.
    pub(super) profile: String,
    /// Time limit for a build.
    pub(super) limit: Duration,
    /// Stops every call.
    pub(super) cancellation: Cancellation,
    /// Build of evaluators whose executor contains programs.
    pub(super) contained: Option<ContainedBuild>,
}

/// Build of evaluators in a sandbox.
#[derive(Clone, Debug)]
pub(super) struct ContainedBuild {
    pub(super) containment: Arc<Containment>,
    /// Directory of everything that contained builds write.
    pub(super) directory: PathBuf,
    /// Cargo's directory of downloaded packages.
    pub(super) cargo_home: Option<PathBuf>,
}
