//! Text for files of other hosts: literals that Python, YAML and JSON all read, and templates.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::model::Job;

/// Python code that starts the program, for all files that are not the program itself.
const RUN: &str = include_str!("templates/run.py");

/// Python code that reads a score from 0 to 1.
const SCORE: &str = include_str!("templates/score.py");

/// Fills in a template: the origin of the file, and the command line.
///
/// Templates are valid Python: their placeholders are comments and strings.
pub(crate) fn fill(template: &str, job: &Job<'_>) -> String {
    let header = comment(job.origin.line());
    let words = python_list(&job.command.words);
    let environment = python_dict(&job.command.environment);
    let mut filled = String::new();
    let mut rest = template;
    // In the order of the templates, because inserted text may contain placeholders.
    for (placeholder, content) in [
        ("# @HEADER@\n", &*header),
        ("\"@COMMAND@\"", &words),
        ("\"@ENVIRONMENT@\"", &environment),
        ("# @RUN@\n", RUN),
        ("# @SCORE@\n", SCORE),
    ] {
        if let Some((before, after)) = rest.split_once(placeholder) {
            filled.push_str(before);
            filled.push_str(content);
            rest = after;
        }
    }
    filled + rest
}

/// Returns a YAML file with comments: its origin, and a description unless that is empty.
pub(crate) fn yaml(job: &Job<'_>, about: &str, entry: &str) -> String {
    let about = if about.is_empty() { String::new() } else { comment(about) };
    comment(job.origin.line()) + &about + entry
}

/// Returns text in double quotes, with escapes that all three languages have.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            // YAML does not allow these, or reads them as line ends.
            character if is_special(character) => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

fn is_special(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns a list in brackets.
pub(crate) fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Returns a Python list, one item per line.
fn python_list(texts: &[String]) -> String {
    lines(["[", "]"], texts.iter().map(|text| quoted(text)))
}

/// Returns a Python dictionary, one entry per line.
fn python_dict(pairs: &[(String, String)]) -> String {
    let entry = |(name, value): &(String, String)| format!("{}: {}", quoted(name), quoted(value));
    lines(["{", "}"], pairs.iter().map(entry))
}

fn lines([open, close]: [&str; 2], items: impl Iterator<Item = String>) -> String {
    let lines: String = items.map(|item| format!("    {item},\n")).collect();
    if lines.is_empty() { format!("{open}{close}") } else { format!("{open}\n{lines}{close}") }
}

/// Returns a comment of YAML and Python, in lines of at most 79 characters if the text has spaces.
pub(super) fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line == "#" || line.chars().count() + word.chars().count() < 79 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("# {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// Replaces characters that end a line in any of the languages.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|character| if is_special(character) { ' ' } else { character }).collect()
}

/// Returns true if the text is a file name on every system.
pub(super) fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['.', '-', ' '])
        && !name.ends_with(['.', ' '])
        && name.len() <= 100
        && !name.chars().any(|c| is_special(c) || "/\\:*?\"<>|".contains(c))
}

/// ASCII characters that a segment of a URL path does not contain.
const NOT_IN_SEGMENTS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns a name as a segment of a URL path.
pub fn path_segment(name: &str) -> String {
    utf8_percent_encode(name, NOT_IN_SEGMENTS).to_string()
}

/// Returns a name for a Python module.
pub(crate) fn identifier(name: &str) -> String {
    let mut identifier: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if identifier.starts_with(|c: char| c.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_texts_are_json() {
        for text in ["", "a b", "it's \"quoted\" \\ \n\t\0\u{7f}\u{85}\u{2028}", "été 🦀 {{x}}"]
        {
            assert_eq!(serde_json::from_str::<String>(&quoted(text)).unwrap(), text);
            assert!(!quoted(text).contains(is_special));
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_no_file_names() {
        for name in
            ["", ".", "..", "../x", "a/b", "a\\b", "-o", "a\nb", "c:", ".hidden", "dot.", "blank "]
        {
            assert!(!is_file_name(name), "{name}");
        }
        assert!(is_file_name("polite-2.été"));
    }

    #[test]
    fn comments_are_broken_between_words() {
        assert_eq!(comment("short"), "# short\n");
        let long = "x".repeat(90);
        assert_eq!(comment(&format!("a {long} b")), format!("# a\n# {long}\n# b\n"));
        let words = ["word"; 40].join(" ");
        let text = comment(&words);
        assert!(text.lines().all(|line| line.starts_with("# word") && line.len() <= 79), "{text}");
        assert_eq!(text.replace("\n# ", " "), format!("# {words}\n"));
    }

    #[test]
    fn modules_have_names_that_can_be_imported() {
        assert_eq!(identifier("tool-check"), "tool_check");
        assert_eq!(identifier("5 words"), "_5_words");
    }
}
