//! Colours, for terminals only.

use std::{borrow::Cow, io};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// What is coloured, where it stands at the start of a line.
const MARKS: [(&str, AnsiColor); 5] = [
    ("[PASS]", AnsiColor::Green),
    ("[FAIL]", AnsiColor::Red),
    ("PASSED:", AnsiColor::Green),
    ("FAILED:", AnsiColor::Red),
    ("ERROR:", AnsiColor::Red),
];

/// Text for stdout: with colours on a terminal, unless the environment says otherwise.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    paint(text, AutoStream::choice(&io::stdout()))
}

/// Text for stderr.
pub(super) fn for_stderr(text: &str) -> Cow<'_, str> {
    paint(text, AutoStream::choice(&io::stderr()))
}

fn paint(text: &str, choice: ColorChoice) -> Cow<'_, str> {
    if choice == ColorChoice::Never {
        return Cow::Borrowed(text);
    }
    let mut painted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start_matches(' ').len();
        let mark = MARKS.iter().find(|(mark, _)| start <= 2 && line[start..].starts_with(mark));
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
    fn marks_at_the_start_of_lines_are_painted_and_nothing_else() {
        let text = "a [PASS]\n  [FAIL] x: 0\n    [FAIL] quoted\nPASSED: 1";
        assert_eq!(
            paint(text, ColorChoice::Always),
            "a [PASS]\n  \x1b[1m\x1b[31m[FAIL]\x1b[0m x: 0\n    [FAIL] quoted\n\x1b[1m\x1b[32mPASSED:\x1b[0m 1"
        );
        assert_eq!(paint(text, ColorChoice::Never), text);
    }
}
