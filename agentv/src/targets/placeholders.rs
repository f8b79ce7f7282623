//! Placeholders in the command of a `cli` target.
//!
//! Their values are texts of tests, quoted as words of a shell. Quotes hold only where the shell reads a word: within other
//! quotes they end them, and in comments and here-documents they are text. There, a test could run commands.

use crate::references::replaced;

/// Placeholders of commands.
pub(super) const OF_COMMANDS: [&str; 7] =
    ["PROMPT", "PROMPT_FILE", "EVAL_ID", "ATTEMPT", "FILES", "OUTPUT_FILE", "GUIDELINES"];

/// Placeholders of `files_format`, which is used for each file of `{FILES}`.
pub(super) const OF_FILES: [&str; 2] = ["path", "basename"];

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Replaces placeholders by their values.
pub(super) fn filled(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    replaced(template, ("{", "}"), &|_, name| value(name)).unwrap_or_else(|| template.to_owned())
}

/// A placeholder whose value would not be protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misplaced<'t> {
    /// Name.
    name: &'t str,
    /// Place in the command.
    place: &'static str,
}

impl Misplaced<'_> {
    /// What to do about it.
    pub(super) const HINT: &'static str = "values of placeholders are quoted already: write the placeholder outside of quotes, e.g. `agent {PROMPT}`";

    /// Returns what is wrong.
    pub(super) fn message(&self) -> String {
        let Self { name, place } = self;
        format!("`{{{name}}}` stands {place}, where text of a test would run as a command")
    }
}

/// What encloses a part of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Words: the command itself, `(..)` and `$(..)`.
    Words,
    SingleQuotes,
    DollarQuotes,
    DoubleQuotes,
    Backquotes,
    Parameter,
    Arithmetic,
}

impl Within {
    /// Returns the name of a place in which quotes do not hold.
    fn place(self) -> Option<&'static str> {
        Some(match self {
            Self::Words => return None,
            Self::SingleQuotes => "within single quotes",
            Self::DollarQuotes => "within $'..'",
            Self::DoubleQuotes => "within double quotes",
            Self::Backquotes => "within backquotes",
            Self::Parameter => "within ${..}",
            Self::Arithmetic => "within $((..))",
        })
    }
}

/// Returns the first placeholder in a place where the quotes around its value do not hold.
pub(super) fn misplaced<'t>(template: &'t str, names: &[&str]) -> Option<Misplaced<'t>> {
    let mut reader =
        Reader { rest: template, names, within: vec![Within::Words], documents: Vec::new() };
    let mut before = '\n';
    while let Some(next) = reader.rest.chars().next() {
        match reader.step(before, next) {
            Ok(last) => before = last,
            Err(misplaced) => return Some(misplaced),
        }
    }
    None
}

/// Returns the name of the placeholder at the beginning of a text.
fn placeholder<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    names.contains(&name).then_some(name)
}

/// State of reading a command as a shell does.
struct Reader<'t, 'n> {
    rest: &'t str,
    names: &'n [&'n str],
    /// What is open, the innermost last.
    within: Vec<Within>,
    /// Ends of the here-documents that begin with the next line, and whether tabs in front of them count.
    documents: Vec<(String, bool)>,
}

