//! Relative paths of a configuration.
//!
//! A relative path is relative to the directory of the configuration file. A path that does not exist there but in the
//! working directory is used as well, with a warning: agentevals looks only there, and the same file has to work under
//! both. The name of a command is looked for next to the configuration, then on `PATH`.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    fields::Problems,
    problem::{Place, Problem},
    yaml::Span,
};
use crate::runtime::Environment;

/// What a path must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    File,
    Directory,
    /// The file of a program, or a command on `PATH` if the path is a bare name.
    Command,
}

/// Paths of one configuration, resolved while it is read.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Directory of the configuration; `None` if the configuration is not a file, and its paths are left as they are.
    directory: Option<PathBuf>,
    /// Paths that do not exist.
    missing: Vec<MissingPath>,
    /// Paths that exist in the working directory only.
    in_working_directory: Vec<(Span, String)>,
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingPath {
    /// Path as it was resolved.
    pub(super) path: PathBuf,
    pub(super) is_eval_set: bool,
    pub(super) problem: Problem,
}

impl Paths {
    /// For the configuration `file`.
    pub(super) fn of(file: &Path) -> Self {
        // There is nothing next to a pipe, and next to /dev/stdin only what was not meant.
        let is_file = file.metadata().is_ok_and(|found| found.is_file());
        let directory = if is_file { file.parent().unwrap_or(file) } else { Path::new("") };
        Self { directory: Some(directory.to_owned()), ..Self::default() }
    }
}

impl Problems<'_> {
    /// Path of the file that `text`, the value of `key` at `span`, stands for. What does not exist is kept for
    /// [`Config::ensure_runnable`](super::Config::ensure_runnable).
    pub(super) fn locate(&mut self, key: &str, text: &str, span: Span, leads: Leads) -> PathBuf {
        let written = PathBuf::from(text);
        let Some(directory) = &self.paths.directory else { return written };
        let path = directory.join(&written);
        let error = match reach(&path, leads) {
            Ok(()) => return path,
            Err(error) => error,
        };
        let is_elsewhere = path != written && reach(&written, leads).is_ok();
        let is_bare = written.components().count() == 1;
        if leads == Leads::Command
            && is_bare
            && let Some(program) = Environment::inherited().find_program(&written)
        {
            return program;
        }
        if is_elsewhere {
            self.paths.in_working_directory.push((span, format!("`{key}: {text}`")));
            return written;
        }
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let also = match leads {
            Leads::Command if is_bare => ", and no command on PATH has this name",
            _ => "",
        };
        let hint = if written.is_relative() && !directory.as_os_str().is_empty() {
            Some("paths are relative to the configuration file".to_owned())
        } else {
            None
        };
        let problem = Problem {
            message: format!("`{key}` names {}, {error}{also}", absolute.display()),
            place: Some(Place::new(self.text, span)),
            hint,
        };
        self.paths.missing.push(MissingPath {
            path: path.clone(),
            is_eval_set: key == "eval_set",
            problem,
        });
        path
    }

    /// Warns of paths that exist in the working directory only, and returns those that exist nowhere.
    pub(super) fn finish_paths(&mut self) -> Vec<MissingPath> {
        let elsewhere = std::mem::take(&mut self.paths.in_working_directory);
        if let Some((span, first)) = elsewhere.first() {
            let more = match elsewhere.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count.saturating_sub(1)),
            };
            let message = format!(
                "{first}{more} does not exist next to the configuration; the one in the working directory is used"
            );
            let hint = "write the path relative to the configuration file".to_owned();
            self.warn(*span, message, Some(hint));
        }
        std::mem::take(&mut self.paths.missing)
    }
}

/// Whether something of this kind is at `path`; the error is read after the path.
fn reach(path: &Path, leads: Leads) -> Result<(), String> {
    match path.metadata() {
        Ok(found) if leads == Leads::Directory && !found.is_dir() => {
            Err("which is not a directory".to_owned())
        }
        Ok(found) if leads == Leads::Command && found.is_dir() => {
            Err("which is a directory".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("which does not exist".to_owned())
        }
        Err(error) => Err(format!("which cannot be used: {error}")),
    }
}
