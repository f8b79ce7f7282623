//! The package that a `.rs` source belongs to, if any.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use serde::Deserialize;

use super::{
    manifest, script,
    unit::{ProgramKind, Unit},
};
use crate::runtime::{Language, PrepareError, paths};

/// Target that has to be built to run a source.
#[derive(Debug)]
pub(super) enum Owner {
    /// A program of a package.
    Target { unit: Box<Unit>, program: String },
    /// A file without a package.
    LoneFile { source: PathBuf },
}

/// Relevant part of the output of `cargo metadata --no-deps`.
#[derive(Debug, Deserialize)]
struct Workspace {
    /// The packages of the workspace.
    packages: Vec<Package>,
    #[serde(default)]
    workspace_root: PathBuf,
    /// Directory of build results.
    target_directory: PathBuf,
    /// Directory of intermediate results, which can be chosen from cargo 1.91 on; older versions do not report it.
    build_directory: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: PathBuf,
    default_run: Option<String>,
    targets: Vec<PackageTarget>,
}

#[derive(Debug, Deserialize)]
struct PackageTarget {
    name: String,
    kind: Vec<String>,
    crate_types: Vec<String>,
    src_path: PathBuf,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

impl Workspace {
    fn program(&self, package: &Package, target: &PackageTarget) -> Owner {
        let own = self.target_directory.join("evaluator");
        let unit = Unit {
            manifest: package.manifest_path.clone(),
            package: Some(package.id.clone()),
            // Programs of other packages may have the same name. A directory for each costs nothing if dependencies are kept
            // elsewhere.
            target_directory: match &self.build_directory {
                Some(_) => own.join(script::package_name(package.directory())),
                None => own,
            },
            build_directory: self.build_directory.clone(),
            package_name: package.name.clone(),
            workspace: self.workspace_root.clone(),
            features: target.required_features.clone(),
            kind: if target.is_bin() { ProgramKind::Bin } else { ProgramKind::Example },
            sources: package.directory().to_owned(),
            lone_file: None,
            renames: Vec::new(),
        };
        Owner::Target { unit: Box::new(unit), program: target.name.clone() }
    }
}

impl PackageTarget {
    fn is_bin(&self) -> bool {
        self.kind.iter().any(|kind| kind == "bin")
    }

    /// Returns true if `cargo run` would run it.
    fn is_program(&self) -> bool {
        self.is_bin()
            || (self.kind.iter().any(|kind| kind == "example")
                && self.crate_types.iter().any(|kind| kind == "bin"))
    }
}

impl Package {
    fn directory(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }

    /// The programs, for an error message: `a (src/main.rs), b (src/bin/b.rs)`.
    fn programs(&self) -> Option<String> {
        let programs: Vec<String> = self
            .targets
            .iter()
            .filter(|target| target.is_program())
            .map(|target| {
                let path =
                    target.src_path.strip_prefix(self.directory()).unwrap_or(&target.src_path);
                format!("{} ({})", target.name, path.display())
            })
            .collect();
        (!programs.is_empty()).then(|| programs.join(", "))
    }
}

/// Runs `cargo metadata --no-deps` for a manifest and returns what it printed.
type ReadMetadata<'a> = Box<dyn FnMut(&Path) -> Result<String, PrepareError> + 'a>;

/// Finds owners; calls cargo once for each workspace.
pub(super) struct Owners<'a> {
    metadata: ReadMetadata<'a>,
    known: HashMap<PathBuf, Rc<Workspace>>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(metadata: impl FnMut(&Path) -> Result<String, PrepareError> + 'a) -> Self {
        Self { metadata: Box::new(metadata), known: HashMap::new() }
    }

    /// Returns the owner of a `.rs` file, of the directory of a package, or of its manifest.
    pub(super) fn find(&mut self, source: &Path) -> Result<Owner, PrepareError> {
        let resolved = paths::resolve(source)?;
        if resolved.is_dir() {
            let manifest = resolved.join("Cargo.toml");
            return if manifest.is_file() {
                self.of_package(&manifest)
            } else {
                Err(paths::not_a_package(source))
            };
        }
        if is_manifest(&resolved) {
            return self.of_package(&resolved);
        }
        // A file with an embedded manifest is its own package.
        if manifest::read(&resolved)?.is_some() {
            return Ok(Owner::LoneFile { source: resolved });
        }
        let manifest = resolved
            .ancestors()
            .skip(1)
            .map(|directory| directory.join("Cargo.toml"))
            .find(|path| path.is_file());
        match manifest {
            Some(manifest) => self.of_file(resolved, &manifest),
            None => Ok(Owner::LoneFile { source: resolved }),
        }
    }

