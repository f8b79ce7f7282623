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
    Damage, Golden, Header, RunFile, contradiction,
    file::Opened,
    format::{EndRecord, EvaluationRecord, WithdrawnRecord, kind},
    header::random_id,
    part::{InputError, Part, PartCounts},
    store::Span,
    stream::{Event, Failure, PartStream},
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
    stream: Option<PartStream>,
    /// The part of a run that is written.
    part: Option<Part>,
    /// Conversations of a shard; one that is replaced is in them, too.
    counts: PartCounts,
}

/// The file that is named in the request of a run, in contrast to a temporary one.
#[derive(Debug, Default)]
struct Named {
    path: PathBuf,
    resume: bool,
    /// Until the run starts.
    opened: Option<Opened>,
    syncer: Option<Syncer>,
    /// Evaluations of earlier runs.
    known: HashMap<Digest, Span>,
    /// Number of these that are used, by the numbers of conversations.
    reused: Vec<u32>,
    failure: Failure,
}

impl RunWriter {
    /// The file of a run that keeps at most `memory` bytes of its results in memory.
    pub fn new(file: Option<&RunFile>, memory: usize) -> Self {
        let named = file.map(|file| {
            let (path, resume) = (file.path().to_owned(), file.resumes());
            let mut named = Named { path, resume, ..Named::default() };
            let taken = file.take().map(|opened| named.opened = Some(opened));
            named.failure.note(taken);
            named
        });
        Self { named, ..Self::in_memory(memory) }
    }

    fn in_memory(memory: usize) -> Self {
        let (collector, counts) = (Collector::new(memory, 0), PartCounts::default());
        Self { collector, header: None, named: None, stream: None, part: None, counts }
    }

    /// A part of a run that is written to a stream. The number of a conversation is that of its line in the input, from 0: each
    /// line has a record, [`conversation`](Self::conversation) or [`input_error`](Self::input_error), and they are written in
    /// their order. The report that [`finish`](Self::finish) completes has no conversations.
    pub fn stream(out: Box<dyn Write + Send>) -> Self {
        let (stream, part) = (Some(PartStream::new(out)), Some(Part::Pipe { pipe: true }));
        Self { stream, part, ..Self::in_memory(0) }
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
        self.named.as_ref().is_some_and(|named| named.failure.message.is_none())
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
        if let Some(stream) = &mut self.stream {
            header.golden = header.golden.map(Golden::without_cases);
            stream.header(&header);
        }
        self.header = Some(Arc::new(header.clone()));
        let opened = self.named.as_mut().and_then(|named| Some((named.opened.take()?, named)));
        if let Some((opened, named)) = opened {
            let started = opened.start(&named.path, header).and_then(|(store, known)| {
                named.syncer = Some(Syncer::start(store.handle()?)?);
                self.collector.inner.stores = vec![store];
                named.known = if named.resume { known } else { HashMap::new() };
                Ok(())
            });
            named.failure.note(started);
        }
    }

    /// Returns an evaluation of an earlier run.
    pub fn find(&mut self, key: &Digest) -> Option<EvaluationRecord<EvaluationReport>> {
        let span = *self.named.as_ref()?.known.get(key)?;
        // Another program may have changed the file since.
        let line = self.collector.store().line(span).ok()?;
        let record: EvaluationRecord<EvaluationReport> = serde_json::from_slice(&line).ok()?;
        let record = Some(record).filter(|record| record.key == Some(*key))?;
        let evaluation = &record.evaluation;
        let entry = self.header.as_ref().and_then(|header| header.entry(&evaluation.name));
        let contradiction = entry.and_then(|it| contradiction::of_evaluation(evaluation, it));
        contradiction.is_none().then_some(record)
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
        if let Some(stream) = &mut self.stream {
            return stream.conversation(number, report);
        }
        if self.part.is_some() {
            self.counts.add(report, true);
        }
        let added = self.collector.put(number, report);
        self.note(added);
    }

    /// Adds the error of a line of the input with this number, from 0. Returns false if this is not a [stream](Self::stream), and
    /// has no such records.
    pub fn input_error(&mut self, number: usize, error: &InputError) -> bool {
        self.stream.as_mut().map(|stream| stream.input_error(number, error)).is_some()
    }

    /// Returns the number of records that wait for those of lines before theirs, and of their bytes.
    pub fn waiting(&self) -> (usize, usize) {
        self.stream.as_ref().map_or((0, 0), PartStream::waiting)
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
        if let Some(stream) = &mut self.stream {
            return stream.flush();
        }
        let written = self.collector.flush();
        let Some(named) = &mut self.named else {
            return written.err().map(|error| Event::InMemory(error.to_string()));
        };
        named.failure.note(written);
        if let Some(syncer) = &named.syncer {
            named.failure.note(syncer.failure.get().map_or(Ok(()), Err));
            syncer.is_dirty.store(true, Ordering::Release);
        }
        named.event()
    }

    /// Ends the file of a run, and adds its results to the report.
    pub fn finish(mut self, report: &mut Report) -> Option<Event> {
        if self.header.is_none() {
            self.start(Header { report: report.clone(), ..Header::default() });
        }
        if let Some(stream) = self.stream {
            report.header = self.header;
            return stream.finish(report);
        }
        if self.collector.is_replaced {
            let recounted = self.collector.recount();
            if let Err(error) = &recounted {
                report.errors.push(format!(
                    "the results cannot be read back, so the totals are wrong: {error}"
                ));
            }
            self.note(recounted);
        }
        let resumes = self.named.as_ref().is_some_and(|named| named.resume);
        report.reused = resumes.then(|| self.reused());
        let end = EndRecord {
            conversations: self.collector.added(),
            tally: self.collector.inner.totals.tally,
            sum: self.part.map(|_| self.counts.sum),
            read: None,
            report: &*report,
        };
        self.add(kind::END, &end);
        let mut event = self.flush();
        if let Some(named) = &mut self.named
            && let Some(syncer) = named.syncer.take()
        {
            named.failure.note(syncer.finish());
            event = event.or_else(|| named.event());
        }
        let failure = self.named.as_ref().and_then(Named::message);
        report.warnings.extend(self.collector.inner.totals.run_warnings.sentences());
        report.unsaved = failure.is_some();
        report.errors.extend(failure);
        report.header = self.header;
        report.files = self.named.map(|named| named.path).into_iter().collect();
        if self.part.is_some() {
            // The others are of other parts of the run.
            self.collector.inner.entries.retain(|entry| entry.length > 0);
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
        if let Some(named) = &mut self.named {
            named.failure.note(added);
        }
    }
}

impl Named {
    /// Returns the error when it is asked for the first time.
    fn event(&mut self) -> Option<Event> {
        let is_new = self.failure.is_new();
        self.message().filter(|_| is_new).map(Event::Failed)
    }

    fn message(&self) -> Option<String> {
        let reason = self.failure.message.as_ref()?;
        Some(format!(
            "Failed to write the run file {}: {reason}. The results are complete, but not all of them are saved.",
            self.path.display()
        ))
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
