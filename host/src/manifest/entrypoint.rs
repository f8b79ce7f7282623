//! The file a manifest names: inside its folder, there, and of the manifest's language.

use std::path::Path;

use super::Language;
use crate::source::is_plain;

/// What is wrong with an entrypoint, and what to do about it.
pub(super) struct Complaint {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Complaint {
    fn new(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self { message: message.into(), hint: hint.map(str::to_owned) }
    }
}

/// Checks an entrypoint as far as text and file system can tell.
pub(super) fn check(
    folder: &Path,
    entrypoint: &str,
    language: Option<Language>,
) -> Result<(), Complaint> {
    inside(entrypoint)?;
    if let Some(language) = language {
        of_language(entrypoint, language)?;
    }
    let path = folder.join(entrypoint);
    let gone = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Complaint::new(
            format!("`entrypoint` names a file that does not exist: `{entrypoint}`"),
            None,
        ),
        _ => Complaint::new(format!("`entrypoint` cannot be opened: {error}"), None),
    };
    let resolved = path.canonicalize().map_err(gone)?;
    if !folder.canonicalize().is_ok_and(|folder| resolved.starts_with(folder)) {
        return Err(Complaint::new(
            format!(
                "`entrypoint` leaves the folder of the evaluator: `{entrypoint}` leads to {}",
                resolved.display()
            ),
            Some("put the file itself there instead of the link"),
        ));
    }
    if !resolved.is_file() {
        return Err(Complaint::new(format!("`entrypoint` is not a file: `{entrypoint}`"), None));
    }
    Ok(())
}

/// Whether the text can only be the path of something inside a folder, in the one spelling that every host takes.
fn inside(entrypoint: &str) -> Result<(), Complaint> {
    if entrypoint.contains('\\') {
        return Err(Complaint::new(
            "`entrypoint` has a backslash",
            Some("write `/` between folders"),
        ));
    }
    if entrypoint.starts_with('/') || Path::new(entrypoint).is_absolute() {
        let hint = "write it relative to the folder of the manifest";
        return Err(Complaint::new("`entrypoint` is an absolute path", Some(hint)));
    }
    let parts: Vec<&str> = entrypoint.split('/').collect();
    if parts.contains(&"..") {
        let hint = "an evaluator is fetched as one folder; nothing outside of it is there";
        return Err(Complaint::new("`entrypoint` leaves the folder of the evaluator", Some(hint)));
    }
    if parts.iter().any(|part| part.is_empty() || *part == ".") {
        let plain: Vec<&str> =
            parts.into_iter().filter(|part| !part.is_empty() && *part != ".").collect();
        let hint = format!("write `{}`", plain.join("/"));
        return Err(Complaint::new("`entrypoint` is not a plain path", Some(&hint)));
    }
    match parts.iter().find(|part| !is_plain(part)) {
        Some(part) => Err(Complaint::new(
            format!("`entrypoint` has a name that hosts do not fetch: `{part}`"),
            Some("use letters, digits, `_`, `-`, and dots between them"),
        )),
        None => Ok(()),
    }
}

fn of_language(entrypoint: &str, language: Language) -> Result<(), Complaint> {
    if entrypoint.ends_with(language.extension()) {
        return Ok(());
    }
    let other = Language::NAMED
        .into_iter()
        .find(|(_, other)| entrypoint.ends_with(other.extension()))
        .map(|(name, _)| format!("a file like this is `language: {name}`"));
    Err(Complaint {
        message: format!(
            "`entrypoint` must end in {} where `language` is {language}: `{entrypoint}`",
            language.extension()
        ),
        hint: other,
    })
}
