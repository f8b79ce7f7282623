//! From manifests to an index.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

use evaluator_protocol::Manifest;

use crate::{
    config::{ConfigError, Problem},
    manifest::{self, FolderFile, LoadedManifest},
    source::Reference,
};

/// The evaluators of a folder, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// One entry for each.
    pub entries: Vec<Entry>,
    /// Folders that were passed over because they hold no manifest.
    pub passed_over: Vec<PathBuf>,
}

/// An evaluator in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// What its manifest says.
    pub manifest: Manifest,
    /// Its entrypoint, as a path from the folder of the index with `/` between folders. Hosts call this its `ref`.
    pub path: String,
    /// The files of its folder.
    pub files: Vec<FolderFile>,
}

/// Why there can be no index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A folder cannot be listed.
    #[error("cannot read {}: {source}", .folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing in the folder is an evaluator.
    #[error(
        "no evaluators in {}: none of its folders has an evaluator.yaml; `evaluator init NAME` creates one that has",
        .folder.display()
    )]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// The paths in an index lead down from its own folder.
    #[error("the evaluators in {} are not below {}, the folder of the index", .folder.display(), .root.display())]
    Outside {
        /// The folder of the evaluators.
        folder: PathBuf,
        /// The folder of the index.
        root: PathBuf,
    },
    /// What is wrong with each evaluator.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Evaluators(Vec<ConfigError>),
}

impl Index {
    /// Reads the manifests of the folders directly in `folder`. Paths in the index lead from `root`, `folder` itself or a
    /// folder above it.
    ///
    /// # Errors
    ///
    /// [`IndexError`]; what is wrong with the evaluators is told for all of them at once.
    pub fn compile(folder: &Path, root: &Path) -> Result<Self, IndexError> {
        let unreadable =
            |folder: &Path, source| IndexError::Unreadable { folder: folder.to_owned(), source };
        let found = manifest::discover(folder).map_err(|source| unreadable(folder, source))?;
        if found.evaluators.is_empty() && found.misnamed.is_empty() {
            return Err(IndexError::Empty { folder: folder.to_owned() });
        }
        let absolute = |path: &Path| path.canonicalize().map_err(|source| unreadable(path, source));
        let (from, to) = (absolute(root)?, absolute(folder)?);
        let prefix = to.strip_prefix(&from).map_err(|_| IndexError::Outside {
            folder: folder.to_owned(),
            root: root.to_owned(),
        })?;
        let mut way: Vec<String> =
            prefix.iter().map(|name| name.to_string_lossy().into_owned()).collect();

        let mut errors: Vec<ConfigError> = found
            .misnamed
            .into_iter()
            .map(|file| complaint(file, "is not read", Some("did you mean `evaluator.yaml`?")))
            .collect();
        let mut entries = Vec::new();
        let mut names = HashMap::new();
        for folder in &found.evaluators {
            match LoadedManifest::load(folder) {
                Ok(loaded) => {
                    errors.extend(namesake(&mut names, &loaded));
                    way.push(loaded.manifest.name.clone());
                    entries.extend(entry(loaded, &way, &mut errors));
                    way.pop();
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Self { entries, passed_over: found.others })
        } else {
            Err(IndexError::Evaluators(errors))
        }
    }
}

/// An evaluator called like one before it. On many file systems that is so, too, when only the case differs.
fn namesake(names: &mut HashMap<String, PathBuf>, loaded: &LoadedManifest) -> Option<ConfigError> {
    let name = &loaded.manifest.name;
    let other = names.insert(name.to_lowercase(), loaded.file())?;
    let message = format!("the name `{name}` is taken by {}", other.display());
    let hint = "upper and lower case do not tell names apart".to_owned();
    let problem = Problem::new(message, Some(loaded.name_place), Some(hint));
    Some(ConfigError::with(&loaded.file(), &loaded.source_text, vec![problem]))
}

/// The entry of an evaluator whose folder is reached by `way`.
fn entry(loaded: LoadedManifest, way: &[String], errors: &mut Vec<ConfigError>) -> Option<Entry> {
    let path = format!("{}/{}", way.join("/"), loaded.manifest.entrypoint);
    let before = errors.len();
    if let Err(error) = Reference::parse(&path) {
        let message = format!("the path of an evaluator in an index {error}: `{path}`");
        errors.push(complaint(loaded.file(), &message, None));
    }
    let files = manifest::files(&loaded.folder, loaded.language).unwrap_or_else(|problems| {
        errors.extend(
            problems
                .into_iter()
                .map(|problem| complaint(loaded.file(), &problem.to_string(), None)),
        );
        Vec::new()
    });
    (errors.len() == before).then_some(Entry { manifest: loaded.manifest, path, files })
}

fn complaint(file: PathBuf, message: &str, hint: Option<&str>) -> ConfigError {
    ConfigError::new(&file, message.to_owned(), hint.map(str::to_owned))
}
