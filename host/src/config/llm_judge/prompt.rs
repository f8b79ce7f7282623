//! The prompt of a judge: inline, or in a file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evaluator_document::{Field, Span};

use super::super::{paths::PathKind, reader::Reader};
use crate::{
    json::{NonFinite, Value, to_string},
    judging::judge::{Template, TemplateError, llm_judge::LlmJudge},
};

/// Text with which the path of a prompt starts.
const FILE: &str = "file:";

/// Variables of AgentV that have no value here.
const NOT_RECORDED: [&str; 3] = ["file_changes", "metadata", "metadata_json"];

/// A prompt with its origin.
#[derive(Clone, Debug)]
pub(super) struct Prompt<'n> {
    field: Field<'n>,
    /// File; `None` if the prompt is inline.
    path: Option<PathBuf>,
    pub(super) text: String,
}

/// Reads a prompt; `None` after a problem, or if its file does not exist, which is reported with the other paths.
pub(super) fn read<'n>(field: Field<'n>, reader: &Reader<'_>) -> Option<Prompt<'n>> {
    if field.is_mapping() {
        let mut fields = field.fields("`prompt`")?;
        let file = fields.require("file");
        fields.finish();
        let file = Field { key: "prompt", ..file? };
        return read_file(field, reader, file.text()?);
    }
    let text = field.sentence()?;
    if let Some(path) = text.trim().strip_prefix(FILE) {
        let path = path.strip_prefix("//").unwrap_or(path);
        return read_file(field, reader, path);
    }
    if is_path(&text) {
        return read_file(field, reader, &text);
    }
    Some(Prompt { field, path: None, text })
}

/// Returns true if a text can only be meant as a path: one word with an extension.
fn is_path(text: &str) -> bool {
    let extension = Path::new(text).extension().is_some_and(|extension| !extension.is_empty());
    extension && !text.contains(char::is_whitespace) && !text.contains("{{")
}

fn read_file<'n>(field: Field<'n>, reader: &Reader<'_>, path: &str) -> Option<Prompt<'n>> {
    let path = reader.paths.locate(field, path, PathKind::File);
    // A file that does not exist is reported with the other paths.
    let text = match reader.paths.is_file(&path).then(|| fs::read_to_string(&path)) {
        Some(Ok(text)) if text.trim().is_empty() => {
            return field.add(format!("{} is empty", path.display())).none();
        }
        Some(Ok(text)) => text,
        Some(Err(error)) => {
            return field.add(format!("cannot read {}: {error}", path.display())).none();
        }
        None => String::new(),
    };
    Some(Prompt { field, path: Some(path), text })
}

/// Reads the values that prompts can name `config.KEY`.
pub(super) fn read_constants(field: Field<'_>) -> Vec<(String, String)> {
    let object = field.object().unwrap_or_default();
    let constants = object.into_iter().map(|(key, value)| {
        let text = match value {
            Value::String(text) => text,
            other => to_string(&other, NonFinite::Null),
        };
        (format!("config.{key}"), text)
    });
    constants.collect()
}

/// Reads instructions, which can name constants only.
pub(super) fn read_system(field: Field<'_>, constants: &[(String, String)]) -> Option<String> {
    let text = field.sentence()?;
    let template = match Template::parse_with(&text, &[], constants) {
        Ok(template) => template,
        Err(TemplateError::Unknown { name, similar, .. }) => {
            let hint = match similar {
                Some(similar) => format!("did you mean `{similar}`?"),
                None => "name values of `config` here, and other variables in `prompt`".to_owned(),
            };
            return field.add(format!("`system` has no variable `{name}`")).hint(hint).none();
        }
        Err(error) => return field.add(format!("`system`: {error}")).none(),
    };
    let parts = template.render(&[]).map_err(|error| field.add(error.to_string())).ok()?;
    Some(parts.into_iter().map(|part| part.content).collect::<Vec<_>>().join("\n\n"))
}

impl Prompt<'_> {
    /// Returns the judge with the prompt; `None` after a problem.
    pub(super) fn apply(
        &self,
        judge: LlmJudge,
        constants: &[(String, String)],
    ) -> Option<LlmJudge> {
        match judge.prompt(&self.text, constants) {
            Ok(judge) => {
                if !judge.shows_response() && !self.text.is_empty() {
                    let message = format!("{} never shows the response", self.noun());
                    let span = self.field.node.span;
                    let hint = "write {{ response }} where the judge should see it";
                    self.field.problems.warn(span, message).hint(hint);
                }
                Some(judge)
            }
            Err(error) => self.refuse(&error),
        }
    }

    fn noun(&self) -> String {
        self.path.as_ref().map_or("the prompt".to_owned(), |path| path.display().to_string())
    }

    fn refuse<T>(&self, error: &TemplateError) -> Option<T> {
        let noun = self.noun();
        let (line, message, hint) = match error {
            TemplateError::Unknown { line, name, similar, known } => {
                let hint = match similar {
                    _ if NOT_RECORDED.contains(&name.as_str()) => {
                        "recordings do not have it".to_owned()
                    }
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => format!("known variables: {known}"),
                };
                (Some(line), format!("has no variable `{name}`"), Some(hint))
            }
            TemplateError::Unclosed { line } => {
                (Some(line), "has a `{{` without `}}`".to_owned(), None)
            }
            other => (None, other.to_string(), None),
        };
        let at = match (&self.path, line) {
            (Some(_), Some(line)) => format!("{noun}, line {line}: the prompt"),
            _ => noun,
        };
        self.field.problems.add(self.span(error), format!("{at} {message}")).maybe_hint(hint).none()
    }

    /// Returns the position of an inline variable that is not known.
    fn span(&self, error: &TemplateError) -> Span {
        let span = self.field.node.span;
        let TemplateError::Unknown { name, .. } = error else { return span };
        let source = self.field.problems.source(span);
        let found = source.match_indices("{{").find_map(|(start, _)| {
            let inside = &source[start + 2..];
            let inside = &inside[..inside.find("}}")?];
            let blanks = inside.len() - inside.trim_start().len();
            (self.path.is_none() && inside.trim() == name).then_some(start + 2 + blanks)
        });
        let at = |start| Span { start: span.start + start, end: span.start + start + name.len() };
        found.map_or(span, at)
    }
}
