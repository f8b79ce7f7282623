//! Prompts as text files with named variables, and their rendering.

use sha2::{Digest, Sha256};

use super::Message;

/// Line between the instructions and the material.
const SEPARATOR: &str = "=====";

/// Variables without which a prompt can hardly be answered.
const EXPECTED: [&str; 2] = ["response", "rubrics"];

/// A prompt with variables like `{{response}}`.
///
/// Text before the first line `=====` is the message of the system, text behind it the message of the user. Without such a
/// line all is the message of the user.
#[derive(Clone, Debug)]
pub struct Template {
    system: Vec<Piece>,
    user: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Variable(String),
}

/// Problem of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A variable is not known.
    #[error("line {line}: the prompt has no variable `{name}`{}; it has {known}", .similar.as_ref().map(|similar| format!(", did you mean `{similar}`?")).unwrap_or_default())]
    Unknown {
        /// Number of the line, from 1.
        line: usize,
        /// Name of the variable.
        name: String,
        /// Similar name of a known variable.
        similar: Option<String>,
        /// Names of all variables.
        known: String,
    },
    /// A variable has no end.
    #[error("line {line}: `{{{{` without `}}}}`")]
    Unclosed {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A variable has no value.
    #[error("the prompt needs a value for `{name}`")]
    Missing {
        /// Name of the variable.
        name: String,
    },
}

impl Template {
    /// Parses a template that may use the variables `known`.
    ///
    /// # Errors
    ///
    /// A variable is not known or not closed.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self, TemplateError> {
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if line.trim_end() == SEPARATOR {
                let behind = offset + line.len();
                let first = text[..behind].matches('\n').count() + 1;
                return Ok(Self {
                    system: pieces(text[..offset].trim(), known, 1)?,
                    user: pieces(text[behind..].trim_end(), known, first)?,
                });
            }
            offset += line.len();
        }
        Ok(Self { system: Vec::new(), user: pieces(text.trim_end(), known, 1)? })
    }

    /// Returns known variables that the template should use and does not.
    #[must_use]
    pub fn unused<'k>(&self, known: &[&'k str]) -> Vec<&'k str> {
        let used = |name: &str| {
            let mut pieces = self.system.iter().chain(&self.user);
            pieces.any(|piece| matches!(piece, Piece::Variable(used) if used == name))
        };
        known.iter().copied().filter(|name| EXPECTED.contains(name) && !used(name)).collect()
    }

    /// Returns the messages of the prompt: the values of `variables` are put into it, each between delimiters that occur in
    /// none of the values.
    ///
    /// # Errors
    ///
    /// A variable has no value.
    pub fn render(&self, variables: &[(&str, String)]) -> Result<Vec<Message>, TemplateError> {
        let mark = delimiter(variables);
        let fill = |pieces: &[Piece]| {
            pieces.iter().try_fold(String::new(), |text, piece| match piece {
                Piece::Text(piece) => Ok(text + piece),
                Piece::Variable(name) => {
                    let value = variables.iter().find(|(variable, _)| variable == name);
                    let (_, value) =
                        value.ok_or_else(|| TemplateError::Missing { name: name.clone() })?;
                    Ok(text + &format!("<<<{name} {mark}\n{value}\n{mark}>>>"))
                }
            })
        };
        let system = (!self.system.is_empty()).then(|| fill(&self.system)).transpose()?;
        let system = system.map(Message::system);
        Ok(system.into_iter().chain([Message::user(fill(&self.user)?)]).collect())
    }
}

fn pieces(text: &str, known: &[&str], first_line: usize) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let line = first_line + text[..text.len() - rest.len() + start].matches('\n').count();
        let length = rest[start..].find("}}").ok_or(TemplateError::Unclosed { line })?;
        let name = rest[start + 2..start + length].trim();
        if !known.contains(&name) {
            return Err(unknown(name, known, line));
        }
        pieces.push(Piece::Text(rest[..start].to_owned()));
        pieces.push(Piece::Variable(name.to_owned()));
        rest = &rest[start + length + 2..];
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

fn unknown(name: &str, known: &[&str], line: usize) -> TemplateError {
    let similar = known
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| (*known).to_owned());
    TemplateError::Unknown { line, name: name.to_owned(), similar, known: known.join(", ") }
}

/// Returns a word that occurs in none of the values. It is derived from a digest of all of them, so that a prompt is the
/// same in every run and no author of a value can know the word.
fn delimiter(variables: &[(&str, String)]) -> String {
    let mut digest = Sha256::new();
    for (name, value) in variables {
        digest.update(name.len().to_le_bytes());
        digest.update(name);
        digest.update(value.len().to_le_bytes());
        digest.update(value);
    }
    let mut digest = digest.finalize();
    loop {
        let word: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        if !variables.iter().any(|(_, value)| value.contains(&word)) {
            return word;
        }
        digest = Sha256::digest(digest);
    }
}
