//! Texts as Python, YAML and JSON all read them.

use std::fmt::Write as _;

/// In double quotes, with the escapes that all three have in common.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            // YAML takes no others; those that end lines there, too, are shown as what they are.
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

/// A list in brackets.
pub(super) fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A list of Python as formatters leave it: an item a line.
pub(super) fn python_list(texts: &[String]) -> String {
    lines(["[", "]"], texts.iter().map(|text| quoted(text)))
}

/// The same of a dictionary.
pub(super) fn python_dict(pairs: &[(String, String)]) -> String {
    let entry = |(name, value): &(String, String)| format!("{}: {}", quoted(name), quoted(value));
    lines(["{", "}"], pairs.iter().map(entry))
}

fn lines([open, close]: [&str; 2], items: impl Iterator<Item = String>) -> String {
    let lines: String = items.map(|item| format!("    {item},\n")).collect();
    if lines.is_empty() { format!("{open}{close}") } else { format!("{open}\n{lines}{close}") }
}

/// A comment of YAML and Python, in lines of at most 79 characters where the text has blanks.
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

/// Without what could end a line somewhere.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|character| if is_special(character) { ' ' } else { character }).collect()
}

/// Whether files can be called by it: it leads nowhere else, and is the same for every system.
pub(super) fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['.', '-', ' '])
        && !name.ends_with(['.', ' '])
        && name.len() <= 100
        && !name.chars().any(|c| is_special(c) || "/\\:*?\"<>|".contains(c))
}

/// A name for a Python module.
pub(super) fn identifier(name: &str) -> String {
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
