//! The frame of the page: title, security policy, script and style, and what is shown without JavaScript.

use std::io::{self, Write};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

use super::{text, words::Words};

/// The scripts. A block keeps their names apart from those of the browser.
macro_rules! script {
    ($file:literal) => {
        concat!("\"use strict\";\n{\n", include_str!("base.js"), "\n", include_str!($file), "}\n")
    };
}
const RUN: &str = script!("report.js");
const RESULT: &str = script!("result.js");
const STYLE: &str = include_str!("report.css");

/// What draws a page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Script {
    /// A run.
    Run,
    /// Another result.
    Result,
}

impl Script {
    fn text(self) -> &'static str {
        match self {
            Self::Run => RUN,
            Self::Result => RESULT,
        }
    }
}

/// Writes everything before what is shown without JavaScript. The title is escaped.
pub(crate) fn begin(title: &str, script: Script, out: &mut dyn Write) -> io::Result<()> {
    let (style, script) = (source(STYLE), source(script.text()));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {style}; script-src {script}; \
         img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
}

/// The list of keys.
const KEYS: &str = "<dialog aria-labelledby=\"keys\">\n<h2 id=\"keys\">Keys</h2>\n<dl>\n\
    <dt>j, k<dd>next, previous conversation\n<dt>/<dd>find\n<dt>Esc<dd>back to the list\n<dt>o<dd>overview\n\
    <dt>c<dd>comparison, if there is one\n<dt>e<dd>evaluators\n<dt>r<dd>run\n<dt>t<dd>light or dark\n<dt>?<dd>this list\n</dl>\n\
    <p><label><input type=\"checkbox\" checked> Single keys work</label></p>\n<button type=\"button\">Close</button>\n</dialog>\n";

/// Writes everything behind the data.
pub(crate) fn end(script: Script, out: &mut dyn Write) -> io::Result<()> {
    if matches!(script, Script::Run) {
        out.write_all(KEYS.as_bytes())?;
    }
    write!(out, "<script>{}</script>\n</body>\n</html>\n", script.text())
}

/// Returns a text as a source of the security policy.
fn source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Writes the verdict and the table of evaluators for browsers without JavaScript.
pub(crate) fn without_script(
    words: &Words<'_>,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        cells.map(|cell| format!("<{tag}>{}", text::html(cell))).collect::<String>()
    };
    write!(
        out,
        "<noscript>\n<h1>{title}</h1>\n<table class=\"card\">\n<caption>Evaluators</caption>\n"
    )?;
    let head = cells("th scope=\"col\"", &mut words.columns.iter().copied());
    writeln!(out, "<thead><tr>{head}</thead>\n<tbody>")?;
    for row in &words.rows {
        let mut row = row.iter().map(String::as_str);
        let first = cells("th scope=\"row\"", &mut row.by_ref().take(1));
        writeln!(out, "<tr>{first}{}", cells("td", &mut row))?;
    }
    writeln!(
        out,
        "</tbody>\n</table>\n<p>The conversations, and everything else in this file, are shown with JavaScript only.</p>\n</noscript>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_are_small_and_end_where_their_elements_end() {
        let files =
            [include_str!("base.js"), include_str!("report.js"), include_str!("result.js"), STYLE];
        assert!(files.concat().len() <= 60_000, "{:?}", files.map(str::len));
        for script in [RUN, RESULT] {
            for end in ["</script", "</style", "<!--"] {
                assert!(!script.contains(end) && !STYLE.contains(end), "{end}");
            }
            // What makes text markup, and attributes that the security policy would refuse.
            for name in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "style=",
            ] {
                assert!(!script.contains(name), "{name}");
            }
        }
    }
}
