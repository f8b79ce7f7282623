//! Where a file comes from, in its own first lines.

use super::{Target, text};

/// What every file of ours has near its beginning, and no file that a person wrote.
pub(super) const MARK: &str = "Written by `evaluator export --for ";

/// The command that makes files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    line: String,
}

impl Origin {
    /// The command `evaluator export --for TARGET` with these arguments, of that version.
    #[must_use]
    pub fn new(target: Target, arguments: &[String], version: &str) -> Self {
        let words: Vec<_> = arguments.iter().map(|argument| shell_words::quote(argument)).collect();
        // A line, whatever the names of files are: what follows it is code.
        let command = text::one_line(&words.join(" ")).replace('`', "'");
        Self {
            line: format!(
                "{MARK}{target} {command}` ({version}). Changes are lost when it is run again."
            ),
        }
    }

    /// The line that says so, without a line feed.
    pub(super) fn line(&self) -> &str {
        &self.line
    }
}

/// Whether a file was made by us.
pub(super) fn is_ours(text: &[u8]) -> bool {
    let beginning = &text[..text.len().min(1000)];
    String::from_utf8_lossy(beginning).contains(MARK)
}
