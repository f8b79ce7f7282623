//! Files that people write: read whole, with everything that is wrong in them.

use std::path::Path;

use super::{
    ConfigError, Problem,
    fields::Problems,
    yaml::{self, Node},
};

/// The text of a file; `noun` is what messages call it, e.g. `configuration`.
pub(crate) fn load(file: &Path, noun: &str) -> Result<String, ConfigError> {
    let unreadable = |message: String, hint: Option<&str>| ConfigError {
        file: file.to_owned(),
        source_text: String::new(),
        problems: vec![Problem { message, place: None, hint: hint.map(str::to_owned) }],
    };
    let bytes = std::fs::read(file)
        .map_err(|error| unreadable(format!("cannot read the {noun}: {error}"), None))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        unreadable(format!("the {noun} is not UTF-8 (byte {offset})"), Some("save it as UTF-8"))
    })
}

/// What `read` makes of a text, unless it finds a problem in it, or the text is not YAML; `file` is what messages call it.
pub(crate) fn parse<T>(
    text: &str,
    file: &Path,
    read: impl FnOnce(Option<&Node>, &mut Problems<'_>) -> T,
) -> Result<T, ConfigError> {
    let mut problems = Problems { text, found: Vec::new() };
    let value = match yaml::read(text) {
        Ok(root) => Some(read(root.as_ref(), &mut problems)),
        Err(error) => {
            problems.add(error.span, error.message, None);
            None
        }
    };
    match value {
        Some(value) if problems.found.is_empty() => Ok(value),
        _ => {
            problems.found.sort_by_key(|problem| problem.place.map(|place| place.start));
            Err(ConfigError {
                file: file.to_owned(),
                source_text: text.to_owned(),
                problems: problems.found,
            })
        }
    }
}
