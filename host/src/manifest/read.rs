//! From `evaluator.yaml` to a manifest.

use std::path::{Component, Path, PathBuf};

use evaluator_protocol::Manifest;

use super::{
    Language,
    discover::{has_manifest, misnamed},
    entrypoint,
};
use crate::{
    config::{
        ConfigError, Place, Problem, document,
        fields::{Fields, Problems, choice, text},
        yaml::{Node, NodeKind, Span},
    },
    source::is_plain,
};

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
        if let Err(complaint) = entrypoint::check(folder, path, language) {
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

fn tags(node: &Node, problems: &mut Problems<'_>) -> Vec<String> {
    let NodeKind::Sequence(items) = &node.kind else {
        let hint = "for example [quality, tools]";
        let message = format!("`tags` must be a list, not {}", node.noun());
        problems.add(node.span, message, Some(hint.to_owned()));
        return Vec::new();
    };
    items.iter().filter_map(|item| text("tags", item, problems)).map(str::to_owned).collect()
}

/// A scaffold has an empty one until its author fills it in.
fn author(node: &Node, problems: &mut Problems<'_>) -> String {
    match node.as_str() {
        Some("") => String::new(),
        _ => text("author", node, problems).unwrap_or_default().to_owned(),
    }
}
