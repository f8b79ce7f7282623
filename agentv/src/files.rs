//! Reads the files that belong to an eval file, and collects the problems in them.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use evaluator_document::{
    ConfigError, Field, Node, NodeKind, Problem, Problems, Span, Syntax, load, read_json,
    read_yaml_core,
};

use crate::model::Warning;

/// Problems and warnings of several files. A file with a problem is never used, so readers may treat a wrong value as absent
/// once they have added the problem.
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
    /// Returns the position of a value: file, line and column.
    pub(crate) fn position(&self, node: &Node) -> String {
        let place = self.problems.place(node.span);
        format!("{}:{}:{}", self.file.display(), place.line, place.column)
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
        let text = regular(file, noun).map_err(|error| self.add(error)).ok()?;
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
            Syntax::Json => json(text, 0, &problems).map(Some).ok_or(()),
        };
        let value = root.ok().and_then(|root| read(root, Opened { file, problems: &problems }));
        self.checked(file, &problems, value)
    }

    /// Reads JSON lines; blank ones are skipped.
    pub(crate) fn read_lines<T>(
        &self,
        file: &Path,
        text: &str,
        read: impl FnOnce(Vec<Node>, Opened<'_>) -> Option<T>,
    ) -> Option<T> {
        let problems = Problems::new(text, Syntax::Json);
        let mut offset = 0;
        let rows = all(text.split_inclusive('\n').filter_map(|line| {
            let start = offset;
            offset += line.len();
            (!line.trim().is_empty()).then(|| json(line, start, &problems))
        }));
        let value = rows.and_then(|rows| read(rows, Opened { file, problems: &problems }));
        self.checked(file, &problems, value)
    }

    /// Keeps the warnings and the problems of a file. Returns the value if there are no problems.
    fn checked<T>(&self, file: &Path, problems: &Problems<'_>, value: Option<T>) -> Option<T> {
        let warnings = problems.remarks().0;
        let of_file =
            |problem: &Problem| Warning { file: file.to_owned(), problem: problem.clone() };
        self.warnings.borrow_mut().extend(warnings.iter().map(of_file));
        let Some(mut error) = problems.error(file) else { return value };
        // What a warning says about a value explains a problem with the same value.
        for problem in error.problems.iter_mut().filter(|problem| problem.hint.is_none()) {
            let same = |it: &&Problem| it.place.is_some() && it.place == problem.place;
            problem.hint = warnings.iter().find(same).map(|it| it.message.clone());
        }
        self.add(error);
        None
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

/// Reads the text of a file that another file names. Devices and FIFOs may have no end.
pub(crate) fn regular(file: &Path, noun: &str) -> Result<String, ConfigError> {
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(ConfigError::new(file, format!("the {noun} is not a regular file"), None));
    }
    load(file, noun)
}

/// Reads a JSON document that starts at an offset of its file.
fn json(text: &str, offset: usize, problems: &Problems<'_>) -> Option<Node> {
    match read_json(text) {
        Ok(mut document) => {
            for again in &document.repeated {
                let message = format!("the key `{}` is repeated", again.key);
                problems.add(moved(again.again, offset), message).hint("keep one of them");
            }
            shift(&mut document.root, offset);
            Some(document.root)
        }
        Err(error) => {
            let start = offset + error.offset;
            problems.add(Span { start, end: start + 1 }, format!("not JSON: {}", error.kind)).none()
        }
    }
}

fn moved(span: Span, offset: usize) -> Span {
    Span { start: span.start + offset, end: span.end + offset }
}

fn shift(node: &mut Node, offset: usize) {
    node.span = moved(node.span, offset);
    match &mut node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| shift(item, offset)),
        NodeKind::Mapping(entries) => {
            for (key, value) in entries {
                shift(key, offset);
                shift(value, offset);
            }
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

/// Reads all items, also behind a problem. `None` after one.
pub(crate) fn all<T>(read: impl IntoIterator<Item = Option<T>>) -> Option<Vec<T>> {
    read.into_iter().collect::<Vec<_>>().into_iter().collect()
}

/// Returns text, which may be empty.
pub(crate) fn any_text(field: &Field<'_>) -> Option<String> {
    match field.node.as_str() {
        Some(text) => Some(text.to_owned()),
        None => field.expected("text").none(),
    }
}

/// Returns true if a file has this extension.
pub(crate) fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|it| it.eq_ignore_ascii_case(extension))
}

/// Returns the syntax of a file by its extension.
pub(crate) fn syntax_of(file: &Path) -> Syntax {
    if has_extension(file, "json") { Syntax::Json } else { Syntax::Yaml }
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
