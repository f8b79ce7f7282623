//! The keys of a configuration about other files and versions: `requires` and `extends`.
//!
//! A configuration that is extended is read and checked by itself first, except that it may lack `evaluators`. What it says is
//! the starting point of the one that extends it.

use std::path::{Component, Path, PathBuf};

use evaluator_document::{self as document, ConfigError, Field, Node, Problem, Problems};
use semver::{Version, VersionReq};

use super::{Config, containment::Defaults, paths::Paths, reader::Reader};
use crate::registries::Registries;

/// A configuration, with its defaults for the programs of configurations that extend it.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) config: Config,
    pub(super) defaults: Defaults,
}

/// Reads the text of a configuration.
pub(super) type Read = fn(&str, Origin<'_>, Paths, &Registries) -> Result<Base, ConfigError>;

/// Where a configuration comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    pub(super) file: &'a Path,
    /// The configuration that extends it.
    pub(super) extended_by: Option<&'a Self>,
}

impl Origin<'_> {
    /// Returns true if `file` is this configuration or one that extends it.
    fn includes(&self, file: &Path) -> bool {
        let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
        real(self.file) == real(file) || self.extended_by.is_some_and(|it| it.includes(file))
    }
}

/// Adds a problem and returns false if the configuration requires another version. Other versions may have other keys, so
/// nothing else of such a configuration is checked.
pub(super) fn check_version(root: &Node, problems: &Problems<'_>) -> bool {
    let Some(field) = find(root, "requires", problems) else { return true };
    let Some(text) = field.text() else { return false };
    let requirement = match VersionReq::parse(text) {
        Ok(requirement) => requirement,
        Err(error) => {
            let message = format!("`requires` must be a requirement of versions: {error}");
            field.add(message).hint("for example \">=0.2, <0.4\"");
            return false;
        }
    };
    let version = env!("CARGO_PKG_VERSION");
    if Version::parse(version).is_ok_and(|version| requirement.matches(&version)) {
        return true;
    }
    let message = format!("this configuration requires evaluator {text}, and this is {version}");
    field.add(message).hint("install a version that it permits, or change `requires`");
    false
}

/// Reads the configuration that this one extends. Returns an empty one if there is none, and `None` after it has added a
/// problem.
///
/// # Errors
///
/// The problems of the other configuration.
pub(super) fn read_base(
    root: &Node,
    reader: &Reader<'_>,
    origin: Origin<'_>,
    read: Read,
) -> Result<Option<Base>, ConfigError> {
    let Some(field) = find(root, "extends", &reader.problems) else {
        return Ok(Some(Base::default()));
    };
    let Some(written) = field.text() else { return Ok(None) };
    // The text of a configuration without a file has no directory that paths are relative to.
    let Some(directory) = reader.paths.directory() else { return Ok(Some(Base::default())) };
    let file = without_parents(&directory.join(written));
    if origin.includes(&file) {
        return Ok(field.add("`extends` leads back to this configuration").none());
    }
    if !file.is_file() {
        let message = format!("`extends` names {}, which is not a file", file.display());
        return Ok(field.add(message).hint("paths are relative to the configuration file").none());
    }
    reader.paths.note(file.clone(), false);
    let text = document::load(&file, "configuration")?;
    let origin = Origin { file: &file, extended_by: Some(&origin) };
    let mut base = read(&text, origin, Paths::of(&file), reader.known)?;
    base.config.forget_positions(&file);
    Ok(Some(base))
}

/// Returns a path without the directories that a `..` leaves again, unless these are links.
fn without_parents(path: &Path) -> PathBuf {
    let mut shorter = PathBuf::new();
    for component in path.components() {
        match (component, shorter.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => drop(shorter.pop()),
            _ => shorter.push(component),
        }
    }
    let directory = |path: &Path| Path::new(".").join(path.parent()?).canonicalize().ok();
    if directory(&shorter) == directory(path) { shorter } else { path.to_owned() }
}

fn find<'n>(root: &'n Node, key: &'n str, problems: &'n Problems<'n>) -> Option<Field<'n>> {
    root.get(key).filter(|it| !it.is_null()).map(|it| it.field(key, problems))
}

impl Config {
    /// Turns the positions of a configuration that is extended into texts: positions are those of the file that extends it.
    fn forget_positions(&mut self, file: &Path) {
        let name = |problem: &mut Problem| {
            let place = problem.place.take().map(|it| format!(":{}:{}", it.line, it.column));
            let place = place.unwrap_or_default();
            problem.message = format!("{}{place}: {}", file.display(), problem.message);
        };
        self.warnings.iter_mut().chain(&mut self.notes).for_each(name);
        self.missing.iter_mut().for_each(|missing| name(&mut missing.problem));
        self.judge_place = None;
        for evaluator in &mut self.evaluators {
            (evaluator.place, evaluator.models_place) = (None, None);
        }
    }
}
