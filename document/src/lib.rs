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
/// `read` gives nothing after problems only.
pub(crate) fn parse<T>(
    text: &str,
    file: &Path,
    read: impl FnOnce(Option<&Node>, &mut Problems<'_>) -> Option<T>,
) -> Result<T, ConfigError> {
    let mut problems = Problems::new(text);
    let value = match yaml::read(text) {
        Ok(root) => read(root.as_ref(), &mut problems),
        Err(error) => {
            problems.add(error.span, error.message, None);
            None
        }
    };
    match (error(&mut problems, file), value) {
        (None, Some(value)) => Ok(value),
        (Some(error), _) => Err(error),
        (None, None) => {
            let message = "the text cannot be used, and nobody says why".to_owned();
            let problems = vec![Problem { message, place: None, hint: None }];
            Err(ConfigError { file: file.to_owned(), source_text: text.to_owned(), problems })
        }
    }
}

/// The error that a text's problems amount to, if there are any.
pub(crate) fn error(problems: &mut Problems<'_>, file: &Path) -> Option<ConfigError> {
    if problems.found.is_empty() {
        return None;
    }
    let mut found = std::mem::take(&mut problems.found);
    found.sort_by_key(|problem| problem.place.map(|place| place.start));
    let source_text = problems.text.to_owned();
    Some(ConfigError { file: file.to_owned(), source_text, problems: found })
}
