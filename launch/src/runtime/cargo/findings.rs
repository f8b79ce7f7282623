//! What a build found out, which its programs need at run time.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::unit::Unit;
use crate::{
    process::CommandSpec,
    runtime::{Environment, paths},
};

/// The search path of the dynamic linker, which cargo extends for the programs that it runs.
pub(super) const LIBRARY_PATH: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Results of build scripts and of linking that a program needs at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Library directories of all build scripts, as they print them.
    pub(super) linked: Vec<String>,
    /// True if the program links a Rust library dynamically.
    pub(super) has_dylibs: bool,
    /// Variables that the build script of its own package sets.
    pub(super) own: Vec<(String, String)>,
    /// Output directory of that script.
    pub(super) out_dir: Option<PathBuf>,
}

/// Output of a build script, as reported by cargo.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptOutput {
    package_id: String,
    #[serde(default)]
    linked_paths: Vec<String>,
    #[serde(default)]
    env: Vec<(String, String)>,
    out_dir: Option<PathBuf>,
}

impl Findings {
    /// The results that a program of this package needs.
    pub(super) fn new(scripts: &[ScriptOutput], package: Option<&str>, has_dylibs: bool) -> Self {
        let own = scripts.iter().find(|script| Some(&*script.package_id) == package);
        Self {
            linked: scripts.iter().flat_map(|script| script.linked_paths.iter().cloned()).collect(),
            has_dylibs,
            own: own.map(|script| script.env.clone()).unwrap_or_default(),
            out_dir: own.and_then(|script| script.out_dir.clone()),
        }
    }

    /// The command that starts a program of this unit; `libraries` are directories that the library path ends with.
    pub(super) fn command(
        &self,
        unit: &Unit,
        program: PathBuf,
        libraries: &[PathBuf],
    ) -> CommandSpec {
        let library_path = self.library_path(unit, &program, libraries);
        let mut command = CommandSpec::new(program);
        if let Some(directory) = unit.manifest.parent() {
            command = command
                .env("CARGO_MANIFEST_DIR", directory)
                .env("CARGO_MANIFEST_PATH", &unit.manifest);
        }
        if let Some(directory) = &self.out_dir {
            command = command.env("OUT_DIR", directory);
        }
        let command =
            self.own.iter().fold(command, |command, (name, value)| command.env(name, value));
        match library_path {
            Some(paths) => command.env(LIBRARY_PATH, paths),
            None => command,
        }
    }

    /// Returns the paths that a program of this unit reads in a sandbox: its package, itself, and the libraries that were
    /// built for it.
    pub(super) fn visible(
        &self,
        unit: &Unit,
        program: &Path,
        libraries: &[PathBuf],
    ) -> Vec<PathBuf> {
        let path = self.library_path(unit, program, libraries);
        let libraries = path.iter().flat_map(env::split_paths).chain(self.out_dir.clone());
        let libraries = libraries.filter(|directory| directory.is_dir());
        let own = paths::is_narrow(&unit.sources, &Environment::inherited());
        let sources = own.then(|| unit.sources.clone());
        sources.into_iter().chain([program.to_owned()]).chain(libraries).collect()
    }

    /// The library path; `None` if the program needs no library that the system does not find itself.
    fn library_path(&self, unit: &Unit, program: &Path, more: &[PathBuf]) -> Option<OsString> {
        let directory = program.parent()?;
        // Examples are in a subdirectory of the profile.
        let profile = if directory.ends_with("examples") { directory.parent()? } else { directory };
        let intermediate = unit.intermediate(profile);
        // Other directories belong to the system, or would make the program depend on files outside of the build.
        let mut paths: Vec<PathBuf> = self
            .linked
            .iter()
            .map(|path| without_kind(path))
            .filter(|path| path.starts_with(&intermediate))
            .collect();
        if paths.is_empty() && !self.has_dylibs {
            return None;
        }
        paths.extend([intermediate.join("deps"), profile.to_owned()]);
        paths.extend_from_slice(more);
        // A directory whose name contains a separator cannot be on any path.
        env::join_paths(paths).ok()
    }
}

/// Turns `native=/p` into `/p`.
fn without_kind(path: &str) -> PathBuf {
    const KINDS: [&str; 5] = ["native", "crate", "dependency", "framework", "all"];
    match path.split_once('=') {
        Some((kind, path)) if KINDS.contains(&kind) => path.into(),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::unit::ProgramKind, *};

    fn variables(findings: &Findings, program: &str) -> Vec<(String, String)> {
        let unit = Unit {
            manifest: "/p/Cargo.toml".into(),
            package: None,
            target_directory: "/t/evaluator/p".into(),
            build_directory: Some("/t".into()),
            package_name: "p".to_owned(),
            workspace: PathBuf::new(),
            features: Vec::new(),
            kind: ProgramKind::Bin,
            sources: PathBuf::new(),
            lone_file: None,
            renames: Vec::new(),
        };
        findings
            .command(&unit, program.into(), &["/opt/lib".into()])
            .env
            .into_iter()
            .map(|(name, value)| {
                (name.into_string().unwrap(), value.unwrap().into_string().unwrap())
            })
            .collect()
    }

    fn of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_plain_program_gets_the_location_of_its_package() {
        let expected = [("CARGO_MANIFEST_DIR", "/p"), ("CARGO_MANIFEST_PATH", "/p/Cargo.toml")];
        let system = Findings { linked: vec!["native=/usr/lib".to_owned()], ..Findings::default() };
        for findings in [Findings::default(), system] {
            assert_eq!(variables(&findings, "/t/evaluator/p/debug/a"), of(&expected));
        }
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn what_build_scripts_made_is_found() {
        let findings = Findings {
            linked: vec!["native=/t/debug/build/x/out".to_owned(), "/usr/lib".to_owned()],
            own: of(&[("MODEL", "small")]),
            out_dir: Some("/t/debug/build/a/out".into()),
            ..Findings::default()
        };
        let expected = [
            ("CARGO_MANIFEST_DIR", "/p"),
            ("CARGO_MANIFEST_PATH", "/p/Cargo.toml"),
            ("OUT_DIR", "/t/debug/build/a/out"),
            ("MODEL", "small"),
            ("LD_LIBRARY_PATH", "/t/debug/build/x/out:/t/debug/deps:/t/evaluator/p/debug:/opt/lib"),
        ];
        for program in ["/t/evaluator/p/debug/a", "/t/evaluator/p/debug/examples/a"] {
            assert_eq!(variables(&findings, program), of(&expected), "{program}");
        }
    }
}
