//! Conversations on the lines of a stream, one on each.

use std::{
    fmt,
    io::{self, BufRead, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    task::{Context, Poll},
};

use evaluator_engine::conversation_source::{Arrival, ConversationStream, JoinedTraces};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::{Runner, recordings::Extractor, window::Window};
use crate::{
    config::Config,
    conversation::{Conversation, Group, GroupBy, group, session_of},
    panic,
    report::run_file::{Digester, InputError},
    trace::{LoadError, LoadErrorKind, Trace, TraceFormats, load_text},
};

/// Name of the stream in errors and traces.
const STREAM: &str = "-";

/// Maximum number of traces that an error names.
const NAMED: usize = 3;

/// Lines of a stream, each with a conversation: an OTLP document, a Jaeger document, or an array of spans.
#[derive(derive_more::Debug)]
#[debug("Lines({number})")]
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    max_line: usize,
    /// Lines that were read.
    number: u64,
    /// Their bytes.
    offset: u64,
}

/// A line of a stream.
struct Line {
    number: u64,
    offset: u64,
    /// Without its line feed; empty if the line is too long.
    bytes: Vec<u8>,
    /// The error of a line that is too long.
    error: Option<InputError>,
}

impl Lines {
    /// Reads the lines of a stream. Those of more than `max_line` bytes cannot be used.
    pub fn new(input: impl BufRead + Send + 'static, max_line: usize) -> Self {
        Self { input: Box::new(input), max_line, number: 0, offset: 0 }
    }

    /// Returns true if the stream is empty. Waits for its first byte or its end.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn is_empty(&mut self) -> io::Result<bool> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the next line; `None` at the end of the stream. A last line without a line feed is a line.
    fn next(&mut self) -> io::Result<Option<Line>> {
        if self.is_empty()? {
            return Ok(None);
        }
        let (number, offset, max) = (self.number + 1, self.offset, self.max_line);
        let (mut bytes, mut content, mut length) = (Vec::new(), Digester::default(), 0);
        loop {
            if self.is_empty()? {
                break;
            }
            let available = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            length += part.len();
            if length <= max {
                bytes.extend_from_slice(part);
            } else {
                content.write_all(&bytes)?;
                content.write_all(part)?;
                bytes = Vec::new();
            }
            let read = part.len() + usize::from(end.is_some());
            self.input.consume(read);
            self.offset += read as u64;
            if end.is_some() {
                break;
            }
        }
        self.number = number;
        let error = (length > max).then(|| InputError {
            line: number,
            offset,
            error_type: "line_too_long".to_owned(),
            message: format!("it has {length} bytes, and at most {max} are read (--max-line)"),
            content: content.finish(),
        });
        Ok(Some(Line { number, offset, bytes, error }))
    }
}

/// Result of evaluating the conversations of a stream. As text, a line for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piped {
    /// Lines that were read; each has a record.
    pub lines: u64,
    /// Lines that cannot be used, which are errors of the run.
    pub unusable: u64,
}

impl fmt::Display for Piped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, unusable } = self;
        let noun = if *lines == 1 { "line" } else { "lines" };
        write!(
            f,
            "{lines} {noun}, {unusable} of them unusable; nothing is decided before the parts are reported together"
        )
    }
}

/// Reads conversations from lines.
pub(super) struct LineReader {
    extractor: Extractor,
    formats: TraceFormats,
    group_by: GroupBy,
}

