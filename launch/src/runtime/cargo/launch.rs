//! The environment in which cargo would run what it has built.
//!
//! A program is started directly, in both of its forms: `cargo run` would look at all sources first, every time, and let
//! no other cargo do so meanwhile. What it adds for the program beyond that is added here.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    build::{QUERY_LIMIT, Toolchain, Unit},
    environment::LIBRARY_PATH,
};
use crate::{
    process::CommandSpec,
    runtime::tool::{self, Stream},
};

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Built {
    pub(super) program: PathBuf,
    /// What to set for it, as [`CommandSpec::env`].
    pub(super) environment: Vec<(OsString, Option<OsString>)>,
}

/// What builds said that matters to the program when it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Folders in which build scripts of any package put libraries, as they named them.
    pub(super) linked: Vec<String>,
    /// Whether a Rust library is linked when the program starts.
    pub(super) has_dylibs: bool,
    /// What the build script of the program's own package sets.
    pub(super) own: Vec<(String, String)>,
    /// Where that script wrote its files.
    pub(super) out_dir: Option<PathBuf>,
}

/// What a build script said, as cargo passes it on.
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
    /// What matters to a program of this package.
    pub(super) fn new(scripts: &[ScriptOutput], package: Option<&str>, has_dylibs: bool) -> Self {
        let own = scripts.iter().find(|script| Some(&*script.package_id) == package);
        Self {
            linked: scripts.iter().flat_map(|script| script.linked_paths.iter().cloned()).collect(),
            has_dylibs,
            own: own.map(|script| script.env.clone()).unwrap_or_default(),
            out_dir: own.and_then(|script| script.out_dir.clone()),
        }
    }

    /// The variables for a program of this unit, relative to an environment whose library path is `inherited`.
    pub(super) fn environment(
        &self,
        unit: &Unit,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Vec<(OsString, Option<OsString>)> {
        let mut variables: Vec<(OsString, Option<OsString>)> = Vec::new();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), Some(value)));
        if let Some(folder) = unit.manifest.parent() {
            set("CARGO_MANIFEST_DIR", folder.into());
            set("CARGO_MANIFEST_PATH", unit.manifest.clone().into());
        }
        if let Some(folder) = &self.out_dir {
            set("OUT_DIR", folder.into());
        }
        for (name, value) in &self.own {
            set(name, value.into());
        }
        if let Some(paths) = self.library_path(unit, program, inherited, rust_libraries) {
            set(LIBRARY_PATH, paths);
        }
        variables
    }

    /// The library path, if there is anything to be found on it that the system does not find by itself.
    fn library_path(
        &self,
        unit: &Unit,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Option<OsString> {
        let folder = program.parent()?;
        // Examples are in a folder inside the profile's.
        let profile = if folder.ends_with("examples") { folder.parent()? } else { folder };
        let intermediate = unit.intermediate(profile);
        // What lies elsewhere is the system's, or would make the program depend on something that is not part of the build.
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
        paths.extend(rust_libraries);
        paths.extend(inherited.into_iter().flat_map(env::split_paths));
        // A folder whose name has a separator in it cannot be on any path.
        env::join_paths(paths).ok()
    }
}

/// `native=/p` is `/p`.
fn without_kind(path: &str) -> PathBuf {
    const KINDS: [&str; 5] = ["native", "crate", "dependency", "framework", "all"];
    match path.split_once('=') {
        Some((kind, path)) if KINDS.contains(&kind) => path.into(),
        _ => path.into(),
    }
}

impl Toolchain {
    /// What makes programs of a manifest ready to be started.
    pub(super) fn launcher(
        &self,
        unit: &Unit,
        has_dylibs: bool,
    ) -> impl Fn(Findings, PathBuf) -> Built {
        let rust_libraries = if has_dylibs { self.rust_libraries() } else { None };
        let inherited = self.library_path();
        move |findings, program| {
            let (inherited, libraries) = (inherited.as_deref(), rust_libraries.clone());
            let environment = findings.environment(unit, &program, inherited, libraries);
            Built { program, environment }
        }
    }

    /// The library path that programs inherit, without what an outer cargo has put there.
    fn library_path(&self) -> Option<OsString> {
        let changed = self.environment.iter().find(|(name, _)| name == LIBRARY_PATH);
        match changed {
            Some((_, value)) => value.clone(),
            None if self.clear_environment => None,
            None => env::var_os(LIBRARY_PATH),
        }
    }

    /// Where the compiler keeps the libraries of Rust itself, for programs that link them when they start.
    fn rust_libraries(&self) -> Option<PathBuf> {
        let rustc = self.cargo.with_file_name(format!("rustc{}", env::consts::EXE_SUFFIX));
        let mut command =
            CommandSpec { program: rustc.into(), ..self.call(["--print", "target-libdir"]) };
        command.cwd = None;
        let mut folder = None;
        let outcome = tool::run(&command, QUERY_LIMIT, &self.cancellation, &mut |stream, line| {
            if stream == Stream::Stdout {
                folder = Some(PathBuf::from(line.trim()));
            }
        });
        // Without it the program will say itself what it does not find.
        outcome.ok().filter(|status| status.success()).and(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::build::ProgramKind, *};

    fn variables(findings: &Findings, program: &str) -> Vec<(String, String)> {
        let unit = Unit {
            manifest: "/p/Cargo.toml".into(),
            package: None,
            target_folder: "/t/evaluator/p".into(),
            build_folder: Some("/t".into()),
            features: Vec::new(),
            kind: ProgramKind::Bin,
            lone_file: None,
            renames: Vec::new(),
        };
        findings
            .environment(&unit, Path::new(program), Some("/opt/lib".as_ref()), None)
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
    fn a_plain_program_is_told_where_its_package_is() {
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