    fn of_file(&mut self, source: PathBuf, manifest: &Path) -> Result<Owner, PrepareError> {
        let workspace = self.workspace(manifest)?;
        let is_nearest = |package: &&Package| package.manifest_path == manifest;
        let nearest = workspace.packages.iter().find(is_nearest);
        // The nearest package first: another one of the workspace may use the same file.
        let others = workspace.packages.iter().filter(|package| !is_nearest(package));
        let mut not_a_program = None;
        for package in nearest.into_iter().chain(others) {
            for target in &package.targets {
                let path = &target.src_path;
                if *path != source && paths::resolve(path).as_ref() != Ok(&source) {
                    continue;
                }
                if target.is_program() {
                    return Ok(workspace.program(package, target));
                }
                let what = || (package, format!("the {} target", target.kind.join("/")));
                not_a_program.get_or_insert_with(what);
            }
        }
        let is_module = |package: &&Package| source.starts_with(package.directory().join("src"));
        let module = || nearest.filter(is_module).map(|package| (package, "a module".to_owned()));
        let Some((package, what)) = not_a_program.or_else(module) else {
            return Ok(Owner::LoneFile { source });
        };
        let advice = match package.programs() {
            Some(programs) => format!("name one of its programs: {programs}"),
            None => "it has no programs; add src/main.rs".to_owned(),
        };
        Err(PrepareError::unusable(format!(
            "{} is {what} of package `{}`, not a program; {advice}",
            source.display(),
            package.name
        )))
    }

    fn of_package(&mut self, manifest: &Path) -> Result<Owner, PrepareError> {
        let workspace = self.workspace(manifest)?;
        let mut packages = workspace.packages.iter();
        let Some(package) = packages.find(|package| package.manifest_path == manifest) else {
            let names: Vec<&str> =
                workspace.packages.iter().map(|package| package.name.as_str()).collect();
            return Err(PrepareError::unusable(format!(
                "{} is a workspace, not a package; name the directory of one of its packages: {}",
                manifest.display(),
                names.join(", ")
            )));
        };
        let bins: Vec<&PackageTarget> =
            package.targets.iter().filter(|target| target.is_bin()).collect();
        let chosen = match (&bins[..], &package.default_run) {
            ([only], _) => Some(*only),
            (_, Some(name)) => bins.into_iter().find(|target| target.name == *name),
            _ => None,
        };
        if let Some(target) = chosen {
            return Ok(workspace.program(package, target));
        }
        let name = &package.name;
        Err(PrepareError::unusable(match package.programs() {
            Some(programs) => format!(
                "package `{name}` does not say which of its programs to run; name the file of one: {programs}"
            ),
            None => format!("package `{name}` has no programs; add src/main.rs"),
        }))
    }

    fn workspace(&mut self, manifest: &Path) -> Result<Rc<Workspace>, PrepareError> {
        if let Some(workspace) = self.known.get(manifest) {
            return Ok(Rc::clone(workspace));
        }
        let text = (self.metadata)(manifest)?;
        let workspace: Workspace = serde_json::from_str(&text).map_err(|error| {
            PrepareError::unusable(format!(
                "cannot read what `cargo metadata` says about {}: {error}; update cargo",
                manifest.display()
            ))
        })?;
        let workspace = Rc::new(workspace);
        for package in &workspace.packages {
            self.known.insert(package.manifest_path.clone(), Rc::clone(&workspace));
        }
        self.known.insert(manifest.to_owned(), Rc::clone(&workspace));
        Ok(workspace)
    }
}

/// Returns true if the file name is that of a manifest.
fn is_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "Cargo.toml")
}

