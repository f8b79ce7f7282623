//! Reads `evaluator.yaml`.

use std::path::{Component, Path, PathBuf};

use evaluator_protocol::Manifest;

use super::{
    Language,
    discover::{has_manifest, misnamed},
};
use crate::{
    config::{
        ConfigError, Place, Problem, document,
        fields::{Fields, Problems, choice, text},
        yaml::{Node, NodeKind, Span},
    },
    source::is_plain,
};

/// File name of a manifest.
pub const FILE_NAME: &str = "evaluator.yaml";

/// A valid manifest and its location.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedManifest {
    /// Content.
    pub manifest: Manifest,
    /// Its language.
    pub language: Language,
    /// Directory of the evaluator, as it was given.
    pub folder: PathBuf,
    /// Text of the manifest, for messages that quote it.
    pub source_text: String,
    /// Position of the name.
    pub name_place: Place,
}

impl LoadedManifest {
    /// Reads and checks the manifest of the evaluator in `folder`: its keys, that its name is that of the directory, and that its
    /// entrypoint exists in the directory and has the extension of the language. Runs nothing.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the position of every problem.
    pub fn load(folder: &Path) -> Result<Self, ConfigError> {
        let file = folder.join(FILE_NAME);
        let wrong = |message: &str, hint: Option<String>| ConfigError {
            file: file.clone(),
            source_text: String::new(),
            problems: vec![Problem { message: message.to_owned(), place: None, hint }],
        };
        if !has_manifest(folder) {
            let misnamed = misnamed(folder).ok().flatten();
            let hint = misnamed.map(|other| format!("rename {}", other.display()));
            return Err(wrong("there is no such file", hint));
        }
        // Reading a pipe could block.
        if file.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(wrong("the manifest is not a file", None));
        }
        let source_text = document::load(&file, "manifest")?;
        let (manifest, language, name) =
            document::parse(&source_text, &file, |root, problems| read(root, folder, problems))?;
        let name_place = Place::new(&source_text, name);
        Ok(Self { manifest, language, folder: folder.to_owned(), source_text, name_place })
    }

    /// Returns the path of the manifest.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// Returns the path of the entrypoint.
    #[must_use]
    pub fn entrypoint(&self) -> PathBuf {
        self.folder.join(&self.manifest.entrypoint)
    }
}

/// Reads a manifest. Returns `None` if there are problems.
fn read(
    root: Option<&Node>,
    folder: &Path,
    problems: &mut Problems<'_>,
) -> Option<(Manifest, Language, Span)> {
    let Some(Node { kind: NodeKind::Mapping(entries), span }) = root else {
        let found = root.map_or("nothing", Node::noun);
        problems.found.push(Problem {
            message: format!("a manifest is a mapping with the key `name` and others, not {found}"),
            place: root.map(|node| Place::new(problems.text, node.span)),
            hint: None,
        });
        return None;
    };
    let start = Span { start: span.start, end: span.start };
    let mut fields = Fields::new("the manifest", entries);
    let mut required = |key: &'static str, problems: &mut Problems<'_>| {
        let node = fields.take(key);
        if node.is_none() {
            problems.add(start, format!("the key `{key}` is missing"), None);
        }
        node.and_then(|node| Some((text(key, node, problems)?, node)))
    };
    let name = required("name", problems);
    let description = required("description", problems);
    let language = required("language", problems)
        .and_then(|(_, node)| Some((choice("language", node, &Language::NAMED, problems)?, node)));
    let entrypoint = required("entrypoint", problems);
    fields.null_is_absent();
    let tags = fields.take("tags").map(|node| tags(node, problems)).unwrap_or_default();
    let author = fields.take("author").map(|node| author(node, problems)).unwrap_or_default();
    fields.finish(problems);

    if let Some((name, node)) = name {
        check_name(name, node, folder, problems);
    }
    if let Some((path, node)) = entrypoint {
        let language = language.map(|(language, _)| language);
        if let Err(complaint) = check_entrypoint(folder, path, language) {
            problems.add(node.span, complaint.message, complaint.hint);
        }
    }
    if let Some((Language::Rust, node)) = language
        && !folder.join("Cargo.toml").is_file()
    {
        let hint = "`cargo init` makes one; an evaluator in Rust is fetched as a package";
        problems.add(
            node.span,
            format!("there is no Cargo.toml in {}", folder.display()),
            Some(hint.to_owned()),
        );
    }

    let (name, name_node) = name?;
    let mut manifest = Manifest::default();
    manifest.name = name.to_owned();
    manifest.description = description?.0.to_owned();
    let (language, _) = language?;
    manifest.language = language.as_str().to_owned();
    manifest.entrypoint = entrypoint?.0.to_owned();
    manifest.tags = tags;
    manifest.author = author;
    Some((manifest, language, name_node.span))
}

