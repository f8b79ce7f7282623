//! Targets that one call of cargo builds.

use std::{
    env,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item};

use crate::files;

/// Targets that one call of cargo builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) manifest: PathBuf,
    /// Path that its programs may read at run time in a sandbox: the directory of the package, or of a lone file.
    pub(super) sources: PathBuf,
    /// Package id, needed if the manifest is part of a workspace.
    pub(super) package: Option<String>,
    pub(super) target_directory: PathBuf,
    /// Directory of intermediate results, mainly dependencies; the target directory if it cannot be chosen.
    pub(super) build_directory: Option<PathBuf>,
    pub(super) package_name: String,
    /// Root of its workspace.
    pub(super) workspace: PathBuf,
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

    /// Gives the unit a build directory that it shares with no other package.
    pub(super) fn apart(self) -> Self {
        Self { build_directory: Some(self.target_directory.clone()), ..self }
    }

    /// Returns true if packages of other workspaces may be built in the same directory.
    pub(super) fn is_shared(&self) -> bool {
        self.build_directory.as_ref().is_some_and(|build| !build.starts_with(&self.workspace))
    }

    /// Returns true if cargo cannot tell the packages of both units apart. It names what it builds by the name of the package
    /// and the path inside of the workspace, and believes a result to be up to date that is newer than the sources: the
    /// program of one package would be taken for that of the other.
    pub(super) fn is_taken_for(&self, other: &Self) -> bool {
        self.build_directory == other.build_directory
            && self.package_name == other.package_name
            && self.workspace != other.workspace
    }

    /// Returns true if a directory next to the workspace has a package of the same name, which its user may build in the same
    /// directory.
    pub(super) fn has_namesake(&self) -> bool {
        let entries = self.workspace.parent().and_then(|parent| parent.read_dir().ok());
        let mut others = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        others.any(|other| other != self.workspace && has_name(&other, &self.package_name))
    }
}

/// Returns true if the manifest of a directory is that of a package with this name.
fn has_name(directory: &Path, name: &str) -> bool {
    let text = files::read_regular(&directory.join("Cargo.toml"), files::MAX_SOURCE).ok();
    let manifest = text.and_then(|text| String::from_utf8(text).ok()?.parse::<DocumentMut>().ok());
    let package = manifest.as_ref().and_then(|manifest| manifest.get("package")?.get("name"));
    package.and_then(Item::as_str) == Some(name)
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
