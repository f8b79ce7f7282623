//! `index.yaml`: the list of evaluators from which hosts fetch them.
//!
//! The format is the one of agentevals. In addition, each entry lists the files of the evaluator with their hashes, so that a
//! whole directory can be fetched.
//!
//! An index names every file of an evaluator with its hash, so that a directory is fetched whole; other tools ignore
//! that key. It contains no date: the same evaluators give the same index. Symbolic links are refused, because a
//! client would get the link.

use std::{
    collections::HashMap,
    fmt::{self, Display, Formatter},
    io,
    path::{Path, PathBuf},
};

use evaluator_protocol::Manifest;

use crate::{
    config::{ConfigError, Problem},
    hosts::export::quoted,
    manifest::{self, DirectoryFile, LoadedManifest},
    source::Reference,
};

/// Evaluators of a directory, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// One entry for each evaluator.
    pub entries: Vec<Entry>,
    /// Directories that were ignored because they have no manifest.
    pub passed_over: Vec<PathBuf>,
}

/// An evaluator in an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its manifest.
    pub manifest: Manifest,
    /// Path of its entrypoint from the directory of the index, with `/` as separator. Hosts use it as `ref`.
    pub path: String,
    /// Files of its directory.
    pub files: Vec<DirectoryFile>,
}

/// Error of an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A directory cannot be listed.
    #[error("cannot read {}: {source}", .directory.display())]
    Unreadable {
        /// The directory.
        directory: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The directory has no evaluators.
    #[error(
        "no evaluators in {}: none of its directories has an evaluator.yaml; `evaluator init NAME` creates a directory with one",
        .directory.display()
    )]
    Empty {
        /// The directory.
        directory: PathBuf,
    },
    /// The evaluators are not below the directory of the index.
    #[error("the evaluators in {} are not below {}, the directory of the index", .directory.display(), .root.display())]
    Outside {
        /// Directory of the evaluators.
        directory: PathBuf,
        /// Directory of the index.
        root: PathBuf,
    },
    /// Problems of evaluators.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Evaluators(Vec<ConfigError>),
}

