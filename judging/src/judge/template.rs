//! Prompts as text files with named variables, and their rendering.

use sha2::{Digest, Sha256};

use super::Message;

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
                    system: pieces(text[..offset].trim(), 1)?,
                    user: pieces(text[behind..].trim_end(), first)?,
                });
            }
            offset += line.len();
        }
        Ok(Self { system: Vec::new(), user: pieces(text.trim_end(), 1)? })
    }

    /// Parses a template in which text in braces that is not a name of `known` stays as it is. Returns the template and the
    /// names that are not known, each with its line. All of it is the message of the user.
    #[must_use]
    pub fn parse_known(text: &str, known: &[&str]) -> (Self, Vec<(usize, String)>) {
        let (mut user, mut unknown) = (Vec::new(), Vec::new());
        let (mut kept, mut position) = (0, 0);
        while let Some(start) = text[position..].find("{{").map(|offset| position + offset) {
            position = start + 1;
            let Some(length) = text[start..].find("}}") else { break };
            let name = text[start + 2..start + length].trim();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                continue;
            }
            if known.contains(&name) {
                user.push(Piece::Text(text[kept..start].to_owned()));
                user.push(Piece::Variable(name.to_owned()));
                kept = start + length + 2;
            } else {
                unknown.push((text[..start].matches('\n').count() + 1, name.to_owned()));
            }
            position = start + length + 2;
        }
        user.push(Piece::Text(text[kept..].to_owned()));
        (Self { system: Vec::new(), user }, unknown)
    }

    /// Returns the names of the variables of the template, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.system.iter().chain(&self.user).filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// Returns known variables that the template should use and does not.
    #[must_use]
    pub fn unused<'k>(&self, known: &[&'k str]) -> Vec<&'k str> {
        let used = |name: &str| self.variables().any(|used| used == name);
        known.iter().copied().filter(|name| EXPECTED.contains(name) && !used(name)).collect()
    }

    /// Returns true if the prompt shows the judge the ending of the keys of its verdict.
    #[must_use]
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
        let fence = |name: &str, value: &str| match name {
            CODE => value.to_owned(),
            _ => format!("<<<{name} {mark}\n{value}\n{mark}>>>"),
        };
        let system = (!self.system.is_empty()).then(|| fill(&self.system, variables, fence));
        let system = system.transpose()?.map(Message::system);
        let user = Message::user(fill(&self.user, variables, fence)?);
        Ok(system.into_iter().chain([user]).collect())
    }

    /// Returns the text of the user with the values as they are, as systems do that know no delimiters. Texts of an agent
    /// can pass for the prompt then.
    ///
    /// # Errors
    ///
    /// A variable has no value.
    pub fn render_bare(&self, variables: &[(&str, String)]) -> Result<String, TemplateError> {
        fill(&self.user, variables, |_, value| value.to_owned())
    }
}

fn fill(
    pieces: &[Piece],
    variables: &[(&str, String)],
    show: impl Fn(&str, &str) -> String,
) -> Result<String, TemplateError> {
    pieces.iter().try_fold(String::new(), |text, piece| match piece {
        Piece::Text(piece) => Ok(text + piece),
        // Without a code the keys have no ending.
        Piece::Variable(name) if name == CODE && !variables.iter().any(|(it, _)| it == name) => {
            Ok(text)
        }
        Piece::Variable(name) => {
            let value = variables.iter().find(|(variable, _)| variable == name);
            let missing = || TemplateError::Missing { name: name.clone() };
            let (_, value) = value.ok_or_else(missing)?;
            Ok(text + &show(name, value))
        }
    })
}

fn pieces(
    text: &str,
    known: &[&str],
    constants: &[(String, String)],
    first_line: usize,
) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let line = first_line + text[..text.len() - rest.len() + start].matches('\n').count();
        let length = rest[start..].find("}}").ok_or(TemplateError::Unclosed { line })?;
        let name = rest[start + 2..start + length].trim();
        let constant = constants.iter().find(|(constant, _)| constant == name);
        if constant.is_none() && !known.contains(&name) {
            let constants = constants.iter().map(|(name, _)| name.as_str());
            return Err(unknown(name, known.iter().copied().chain(constants).collect(), line));
        }
        pieces.push(Piece::Text(rest[..start].to_owned()));
        pieces.push(match constant {
            Some((_, value)) => Piece::Text(value.clone()),
            None => Piece::Variable(name.to_owned()),
        });
        rest = &rest[start + length + 2..];
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
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
