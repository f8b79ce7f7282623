//! Finds directories of evaluators and reads their `evaluator.yaml`.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use evaluator_document::{
    self as document, ConfigError, Field, Node, NodeKind, Place, Problems, Span,
};
use evaluator_protocol::Manifest;

use crate::{runtime::Language, source::is_plain};

/// File name of a manifest.
pub const FILE_NAME: &str = "evaluator.yaml";

/// A valid manifest and its location.
#[derive(Clone, Debug)]
pub struct LoadedManifest {
    /// Content.
    pub manifest: Manifest,
    /// Its language.
    pub language: Language,
    /// Directory of the evaluator, as it was given.
    pub directory: PathBuf,
    /// Text of the manifest, for messages that quote it.
    pub source_text: String,
    /// Position of the name.
    pub name_place: Place,
}

impl LoadedManifest {
    /// Reads and checks the manifest of the evaluator in `directory`: its keys, that its name is that of the directory, and that its
    /// entrypoint exists in the directory and has the extension of the language. Runs nothing.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn load(directory: &Path) -> Result<Self, ConfigError> {
        let file = directory.join(FILE_NAME);
        let wrong = |message: &str, hint| ConfigError::new(&file, message.to_owned(), hint);
        if !has_manifest(directory) {
            let misnamed = misnamed(directory).ok().flatten();
            let hint = misnamed.map(|other| format!("rename {}", other.display()));
            return Err(wrong("there is no such file", hint));
        }
        // Reading a pipe could block.
        if file.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(wrong("the manifest is not a file", None));
        }
        let source_text = document::load(&file, "manifest")?;
        let (manifest, language, name) =
            document::parse(&source_text, &file, |root, problems| read(root, directory, problems))?;
        let name_place = Place::new(&source_text, name);
        Ok(Self { manifest, language, directory: directory.to_owned(), source_text, name_place })
    }

    /// Returns the path of the manifest.
    pub fn file(&self) -> PathBuf {
        self.directory.join(FILE_NAME)
    }

    /// Returns the path of the entrypoint.
    pub fn entrypoint(&self) -> PathBuf {
        self.directory.join(&self.manifest.entrypoint)
    }
}

/// Reads a manifest. Returns `None` if there are problems.
fn read(
    root: Option<&Node>,
    directory: &Path,
    problems: &Problems<'_>,
) -> Option<(Manifest, Language, Span)> {
    let Some(node @ Node { kind: NodeKind::Mapping(_), span }) = root else {
        let message = |noun: &str| {
            format!("a manifest is a mapping with the key `name` and others, not {noun}")
        };
        return match root {
            Some(node) => problems.add(node.span, message(node.noun())).none(),
            None => problems.add_to_file(message("nothing")).none(),
        };
    };
    let start = Span { start: span.start, end: span.start };
    let mut fields = node.field("", problems).fields("the manifest")?;
    let mut required = |key: &'static str| {
        let field = fields.take(key);
        if field.is_none() {
            problems.add(start, format!("the key `{key}` is missing"));
        }
        field.and_then(|field| Some((field.text()?, field)))
    };
    let name = required("name");
    let description = required("description");
    let language =
        required("language").and_then(|(_, field)| Some((field.choice(&languages())?, field)));
    let entrypoint = required("entrypoint");
    fields.null_is_absent();
    let tags = fields.take("tags").map(tags).unwrap_or_default();
    let author = fields.take("author").map(author).unwrap_or_default();
    fields.finish();

    if let Some((name, field)) = name {
        check_name(name, field, directory);
    }
    if let Some((path, field)) = entrypoint {
        check_entrypoint(field, directory, path, language.map(|(language, _)| language));
    }
    if let Some((Language::Rust, field)) = language {
        check_package(field, directory);
    }

    let (name, name_field) = name?;
    let mut manifest = Manifest::default();
    manifest.name = name.to_owned();
    manifest.description = description?.0.to_owned();
    let (language, _) = language?;
    manifest.language = language.as_str().to_owned();
    manifest.entrypoint = entrypoint?.0.to_owned();
    manifest.tags = tags;
    manifest.author = author;
    Some((manifest, language, name_field.node.span))
}

fn check_package(field: Field<'_>, directory: &Path) {
    if !directory.join("Cargo.toml").is_file() {
        let message = format!("{} does not exist", directory.join("Cargo.toml").display());
        let hint = "`cargo init` makes one; an evaluator in Rust is fetched as a package";
        field.add(message).hint(hint);
    }
}

fn check_name(name: &str, field: Field<'_>, directory: &Path) {
    if !is_plain(name) {
        let message =
            format!("`name` cannot be `{name}`: hosts would not fetch a directory of that name");
        field.add(message).hint("use letters, digits, `_`, `-`, and dots between them");
        return;
    }
    match name_of(directory) {
        Some(directory_name) if directory_name != name => {
            let message =
                format!("`name` is `{name}`, but the directory is called `{directory_name}`");
            field.add(message).hint("give both the same name");
        }
        // The root of a file system has no name to compare with.
        _ => {}
    }
}

/// Returns the name of a directory, however its path is written.
fn name_of(directory: &Path) -> Option<String> {
    let written = match directory.components().next_back() {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => directory.canonicalize().ok()?.file_name().map(ToOwned::to_owned),
    };
    Some(written?.to_string_lossy().into_owned())
}

fn tags(field: Field<'_>) -> Vec<String> {
    if !matches!(field.node.kind, NodeKind::Sequence(_)) {
        field.expected("a list").hint("for example [quality, tools]");
        return Vec::new();
    }
    let items = field.items().unwrap_or_default();
    items.iter().filter_map(|item| item.text()).map(str::to_owned).collect()
}

