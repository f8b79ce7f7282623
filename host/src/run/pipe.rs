//! Runs over a stream: a conversation in, a record out, in order.

use std::{
    io::{self, Write},
    mem,
    panic::resume_unwind,
    sync::{Arc, mpsc as blocking_mpsc},
    thread::{self, JoinHandle},
};

use tokio::sync::mpsc;

use super::{
    Request, RunEvent, Runner, fingerprint,
    lines::{LineReader, LineStream, Lines, Piped},
    stages::with_policy,
    window::Window,
};
use crate::{
    config::Config,
    conversation::{GroupBy, GroupedBy},
    process::Cancellation,
    report::{
        Partial,
        run_file::{Event, Header, RunWriter},
    },
};

/// Reason why a stream was not evaluated as a whole. What was written has no end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipeError {
    /// Conversations of a stream cannot be grouped by this rule.
    #[error(
        "conversations of a stream are grouped by `trace` or `conversation` (--group-by, or the key `group_by`): `auto` asks \
         whether any trace of the whole input names a session, and a stream is a part of it"
    )]
    Grouping,
    /// Nothing was evaluated or written.
    #[error("{0}")]
    Refused(String),
    /// The stream cannot be read.
    #[error("cannot read the lines: {0}")]
    Read(#[source] io::Error),
    /// The records cannot be written.
    #[error("cannot write the records: {0}")]
    Write(String),
    /// The run was cancelled.
    #[error("the run was cancelled before the end of the lines")]
    Cancelled,
}

impl PipeError {
    /// Checks that conversations of a stream can be grouped by a rule.
    ///
    /// # Errors
    ///
    /// [`PipeError::Grouping`].
    pub fn check_grouping(group_by: Option<GroupBy>) -> Result<(), Self> {
        match group_by {
            None | Some(GroupBy::Auto) => Err(Self::Grouping),
            Some(GroupBy::Trace | GroupBy::Conversation) => Ok(()),
        }
    }
}

impl Runner {
    /// Evaluates the conversation on each line, and writes a part of a run file: its header, a record for each line in order, as
    /// soon as it and all before it are known, and its end. Nothing is prepared for an empty stream.
    ///
    /// # Errors
    ///
    /// [`PipeError`]. The part has no end then.
    pub async fn pipe(
        &self,
        request: &Request,
        mut lines: Lines,
        out: impl Write + Send + 'static,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Piped, PipeError> {
        PipeError::check_grouping(request.config.group_by)?;
        let mut request = request.clone();
        // A line knows nothing of the others.
        request.config.strict_matching = true;
        let runner = Self { identify: true, run_file: None, ..self.clone() };
        if lines.is_empty().map_err(PipeError::Read)? {
            return nothing(&request.config, out);
        }
        let window = Arc::new(Window::default());
        let (sink, writing) = Sink::start(out, Arc::clone(&window), self.cancellation.clone())?;
        let (sender, arrivals) = mpsc::unbounded_channel();
        let (reader, own) = (LineReader::new(&runner, &request.config), Arc::clone(&window));
        let read = move || reader.read(lines, &own, &sender);
        let reading = thread::Builder::new().name("lines".to_owned()).spawn(read);
        let reading = reading.map_err(PipeError::Read)?;
        let mut writer = RunWriter::stream(Box::new(sink));
        let stream = Some(Box::new(LineStream(arrivals)) as _);
        let mut report = runner.evaluate(&request, stream, &mut writer, on_event).await;
        window.close();
        if let Some(refusal) = report.refusal {
            return Err(PipeError::Refused(refusal));
        }
        // A cancelled run may have left its reader waiting for a line.
        let read = match report.partial {
            None => joined(reading).map_err(PipeError::Read),
            Some(_) => Err(PipeError::Cancelled),
        };
        if read.is_err() {
            report.partial.get_or_insert(Partial::Unfinished);
        }
        // Other parts may have recordings of them.
        report.unrecorded_cases.clear();
        let failed = writer.finish(&mut report);
        // The reason of a run that was cancelled because nothing can be written.
        joined(writing).map_err(|error| PipeError::Write(error.to_string()))?;
        let read = read?;
        match failed {
            Some(Event::Failed(error) | Event::InMemory(error)) => Err(PipeError::Write(error)),
            None if report.unsaved => Err(PipeError::Write("some are missing".to_owned())),
            None => Ok(read),
        }
    }
}

/// Writes the part of a stream without lines.
fn nothing(config: &Config, out: impl Write + Send + 'static) -> Result<Piped, PipeError> {
    let mut report = with_policy(config);
    report.grouping = config.group_by.map(GroupedBy::requested);
    let mut writer = RunWriter::stream(Box::new(out));
    let header = fingerprint::header(config, &[], None, report.grouping, false);
    writer.start(Header { report: report.clone(), ..header });
    match writer.finish(&mut report) {
        Some(Event::Failed(error) | Event::InMemory(error)) => Err(PipeError::Write(error)),
        None => Ok(Piped { lines: 0, unusable: 0 }),
    }
}

/// Returns what a thread returned, or panics as it did.
fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Writes on another thread: a consumer that is slow must not delay the time limits of evaluators.
#[derive(Debug)]
struct Sink(blocking_mpsc::Sender<Vec<u8>>);

impl Sink {
    /// Starts the thread. If it cannot write, it cancels the run and returns the error.
    fn start(
        mut out: impl Write + Send + 'static,
        window: Arc<Window>,
        cancellation: Cancellation,
    ) -> Result<(Self, JoinHandle<io::Result<()>>), PipeError> {
        let (sender, chunks) = blocking_mpsc::channel::<Vec<u8>>();
        let write = move || {
            let mut is_header = true;
            let written = chunks.iter().try_for_each(|chunk| {
                out.write_all(&chunk)?;
                out.flush()?;
                let lines = memchr::memchr_iter(b'\n', &chunk).count();
                let header = usize::from(lines > 0 && mem::take(&mut is_header));
                window.leave(lines - header);
                Ok(())
            });
            if written.is_err() {
                window.close();
                cancellation.cancel();
            }
            written
        };
        let thread = thread::Builder::new().name("records".to_owned()).spawn(write);
        Ok((Self(sender), thread.map_err(|error| PipeError::Write(error.to_string()))?))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The thread has ended because it could not write, and has the error.
        self.0.send(bytes.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
