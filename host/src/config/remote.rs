//! An entry of `type: remote`.

use super::{
    RemoteConfig,
    evaluator::{read_program, start_of},
    fields::{Fields, Problems, did_you_mean, text},
    yaml::Node,
};
use crate::source::{Reference, Wanted};

/// Where evaluators come from unless said otherwise.
pub(super) const DEFAULT_SOURCE: &str = "github";

/// Reads the keys of an entry. What is missing or wrong is a problem, and the result then of no use.
pub(super) fn read(
    fields: &mut Fields<'_>,
    entry: &Node,
    extensions: &[&str],
    problems: &mut Problems<'_>,
) -> RemoteConfig {
    let source = match fields.take("source") {
        None => DEFAULT_SOURCE,
        Some(node) => {
            let source = text("source", node, problems).unwrap_or(DEFAULT_SOURCE);
            if source == "builtin" {
                problems.add(
                    node.span,
                    "the source `builtin` has nothing to fetch",
                    Some("write `type: builtin`".to_owned()),
                );
            }
            source
        }
    };
    let reference = match fields.take("ref") {
        Some(node) => reference(node, extensions, problems),
        None => {
            let hint = "e.g. evaluators/NAME/NAME.py".to_owned();
            problems.add(start_of(entry), "the key `ref` is missing in this evaluator", Some(hint));
            None
        }
    };
    let program = read_program(fields, problems);
    // Where there is none, a problem says so.
    let reference = reference.unwrap_or_else(Reference::placeholder);
    let wanted = Wanted { source: source.to_owned(), reference };
    RemoteConfig::of_program(wanted, program)
}

fn reference(node: &Node, extensions: &[&str], problems: &mut Problems<'_>) -> Option<Reference> {
    let text = text("ref", node, problems)?;
    let reference = match Reference::parse(text) {
        Ok(reference) => reference,
        Err(error) => {
            problems.add(node.span, format!("`ref` {error}"), None);
            return None;
        }
    };
    let extension = reference.extension();
    if extensions.contains(&extension.as_str()) {
        return Some(reference);
    }
    let known = extensions.join(", ");
    let message = match extension.as_str() {
        "" => format!("`ref` must name a file with the extension of a language ({known})"),
        other => format!("no runtime runs `{other}` files ({known} are known)"),
    };
    let hint =
        did_you_mean(&extension, extensions.iter().copied()).filter(|_| !extension.is_empty());
    problems.add(node.span, message, hint);
    None
}