/// A scaffold has an empty one until its author fills it in.
fn author(field: Field<'_>) -> String {
    match field.node.as_str() {
        Some("") => String::new(),
        _ => field.text().unwrap_or_default().to_owned(),
    }
}

/// Checks that an entrypoint is a file in the directory, with the extension of the language. Returns `None` if it is not.
fn check_entrypoint(
    field: Field<'_>,
    directory: &Path,
    entrypoint: &str,
    language: Option<Language>,
) -> Option<()> {
    check_inside(field, entrypoint)?;
    if let Some(language) = language {
        check_extension(field, entrypoint, language)?;
    }
    let resolved = match directory.join(entrypoint).canonicalize() {
        Ok(resolved) => resolved,
        Err(error) => {
            let problem = match error.kind() {
                io::ErrorKind::NotFound => {
                    format!("`entrypoint` names a file that does not exist: `{entrypoint}`")
                }
                _ => format!("`entrypoint` cannot be opened: {error}"),
            };
            return field.add(problem).none();
        }
    };
    if !directory.canonicalize().is_ok_and(|directory| resolved.starts_with(directory)) {
        let problem = format!(
            "`entrypoint` leaves the directory of the evaluator: `{entrypoint}` leads to {}",
            resolved.display()
        );
        return field.add(problem).hint("put the file itself there instead of the link").none();
    }
    if !resolved.is_file() {
        return field.add(format!("`entrypoint` is not a file: `{entrypoint}`")).none();
    }
    Some(())
}

/// Checks that the text is a path below a directory, in the form that every host accepts.
fn check_inside(field: Field<'_>, entrypoint: &str) -> Option<()> {
    let wrong = |problem: &str, hint: &str| field.add(problem.to_owned()).hint(hint).none();
    if entrypoint.contains('\\') {
        return wrong("`entrypoint` has a backslash", "write `/` between directories");
    }
    if entrypoint.starts_with('/') || Path::new(entrypoint).is_absolute() {
        let hint = "write it relative to the directory of the manifest";
        return wrong("`entrypoint` is an absolute path", hint);
    }
    let parts: Vec<&str> = entrypoint.split('/').collect();
    if parts.contains(&"..") {
        let hint = "an evaluator is fetched as one directory; nothing outside of it is there";
        return wrong("`entrypoint` leaves the directory of the evaluator", hint);
    }
    if parts.iter().any(|part| part.is_empty() || *part == ".") {
        let plain: Vec<&str> =
            parts.into_iter().filter(|part| !part.is_empty() && *part != ".").collect();
        return wrong("`entrypoint` is not a plain path", &format!("write `{}`", plain.join("/")));
    }
    let Some(part) = parts.iter().find(|part| !is_plain(part)) else { return Some(()) };
    wrong(
        &format!("`entrypoint` has a name that hosts do not fetch: `{part}`"),
        "use letters, digits, `_`, `-`, and dots between them",
    )
}

/// Returns the languages by their names.
fn languages() -> Vec<(&'static str, Language)> {
    Language::ALL.iter().map(|language| (language.as_str(), *language)).collect()
}

fn check_extension(field: Field<'_>, entrypoint: &str, language: Language) -> Option<()> {
    if entrypoint.ends_with(language.extension()) {
        return Some(());
    }
    let mut languages = Language::ALL.iter();
    let other = languages
        .find(|other| entrypoint.ends_with(other.extension()))
        .map(|other| format!("a file like this is `language: {other}`"));
    let problem = format!(
        "`entrypoint` must end in {} where `language` is {language}: `{entrypoint}`",
        language.extension()
    );
    field.add(problem).maybe_hint(other).none()
}

/// Name of the directory of evaluators in a repository.
pub const EVALUATORS: &str = "evaluators";

/// Maximum edit distance of a misspelled manifest name.
const NEAR: usize = 2;

/// Content of a directory of evaluators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// Directories with a manifest, sorted by name.
    pub evaluators: Vec<PathBuf>,
    /// Directories without a manifest, sorted by name.
    pub others: Vec<PathBuf>,
    /// Files with almost the name of a manifest, in directories without one.
    pub misnamed: Vec<PathBuf>,
}

/// Finds directories with a manifest directly in `directory`, except hidden ones.
///
/// # Errors
///
/// A directory cannot be listed.
pub fn discover(directory: &Path) -> io::Result<Discovered> {
    let mut found = Discovered::default();
    for name in names(directory)? {
        let path = directory.join(&name);
        if name.starts_with('.') || !path.is_dir() {
            continue;
        }
        if has_manifest(&path) {
            found.evaluators.push(path);
        } else {
            found.misnamed.extend(misnamed(&path)?);
            found.others.push(path);
        }
    }
    Ok(found)
}

/// Returns the directory of evaluators that `directory` stands for: itself, or its subdirectory `evaluators`.
pub fn home(directory: &Path) -> PathBuf {
    let inner = directory.join(EVALUATORS);
    let has_evaluators =
        |directory: &Path| discover(directory).is_ok_and(|found| !found.evaluators.is_empty());
    if !has_evaluators(directory) && has_evaluators(&inner) { inner } else { directory.to_owned() }
}

/// Returns true if the directory has a manifest, readable or not.
pub fn has_manifest(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(FILE_NAME)).is_ok()
}

/// Returns a file in `directory` with almost the name of a manifest.
fn misnamed(directory: &Path) -> io::Result<Option<PathBuf>> {
    let near = |name: &String| {
        let name = name.to_lowercase();
        strsim::damerau_levenshtein(&name, FILE_NAME) <= NEAR
    };
    Ok(names(directory)?.into_iter().find(near).map(|name| directory.join(name)))
}

/// Returns the names in a directory, sorted, except those that are not Unicode.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
