//! Files of a project on their way into a bundle, and what may not be among them.

use std::{
    env, fs,
    path::{Component, Path, PathBuf},
};

use evaluator_host::{
    run::BUNDLED,
    runtime::{paths, secrets::looks_secret},
};
use memchr::memmem;

use crate::{archive::below, error::BundleError, manifest};

/// Name of this program in a bundle.
pub(crate) const PROGRAM: &str = "evaluator";

/// Name of the configuration in a bundle.
pub(crate) const CONFIG: &str = "eval_config.yaml";

/// Shortest value of a variable that is looked for. Shorter ones occur by chance.
const SHORTEST_SECRET: usize = 8;

/// A directory that becomes a bundle.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Directory of the configuration, without links.
    project: PathBuf,
    /// Directory of the bundle, without links.
    pub(crate) directory: PathBuf,
    /// The archive of an earlier bundle, which is replaced; it is not in the new one.
    replaced: Option<PathBuf>,
    /// What cannot be in it, each with the reason.
    pub(crate) refused: Vec<String>,
}

impl Contents {
    /// Starts a bundle of the project of a configuration.
    pub(crate) fn new(config: &Path, directory: &Path, out: &Path) -> Result<Self, BundleError> {
        let opened = |path: &Path| path.canonicalize().map_err(BundleError::disk("open", path));
        let own = config.parent().filter(|it| !it.as_os_str().is_empty());
        let project = opened(own.unwrap_or(Path::new(".")))?;
        let directory = opened(directory)?;
        copy(config, &directory.join(CONFIG))?;
        let replaced = out.canonicalize().ok();
        Ok(Self { project, directory, replaced, refused: Vec::new() })
    }

    /// Returns the path of a file in the bundle, relative to that; `None`, after a note, if it cannot be there.
    pub(crate) fn name(&mut self, path: &Path) -> Option<PathBuf> {
        let path = paths::absolute(path);
        let is_inside = path.canonicalize().is_ok_and(|real| real.starts_with(&self.project));
        let name = path.strip_prefix(&self.project).ok().filter(|_| is_inside);
        let (shown, directory) = (path.display(), self.project.display());
        let reason = match name {
            None => format!(
                "{shown}: it is outside of {directory}, the directory of the configuration; copy it there, or move the \
                 configuration up"
            ),
            Some(name) => match name.components().next() {
                Some(Component::Normal(first))
                    if [PROGRAM, manifest::FILE, BUNDLED].iter().any(|it| first == *it) =>
                {
                    format!("{shown}: a bundle has files of its own of this name; rename it")
                }
                _ if name == Path::new(CONFIG) && !self.is_config(&path) => {
                    format!("{shown}: the configuration gets this name in a bundle; rename it")
                }
                _ => return Some(name.to_owned()),
            },
        };
        if !self.refused.contains(&reason) {
            self.refused.push(reason);
        }
        None
    }

    /// Returns true if a file is what the bundle has as its configuration.
    fn is_config(&self, path: &Path) -> bool {
        fs::read(path).ok() == fs::read(self.directory.join(CONFIG)).ok()
    }

    /// Adds a file, or a directory with everything in it.
    pub(crate) fn add(&mut self, path: &Path) -> Result<(), BundleError> {
        if self.replaced.is_some() && path.canonicalize().ok() == self.replaced {
            return Ok(());
        }
        let Some(name) = self.name(path) else { return Ok(()) };
        let metadata = fs::symlink_metadata(path).map_err(BundleError::disk("read", path))?;
        let to = self.directory.join(&name);
        if metadata.is_symlink() && (path.is_dir() || is_in_packages(&name)) {
            let target = fs::read_link(path).map_err(BundleError::disk("read", path))?;
            if target.is_relative() {
                return link(&target, &to);
            }
        }
        if path.is_file() {
            return copy(path, &to);
        }
        if !path.is_dir() {
            let path = path.display();
            self.refused.push(format!("{path}: it is neither a file nor a directory"));
            return Ok(());
        }
        fs::create_dir_all(&to).map_err(BundleError::disk("make", &to))?;
        let failed = |error| BundleError::disk("read", path)(error);
        for entry in fs::read_dir(path).map_err(failed)? {
            self.add(&entry.map_err(failed)?.path())?;
        }
        Ok(())
    }

    /// Adds a directory without what is in it: programs run in it.
    pub(crate) fn add_place(&mut self, path: &Path) -> Result<(), BundleError> {
        let Some(name) = self.name(path) else { return Ok(()) };
        let to = self.directory.join(name);
        fs::create_dir_all(&to).map_err(BundleError::disk("make", &to))
    }

    /// Notes files that have the value of a variable of this process that looks like a key, and links to what is not in the bundle.
    pub(crate) fn refuse_secrets_and_links(&mut self) -> Result<(), BundleError> {
        let secrets: Vec<(String, String)> = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, value)| value.len() >= SHORTEST_SECRET && looks_secret(name, value))
            .collect();
        let directory = &self.directory;
        for path in below(directory).map_err(BundleError::disk("read", directory))? {
            let name = path.strip_prefix(directory).unwrap_or(&path).display();
            let read = |error| BundleError::disk("read", &path)(error);
            if path.is_symlink() {
                let target = fs::read_link(&path).map_err(read)?;
                let is_inside = |target: PathBuf| target.starts_with(directory);
                if !path.canonicalize().is_ok_and(is_inside) {
                    let target = target.display();
                    self.refused.push(format!(
                        "{name}: it is a link to {target}, which is not in the bundle; name that with --include, or copy it"
                    ));
                }
            } else if path.is_file() && !secrets.is_empty() {
                let text = fs::read(&path).map_err(read)?;
                let has = |value: &str| memmem::find(&text, value.as_bytes()).is_some();
                let found = secrets.iter().filter(|(_, value)| has(value));
                self.refused.extend(found.map(|(variable, _)| {
                    format!("{name}: it has the value of the variable {variable}, which looks like a key; name the variable instead")
                }));
            }
        }
        Ok(())
    }

    /// Returns the reasons, if there are any.
    pub(crate) fn ensure_whole(&self) -> Result<(), BundleError> {
        let refused = || Err(BundleError::Refused(self.refused.clone()));
        if self.refused.is_empty() { Ok(()) } else { refused() }
    }
}

/// Returns true if a file belongs to an installed package.
fn is_in_packages(name: &Path) -> bool {
    name.starts_with(Path::new(BUNDLED).join("python"))
        || name.components().any(|part| part.as_os_str() == "node_modules")
}

/// Copies a file with its mode, to a directory that is made if it does not exist.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), BundleError> {
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).map_err(BundleError::disk("make", directory))?;
    }
    fs::copy(from, to).map(drop).map_err(BundleError::disk("copy", from))
}

#[cfg(unix)]
fn link(target: &Path, to: &Path) -> Result<(), BundleError> {
    if to.is_symlink() {
        return Ok(());
    }
    std::os::unix::fs::symlink(target, to).map_err(BundleError::disk("make", to))
}

/// Links of packages are of Unix: elsewhere, npm writes files.
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result<(), BundleError> {
    Ok(())
}
