//! The receiver: a server, the trace file, and the run that judges what is finished.

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Instant,
};

use evaluator_host::{
    conversation::{Conversation, GroupBy, group},
    process::Cancellation,
    report::{ConversationReport, JUDGED_AGAIN, Report},
    run::{Arrival, ConversationStream, Extractor, Request, RunEvent, Runner},
    trace::{FileTraces, Trace, TraceFormats, load_text},
};
use evaluator_serve::{Ended, Server};
use tokio::{sync::mpsc, task::spawn_blocking, time::sleep_until};

use crate::{
    file::{self, FileError, ReadLines, Shared, TraceFile},
    lines::{Lines, parse},
    open::{Conversations, Finished, Next, Rules},
    otlp,
    routes::{App, Remark, router},
};

/// A receiver that was not started.
#[derive(Debug)]
pub struct Receiver {
    path: PathBuf,
    file: TraceFile,
    /// For reading; it has a position of its own.
    spans: File,
    cut_off: u64,
}

/// Receives the reports of conversations.
pub type OnJudged = Box<dyn FnMut(&ConversationReport) + Send>;
/// Receives remarks.
pub type OnRemark = Box<dyn Fn(Remark) + Send + Sync>;

/// Result of a receiver.
#[derive(Debug)]
pub struct Received {
    /// Report of the run.
    pub report: Report,
    /// Number of conversations whose spans are in the trace file, and that were not finished.
    pub open: usize,
    /// Number of traces that were judged before the name of their session came: their results are in the run file and count no
    /// more, so that the run file is partial.
    pub split: usize,
    /// Number of conversations that were judged again.
    pub again: usize,
    /// Whether all requests were answered.
    pub ended: Ended,
}

impl Receiver {
    /// Opens the trace file, and reads what is in it: those conversations are judged, too, unless the run file has their
    /// evaluations.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub fn open(path: &Path, rules: Rules) -> Result<Self, FileError> {
        let read: ReadLines = |text| {
            let read = Lines::of(&otlp::from_json(text)?, usize::MAX)?;
            read.reason.map_or(Ok(read.lines), Err)
        };
        let (file, cut_off) = TraceFile::open(path, Conversations::new(rules), read)?;
        let spans = File::open(path).map_err(FileError::system(path))?;
        Ok(Self { path: path.to_owned(), file, spans, cut_off })
    }

    /// Receives spans until `stop` is cancelled, then judges what is finished. The request has the configuration of the run.
    pub async fn run(
        self,
        server: Server,
        (runner, request): (&Runner, &Request),
        stop: &Cancellation,
        (on_judged, on_remark): (OnJudged, OnRemark),
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Received {
        let Self { path, file, spans, cut_off } = self;
        if cut_off > 0 {
            on_remark(Remark::CutOff(cut_off));
        }
        let shared = Arc::clone(&file.shared);
        let app = Arc::new(App::new(file, Arc::clone(server.settings()), on_remark));
        let extractor = Extractor::new(runner, &request.config);
        let loader =
            Loader { path, spans: Mutex::new(spans), extractor, shared: Arc::clone(&shared) };
        let (sender, arrivals) = mpsc::channel(1);
        let (closing, cut_short) = (Cancellation::new(), Cancellation::new());
        let serving = async {
            let ended = server.serve(router(Arc::clone(&app)), stop, &cut_short).await;
            closing.cancel();
            ended
        };
        let feeding = feed(&shared, Arc::new(loader), sender, &closing, &app.on_remark);
        let stream = Arrivals { arrivals, shared: Arc::clone(&shared), on_judged };
        let judging = async {
            let report = runner.run_stream(request, Box::new(stream), on_event).await;
            // It ends early if it cannot start.
            stop.cancel();
            report
        };
        let (ended, again, report) = tokio::join!(serving, feeding, judging);
        let conversations = shared.lock();
        let (open, split) = (conversations.open(), conversations.split());
        Received { report, open, split, again, ended }
    }
}

