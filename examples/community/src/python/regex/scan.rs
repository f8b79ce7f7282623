//! A pattern and a place in it.

use super::PatternError;

/// A character of a pattern, or a backslash and the character after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Plain(char),
    Escape(char),
}

impl Token {
    /// Characters it takes in the pattern.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Escape(_) => 2,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Plain(c) => c.to_string(),
            Self::Escape(c) => format!("\\{c}"),
        }
    }
}

/// Reads a pattern token by token. Places are counted in characters, as Python does.
pub(super) struct Scanner {
    pattern: Vec<char>,
    at: usize,
}

impl Scanner {
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        let scanner = Self { pattern: pattern.chars().collect(), at: 0 };
        scanner.check_ahead()?;
        Ok(scanner)
    }

    /// A backslash needs a character after it, and this comes before any other complaint about what is before it.
    fn check_ahead(&self) -> Result<(), PatternError> {
        if self.pattern[self.at..] == ['\\'] {
            return Err(self.error_at("bad escape (end of pattern)", self.at));
        }
        Ok(())
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<Token> {
        match *self.pattern.get(self.at)? {
            '\\' => self.pattern.get(self.at + 1).copied().map(Token::Escape),
            c => Some(Token::Plain(c)),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Token>, PatternError> {
        let token = self.peek();
        self.at += token.map_or(0, Token::len);
        self.check_ahead()?;
        Ok(token)
    }

    pub(super) fn next_is(&self, wanted: char) -> bool {
        self.peek() == Some(Token::Plain(wanted))
    }

    pub(super) fn eat(&mut self, wanted: char) -> Result<bool, PatternError> {
        let found = self.next_is(wanted);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Reads at most `most` plain characters of a kind.
    pub(super) fn eat_while(
        &mut self,
        most: usize,
        wanted: impl Fn(char) -> bool,
    ) -> Result<String, PatternError> {
        let mut text = String::new();
        while text.len() < most {
            match self.peek() {
                Some(Token::Plain(c)) if wanted(c) => text.push(c),
                _ => break,
            }
            self.next()?;
        }
        Ok(text)
    }

    /// Reads a name and the character that ends it.
    pub(super) fn name(&mut self, end: char, what: &str) -> Result<String, PatternError> {
        let mut name = String::new();
        loop {
            match self.next()? {
                Some(Token::Plain(c)) if c == end => break,
                Some(token) => name.push_str(&token.text()),
                None if name.is_empty() => return Err(self.error(&format!("missing {what}"), 0)),
                None => {
                    let message = format!("missing {end}, unterminated name");
                    return Err(self.error(&message, name.chars().count()));
                }
            }
        }
        if name.is_empty() { Err(self.error(&format!("missing {what}"), 1)) } else { Ok(name) }
    }

    /// Goes back to a place it has been at.
    pub(super) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// A complaint about the character `back` characters before this one.
    pub(super) fn error(&self, message: &str, back: usize) -> PatternError {
        self.error_at(message, self.at.saturating_sub(back))
    }

    /// A complaint about a place.
    pub(super) fn error_at(&self, message: &str, at: usize) -> PatternError {
        let mut text = format!("{message} at position {at}");
        if self.pattern.contains(&'\n') {
            let before = &self.pattern[..at];
            let line = 1 + before.iter().filter(|c| **c == '\n').count();
            let column = 1 + before.iter().rev().take_while(|c| **c != '\n').count();
            text += &format!(" (line {line}, column {column})");
        }
        PatternError::Invalid(text)
    }
}
