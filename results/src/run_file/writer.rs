//! The records that a run adds to its file, and those that it takes from the file of an earlier run.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Damage, EvaluatorEntry, Golden, Header, RunFile, contradiction,
    file::Opened,
    format::{EndRecord, EvaluationRecord, WithdrawnRecord, kind},
    header::random_id,
    part::{InputError, Part, add_conversation},
    store::Span,
    stream::PartStream,
};
use crate::{Collector, ConversationReport, EvaluationReport, Partial, Report, digest::Digest};

/// Interval in which written records are forced to the disk: a power failure loses those of one interval.
const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// The file of a run that is going on.
#[derive(Debug)]
pub struct RunWriter {
    collector: Collector,
    header: Option<Arc<Header>>,
    named: Option<Named>,
    /// In place of a file.
    stream: Option<Streamed>,
    /// The part of a run that is written.
    part: Option<Part>,
    /// Sum of the conversations of a shard.
    sum: Digest,
}

/// A stream that a part is written to.
#[derive(Debug)]
struct Streamed {
    stream: PartStream,
    /// Reason why nothing more is written.
    failure: Option<String>,
    is_reported: bool,
}

/// The file that is named in the request of a run, in contrast to a temporary one.
#[derive(Debug)]
struct Named {
    path: PathBuf,
    resume: bool,
    /// Until the run starts.
    opened: Option<Opened>,
    syncer: Option<Syncer>,
    /// Evaluations of earlier runs.
    known: HashMap<Digest, Span>,
    /// Evaluators of the run.
    evaluators: Vec<EvaluatorEntry>,
    /// Number of these that are used, by the numbers of conversations.
    reused: Vec<u32>,
    /// Reason why nothing more is written.
    failure: Option<String>,
    is_reported: bool,
}

/// A problem with the file. The run continues.
#[derive(Debug)]
pub enum Event {
    /// The named file cannot be written. Returned once.
    Failed(String),
    /// No temporary file can be written, so the run needs memory. Returned once.
    InMemory(String),
}

impl RunWriter {
    /// The file of a run that keeps at most `memory` bytes of its results in memory.
    pub fn new(file: Option<&RunFile>, memory: usize) -> Self {
        let named = file.map(|file| {
            let (opened, failure) = match file.take() {
                Ok(opened) => (Some(opened), None),
                Err(error) => (None, Some(error)),
            };
            let (path, resume) = (file.path().to_owned(), file.resumes());
            Named {
                path,
                resume,
                opened,
                syncer: None,
                known: HashMap::new(),
                evaluators: Vec::new(),
                reused: Vec::new(),
                failure,
                is_reported: false,
            }
        });
        Self { named, ..Self::in_memory(memory) }
    }

    fn in_memory(memory: usize) -> Self {
        let (collector, sum) = (Collector::new(memory, 0), Digest::default());
        Self { collector, header: None, named: None, stream: None, part: None, sum }
    }

    /// A part of a run that is written to a stream. The number of a conversation is that of its line in the input, from 0: each
    /// line has a record, [`conversation`](Self::conversation) or [`input_error`](Self::input_error), and they are written in
    /// their order. The report that [`finish`](Self::finish) completes has no conversations.
    pub fn stream(out: Box<dyn Write + Send>) -> Self {
        let stream = Streamed { stream: PartStream::new(out), failure: None, is_reported: false };
        let part = Some(Part::Pipe { pipe: true });
        Self { stream: Some(stream), part, ..Self::in_memory(0) }
    }

    /// Returns the writer of a part of a run.
    #[must_use]
    pub fn of_part(self, part: Option<Part>) -> Self {
        Self { part, ..self }
    }

    /// Damaged lines of the file that is resumed.
    pub fn damage(&self) -> Option<Damage> {
        self.named.as_ref()?.opened.as_ref()?.damage.clone()
    }

    /// Path of the named file.
    pub fn path(&self) -> Option<&PathBuf> {
        Some(&self.named.as_ref()?.path)
    }

    /// Returns true if evaluations are saved one by one, in a file with a name.
    pub fn saves(&self) -> bool {
        self.named.as_ref().is_some_and(|named| named.failure.is_none())
    }

    /// Writes the header. To be called once, before anything else is added.
    pub fn start(&mut self, header: Header) {
        let Header { format, version, encoding, tool, .. } = Header::new();
        let (id, gates) = (Some(random_id()), header.report.gates.clone());
        let started = Some(format!("{:.0}", Timestamp::now()));
        let seed = header.report.until_decided;
        let part = self.part;
        let mut header =
            Header { format, version, encoding, id, tool, part, started, gates, seed, ..header };
        self.collector.expect(header.conversations, header.subjects());
        if let Some(Streamed { stream, failure, .. }) = &mut self.stream {
            header.golden = header.golden.map(Golden::without_cases);
            *failure = stream.header(&header).err().map(|error| error.to_string());
        }
        self.header = Some(Arc::new(header.clone()));
        let opened = self.named.as_mut().and_then(|named| Some((named.opened.take()?, named)));
        if let Some((opened, named)) = opened {
            named.evaluators.clone_from(&header.evaluators);
            match opened.start(&named.path, header).and_then(|(store, known)| {
                let syncer = Syncer::start(store.handle()?)?;
                Ok((store, known, syncer))
            }) {
                Ok((store, known, syncer)) => {
                    self.collector.replace_store(store);
                    named.known = if named.resume { known } else { HashMap::new() };
                    named.syncer = Some(syncer);
                }
                Err(error) => named.failure = Some(error.to_string()),
            }
        }
    }

