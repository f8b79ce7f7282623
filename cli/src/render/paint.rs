//! Colours, for terminals only.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::plain::printable;

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

/// Destination of text for people.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Colours are used if stdout is a terminal.
    Stdout,
    /// A file has no colours.
    File,
}

/// Writer that colours lines. Text after the last line feed is written by [`flush`](Write::flush).
pub(crate) struct Painted<'o> {
    out: &'o mut dyn Write,
    target: Target,
    pending: Vec<u8>,
}

impl<'o> Painted<'o> {
    pub(crate) fn new(out: &'o mut dyn Write, target: Target) -> Self {
        Self { out, target, pending: Vec::new() }
    }

    fn paint(&mut self, until: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.pending.drain(..until).collect();
        let lines = String::from_utf8_lossy(&lines);
        let lines = match self.target {
            Target::Stdout => for_stdout(&lines),
            Target::File => printable(&lines),
        };
        self.out.write_all(lines.as_bytes())
    }
}

impl Write for Painted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let before = self.pending.len();
        self.pending.extend_from_slice(bytes);
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
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
        let mut painted = Painted::new(&mut out, Target::Stdout);
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
