//! What one call of cargo builds.

use std::{
    env,
    path::{Path, PathBuf},
};

/// What one call of cargo builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) manifest: PathBuf,
    /// What its programs may read at run time in a sandbox: the directory of the package, or of a lone file.
    pub(super) sources: PathBuf,
    /// Package id, needed if the manifest is part of a workspace.
    pub(super) package: Option<String>,
    pub(super) target_directory: PathBuf,
    /// Directory of intermediate results, mainly dependencies; the target directory if it cannot be chosen.
    pub(super) build_directory: Option<PathBuf>,
    pub(super) features: Vec<String>,
    pub(super) kind: ProgramKind,
    /// The file around which the package was generated: the user knows no other name for the program.
    pub(super) lone_file: Option<String>,
    /// Texts to replace in the output of cargo and the compiler, with their replacements.
    pub(super) renames: Vec<(String, String)>,
}

impl Unit {
    /// Path of a program that is built with this profile.
    pub(super) fn program(&self, name: &str, profile: &str) -> PathBuf {
        let directory = match profile {
            "dev" | "test" => "debug",
            "bench" => "release",
            other => other,
        };
        let mut path = self.target_directory.join(directory);
        if self.kind == ProgramKind::Example {
            path.push("examples");
        }
        path.join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// Directory of the intermediate results of a program in this directory.
    pub(super) fn intermediate(&self, directory: &Path) -> PathBuf {
        match (&self.build_directory, directory.strip_prefix(&self.target_directory)) {
            (Some(build), Ok(profile)) => build.join(profile),
            _ => directory.to_owned(),
        }
    }
}

/// Kinds of targets that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramKind {
    Bin,
    Example,
}

impl ProgramKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bin => "bin",
            Self::Example => "example",
        }
    }
}
