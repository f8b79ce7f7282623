//! Prompts as text files with named variables, and their rendering.

use evaluator_models::Message;
use sha2::{Digest, Sha256};

use crate::pieces::{Piece, Pieces};

/// Line between the instructions and the material.
const SEPARATOR: &str = "=====";

/// Number of bytes of a delimiter.
const MARK: usize = 16;

/// Name of the variable whose value is the ending of the keys of a verdict. It is part of the prompt, not of the material.
pub(super) const CODE: &str = "code";

/// Variables without which a prompt can hardly be answered.
const EXPECTED: [&str; 2] = ["response", "rubrics"];

/// A prompt with variables like `{{response}}`.
///
/// Text before the first line `=====` is the message of the system, text behind it the message of the user. Without such a
/// line all is the message of the user.
#[derive(Clone, Debug)]
pub struct Template {
    system: Option<Pieces<String>>,
    user: Pieces<String>,
}

/// Problem of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
        Self::parse_with(text, known, &[])
    }

    /// Parses a template that may use the variables `known`, and names of `constants`, whose values become part of it.
    ///
    /// # Errors
    ///
    /// A variable is not known or not closed.
    pub fn parse_with(
        text: &str,
        known: &[&str],
        constants: &[(String, String)],
    ) -> Result<Self, TemplateError> {
        let pieces = |text: &str, line| pieces(text, known, constants, line);
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if line.trim_end() == SEPARATOR {
                let behind = offset + line.len();
                let first = text[..behind].matches('\n').count() + 1;
                return Ok(Self {
                    system: Some(pieces(text[..offset].trim(), 1)?),
                    user: pieces(text[behind..].trim_end(), first)?,
                });
            }
            offset += line.len();
        }
        Ok(Self { system: None, user: pieces(text.trim_end(), 1)? })
    }

    /// Returns the names of the variables of the template, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.system.iter().chain([&self.user]).flat_map(Pieces::values).map(String::as_str)
    }

    /// Returns known variables that the template should use and does not.
    pub fn unused<'k>(&self, known: &[&'k str]) -> Vec<&'k str> {
        let used = |name: &str| self.variables().any(|used| used == name);
        known.iter().copied().filter(|name| EXPECTED.contains(name) && !used(name)).collect()
    }

    /// Returns true if the prompt shows the judge the ending of the keys of its verdict.
    pub fn shows_code(&self) -> bool {
        self.variables().any(|name| name == CODE)
    }

    /// Returns the messages of the prompt: the values of `variables` are put into it, each between delimiters that occur in
    /// none of the values.
    ///
    /// # Errors
    ///
    /// A variable has no value.
    pub fn render(&self, variables: &[(&str, String)]) -> Result<Vec<Message>, TemplateError> {
        let mark = word("", MARK, variables);
        let fenced = |name: &String| match (variables.iter().find(|(it, _)| it == name), &**name) {
            (code, CODE) => Ok(code.map(|(_, code)| code.clone()).unwrap_or_default()),
            (Some((name, value)), _) => Ok(format!("<<<{name} {mark}\n{value}\n{mark}>>>")),
            (None, name) => Err(TemplateError::Missing { name: name.to_owned() }),
        };
        let system = self.system.as_ref().map(|system| system.fill(fenced)).transpose()?;
        let user = Message::user(self.user.fill(fenced)?);
        Ok(system.map(Message::system).into_iter().chain([user]).collect())
    }
}

fn pieces(
    text: &str,
    known: &[&str],
    constants: &[(String, String)],
    first_line: usize,
) -> Result<Pieces<String>, TemplateError> {
    let before = first_line - 1;
    let read = |inside: &str, line: usize| {
        let name = inside.trim();
        if let Some((_, value)) = constants.iter().find(|(constant, _)| constant == name) {
            return Ok(Piece::Text(value.clone()));
        }
        if known.contains(&name) {
            return Ok(Piece::Value(name.to_owned()));
        }
        let constants = constants.iter().map(|(name, _)| name.as_str());
        Err(unknown(name, known.iter().copied().chain(constants).collect(), before + line))
    };
    Pieces::parse(text, read, |line| TemplateError::Unclosed { line: before + line })
}

fn unknown(name: &str, known: Vec<&str>, line: usize) -> TemplateError {
    let similar = known
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| (*known).to_owned());
    TemplateError::Unknown { line, name: name.to_owned(), similar, known: known.join(", ") }
}

/// Returns a word of hexadecimal digits that occurs in none of the values. It is derived from a digest of the purpose and of
/// all of them, so that a prompt is the same in every run and no author of a value can know the word.
pub(super) fn word(purpose: &str, bytes: usize, variables: &[(&str, String)]) -> String {
    let mut digest = Sha256::new();
    digest.update(purpose);
    for (name, value) in variables {
        digest.update(name.len().to_le_bytes());
        digest.update(name);
        digest.update(value.len().to_le_bytes());
        digest.update(value);
    }
    let mut digest = digest.finalize();
    loop {
        let word: String = digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect();
        if !variables.iter().any(|(_, value)| value.contains(&word)) {
            return word;
        }
        digest = Sha256::digest(digest);
    }
}
