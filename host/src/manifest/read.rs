//! From `evaluator.yaml` to a manifest.

use std::path::{Component, Path, PathBuf};

use evaluator_document::{
    self as document, ConfigError, Field, Node, NodeKind, Place, Problems, Span,
};
use evaluator_protocol::Manifest;

use super::{
    Language,
    discover::{has_manifest, misnamed},
    entrypoint,
};
use crate::source::is_plain;

/// What the manifest of an evaluator is called.
pub const FILE_NAME: &str = "evaluator.yaml";

/// A manifest that was found to be right, and where it stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedManifest {
    /// What it says.
    pub manifest: Manifest,
    /// Its language.
    pub language: Language,
    /// The folder of the evaluator, as it was given.
    pub folder: PathBuf,
    /// The manifest's own text, for showing places in it.
    pub source_text: String,
    /// Where its name stands.
    pub name_place: Place,
}

impl LoadedManifest {
    /// Reads and checks the manifest of the evaluator in `folder`: its keys, that it has the name of the folder, and that
    /// its entrypoint is there, inside the folder, and of its language. Runs nothing.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem found and its place.
    pub fn load(folder: &Path) -> Result<Self, ConfigError> {
        let file = folder.join(FILE_NAME);
        let wrong = |message: &str, hint| ConfigError::new(&file, message.to_owned(), hint);
        if !has_manifest(folder) {
            let misnamed = misnamed(folder).ok().flatten();
            let hint = misnamed.map(|other| format!("rename {}", other.display()));
            return Err(wrong("there is no such file", hint));
        }
        // A pipe would keep whoever reads it waiting.
        if file.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(wrong("the manifest is not a file", None));
        }
        let source_text = document::load(&file, "manifest")?;
        let (manifest, language, name) =
            document::parse(&source_text, &file, |root, problems| read(root, folder, problems))?;
        let name_place = Place::new(&source_text, name);
        Ok(Self { manifest, language, folder: folder.to_owned(), source_text, name_place })
    }

    /// The file of the manifest.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// The file that is run.
    #[must_use]
    pub fn entrypoint(&self) -> PathBuf {
        self.folder.join(&self.manifest.entrypoint)
    }
}

/// `None` after problems only.
fn read(
    root: Option<&Node>,
    folder: &Path,
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
        required("language").and_then(|(_, field)| Some((field.choice(&Language::NAMED)?, field)));
    let entrypoint = required("entrypoint");
    fields.null_is_absent();
    let tags = fields.take("tags").map(tags).unwrap_or_default();
    let author = fields.take("author").map(author).unwrap_or_default();
    fields.finish();

    if let Some((name, field)) = name {
        check_name(name, field, folder);
    }
    if let Some((path, field)) = entrypoint {
        let language = language.map(|(language, _)| language);
        if let Err(complaint) = entrypoint::check(folder, path, language) {
            field.add(complaint.message).maybe_hint(complaint.hint);
        }
    }
    if let Some((Language::Rust, field)) = language {
        check_package(field, folder);
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

fn check_package(field: Field<'_>, folder: &Path) {
    if !folder.join("Cargo.toml").is_file() {
        let message = format!("there is no Cargo.toml in {}", folder.display());
        let hint = "`cargo init` makes one; an evaluator in Rust is fetched as a package";
        field.add(message).hint(hint);
    }
}

fn check_name(name: &str, field: Field<'_>, folder: &Path) {
    if !is_plain(name) {
        let message =
            format!("`name` cannot be `{name}`: hosts would not fetch a folder of that name");
        field.add(message).hint("use letters, digits, `_`, `-`, and dots between them");
        return;
    }
    match name_of(folder) {
        Some(folder_name) if folder_name != name => {
            let message = format!("`name` is `{name}`, but the folder is called `{folder_name}`");
            field.add(message).hint("give both the same name");
        }
        // The root of a file system has no name to compare with.
        _ => {}
    }
}

/// What a folder is called, however its path is written.
fn name_of(folder: &Path) -> Option<String> {
    let written = match folder.components().next_back() {
        Some(Component::Normal(name)) => Some(name.to_owned()),
        _ => folder.canonicalize().ok()?.file_name().map(ToOwned::to_owned),
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