fn check_name(name: &str, node: &Node, folder: &Path, problems: &mut Problems<'_>) {
    if !is_plain(name) {
        problems.add(
            node.span,
            format!("`name` cannot be `{name}`: hosts would not fetch a folder of that name"),
            Some("use letters, digits, `_`, `-`, and dots between them".to_owned()),
        );
        return;
    }
    match name_of(folder) {
        Some(folder_name) if folder_name != name => problems.add(
            node.span,
            format!("`name` is `{name}`, but the folder is called `{folder_name}`"),
            Some("give both the same name".to_owned()),
        ),
        // The root of a file system has no name.
        _ => {}
    }
}

/// Returns the name of a directory, however its path is written.
fn name_of(folder: &Path) -> Option<String> {
    let written = match folder.components().next_back() {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => folder.canonicalize().ok()?.file_name().map(ToOwned::to_owned),
    };
    Some(written?.to_string_lossy().into_owned())
}

fn tags(node: &Node, problems: &mut Problems<'_>) -> Vec<String> {
    let NodeKind::Sequence(items) = &node.kind else {
        let hint = "for example [quality, tools]";
        let message = format!("`tags` must be a list, not {}", node.noun());
        problems.add(node.span, message, Some(hint.to_owned()));
        return Vec::new();
    };
    items.iter().filter_map(|item| text("tags", item, problems)).map(str::to_owned).collect()
}

/// Reads the author, which is empty in a new scaffold.
fn author(node: &Node, problems: &mut Problems<'_>) -> String {
    match node.as_str() {
        Some("") => String::new(),
        _ => text("author", node, problems).unwrap_or_default().to_owned(),
    }
}

/// Problem of an entrypoint, and what to do.
struct Wrong {
    message: String,
    hint: Option<String>,
}

impl Wrong {
    fn new(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { message: message.into(), hint: hint.map(str::to_owned) }
    }
}

/// Checks that an entrypoint is a file in the directory, with the extension of the language.
fn check_entrypoint(
    folder: &Path,
    entrypoint: &str,
    language: Option<Language>,
) -> Result<(), Wrong> {
    inside(entrypoint)?;
    if let Some(language) = language {
        of_language(entrypoint, language)?;
    }
    let path = folder.join(entrypoint);
    let gone = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Wrong::new(
            format!("`entrypoint` names a file that does not exist: `{entrypoint}`"),
            None,
        ),
        _ => Wrong::new(format!("`entrypoint` cannot be opened: {error}"), None),
    };
    let resolved = path.canonicalize().map_err(gone)?;
    if !folder.canonicalize().is_ok_and(|folder| resolved.starts_with(folder)) {
        return Err(Wrong::new(
            format!(
                "`entrypoint` leaves the folder of the evaluator: `{entrypoint}` leads to {}",
                resolved.display()
            ),
            Some("put the file itself there instead of the link"),
        ));
    }
    if !resolved.is_file() {
        return Err(Wrong::new(format!("`entrypoint` is not a file: `{entrypoint}`"), None));
    }
    Ok(())
}

/// Checks that the text is a path below a directory, in the form that every host accepts.
fn inside(entrypoint: &str) -> Result<(), Wrong> {
    if entrypoint.contains('\\') {
        return Err(Wrong::new("`entrypoint` has a backslash", Some("write `/` between folders")));
    }
    if entrypoint.starts_with('/') || Path::new(entrypoint).is_absolute() {
        let hint = "write it relative to the folder of the manifest";
        return Err(Wrong::new("`entrypoint` is an absolute path", Some(hint)));
    }
    let parts: Vec<&str> = entrypoint.split('/').collect();
    if parts.contains(&"..") {
        let hint = "an evaluator is fetched as one folder; nothing outside of it is there";
        return Err(Wrong::new("`entrypoint` leaves the folder of the evaluator", Some(hint)));
    }
    if parts.iter().any(|part| part.is_empty() || *part == ".") {
        let plain: Vec<&str> =
            parts.into_iter().filter(|part| !part.is_empty() && *part != ".").collect();
        let hint = format!("write `{}`", plain.join("/"));
        return Err(Wrong::new("`entrypoint` is not a plain path", Some(&hint)));
    }
    match parts.iter().find(|part| !is_plain(part)) {
        Some(part) => Err(Wrong::new(
            format!("`entrypoint` has a name that hosts do not fetch: `{part}`"),
            Some("use letters, digits, `_`, `-`, and dots between them"),
        )),
        None => Ok(()),
    }
}

fn of_language(entrypoint: &str, language: Language) -> Result<(), Wrong> {
    if entrypoint.ends_with(language.extension()) {
        return Ok(());
    }
    let other = Language::NAMED
        .into_iter()
        .find(|(_, other)| entrypoint.ends_with(other.extension()))
        .map(|(name, _)| format!("a file like this is `language: {name}`"));
    Err(Wrong {
        message: format!(
            "`entrypoint` must end in {} where `language` is {language}: `{entrypoint}`",
            language.extension()
        ),
        hint: other,
    })
}