/// Reason why a line cannot be used: the kind of the error, and a message.
type Reason = (&'static str, String);

impl LineReader {
    pub(super) fn new(runner: &Runner, config: &Config) -> Self {
        Self {
            extractor: Extractor::new(runner, config),
            formats: runner.registries.trace_formats.given(config.trace_format.as_ref()),
            group_by: config.group_by.unwrap_or_default(),
        }
    }

    /// Reads all lines as far as `window` has room, and sends their conversations. Blocks.
    ///
    /// # Errors
    ///
    /// The stream cannot be read.
    pub(super) fn read(
        &self,
        mut lines: Lines,
        window: &Window,
        arrivals: &UnboundedSender<Arrival>,
    ) -> io::Result<Piped> {
        let (mut number, mut unusable) = (0, 0);
        while let Some(line) = lines.next()? {
            // The run has ended if there will be no room, or if the receiver is closed.
            if !window.enter(line.bytes.len()) {
                break;
            }
            let arrival = self.arrival(number, line);
            unusable += u64::from(arrival.loaded.is_err());
            if arrivals.send(arrival).is_err() {
                break;
            }
            number += 1;
        }
        Ok(Piped { lines: lines.number, unusable })
    }

    fn arrival(&self, number: usize, line: Line) -> Arrival {
        let bytes = line.bytes.len();
        let arrival = |session, loaded| Arrival { number, bytes, session, loaded };
        if let Some(error) = line.error {
            return arrival(None, Err(error));
        }
        let read = catch_unwind(AssertUnwindSafe(|| self.conversation(&line.bytes)));
        let read = read.unwrap_or_else(|panic| {
            let message = format!("reading it panicked: {}", panic::message(panic.as_ref()));
            Err(("unreadable_line", message))
        });
        match read {
            Ok((session, conversation)) => arrival(session, Ok(conversation)),
            Err((error_type, message)) => {
                let mut content = Digester::default();
                // Nothing can fail in memory.
                let _ = content.write_all(&line.bytes);
                let Line { number: line, offset, .. } = line;
                let (error_type, content) = (error_type.to_owned(), content.finish());
                arrival(None, Err(InputError { line, offset, error_type, message, content }))
            }
        }
    }

    /// Reads the conversation of a line, and the session that joins its traces.
    fn conversation(&self, line: &[u8]) -> Result<(Option<JoinedTraces>, Conversation), Reason> {
        let text = str::from_utf8(line).map_err(|error| {
            let at = error.valid_up_to();
            let hint = match line {
                [0x1f, 0x8b, ..] => "; it is compressed with gzip: decompress it (`gunzip`)",
                [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                    "; it is compressed with zstd: decompress it (`unzstd`)"
                }
                _ => "",
            };
            let message =
                format!("not UTF-8: invalid byte 0x{:02x} at byte {at} of it{hint}", line[at]);
            ("unreadable_line", message)
        })?;
        match text.trim_ascii() {
            "" => return Err(("no_spans", "it is blank".to_owned())),
            "[]" => return Err(("no_spans", "it is an array without spans".to_owned())),
            _ => {}
        }
        let file = load_text(text, Path::new(STREAM), &self.formats);
        let file = file.map_err(|error| ("unreadable_line", reason(&error)))?;
        if file.is_bare_span {
            let message = "it is a single span, and a line is a whole conversation: group the spans, and write those of each \
                           conversation as an array `[span, ..]` on one line";
            return Err(("bare_span", message.to_owned()));
        }
        if !file.unusable.is_empty() {
            return Err(("unreadable_line", file.unusable.to_string()));
        }
        let groups = group(&file.traces, self.group_by, false);
        match &groups[..] {
            [] => Err(("no_spans", LoadErrorKind::NoSpans.to_string())),
            [only] => Ok((self.session(only), self.extractor.of_group(only))),
            several => Err(("several_conversations", self.several(several))),
        }
    }

    fn session(&self, group: &Group<'_>) -> Option<JoinedTraces> {
        let is_by_session = self.group_by == GroupBy::Conversation;
        let mut names = group.members().iter().filter(|_| is_by_session).map(|it| session_of(it));
        let session = names.find_map(|name| name)?.into();
        let several = group.members().iter().filter(|_| group.members().len() > 1);
        let traces = several.map(|it| (*it.trace_id).into()).collect();
        Some(JoinedTraces { session, traces })
    }

    /// Returns the message about a line with several conversations. They are not split, since other lines may have further
    /// parts of them.
    fn several(&self, groups: &[Group<'_>]) -> String {
        let named = |trace: &&Trace| match session_of(trace) {
            Some(session) => format!("{} of session {session:?}", trace.trace_id),
            None => format!("{} without a session", trace.trace_id),
        };
        let firsts = groups.iter().filter_map(|group| group.members().first());
        let (rule, names): (_, Vec<String>) = match self.group_by {
            GroupBy::Conversation => (
                "each session is a conversation (--group-by conversation)",
                firsts.map(named).collect(),
            ),
            _ => (
                "each trace is a conversation (--group-by trace)",
                firsts.map(|trace| trace.trace_id.to_string()).collect(),
            ),
        };
        let more = if names.len() > NAMED { ", .." } else { "" };
        let (count, first) = (names.len(), names[..names.len().min(NAMED)].join(", "));
        format!("it has {count} conversations, since {rule}: traces {first}{more}")
    }
}

/// Returns the reason why a text is not a document, with the position of a mistake.
fn reason(error: &LoadError) -> String {
    match &error.kind {
        LoadErrorKind::InvalidLine { json, .. }
        | LoadErrorKind::Undetected { json: Some(json), .. }
        | LoadErrorKind::InvalidJaeger { json, .. } => format!("not JSON: {json}"),
        LoadErrorKind::Undetected { .. } | LoadErrorKind::NotOtlpLine { .. } => {
            "it is neither an OTLP document, nor a Jaeger document, nor an array of spans"
                .to_owned()
        }
        kind => kind.to_string(),
    }
}

/// The conversations that a [`LineReader`] sends.
#[derive(Debug)]
pub(super) struct LineStream(pub(super) UnboundedReceiver<Arrival>);

impl ConversationStream for LineStream {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Arrival>> {
        self.0.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn all(text: &[u8], max: usize) -> Vec<(u64, u64, Option<usize>)> {
        // A small buffer, so that lines are in several parts.
        let input = io::BufReader::with_capacity(3, Cursor::new(text.to_vec()));
        let mut lines = Lines::new(input, max);
        let lines = std::iter::from_fn(|| lines.next().unwrap());
        lines
            .map(|it| (it.number, it.offset, it.error.is_none().then_some(it.bytes.len())))
            .collect()
    }

    #[test]
    fn lines_have_numbers_offsets_and_a_maximum_length() {
        assert_eq!(all(b"", 9), []);
        assert_eq!(all(b"abcd", 9), [(1, 0, Some(4))]);
        let lines = [(1, 0, Some(4)), (2, 5, Some(0)), (3, 6, None), (4, 13, Some(2))];
        assert_eq!(all(b"abcd\n\nabcdef\nab\n", 5), lines);
    }

    #[test]
    fn a_line_that_is_too_long_is_identified_by_all_its_bytes() {
        let content = |text: &[u8], max| {
            let mut lines = Lines::new(Cursor::new(text.to_vec()), max);
            lines.next().unwrap().unwrap().error.unwrap().content
        };
        let mut whole = Digester::default();
        whole.write_all(b"abcdef").unwrap();
        let whole = whole.finish();
        assert_eq!(content(b"abcdef\nx", 3), whole);
        assert_eq!(content(b"abcdef", 5), whole);
    }
}