    /// Returns an evaluation of an earlier run.
    pub fn find(&mut self, key: &Digest) -> Option<EvaluationRecord<EvaluationReport>> {
        let named = self.named.as_mut()?;
        let span = *named.known.get(key)?;
        // Another program may have changed the file since.
        let line = self.collector.store().line(span).ok()?;
        let record: EvaluationRecord<EvaluationReport> = serde_json::from_slice(&line).ok()?;
        let record = Some(record).filter(|record| record.key == Some(*key))?;
        let evaluation = &record.evaluation;
        let entry = named.evaluators.iter().find(|entry| entry.name == evaluation.name);
        if entry.is_some_and(|entry| contradiction::of_evaluation(evaluation, entry).is_some()) {
            return None;
        }
        Some(record)
    }

    /// Sets how many evaluations of a conversation were [found](Self::find). A conversation that is evaluated again counts once.
    pub fn reuse(&mut self, number: usize, evaluations: usize) {
        let Some(named) = self.named.as_mut() else { return };
        if evaluations > 0 && named.reused.len() <= number {
            named.reused.resize(number + 1, 0);
        }
        if let Some(reused) = named.reused.get_mut(number) {
            *reused = u32::try_from(evaluations).unwrap_or(u32::MAX);
        }
    }

    /// Adds an evaluation of a conversation that is not finished. It is in the file after the next [`flush`](Self::flush).
    pub fn evaluation(&mut self, record: &EvaluationRecord<&EvaluationReport>) {
        self.add(kind::EVALUATION, record);
    }

    /// Adds a conversation, and forgets the evaluations that were added one by one.
    ///
    /// One with the number of an earlier one replaces it.
    pub fn conversation(&mut self, number: usize, report: &ConversationReport) {
        if let Some(streamed) = &mut self.stream {
            streamed.add(|stream| stream.conversation(number, report));
            return;
        }
        if self.part.is_some() {
            add_conversation(&mut self.sum, &report.trace_id, report.content.as_ref());
        }
        let added = self.collector.put(number, report);
        self.note(added);
    }

    /// Adds the error of a line of the input with this number, from 0. Returns false if this is not a [stream](Self::stream), and
    /// has no such records.
    pub fn input_error(&mut self, number: usize, error: &InputError) -> bool {
        let Some(streamed) = &mut self.stream else { return false };
        streamed.add(|stream| stream.input_error(number, error));
        true
    }

    /// Returns the number of records that wait for those of lines before theirs, and of their bytes.
    pub fn waiting(&self) -> (usize, usize) {
        self.stream.as_ref().map_or((0, 0), |streamed| streamed.stream.waiting())
    }

    /// Adds the transcript of a conversation: `invocations` and `expected_invocations` of the document that evaluators read, as
    /// JSON. To be called before the conversation is added.
    pub fn transcript(&mut self, number: usize, document: &str) {
        if self.stream.is_some() {
            return;
        }
        let added = self.collector.put_transcript(number, document);
        self.note(added);
    }

    /// Marks the evaluations of an evaluator so far as not usable by later runs.
    pub fn withdraw(&mut self, evaluator: &str, reason: &str) {
        let (evaluator, reason) = (evaluator.to_owned(), reason.to_owned());
        self.add(kind::WITHDRAWN, &WithdrawnRecord { evaluator, reason });
    }

    /// Hands everything that was added to the system, so that it outlives this process. Without a named file, does so when
    /// there is more of it than memory may hold.
    pub fn flush(&mut self) -> Option<Event> {
        if let Some(streamed) = &mut self.stream {
            streamed.add(PartStream::flush);
            return streamed.event();
        }
        let written = self.collector.flush();
        let Some(named) = &mut self.named else {
            return written.err().map(|error| Event::InMemory(error.to_string()));
        };
        let synced = named.syncer.as_ref().and_then(|syncer| syncer.failure.get());
        let error = written.err().map(|error| error.to_string()).or_else(|| synced.cloned());
        named.failure = named.failure.take().or(error);
        if let Some(syncer) = &named.syncer {
            syncer.is_dirty.store(true, Ordering::Release);
        }
        if named.is_reported {
            return None;
        }
        let message = self.failure()?;
        self.named.as_mut()?.is_reported = true;
        Some(Event::Failed(message))
    }