/// Returns true for a file in Rust, a manifest, and the directory of a package.
pub(super) fn is_source(path: &Path) -> bool {
    Language::of(path) == Some(Language::Rust)
        || is_manifest(path)
        || path.join("Cargo.toml").is_file()
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write, fs};

    use super::*;
    use crate::runtime::testing::Directory;

    /// A workspace of one package with these targets (kind, name, path).
    fn metadata(directory: &Directory, targets: &[(&str, &str, &str)]) -> String {
        let mut text = String::new();
        for (kind, name, path) in targets {
            directory.file(path, "fn main() {}");
            let crate_type = if *kind == "lib" { "lib" } else { "bin" };
            write!(
                text,
                r#"{}{{"name":"{name}","kind":["{kind}"],"crate_types":["{crate_type}"],"src_path":{:?}}}"#,
                if text.is_empty() { "" } else { "," },
                directory.path(path)
            )
            .unwrap();
        }
        let manifest = directory.file("Cargo.toml", "");
        format!(
            r#"{{"packages":[{{"id":"p","name":"mine","manifest_path":{manifest:?},"default_run":null,
               "targets":[{text}]}}],"target_directory":"/t","version":1}}"#
        )
    }

    /// The owner of `source` as text, and how often cargo was asked.
    fn owner_of(directory: &Directory, metadata: &str, sources: &[&str]) -> (Vec<String>, usize) {
        let mut asked = 0;
        let mut ask = |_: &Path| {
            asked += 1;
            Ok(metadata.to_owned())
        };
        let mut owners = Owners::new(&mut ask);
        let found: Vec<String> = sources
            .iter()
            .map(|source| match owners.find(&directory.path(source)) {
                Ok(Owner::Target { program, .. }) => program,
                Ok(Owner::LoneFile { .. }) => "lone".to_owned(),
                Err(error) => {
                    error.to_string().replace(&format!("{}/", directory.path("").display()), "")
                }
            })
            .map(|text| text.replace(&directory.path("").display().to_string(), ""))
            .collect();
        drop(owners);
        (found, asked)
    }

    #[test]
    fn files_of_a_package_are_its_programs_or_none_of_its_business() {
        let directory = Directory::new("owner-files");
        let metadata = metadata(
            &directory,
            &[
                ("lib", "mine", "src/lib.rs"),
                ("bin", "mine", "src/main.rs"),
                ("example", "demo", "examples/demo/main.rs"),
                ("test", "it", "tests/it.rs"),
            ],
        );
        directory.file("src/deep/scoring.rs", "");
        directory.file("evals/lone.rs", "");
        directory.file("src/script.rs", "---\n---\nfn main() {}");
        let programs = "not a program; name one of its programs: mine (src/main.rs), demo (examples/demo/main.rs)";
        let sources = [
            "src/main.rs",
            "examples/demo/main.rs",
            "evals/lone.rs",
            "src/script.rs",
            "src/lib.rs",
            "tests/it.rs",
            "src/deep/scoring.rs",
        ];
        let (found, asked) = owner_of(&directory, &metadata, &sources);
        assert_eq!(
            found,
            [
                "mine".to_owned(),
                "demo".to_owned(),
                "lone".to_owned(),
                "lone".to_owned(),
                format!("src/lib.rs is the lib target of package `mine`, {programs}"),
                format!("tests/it.rs is the test target of package `mine`, {programs}"),
                format!("src/deep/scoring.rs is a module of package `mine`, {programs}"),
            ]
        );
        assert_eq!(asked, 1);
    }

    #[test]
    fn a_directory_is_not_a_file_whatever_its_name() {
        let directory = Directory::new("owner-directory");
        fs::create_dir(directory.path("check.rs")).unwrap();
        assert_eq!(
            owner_of(&directory, "", &["check.rs"]),
            (
                vec![
                    "check.rs is a directory without a Cargo.toml; name the file of the evaluator"
                        .to_owned()
                ],
                0
            )
        );
    }

    #[test]
    fn a_package_is_its_only_program_or_says_which() {
        let directory = Directory::new("owner-package");
        let one = metadata(
            &directory,
            &[("bin", "a", "src/main.rs"), ("example", "demo", "examples/demo.rs")],
        );
        assert_eq!(owner_of(&directory, &one, &["", "Cargo.toml"]), (vec!["a".to_owned(); 2], 1));

        let two =
            metadata(&directory, &[("bin", "a", "src/main.rs"), ("bin", "b", "src/bin/b.rs")]);
        assert_eq!(
            owner_of(&directory, &two, &[""]).0,
            ["package `mine` does not say which of its programs to run; \
              name the file of one: a (src/main.rs), b (src/bin/b.rs)"]
        );
        let default = two.replace("\"default_run\":null", "\"default_run\":\"b\"");
        assert_eq!(owner_of(&directory, &default, &[""]).0, ["b"]);

        let none = metadata(&directory, &[("lib", "mine", "src/lib.rs")]);
        assert_eq!(
            owner_of(&directory, &none, &[""]).0,
            ["package `mine` has no programs; add src/main.rs"]
        );

        let workspace = r#"{"packages":[],"target_directory":"/t"}"#;
        assert_eq!(
            owner_of(&directory, workspace, &[""]).0,
            [
                "Cargo.toml is a workspace, not a package; name the directory of one of its packages: "
            ]
        );
    }
}
