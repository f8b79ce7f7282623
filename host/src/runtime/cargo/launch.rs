//! The environment in which cargo would run what it has built.
//!
//! A program is started directly, in both of its forms: `cargo run` would look at all sources first, every time, and let
//! no other cargo do so meanwhile. What it adds for the program beyond that is added here.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::environment::LIBRARY_PATH;

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

impl Findings {
    /// The variables for a program of this manifest, relative to an environment whose library path is `inherited`.
    pub(super) fn environment(
        &self,
        manifest: &Path,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Vec<(OsString, Option<OsString>)> {
        let mut variables: Vec<(OsString, Option<OsString>)> = Vec::new();
        let mut set = |name: &str, value: OsString| variables.push((name.into(), Some(value)));
        if let Some(folder) = manifest.parent() {
            set("CARGO_MANIFEST_DIR", folder.into());
            set("CARGO_MANIFEST_PATH", manifest.into());
        }
        if let Some(folder) = &self.out_dir {
            set("OUT_DIR", folder.into());
        }
        for (name, value) in &self.own {
            set(name, value.into());
        }
        if let Some(paths) = self.library_path(program, inherited, rust_libraries) {
            set(LIBRARY_PATH, paths);
        }
        variables
    }

    /// The library path, if there is anything to be found on it that the system does not find by itself.
    fn library_path(
        &self,
        program: &Path,
        inherited: Option<&OsStr>,
        rust_libraries: Option<PathBuf>,
    ) -> Option<OsString> {
        let folder = program.parent()?;
        // Examples are in a folder inside the profile's.
        let profile = if folder.ends_with("examples") { folder.parent()? } else { folder };
        // What lies elsewhere is the system's, or would make the program depend on something that is not part of the build.
        let mut paths: Vec<PathBuf> = self
            .linked
            .iter()
            .map(|path| without_kind(path))
            .filter(|path| path.starts_with(profile))
            .collect();
        if paths.is_empty() && !self.has_dylibs {
            return None;
        }
        paths.extend([profile.join("deps"), profile.to_owned()]);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(findings: &Findings, program: &str) -> Vec<(String, String)> {
        findings
            .environment(
                Path::new("/p/Cargo.toml"),
                Path::new(program),
                Some("/opt/lib".as_ref()),
                None,
            )
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
            assert_eq!(variables(&findings, "/t/debug/a"), of(&expected));
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
            ("LD_LIBRARY_PATH", "/t/debug/build/x/out:/t/debug/deps:/t/debug:/opt/lib"),
        ];
        for program in ["/t/debug/a", "/t/debug/examples/a"] {
            assert_eq!(variables(&findings, program), of(&expected), "{program}");
        }
    }
}