impl<'t> Reader<'t, '_> {
    /// Reads on. Returns the last character that was read.
    fn step(&mut self, before: char, next: char) -> Result<char, Misplaced<'t>> {
        let within = self.within.last().copied().unwrap_or(Within::Words);
        if let Some(name) = placeholder(self.rest, self.names) {
            let place = match before {
                '\\' => Some("behind a backslash"),
                '$' => Some("behind `$`"),
                _ => within.place(),
            };
            return match place {
                Some(place) => Err(Misplaced { name, place }),
                None => Ok(self.skip(name.len() + 2)),
            };
        }
        match (within, next) {
            (Within::SingleQuotes | Within::DollarQuotes, '\'')
            | (Within::DoubleQuotes, '"')
            | (Within::Backquotes, '`')
            | (Within::Parameter, '}')
            | (Within::Arithmetic, ')') => Ok(self.close(1)),
            (Within::Words, ')') if self.within.len() > 1 => Ok(self.close(1)),
            (Within::SingleQuotes, _) => Ok(self.skip(1)),
            // The next character has no meaning, unless it begins a placeholder.
            (_, '\\') if !self.rest.starts_with("\\{") => {
                self.skip(2);
                Ok('x')
            }
            (Within::Backquotes | Within::DollarQuotes, _) => Ok(self.skip(1)),
            (_, '$') if self.rest.starts_with("$((") => {
                self.within.push(Within::Arithmetic);
                Ok(self.open(Within::Arithmetic, 3))
            }
            (_, '$') if self.rest.starts_with("$(") => Ok(self.open(Within::Words, 2)),
            (_, '$') if self.is_parameter() => Ok(self.open(Within::Parameter, 2)),
            (_, '`') => Ok(self.open(Within::Backquotes, 1)),
            (Within::DoubleQuotes, _) => Ok(self.skip(1)),
            (_, '"') => Ok(self.open(Within::DoubleQuotes, 1)),
            (_, '\'') if before == '$' => Ok(self.open(Within::DollarQuotes, 1)),
            (_, '\'') => Ok(self.open(Within::SingleQuotes, 1)),
            (Within::Words | Within::Arithmetic, '(') => Ok(self.open(within, 1)),
            (Within::Words, '#') if before.is_whitespace() || ";&|()".contains(before) => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.text(end, "in a comment")
            }
            (Within::Words, '<') if self.rest.starts_with("<<<") => Ok(self.skip(3)),
            (Within::Words, '<') if self.rest.starts_with("<<") => self.document(),
            (Within::Words, '\n') if !self.documents.is_empty() => self.bodies(),
            _ => Ok(self.skip(1)),
        }
    }

    /// Returns true if `${..}` stands here, and not a placeholder behind `$`.
    fn is_parameter(&self) -> bool {
        let rest = self.rest.strip_prefix('$').unwrap_or_default();
        rest.starts_with('{') && placeholder(rest, self.names).is_none()
    }

    /// Skips so many characters. Returns the last of them.
    fn skip(&mut self, count: usize) -> char {
        let mut rest = self.rest.chars();
        let last = rest.by_ref().take(count).last();
        self.rest = rest.as_str();
        last.unwrap_or_default()
    }

    fn open(&mut self, within: Within, count: usize) -> char {
        self.within.push(within);
        self.skip(count)
    }

    fn close(&mut self, count: usize) -> char {
        self.within.pop();
        self.skip(count)
    }

    /// Skips so many bytes that are text.
    fn text(&mut self, length: usize, place: &'static str) -> Result<char, Misplaced<'t>> {
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let mut found = text.match_indices('{').filter_map(|(at, _)| text.get(at..));
        if let Some(name) = found.find_map(|here| placeholder(here, self.names)) {
            return Err(Misplaced { name, place });
        }
        self.rest = rest;
        Ok(text.chars().last().unwrap_or('\n'))
    }

    /// Reads `<<END`.
    fn document(&mut self) -> Result<char, Misplaced<'t>> {
        self.skip(2);
        let has_tabs = self.rest.starts_with('-');
        if has_tabs {
            self.skip(1);
        }
        let word = self.rest.trim_start_matches([' ', '\t']);
        let length = word.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c));
        let (word, _) = word.split_at_checked(length.unwrap_or(word.len())).unwrap_or((word, ""));
        let end: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        self.documents.push((end, has_tabs));
        let length = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len() + word.len();
        self.text(length, "in a here-document")
    }

    /// Reads the here-documents that begin with the next line.
    fn bodies(&mut self) -> Result<char, Misplaced<'t>> {
        self.skip(1);
        for (end, has_tabs) in std::mem::take(&mut self.documents) {
            let mut length = 0;
            for line in self.rest.split_inclusive('\n') {
                length += line.len();
                let line = line.trim_end_matches('\n');
                if end == if has_tabs { line.trim_start_matches('\t') } else { line } {
                    break;
                }
            }
            self.text(length, "in a here-document")?;
        }
        Ok('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_where_their_quotes_do_not_hold() {
        for (command, place) in [
            ("agent '{PROMPT}'", "within single quotes"),
            ("agent \"{PROMPT}\"", "within double quotes"),
            ("agent \"a \\\" {PROMPT}\"", "within double quotes"),
            ("agent \"$(cat x) {PROMPT}\"", "within double quotes"),
            ("echo `agent {PROMPT}`", "within backquotes"),
            ("echo \"`agent {PROMPT}`\"", "within backquotes"),
            ("agent $'{PROMPT}'", "within $'..'"),
            ("agent ${X:-{PROMPT}}", "within ${..}"),
            ("agent $((1 + (2) + {PROMPT}))", "within $((..))"),
            ("agent \\{PROMPT}", "behind a backslash"),
            ("agent \"\\{PROMPT}\"", "behind a backslash"),
            ("agent ${PROMPT}", "behind `$`"),
            ("agent \"${PROMPT}\"", "behind `$`"),
            ("agent # {PROMPT}\n", "in a comment"),
            ("cat <<END\nit's {PROMPT}\nEND\n", "in a here-document"),
            ("cat <<-'END' > x\n\tEND\ncat <<{PROMPT}\n", "in a here-document"),
            ("sh -c 'echo '\\''{PROMPT}'", "within single quotes"),
        ] {
            let found = misplaced(command, &OF_COMMANDS);
            assert_eq!(found, Some(Misplaced { name: "PROMPT", place }), "{command}");
        }
    }

    #[test]
    fn placeholders_may_be_words_and_parts_of_words() {
        for command in [
            "agent {PROMPT} > answers/{PROMPT}.json",
            "agent \"$(cat {PROMPT})\" '' \"\" 'a'{PROMPT}\"b\"",
            "echo \"$(agent \"$(cat {PROMPT})\" | tr a b)\" > {PROMPT}",
            "(cd x && agent {PROMPT}) 2>&1 >{PROMPT}",
            "agent \\\\{PROMPT} \\' {PROMPT} \\\" {PROMPT}",
            "echo '$(' \"$((1 + (2)))\" {PROMPT}",
            "echo a#b '#' {PROMPT} # it's a comment\nagent {PROMPT}",
            "cat <<END | agent {PROMPT}\nit's \"text\n  END\nEND\nmv x {PROMPT}",
            "cat <<<{PROMPT} $x {PROMPT} ${y} {PROMPT}",
            "echo '{OTHER}' \"{prompt}\" '${HOME}'",
        ] {
            assert_eq!(misplaced(command, &OF_COMMANDS), None, "{command}");
        }
    }

    #[test]
    fn values_are_words() {
        for (word, expected) in
            [("2", "'2'"), ("", "''"), ("it's", r"'it'\''s'"), ("a\nb", "'a\nb'")]
        {
            assert_eq!(quoted(word), expected);
        }
        let value = |name: &str| (name == "PROMPT").then(|| quoted("{EVAL_ID} $(x)"));
        assert_eq!(filled("a {PROMPT} {NO}", &value), "a '{EVAL_ID} $(x)' {NO}");
    }
}
