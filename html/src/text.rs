//! Escaping: JSON inside of a script element, and text inside of HTML. Numbers as text.

use std::{borrow::Cow, fmt::Write as _, io};

use serde::Serialize;

/// Returns a value as JSON that can be inside of a script element: no text in it ends the element or begins a comment.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(in_script(&serde_json::to_string(value)?))
}

/// Escapes characters of JSON that have a meaning in HTML, in old scripts, on a terminal or in the log of a CI system (`##[..]`).
/// They occur in its strings only.
pub(crate) fn in_script(json: &str) -> String {
    let is_escaped = |c: char| {
        c.is_control()
            || matches!(c, '<' | '>' | '&' | '#' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    replaced(json, |c| is_escaped(c).then(|| format!("\\u{:04x}", u32::from(c)).into()))
}

/// Escapes text for HTML, also inside of attributes.
pub(crate) fn html(text: &str) -> String {
    replaced(text, |c| match c {
        '<' => Some("&lt;".into()),
        '>' => Some("&gt;".into()),
        '&' => Some("&amp;".into()),
        '"' => Some("&quot;".into()),
        '\'' => Some("&#39;".into()),
        '#' => Some("&#35;".into()),
        // No text of the page has lines or commands of terminals.
        c if c.is_control() => Some("\u{fffd}".into()),
        _ => None,
    })
}

fn replaced(text: &str, replacement: impl Fn(char) -> Option<Cow<'static, str>>) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, c) in text.char_indices() {
        if let Some(replacement) = replacement(c) {
            escaped.push_str(&text[rest..at]);
            escaped.push_str(&replacement);
            rest = at + c.len_utf8();
        }
    }
    escaped.push_str(&text[rest..]);
    escaped
}

/// Returns a number with at most this number of decimals.
pub(crate) fn rounded(number: f64, decimals: usize) -> String {
    let mut text = String::new();
    // Writing text to a string cannot fail.
    let _ = write!(text, "{number:.decimals$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() || short == "-0" { "0".to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_script_element_ends_it() {
        let text = "</script><!-- & \u{2028}\u{2029}\u{202e}\u{9b}\n\"";
        let escaped = json(text).unwrap();
        assert_eq!(
            escaped,
            r#""\u003c/script\u003e\u003c!-- \u0026 \u2028\u2029\u202e\u009b\n\"""#
        );
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }

    #[test]
    fn text_of_html_is_no_markup() {
        assert_eq!(
            html("<b title='\"'>&\0#ü"),
            "&lt;b title=&#39;&quot;&#39;&gt;&amp;\u{fffd}&#35;ü"
        );
    }
}
