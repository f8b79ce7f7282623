//! The receiver: a server, the trace file, and the run that judges what is finished.

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
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
    file::{self, FileError, Shared, TraceFile},
    lines::{Lines, parse},
    open::{Conversations, Finished, Next, Rules},
    otlp,
    routes::{App, Remark, router},
};

/// A receiver that was not started.
#[derive(Debug)]
pub struct Receiver {
    rules: Rules,
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
        let read = |text: &str| {
            let read = Lines::of(otlp::from_json(text.as_bytes())?, rules.by_session)?;
            read.reason.map_or(Ok(read.lines), Err)
        };
        let (file, cut_off) = TraceFile::open(path, Conversations::new(rules), &read)?;
        let system = |error| FileError::System { file: path.to_owned(), error };
        let spans = File::open(path).map_err(system)?;
        Ok(Self { rules, path: path.to_owned(), file, spans, cut_off })
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
        let Self { rules, path, file, spans, cut_off } = self;
        if cut_off > 0 {
            on_remark(Remark::CutOff(cut_off));
        }
        let shared = Arc::clone(&file.shared);
        let app = App::new(file, Arc::clone(server.settings()), rules.by_session, on_remark);
        let app = Arc::new(app);
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
        let (open, split) = {
            let conversations = shared.lock();
            (conversations.open(), conversations.split())
        };
        if let Some(app) = Arc::into_inner(app) {
            app.file.close();
        }
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
                let due = async {
                    match until {
                        Some(until) => sleep_until(until.into()).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = shared.changed.notified() => {}
                    () = due => {}
                    () = closing.cancelled() => {}
                }
                continue;
            }
        };
        let (index, known) = (finished.index, numbers.get(&finished.index).copied());
        let bytes = finished.pieces.iter().map(|piece| piece.length as usize).sum();
        let loader = Arc::clone(&loader);
        let loading = spawn_blocking(move || loader.load(&finished, known.is_some()));
        // It catches panics; without a runtime, nothing is to be done.
        let Ok(Some(conversation)) = loading.await else { continue };
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
    fn load(&self, finished: &Finished, is_known: bool) -> Option<Conversation> {
        let load = AssertUnwindSafe(|| self.try_load(finished, is_known));
        match catch_unwind(load) {
            Ok(Ok(conversation)) => conversation,
            Ok(Err(error)) => Some(self.unusable(finished, error)),
            Err(_) => Some(self.unusable(finished, "reading its spans panicked".to_owned())),
        }
    }

    fn try_load(
        &self,
        finished: &Finished,
        is_known: bool,
    ) -> Result<Option<Conversation>, String> {
        let loaded = self.traces(finished, finished.pieces.len())?;
        let spans = |loaded: &FileTraces| -> (usize, usize) {
            let traces = loaded.traces.iter();
            let counts = traces.map(|trace| (trace.spans.len(), trace.errors.len()));
            counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
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
    fn unusable(&self, finished: &Finished, error: String) -> Conversation {
        let trace_id = self.shared.lock().trace_of(finished.index).unwrap_or_default();
        self.extractor.conversation(&[Trace {
            trace_id: trace_id.into(),
            file: self.path.clone(),
            spans: Vec::new(),
            parent: Vec::new(),
            children: Vec::new(),
            roots: Vec::new(),
            logs: Vec::new(),
            orphan_logs: Vec::new(),
            warnings: Vec::new(),
            errors: vec![format!("its spans cannot be read again: {error}")],
            dropped_copies: 0,
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
