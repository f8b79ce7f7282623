//! Reads the files that belong to an eval file, and collects the problems in them.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use evaluator_document::{
    ConfigError, Node, Problem, Problems, Syntax, load, read_json, read_yaml_core,
};

use crate::model::{Position, Warning};

/// Problems and warnings of several files.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: RefCell<Vec<ConfigError>>,
    warnings: RefCell<Vec<Warning>>,
}

/// A file that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'f> {
    /// File.
    pub(crate) file: &'f Path,
    /// Problems in it.
    pub(crate) problems: &'f Problems<'f>,
}

impl Opened<'_> {
    /// Returns the position of a value.
    pub(crate) fn position(&self, node: &Node) -> Position {
        let place = self.problems.place(node.span);
        Position { file: self.file.to_owned(), line: place.line, column: place.column }
    }
}

impl Findings {
    /// Adds a problem with a whole file.
    pub(crate) fn add(&self, error: ConfigError) {
        self.errors.borrow_mut().push(error);
    }

    /// Reads a YAML or JSON file; the extension decides.
    pub(crate) fn read<T>(
        &self,
        file: &Path,
        noun: &str,
        read: impl FnOnce(Option<Node>, Opened<'_>) -> Option<T>,
    ) -> Option<T> {
        let text = load(file, noun).map_err(|error| self.add(error)).ok()?;
        self.read_text(file, &text, syntax_of(file), read)
    }

    /// Reads text of a file.
    pub(crate) fn read_text<T>(
        &self,
        file: &Path,
        text: &str,
        syntax: Syntax,
        read: impl FnOnce(Option<Node>, Opened<'_>) -> Option<T>,
    ) -> Option<T> {
        let problems = Problems::new(text, syntax);
        let root = match syntax {
            Syntax::Yaml => read_yaml_core(text).map_err(|error| {
                problems.add(error.span, error.message);
            }),
            Syntax::Json => parse_json(text, &problems),
        };
        let value = root.ok().and_then(|root| read(root, Opened { file, problems: &problems }));
        let (warnings, _) = problems.remarks();
        self.warn(file, warnings);
        match problems.error(file) {
            Some(error) => {
                self.add(error);
                None
            }
            None => value,
        }
    }

    pub(crate) fn warn(&self, file: &Path, problems: Vec<Problem>) {
        let warnings =
            problems.into_iter().map(|problem| Warning { file: file.to_owned(), problem });
        self.warnings.borrow_mut().extend(warnings);
    }

    /// Returns the warnings.
    ///
    /// # Errors
    ///
    /// Some file has a problem.
    pub(crate) fn finish(self) -> Result<Vec<Warning>, Vec<ConfigError>> {
        let errors = merged(self.errors.into_inner());
        if errors.is_empty() { Ok(self.warnings.into_inner()) } else { Err(errors) }
    }
}

fn parse_json(text: &str, problems: &Problems<'_>) -> Result<Option<Node>, ()> {
    match read_json(text) {
        Ok(document) => {
            for again in &document.repeated {
                let message = format!("the key `{}` is repeated", again.key);
                problems.add(again.again, message).hint("keep one of them");
            }
            Ok(Some(document.root))
        }
        Err(error) => {
            let span = evaluator_document::Span { start: error.offset, end: error.offset + 1 };
            problems.add(span, format!("not JSON: {error}"));
            Err(())
        }
    }
}

/// Joins errors of the same file, e.g. of the lines of a JSONL file or of a template that is included twice.
fn merged(errors: Vec<ConfigError>) -> Vec<ConfigError> {
    let mut merged: Vec<ConfigError> = Vec::new();
    for error in errors {
        match merged.iter_mut().find(|known| known.file == error.file) {
            Some(known) => {
                if known.source_text.is_empty() {
                    known.source_text = error.source_text;
                }
                for problem in error.problems {
                    if !known.problems.contains(&problem) {
                        known.problems.push(problem);
                    }
                }
            }
            None => merged.push(error),
        }
    }
    merged
}

/// Returns the syntax of a file by its extension.
pub(crate) fn syntax_of(file: &Path) -> Syntax {
    match file.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("json") => Syntax::Json,
        _ => Syntax::Yaml,
    }
}

/// Places in which files are looked for that an eval file names.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Directories in the order of the search.
    directories: Vec<PathBuf>,
}

impl Places {
    /// Returns the places of the files of a directory: itself, its parents up to the repository, and the working directory.
    pub(crate) fn new(directory: &Path, working_directory: &Path) -> Self {
        let is_root = |path: &&Path| path.join(".git").exists();
        let root = directory.ancestors().find(is_root).unwrap_or(working_directory);
        let mut directories = vec![directory.to_owned()];
        if directory.starts_with(root) {
            let parents = directory.ancestors().skip(1);
            directories.extend(parents.take_while(|it| it.starts_with(root)).map(Path::to_owned));
        }
        if !directories.iter().any(|known| known == working_directory) {
            directories.push(working_directory.to_owned());
        }
        Self { directories }
    }

    /// Returns the first existing file of several names; directories nearer to the eval file come first.
    pub(crate) fn find_any(&self, names: &[&str]) -> Option<PathBuf> {
        let mut files =
            self.directories.iter().flat_map(|it| names.iter().map(|name| it.join(name)));
        files.find(|file| file.is_file())
    }

    /// Returns the first existing file of that name. A leading `/` is ignored if the absolute path does not exist.
    pub(crate) fn find(&self, path: &str) -> Option<PathBuf> {
        let absolute = Path::new(path);
        if absolute.is_absolute() && absolute.exists() {
            return Some(absolute.to_owned());
        }
        let relative = path.trim_start_matches('/');
        if relative.is_empty() {
            return None;
        }
        self.directories.iter().map(|it| it.join(relative)).find(|it| it.exists())
    }
}
