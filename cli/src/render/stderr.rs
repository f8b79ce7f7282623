//! Lines on stderr, and on a terminal a last line that is overwritten.
//!
//! Errors of writing to stderr are ignored, because they cannot be reported.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::plain::{for_stderr, line_of, one_line};

/// Form of the messages on stderr, for the whole process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogSettings {
    /// Only errors are written.
    pub(crate) quiet: bool,
    pub(crate) format: LogFormat,
}

/// Form of the messages on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object per line, with `time`, `level` and `message`
    Json,
}

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Info,
    Warning,
    Error,
}

static SETTINGS: OnceLock<LogSettings> = OnceLock::new();

/// True if the last line is one that is overwritten.
static STATUS: AtomicBool = AtomicBool::new(false);

/// Moves the cursor to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[2K";

/// Maximum length of a status, in characters. A longer one might wrap, and only its last line could be cleared.
const WIDTH: usize = 79;

/// Sets the form of messages; only the first call has an effect.
pub(crate) fn configure(settings: LogSettings) {
    // A program that runs the command twice keeps the first settings.
    let _ = SETTINGS.set(settings);
}

fn settings() -> LogSettings {
    SETTINGS.get().copied().unwrap_or_default()
}

/// Returns true if the last line can and may be overwritten.
pub(super) fn shows_status() -> bool {
    let LogSettings { quiet, format } = settings();
    !quiet
        && format == LogFormat::Text
        && io::stderr().is_terminal()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Writes a message of one or more lines.
pub(super) fn line(level: Level, text: &str) {
    line_with(level, text, Map::new());
}

/// Writes a message with more keys, which only JSON contains.
pub(super) fn line_with(level: Level, text: &str, keys: Map<String, Value>) {
    let LogSettings { quiet, format } = settings();
    if quiet && level != Level::Error {
        return;
    }
    let text = match format {
        LogFormat::Text => for_stderr(text),
        LogFormat::Json => json_line(Timestamp::now(), level, text, keys).into(),
    };
    let mut stderr = io::stderr().lock();
    let clear = if STATUS.swap(false, Ordering::Relaxed) { CLEAR } else { "" };
    let _ = writeln!(stderr, "{clear}{text}");
}

fn json_line(time: Timestamp, level: Level, text: &str, keys: Map<String, Value>) -> String {
    let message = line_of(text.trim_end());
    let mut object = Map::new();
    object.insert("time".to_owned(), json!(format!("{time:.3}")));
    object.insert("level".to_owned(), json!(format!("{level:?}").to_lowercase()));
    object.insert("message".to_owned(), json!(message));
    object.extend(keys);
    Value::Object(object).to_string()
}

/// Overwrites the last line of a terminal; empty text removes it.
pub(super) fn status(text: &str) {
    let shown = !text.is_empty();
    if STATUS.swap(shown, Ordering::Relaxed) || shown {
        let text: String = one_line(text).chars().take(WIDTH).collect();
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{CLEAR}{text}").and_then(|()| stderr.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_json_is_one_line() {
        let keys = Map::from_iter([("exit_code".to_owned(), json!(3))]);
        assert_eq!(
            json_line(Timestamp::UNIX_EPOCH, Level::Error, "a\n\"b\"\x1b\n", keys),
            r#"{"exit_code":3,"level":"error","message":"a\n\"b\"\\u{1b}","time":"1970-01-01T00:00:00.000Z"}"#
        );
    }
}