impl Index {
    /// Reads the manifests of the directories directly in `directory`. Paths in the index are relative to `root`, which is `directory`
    /// or a directory above it.
    ///
    /// # Errors
    ///
    /// [`IndexError`], with the problems of all evaluators.
    pub fn compile(directory: &Path, root: &Path) -> Result<Self, IndexError> {
        let unreadable = |directory: &Path, source| IndexError::Unreadable {
            directory: directory.to_owned(),
            source,
        };
        let found =
            manifest::discover(directory).map_err(|source| unreadable(directory, source))?;
        if found.evaluators.is_empty() && found.misnamed.is_empty() {
            return Err(IndexError::Empty { directory: directory.to_owned() });
        }
        let absolute = |path: &Path| path.canonicalize().map_err(|source| unreadable(path, source));
        let (from, to) = (absolute(root)?, absolute(directory)?);
        let prefix = to.strip_prefix(&from).map_err(|_| IndexError::Outside {
            directory: directory.to_owned(),
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
        for directory in &found.evaluators {
            match LoadedManifest::load(directory) {
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

/// Returns the error of an evaluator with the same name as an earlier one. Case is ignored, as many file systems do.
fn namesake(names: &mut HashMap<String, PathBuf>, loaded: &LoadedManifest) -> Option<ConfigError> {
    let name = &loaded.manifest.name;
    let other = names.insert(name.to_lowercase(), loaded.file())?;
    let message = format!("the name `{name}` is taken by {}", other.display());
    let hint = "upper and lower case do not tell names apart".to_owned();
    let problem = Problem::new(message, Some(loaded.name_place), Some(hint));
    Some(ConfigError::with(&loaded.file(), &loaded.source_text, vec![problem]))
}

/// Returns the entry of an evaluator whose directory has the path `way`.
fn entry(loaded: LoadedManifest, way: &[String], errors: &mut Vec<ConfigError>) -> Option<Entry> {
    let path = format!("{}/{}", way.join("/"), loaded.manifest.entrypoint);
    let before = errors.len();
    if let Err(error) = Reference::parse(&path) {
        let message = format!("the path of an evaluator in an index {error}: `{path}`");
        errors.push(complaint(loaded.file(), &message, None));
    }
    let files = manifest::files(&loaded.directory, loaded.language).unwrap_or_else(|problems| {
        errors.extend(problems.iter().map(|problem| complaint(loaded.file(), problem, None)));
        Vec::new()
    });
    (errors.len() == before).then_some(Entry { manifest: loaded.manifest, path, files })
}

fn complaint(file: PathBuf, message: &str, hint: Option<&str>) -> ConfigError {
    ConfigError::new(&file, message.to_owned(), hint.map(str::to_owned))
}

/// Writes the whole file, which depends on nothing but the evaluators.
impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("# Made by `evaluator index` from the manifests of the evaluators; make it again instead of editing it.\n")?;
        f.write_str("evaluators:\n")?;
        self.entries.iter().try_for_each(|entry| write_entry(f, entry))
    }
}

fn write_entry(f: &mut Formatter<'_>, entry: &Entry) -> fmt::Result {
    let manifest = &entry.manifest;
    writeln!(f, "  - name: {}", Plain(&manifest.name))?;
    writeln!(f, "    description: {}", quoted(&manifest.description))?;
    writeln!(f, "    language: {}", Plain(&manifest.language))?;
    writeln!(f, "    path: {}", Plain(&entry.path))?;
    let tags: Vec<String> = manifest.tags.iter().map(|tag| quoted(tag)).collect();
    writeln!(f, "    tags: [{}]", tags.join(", "))?;
    writeln!(f, "    author: {}", Plain(&manifest.author))?;
    f.write_str("    files:\n")?;
    for file in &entry.files {
        writeln!(f, "      - {{path: {}, sha256: {}}}", Plain(&file.path), quoted(&file.sha256))?;
    }
    Ok(())
}

/// Text, without quotes if YAML reads it as text then.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0;
        let letters = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'));
        // Text that begins with a letter is not a number; YAML 1.1 does not read these words as text.
        let words = ["yes", "no", "on", "off", "true", "false", "null", "y", "n"];
        let is_text = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && !words.contains(&text.to_ascii_lowercase().as_str());
        if letters && is_text { f.write_str(text) } else { f.write_str(&quoted(text)) }
    }
}

#[cfg(test)]
mod tests {
    use evaluator_host::json::{Object, Value};
    use evaluator_protocol::Manifest;

    use super::*;
    use crate::manifest::DirectoryFile;

    fn read(text: &str) -> Object {
        let root = evaluator_document::read_yaml(text).unwrap().unwrap().to_json().unwrap();
        let entries = root.as_object().unwrap().get("evaluators").unwrap();
        let Value::Array(entries) = entries else { panic!("{text}") };
        entries[0].as_object().unwrap().clone()
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_read_back(text in "\\PC*|[\\x00-\\x7f\u{80}-\u{a0}\u{2028}\u{feff}\u{ffff}]*|on|~|null|1e3|0x1f|1:30") {
            let mut manifest = Manifest::default();
            manifest.name = text.clone();
            manifest.description = text.clone();
            manifest.author = text.clone();
            manifest.tags = vec![text.clone(), text.clone()];
            let files = vec![DirectoryFile { path: text.clone(), sha256: text.clone() }];
            let entries = vec![Entry { manifest, path: text.clone(), files }];
            let index = Index { entries, passed_over: Vec::new() };

            let entry = read(&index.to_string());

            for key in ["name", "description", "path", "author"] {
                proptest::prop_assert_eq!(entry.get(key).and_then(Value::as_str), Some(&*text));
            }
            let Some(Value::Array(tags)) = entry.get("tags") else { panic!("no tags") };
            let tags: Vec<_> = tags.iter().map(Value::as_str).collect();
            proptest::prop_assert_eq!(tags, [Some(&*text); 2]);
            let Some(Value::Array(files)) = entry.get("files") else { panic!("no files") };
            let file = files[0].as_object().unwrap();
            proptest::prop_assert_eq!(file.get("path").and_then(Value::as_str), Some(&*text));
            proptest::prop_assert_eq!(file.get("sha256").and_then(Value::as_str), Some(&*text));
        }
    }
}
