//! Text from recordings, evaluators and file names, made safe to print; and colours.
//!
//! Text of agents and evaluators must not move the cursor, reorder a line, start a line of its own or be taken for a
//! command by the CI system that reads the log. Every form of report prints such text with [`one_line`], or line by
//! line after a prefix. [`printable`] is the last safeguard for all output to a terminal or a log.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// Prefixes of workflow commands in the logs of GitHub: at the start of a line, and anywhere in a line.
const COMMAND: &str = "::";
pub(super) const OLD_COMMAND: &str = "##[";

/// Escapes text to be part of a line: also line feeds and tabs.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) || matches!(c, '\n' | '\t'))
}

/// Escapes a text of several lines.
pub(super) fn line_of(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe)
}

/// Escapes complete lines of output: all but line feeds and tabs, and the start of workflow commands.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let text = line_of(text);
    if !text.contains(OLD_COMMAND) && !text.lines().any(is_command) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        safe.push_str(&line[..start]);
        if is_command(line) {
            safe.push('\\');
        }
        safe.push_str(&line[start..].replace(OLD_COMMAND, "#\\#["));
    }
    Cow::Owned(safe)
}

/// Returns what precedes the text of a cell that spreadsheets would take for a formula; empty for others.
pub(super) fn formula_mark(text: &str) -> &'static str {
    if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" }
}

/// Returns true if the log of a GitHub workflow takes the line for a command.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with(COMMAND)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            c if !is_escaped(c) => escaped.push(c),
            '\n' | '\r' | '\t' => escaped.extend(character.escape_default()),
            c => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(escaped)
}

/// Returns true for characters that change how the text around them is shown: control characters, line separators, and
/// those that set the direction of text.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

/// Texts that are coloured at the start of a line.
const MARKS: [(&str, AnsiColor); 6] = [
    ("[PASS]", AnsiColor::Green),
    ("[FAIL]", AnsiColor::Red),
    ("[ERR ]", AnsiColor::Red),
    ("PASSED:", AnsiColor::Green),
    ("FAILED:", AnsiColor::Red),
    ("ERROR:", AnsiColor::Red),
];

/// Prepares text for stdout. Colours are for terminals only: programs also read reports.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    let stdout = io::stdout();
    let choice =
        if stdout.is_terminal() { AutoStream::choice(&stdout) } else { ColorChoice::Never };
    shown(text, choice)
}

/// Bytes of whole lines that are prepared together.
const LINES: usize = 8 << 10;

/// Writer that prepares whole lines, e.g. with [`for_stdout`], many at a time. The last of them are written by
/// [`flush`](Write::flush).
pub(crate) struct Painted<'o> {
    out: &'o mut dyn Write,
    prepare: fn(&str) -> Cow<'_, str>,
    pending: Vec<u8>,
}

impl<'o> Painted<'o> {
    pub(crate) fn new(out: &'o mut dyn Write, prepare: fn(&str) -> Cow<'_, str>) -> Self {
        Self { out, prepare, pending: Vec::new() }
    }

    fn paint(&mut self, until: usize) -> io::Result<()> {
        let written = {
            let lines = String::from_utf8_lossy(&self.pending[..until]);
            self.out.write_all((self.prepare)(&lines).as_bytes())
        };
        self.pending.drain(..until);
        written
    }
}

impl Write for Painted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.pending.len();
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= LINES
            && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n')
        {
            self.paint(before + end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.paint(self.pending.len())?;
        self.out.flush()
    }
}

/// Prepares text for stderr. The environment may request colours without a terminal.
pub(super) fn for_stderr(text: &str) -> Cow<'_, str> {
    shown(text, AutoStream::choice(&io::stderr()))
}

/// Returns the text with colours of this program only: recordings and evaluators may contain control characters.
fn shown(text: &str, choice: ColorChoice) -> Cow<'_, str> {
    match printable(text) {
        Cow::Borrowed(text) => paint(text, choice),
        Cow::Owned(text) => paint(&text, choice).into_owned().into(),
    }
}

fn paint(text: &str, choice: ColorChoice) -> Cow<'_, str> {
    if choice == ColorChoice::Never {
        return Cow::Borrowed(text);
    }
    let mut painted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start_matches(' ').len();
        // Verdicts are not indented; marks may be.
        let mark = MARKS.iter().find(|(mark, _)| {
            start <= if mark.starts_with('[') { 2 } else { 0 } && line[start..].starts_with(mark)
        });
        match mark {
            Some((mark, color)) => {
                let style = Style::new().fg_color(Some((*color).into())).bold();
                let (before, after) = (&line[..start], &line[start + mark.len()..]);
                painted.push_str(&format!("{before}{style}{mark}{style:#}{after}"));
            }
            None => painted.push_str(line),
        }
    }
    Cow::Owned(painted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_the_text_around_it_is_shown_as_an_escape() {
        for (text, safe) in [
            ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc"),
            ("\x1b[2J\x07\0\x7f\u{9b}31m\u{85}", "\\u{1b}[2J\\u{7}\\u{0}\\u{7f}\\u{9b}31m\\u{85}"),
            ("\u{202e}cod\u{2066}e\u{2028}\u{feff}", "\\u{202e}cod\\u{2066}e\\u{2028}\\u{feff}"),
            ("Ünï ☀ 日本 👩‍👩‍👧 \\n", "Ünï ☀ 日本 👩‍👩‍👧 \\n"),
        ] {
            assert_eq!(one_line(text), safe);
        }
        assert_eq!(line_of("\tcode\r"), "\tcode\\r");
    }

    #[test]
    fn no_line_is_a_command_of_a_ci_system() {
        for (text, safe) in [
            ("a ::error::b\n", "a ::error::b\n"),
            ("a\n::error::b\n \t::add-mask::c", "a\n\\::error::b\n \t\\::add-mask::c"),
            ("a ##[add-mask]b", "a #\\#[add-mask]b"),
            ("\u{b}::x", "\\u{b}::x"),
        ] {
            assert_eq!(printable(text), safe);
        }
        // Readers of logs also skip white space that is not a control character.
        assert_eq!(printable("\u{a0}::x"), "\u{a0}\\::x");
    }

    #[test]
    fn only_colours_of_ours_are_shown() {
        let text = "PASSED: \x1b]0;title\x07";
        assert_eq!(
            shown(text, ColorChoice::Always),
            "\x1b[1m\x1b[32mPASSED:\x1b[0m \\u{1b}]0;title\\u{7}"
        );
        assert_eq!(shown(text, ColorChoice::Never), "PASSED: \\u{1b}]0;title\\u{7}");
    }

    #[test]
    fn what_is_written_in_pieces_is_the_whole() {
        let (mut out, text) = (Vec::new(), "é [PASS]\n  [FAIL] ☀\n\nend");
        let mut painted = Painted::new(&mut out, for_stdout);
        text.as_bytes().chunks(2).for_each(|piece| painted.write_all(piece).unwrap());
        painted.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), for_stdout(text));
    }

    #[test]
    fn marks_at_the_start_of_lines_are_painted_and_nothing_else() {
        let text = "a [PASS]\n  [FAIL] x: 0\n    [FAIL] quoted\n  FAILED: 2\nPASSED: 1";
        assert_eq!(
            paint(text, ColorChoice::Always),
            "a [PASS]\n  \x1b[1m\x1b[31m[FAIL]\x1b[0m x: 0\n    [FAIL] quoted\n  FAILED: 2\n\x1b[1m\x1b[32mPASSED:\x1b[0m 1"
        );
        assert_eq!(paint(text, ColorChoice::Never), text);
    }
}