    /// Ends the file of a run, and adds its results to the report.
    pub fn finish(mut self, report: &mut Report) -> Option<Event> {
        if self.header.is_none() {
            self.start(Header { report: report.clone(), ..Header::default() });
        }
        if let Some(streamed) = self.stream {
            report.header = self.header;
            return streamed.finish(report);
        }
        let recounted = self.collector.recount();
        self.note(recounted);
        let resumes = self.named.as_ref().is_some_and(|named| named.resume);
        report.reused = resumes.then(|| self.reused());
        let end = EndRecord {
            conversations: self.collector.added(),
            tally: self.collector.tally(),
            sum: self.part.map(|_| self.sum),
            read: None,
            report: &*report,
        };
        self.add(kind::END, &end);
        let mut event = self.flush();
        if let Some(named) = &mut self.named
            && let Some(syncer) = named.syncer.take()
            && let Err(error) = syncer.finish()
            && named.failure.is_none()
        {
            named.failure = Some(error);
            event = event.or_else(|| self.failure().map(Event::Failed));
        }
        let failure = self.failure();
        report.warnings.extend(self.collector.warnings());
        report.unsaved = failure.is_some();
        report.errors.extend(failure);
        report.header = self.header;
        report.files = self.named.map(|named| named.path).into_iter().collect();
        if self.part.is_some() {
            self.collector.keep_added();
        }
        report.conversations = self.collector.finish();
        event
    }

    /// Leaves the file as it was. One that was empty is removed: it would be taken for that of a run that was killed.
    pub fn abandon(self) {
        let Some(named) = self.named else { return };
        if named.opened.is_some_and(|opened| opened.is_empty()) {
            // Without it, the file stays empty.
            let _ = fs::remove_file(named.path);
        }
    }

    /// Reason why not everything was evaluated so far; `None` if everything was.
    pub fn partial(&self) -> Option<Partial> {
        self.collector.partial()
    }

    /// Evaluations that were taken from an earlier run.
    pub fn reused(&self) -> usize {
        let reused = self.named.iter().flat_map(|named| &named.reused);
        reused.fold(0, |sum, count| sum + *count as usize)
    }

    /// Adds a record that only a named file has.
    fn add(&mut self, kind: &str, record: &impl Serialize) {
        if self.saves() {
            let added = self.collector.store().add(kind, record);
            self.note(added.map(drop));
        }
    }

    fn note(&mut self, added: io::Result<()>) {
        if let (Err(error), Some(named)) = (added, &mut self.named) {
            named.failure.get_or_insert(error.to_string());
        }
    }

    fn failure(&self) -> Option<String> {
        let named = self.named.as_ref()?;
        Some(format!(
            "Failed to write the run file {}: {}. The results are complete, but not all of them are saved.",
            named.path.display(),
            named.failure.as_ref()?
        ))
    }
}

impl Streamed {
    fn add<T>(&mut self, add: impl FnOnce(&mut PartStream) -> io::Result<T>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        add(&mut self.stream).map_err(|error| self.failure = Some(error.to_string())).ok()
    }

    fn event(&mut self) -> Option<Event> {
        let failure = self.failure.as_ref().filter(|_| !self.is_reported)?;
        self.is_reported = true;
        Some(Event::Failed(format!("Failed to write the records: {failure}.")))
    }

    /// Writes the last line of a part that is whole.
    fn finish(mut self, report: &mut Report) -> Option<Event> {
        let is_whole = self.add(|stream| stream.end(report)) == Some(true);
        report.unsaved = !is_whole;
        self.event()
    }
}

/// The thread that forces a file to the disk while it is written.
#[derive(Debug)]
struct Syncer {
    is_dirty: Arc<AtomicBool>,
    failure: Arc<OnceLock<String>>,
    file: File,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Syncer {
    fn start(file: File) -> io::Result<Self> {
        let (is_dirty, failure) = (Arc::new(AtomicBool::new(false)), Arc::new(OnceLock::new()));
        let (stop, stopped) = mpsc::channel::<()>();
        let (dirty, failed, own) = (Arc::clone(&is_dirty), Arc::clone(&failure), file.try_clone()?);
        let work = move || {
            while stopped.recv_timeout(SYNC_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if dirty.swap(false, Ordering::Acquire)
                    && let Err(error) = own.sync_data()
                {
                    // Data that was not written then may be lost, although a later call succeeds.
                    let _ = failed.set(error.to_string());
                }
            }
        };
        let thread = thread::Builder::new().name("run-file".to_owned()).spawn(work)?;
        Ok(Self { is_dirty, failure, file, stop, thread })
    }

    /// Returns when everything is on the disk.
    fn finish(self) -> Result<(), String> {
        drop(self.stop);
        // If it has panicked, its work is done below.
        let _ = self.thread.join();
        match self.failure.get() {
            Some(failure) => Err(failure.clone()),
            None => self.file.sync_data().map_err(|error| error.to_string()),
        }
    }
}