/// Loads conversations as they are finished, and hands them to the run. Returns the number of those that were judged again.
async fn feed(
    shared: &Shared,
    loader: Arc<Loader>,
    sender: mpsc::Sender<Arrival>,
    closing: &Cancellation,
    on_remark: &(dyn Fn(Remark) + Send + Sync),
) -> usize {
    // By the index of the conversation. Those that were not judged have none.
    let (mut numbers, mut again) = (HashMap::new(), 0);
    loop {
        let next = shared.lock().next(Instant::now());
        let finished = match next {
            Next::Judge(finished) => finished,
            Next::Wait(_) if closing.is_cancelled() => return again,
            Next::Wait(until) => {
                let due = until.unwrap_or_else(Instant::now);
                tokio::select! {
                    () = shared.changed.notified() => {}
                    () = closing.cancelled() => {}
                    () = sleep_until(due.into()), if until.is_some() => {}
                }
                continue;
            }
        };
        let (index, known) = (finished.index, numbers.get(&finished.index).copied());
        let bytes = finished.pieces.iter().map(|piece| piece.length).sum();
        let own = Arc::clone(&loader);
        let loaded = spawn_blocking(move || own.load(&finished, known.is_some())).await;
        let conversation = match loaded.unwrap_or_else(|panic| Err(panic.to_string())) {
            Ok(Some(conversation)) => conversation,
            Ok(None) => continue,
            Err(error) => loader.unusable(index, &error),
        };
        if known.is_some() {
            again += 1;
            on_remark(Remark::Late(conversation.trace_id.to_string()));
        }
        let number = known.unwrap_or(numbers.len());
        numbers.insert(index, number);
        let arrival = Arrival { number, bytes, session: None, loaded: Ok(conversation) };
        if sender.send(arrival).await.is_err() {
            return again;
        }
    }
}

/// Reads conversations from the trace file.
struct Loader {
    path: PathBuf,
    spans: Mutex<File>,
    extractor: Extractor,
    shared: Arc<Shared>,
}

impl Loader {
    /// Loads a conversation. Returns `None` if there is nothing to judge: further spans are all copies, or its traces only
    /// create agents.
    fn load(&self, finished: &Finished, is_known: bool) -> Result<Option<Conversation>, String> {
        let loaded = self.traces(finished, finished.pieces.len())?;
        // A span that conflicts with another one is an error, and no further span.
        let spans = |loaded: &FileTraces| -> usize {
            loaded.traces.iter().map(|trace| trace.spans.len() + trace.errors.len()).sum()
        };
        if is_known && spans(&self.traces(finished, finished.earlier)?) == spans(&loaded) {
            return Ok(None);
        }
        if group(&loaded.traces, GroupBy::Trace, false).is_empty() {
            return Ok(None);
        }
        let mut conversation = self.extractor.conversation(&loaded.traces);
        if is_known {
            conversation.warnings.push(JUDGED_AGAIN.to_owned());
            conversation.warnings.sort_unstable();
        }
        Ok(Some(conversation))
    }

    /// Reads the first pieces of a conversation.
    fn traces(&self, finished: &Finished, pieces: usize) -> Result<FileTraces, String> {
        let text = {
            let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            file::read(&mut spans, finished.pieces.get(..pieces).unwrap_or_default())
        };
        let text = text.map_err(|error| error.to_string())?;
        let loaded = load_text(&text, &self.path, &TraceFormats::default());
        let mut loaded = loaded.map_err(|error| error.to_string())?;
        let conversations = self.shared.lock();
        loaded.traces.retain(|trace| {
            parse(&trace.trace_id).and_then(|id| conversations.of(&id)) == Some(finished.index)
        });
        Ok(loaded)
    }

    /// Returns a conversation that cannot be evaluated.
    fn unusable(&self, index: usize, error: &str) -> Conversation {
        let trace_id = self.shared.lock().trace_of(index).unwrap_or_default();
        self.extractor.conversation(&[Trace {
            trace_id: trace_id.into(),
            file: self.path.clone(),
            errors: vec![format!("its spans cannot be read again: {error}")],
            ..Trace::default()
        }])
    }
}

/// Conversations for the run.
struct Arrivals {
    arrivals: mpsc::Receiver<Arrival>,
    shared: Arc<Shared>,
    on_judged: OnJudged,
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrivals").finish_non_exhaustive()
    }
}

impl ConversationStream for Arrivals {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Arrival>> {
        self.arrivals.poll_recv(context)
    }

    fn finished(&mut self, _number: usize, report: &ConversationReport) {
        (self.on_judged)(report);
    }

    fn unfinished(&self) -> usize {
        let conversations = self.shared.lock();
        conversations.open() + conversations.split()
    }
}
