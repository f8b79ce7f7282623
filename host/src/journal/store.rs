//! A journal that is open.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    Damage, Fingerprint, JournalError, Key,
    file::{JournalFile, OpenError},
    line, place, record,
    scan::Span,
    verdict,
    writer::{Shared, Writer},
};
use crate::verdict::{Evaluation, Verdict};

/// The evaluations that were finished so far, in a file that outlives this process.
///
/// A record is in the hands of the system before [`append`](Self::append) ends, so it outlives a killed process; and on
/// the disk half a second later, or when [`flush`](Self::flush) ends, so it outlives a machine without power.
///
/// Nothing that goes wrong with the file keeps a run from going on; [`failure`](Self::failure) says what did.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// `None` when the file could not even be opened.
    open: Option<Open>,
    damage: Option<Damage>,
    failure: Option<String>,
    /// Whether evaluations of earlier runs are found.
    resumes: bool,
    reused: AtomicUsize,
    left_out: Mutex<BTreeMap<String, PathBuf>>,
}

#[derive(Debug)]
struct Open {
    shared: Arc<Shared>,
    writer: Writer,
    /// Where the last record of each evaluation stands that may be reused.
    known: HashMap<Key, Span>,
}

impl Journal {
    /// Opens a journal, or makes an empty one. With `resume`, what it says of evaluations is [found](Self::find); without,
    /// they are only added to it. What is damaged at its end is dropped.
    ///
    /// A file that cannot be opened or written, because of its rights or a full disk, is a [failure](Self::failure) of the
    /// journal and no error here: evaluations count without it. Blocks while the file is read.
    ///
    /// # Errors
    ///
    /// The file is none for this: another run's, another version's, something else.
    pub fn open(path: &Path, resume: bool) -> Result<Self, JournalError> {
        match Self::try_open(path, resume) {
            Ok(journal) => Ok(journal),
            Err(OpenError::Refused(error)) => Err(error),
            Err(OpenError::Failed(error)) => Ok(Self {
                path: path.to_owned(),
                open: None,
                damage: None,
                failure: Some(error.to_string()),
                resumes: resume,
                reused: AtomicUsize::new(0),
                left_out: Mutex::default(),
            }),
        }
    }

    fn try_open(path: &Path, resume: bool) -> Result<Self, OpenError> {
        place::make_default_folder(path)?;
        outlive_limits();
        let opened = JournalFile::open(path)?;
        let known = if resume { opened.records.into_iter().collect() } else { HashMap::new() };
        let shared = Arc::new(Shared::new(opened.file));
        let writer = Writer::start(Arc::clone(&shared))?;
        Ok(Self {
            path: path.to_owned(),
            open: Some(Open { shared, writer, known }),
            damage: opened.damage,
            failure: None,
            resumes: resume,
            reused: AtomicUsize::new(0),
            left_out: Mutex::default(),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was dropped from the end of the file when it was opened.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Why evaluations are not written any more, if they are not.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failure.clone().or_else(|| self.open.as_ref()?.shared.failure())
    }

    /// Whether evaluations of earlier runs are looked for.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// How many evaluations were [found](Self::find) so far.
    #[must_use]
    pub fn reused(&self) -> usize {
        self.reused.load(Ordering::Relaxed)
    }

    /// What is known from before of the evaluation of an input, if doing it again would most likely end the same way. What
    /// ended it may have been the machine's fault (its time was up, a signal, a process that could not be started) is done
    /// again, and so is what was [withdrawn](Self::withdraw).
    #[must_use]
    pub fn find(&self, evaluator: &Fingerprint, key: &Key) -> Option<Evaluation> {
        let open = self.open.as_ref()?;
        let span = *open.known.get(key)?;
        let withdrawal = open.known.get(&evaluator.withdrawal());
        if withdrawal.is_some_and(|withdrawal| withdrawal.start > span.start) {
            return None;
        }
        let text = open.shared.file().read(span).ok()?;
        // Somebody else may have changed the file since.
        let rest = line::opened(&text).ok().filter(|rest| record::key(rest) == Some(*key))?;
        let evaluation = record::read(rest).filter(|known| verdict::lasts(&known.verdict))?;
        self.reused.fetch_add(1, Ordering::Relaxed);
        Some(evaluation)
    }

    /// Adds an evaluation. Ends when it is in the hands of the system, or cannot be written.
    pub async fn append(
        &self,
        key: &Key,
        evaluator: &str,
        trace_id: &str,
        evaluation: &Evaluation,
    ) {
        if let Some(open) = &self.open {
            let record = record::text(key, evaluator, trace_id, evaluation);
            open.writer.write(line::sealed(&record)).await;
        }
    }

    /// Adds that no evaluation of this evaluator that was added before is to be found again, and why: its answers turned out
    /// to be unreliable.
    pub async fn withdraw(&self, evaluator: &Fingerprint, name: &str, reason: &str) {
        let verdict = Verdict::Lost { reason: reason.to_owned() };
        let evaluation = Evaluation::without_process(verdict, Duration::ZERO);
        self.append(&evaluator.withdrawal(), name, "", &evaluation).await;
    }

    /// Remembers that evaluations of an evaluator are not added any more, because this file of it has changed.
    pub fn leave_out(&self, evaluator: &str, file: &Path) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if !left_out.contains_key(evaluator) {
            left_out.insert(evaluator.to_owned(), file.to_owned());
        }
    }

    /// Evaluators that were [left out](Self::leave_out) so far, each with a file of it that has changed.
    #[must_use]
    pub fn left_out(&self) -> BTreeMap<String, PathBuf> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends when everything that was added is on the disk, or cannot be written.
    pub async fn flush(&self) {
        if let Some(open) = &self.open {
            open.writer.sync().await;
        }
    }
}

/// Has the system refuse what goes beyond the size a file may have (`ulimit -f`), instead of ending this process.
///
/// Whoever listens once does so for as long as the process lives; programs that it starts are not concerned. Where that
/// cannot be done the limit is what it was.
#[cfg(unix)]
fn outlive_limits() {
    use tokio::{
        runtime::Builder,
        signal::unix::{SignalKind, signal},
    };
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    {
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    }
    // The caller may be inside another one.
    runtime.shutdown_background();
}

/// There is no such limit.
#[cfg(not(unix))]
fn outlive_limits() {}
