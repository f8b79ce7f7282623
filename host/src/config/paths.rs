//! Relative paths of a configuration.
//!
//! A relative path is relative to the directory of the configuration file. A path that does not exist there but in the
//! working directory is used as well, with a warning: agentevals looks only there, and the same file has to work under
//! both. The name of a command is looked for next to the configuration, then on `PATH`.

use std::{
    cell::RefCell,
    env, io, mem,
    path::{Path, PathBuf},
};

use evaluator_document::{Field, Problem, Problems, Span};

use crate::runtime::Environment;

/// Required kind of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathKind {
    File,
    Directory,
    /// The file of a program, or a command on `PATH` if the path is a bare name.
    Command,
}

/// A path that a configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedPath {
    /// Resolved path.
    pub path: PathBuf,
    /// True if what matters is that the directory exists: programs run in it or write to it.
    pub is_place: bool,
}

/// Resolves the paths of one configuration while it is read.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Directory of the configuration; `None` if the configuration is not a file, and its paths are not resolved.
    directory: Option<PathBuf>,
    /// Paths that do not exist.
    missing: RefCell<Vec<MissingPath>>,
    /// Paths that exist.
    named: RefCell<Vec<NamedPath>>,
    /// Paths that exist in the working directory only.
    in_working_directory: RefCell<Vec<(Span, String)>>,
}

/// A path that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingPath {
    /// Resolved path.
    pub(super) path: PathBuf,
    pub(super) is_eval_set: bool,
    pub(super) problem: Problem,
}

impl Paths {
    /// Creates the resolver of the configuration `file`.
    pub(super) fn of(file: &Path) -> Self {
        // Paths in a configuration from a pipe or /dev/stdin are relative to the working directory.
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        let directory = if is_file { file.parent().unwrap_or(file) } else { Path::new("") };
        Self { directory: Some(directory.to_owned()), ..Self::default() }
    }

    /// Returns the directory of the configuration; `None` if it is not a file.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Resolves a field that is a path.
    pub(super) fn read(&self, field: Field<'_>, kind: PathKind) -> Option<PathBuf> {
        Some(self.locate(field, field.text()?, kind))
    }

    /// Resolves `text`, the path in `field`. A path that does not exist is reported by
    /// [`Config::ensure_runnable`](super::Config::ensure_runnable).
    pub(super) fn locate(&self, field: Field<'_>, text: &str, kind: PathKind) -> PathBuf {
        let written = PathBuf::from(text);
        let Some(directory) = &self.directory else { return written };
        let path = directory.join(&written);
        let is_place = kind == PathKind::Directory;
        let note = |path: PathBuf| self.note(path, is_place);
        let error = match check(&path, kind) {
            Ok(()) => return note(path),
            Err(error) => error,
        };
        let is_command = kind == PathKind::Command && written.components().count() == 1;
        if is_command && let Some(program) = Environment::inherited().find_program(&written) {
            return note(program);
        }
        let (key, span) = (field.key, field.node.span);
        if path != written && check(&written, kind).is_ok() {
            self.in_working_directory.borrow_mut().push((span, format!("`{key}: {text}`")));
            return note(written);
        }
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let also = if is_command { ", and no command on PATH has this name" } else { "" };
        let message = format!("`{key}` names {}, {error}{also}", absolute.display());
        let is_below = written.is_relative() && !directory.as_os_str().is_empty();
        let hint = unexpanded(text).or_else(|| {
            is_below.then(|| "paths are relative to the configuration file".to_owned())
        });
        let problem = Problem::new(message, Some(field.problems.place(span)), hint);
        let (is_eval_set, missing) = (key == "eval_set", path.clone());
        self.missing.borrow_mut().push(MissingPath { path: missing, is_eval_set, problem });
        path
    }

    /// Adds a path to those that the configuration names, and returns it.
    pub(super) fn note(&self, path: PathBuf, is_place: bool) -> PathBuf {
        self.named.borrow_mut().push(NamedPath { path: path.clone(), is_place });
        path
    }

    /// Returns the paths that the configuration names.
    pub(super) fn take_named(&self) -> Vec<NamedPath> {
        mem::take(&mut *self.named.borrow_mut())
    }

    /// Returns true if the configuration is a file and `path`, as it was resolved, is one.
    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.directory.is_some() && path.is_file()
    }

    /// Returns true for anything that exists; false if nothing is known about files.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.directory.is_some() && path.exists()
    }

    /// Returns the file of a Python module next to the configuration, or `None` if it does not exist.
    pub(super) fn python_module(&self, module: &str) -> Option<PathBuf> {
        let path = self.directory.as_ref()?.join(python_file(module));
        path.is_file().then(|| self.note(path, false))
    }

    /// Warns of paths that exist in the working directory only, and returns those that do not exist.
    pub(super) fn finish(self, problems: &Problems<'_>) -> Vec<MissingPath> {
        let elsewhere = mem::take(&mut *self.in_working_directory.borrow_mut());
        if let Some((span, first)) = elsewhere.first() {
            let more = match elsewhere.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count.saturating_sub(1)),
            };
            let message = format!(
                "{first}{more} does not exist next to the configuration; the one in the working directory is used"
            );
            problems.warn(*span, message).hint("write the path relative to the configuration file");
        }
        self.missing.into_inner()
    }
}

impl evaluator_judging::Paths for Paths {
    fn existing(&self, field: Field<'_>) -> Option<PathBuf> {
        self.read(field, PathKind::File)
    }

    fn written(&self, field: Field<'_>) -> Option<PathBuf> {
        let text = field.text()?;
        if let Some(hint) = unexpanded(text) {
            let message = format!("`{}: {text}` is not a path that a program can open", field.key);
            return field.add(message).hint(hint).none();
        }
        let path = PathBuf::from(text);
        Some(match &self.directory {
            None => path,
            Some(directory) => self.note(directory.join(path), false),
        })
    }
}

/// Returns what to write in place of a path that only a shell expands.
fn unexpanded(text: &str) -> Option<String> {
    let (start, rest) = text.split_once('/').unwrap_or((text, ""));
    if !start.starts_with(['~', '$']) {
        return None;
    }
    let is_home = ["~", "$HOME", "${HOME}"].contains(&start);
    let home = env::var_os("HOME").filter(|home| is_home && !home.is_empty());
    let instead = match home {
        Some(home) if rest.is_empty() => home.display().to_string(),
        Some(home) => Path::new(&home).join(rest).display().to_string(),
        None => "the whole path".to_owned(),
    };
    Some(format!("`{start}` is not expanded; write {instead}"))
}

/// Returns the relative path of a Python module: `a/b.py` for `a.b`.
pub(super) fn python_file(module: &str) -> String {
    module.replace('.', "/") + ".py"
}

/// Checks that a file of this kind is at `path`. The error continues a sentence that ends with the path.
fn check(path: &Path, kind: PathKind) -> Result<(), String> {
    let wrong = |message: &str| Err(message.to_owned());
    match path.metadata() {
        Ok(found) if kind == PathKind::Directory && !found.is_dir() => {
            wrong("which is not a directory")
        }
        Ok(found) if kind == PathKind::Command && found.is_dir() => wrong("which is a directory"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => wrong("which does not exist"),
        Err(error) => Err(format!("which cannot be used: {error}")),
    }
}
