//! Text files as a tree with positions: YAML and JSON, read field by field, every problem with its place.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! A reader asks for the [`Fields`] of a mapping one by one. A [`Field`] converts itself to the type that is wanted and
//! adds a problem to [`Problems`] where it cannot; keys that nothing asked for are problems as well.
//!
//! ```
//! use std::path::Path;
//!
//! let text = "name: polite\ntimeout: soon\n";
//! let error = evaluator_document::parse(text, Path::new("check.yaml"), |root, problems| {
//!     let mut fields = root?.field("the file", problems).fields("this check")?;
//!     let name = fields.require("name")?.text()?.to_owned();
//!     let timeout = fields.take("timeout").and_then(|field| field.seconds());
//!     fields.finish();
//!     Some((name, timeout))
//! })
//! .unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "check.yaml:2:10: `timeout` must be a whole number of seconds, at least 1 (for example 30)"
//! );
//! ```

mod fields;
mod json;
mod key;
mod node;
mod problem;
mod scalar;
pub mod schema;
pub mod size;
mod yaml;

use std::{fs::File, io, path::Path};

use evaluator_json::{read_at_most, read_file};

pub use fields::{Field, Fields};
pub use json::{JsonDocument, RepeatedKey, read_json};
pub use key::Key;
pub use node::{Node, NodeKind, Span};
pub use problem::{ConfigError, Place, Problem, Problems, Report, Syntax, did_you_mean};
pub use yaml::{YamlError, read_yaml, read_yaml_core};

/// Maximum number of bytes of a file that is read as a tree.
const LIMIT: u64 = 256 << 20;

/// Reads the text of a regular file; `noun` is what messages call the file, e.g. `configuration`.
///
/// # Errors
///
/// The file cannot be read, is not a regular file, or is not UTF-8.
pub fn load(file: &Path, noun: &str) -> Result<String, ConfigError> {
    text(file, noun, read_file(file, LIMIT))
}

/// Reads the text of a file that the user has named, which may also be a pipe that the user has opened: `/dev/stdin`, or
/// `/dev/fd/NUMBER` as shells write it for `<(..)`.
///
/// # Errors
///
/// As [`load`].
pub fn load_named(file: &Path, noun: &str) -> Result<String, ConfigError> {
    let is_opened =
        ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|it| file.starts_with(it));
    if !is_opened {
        return load(file, noun);
    }
    text(file, noun, File::open(file).and_then(|file| read_at_most(file, LIMIT)))
}

fn text(file: &Path, noun: &str, read: io::Result<Vec<u8>>) -> Result<String, ConfigError> {
    let bytes = read.map_err(|error| {
        ConfigError::new(file, format!("cannot read the {noun}: {error}"), None)
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let message =
            format!("the {noun} is not UTF-8 (byte {})", error.utf8_error().valid_up_to());
        ConfigError::new(file, message, Some("save it as UTF-8".to_owned()))
    })
}

/// Parses a text as YAML and converts it with `read`, which returns `None` only after it has added a problem; `file` is
/// the name of the text in messages.
///
/// # Errors
///
/// The text is not YAML, or `read` added a problem.
pub fn parse<T>(
    text: &str,
    file: &Path,
    read: impl FnOnce(Option<&Node>, &Problems<'_>) -> Option<T>,
) -> Result<T, ConfigError> {
    let problems = Problems::new(text, Syntax::Yaml);
    let value = match read_yaml(text) {
        Ok(root) => read(root.as_ref(), &problems),
        Err(error) => problems.add(error.span, error.message).none(),
    };
    match (problems.error(file), value) {
        (None, Some(value)) => Ok(value),
        (Some(error), _) => Err(error),
        (None, None) => {
            let message = "internal error: the text was rejected without a reason".to_owned();
            Err(ConfigError::new(file, message, None))
        }
    }
}
