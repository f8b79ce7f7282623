//! What came of all conversations of a run, most of it not in memory.

use std::{
    fmt, io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use super::{
    ConversationReport,
    spool::{Names, Reader, Store},
    totals::Totals,
};
use crate::{conversation::RunPerformance, verdict::Tally};

/// Bytes of reports in memory before they go to a temporary file: what some thousand conversations of a turn or two
/// take.
pub const REPORT_MEMORY: usize = 1 << 20;

/// Stands for a conversation whose report was not handed in.
const MISSING: u64 = u64::MAX;

/// What came of the conversations of a run, in the order of the traces.
///
/// Only a bounded part of it is in memory, and 16 bytes for each conversation. The rest is in a temporary file without a
/// name, so going through it reads that file, and may fail. A report whose conversations could not be read [is never
/// green](Self::unreadable).
///
/// Clones share what they hold.
#[derive(Clone, Default)]
pub struct Conversations(Arc<Inner>);

/// Takes the reports of conversations as they are finished, in any order.
#[derive(Debug)]
pub struct Collector {
    inner: Inner,
    /// Where the temporary file is made, if not where the system has such files.
    folder: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Inner {
    store: Store,
    names: Names,
    /// Where the report of each conversation stands.
    offsets: Vec<u64>,
    totals: Totals,
    performance: Option<RunPerformance>,
    /// Why the first report could not be read that could not be.
    unreadable: OnceLock<String>,
}

impl Collector {
    /// A collector that keeps so many bytes in memory ([`REPORT_MEMORY`] is a good choice), for so many conversations.
    #[must_use]
    pub fn new(memory: usize, conversations: usize) -> Self {
        let store = Store::new(memory);
        let offsets = vec![MISSING; conversations];
        Self { inner: Inner { store, offsets, ..Inner::default() }, folder: None }
    }

    /// Makes the temporary file in this folder, instead of where the system has such files (`TMPDIR` says where on Unix).
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// Takes the report of the conversation that has this place among all. Each is to be handed in once.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be made or written. Nothing is lost: this report and all that follow stay in memory.
    /// Said once.
    pub fn put(&mut self, number: usize, report: &ConversationReport) -> io::Result<()> {
        let Inner { store, names, offsets, totals, .. } = &mut self.inner;
        if number >= offsets.len() {
            offsets.resize(number + 1, MISSING);
        }
        offsets[number] = store.add(|bytes| report.write(bytes, names));
        totals.count(number, report);
        store.make_room(self.folder.as_deref())
    }

    #[cfg(test)]
    pub(super) fn store(&mut self) -> &mut Store {
        &mut self.inner.store
    }

    /// All of them. The report of a conversation that was not handed in cannot be read.
    #[must_use]
    pub fn finish(mut self) -> Conversations {
        self.inner.store.close();
        self.inner.performance = self.inner.totals.finish();
        Conversations(Arc::new(self.inner))
    }
}

impl Conversations {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.offsets.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.offsets.is_empty()
    }

    /// What came of all of them, in order.
    #[must_use]
    pub fn iter(&self) -> ConversationReports<'_> {
        self.iter_from(0)
    }

    /// What came of them from this place on.
    pub(super) fn iter_from(&self, next: usize) -> ConversationReports<'_> {
        ConversationReports { inner: &self.0, reader: Reader::new(&self.0.store), next }
    }

    /// What came of the conversation at this place; `None` when there are not so many.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<io::Result<ConversationReport>> {
        self.0.read(&mut Reader::new(&self.0.store), number)
    }

    /// How many evaluations passed, failed, broke, were not evaluated and were not run.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.0.totals.tally
    }

    /// How many [warnings](super::EvaluationReport::warnings) evaluations have.
    #[must_use]
    pub fn warnings(&self) -> u64 {
        self.0.totals.warnings
    }

    /// How many evaluations there are for which an evaluator was asked: all but those of conversations that could not be
    /// evaluated at all.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.0.totals.asked
    }

    /// Whether some evaluation was [cancelled](crate::verdict::Verdict::Cancelled).
    #[must_use]
    pub fn any_cancelled(&self) -> bool {
        self.0.totals.cancelled
    }

    /// Evaluators that were asked and have not scored a single conversation, in the order of the configuration.
    pub fn evaluators_without_score(&self) -> impl Iterator<Item = &str> {
        self.0.totals.without_score()
    }

    /// Evaluators that broke and have not scored a single conversation, in the order of the configuration.
    pub fn evaluators_that_never_worked(&self) -> impl Iterator<Item = &str> {
        self.0.totals.never_worked()
    }

    /// Latencies, tokens and counts of all conversations; `None` when there is none that has them.
    #[must_use]
    pub fn performance(&self) -> Option<&RunPerformance> {
        self.0.performance.as_ref()
    }

    /// Why not everything could be read so far, whoever tried; `None` when everything could.
    #[must_use]
    pub fn unreadable(&self) -> Option<&str> {
        self.0.unreadable.get().map(String::as_str)
    }
}

impl Inner {
    fn read(
        &self,
        reader: &mut Reader<'_>,
        number: usize,
    ) -> Option<io::Result<ConversationReport>> {
        let offset = *self.offsets.get(number)?;
        let report = match offset {
            MISSING => Err(io::Error::other("it was never finished")),
            offset => reader.record(offset).and_then(|record| {
                let report = ConversationReport::read(record, &self.names);
                report.ok_or_else(|| io::Error::other("it is not what was written"))
            }),
        };
        Some(report.map_err(|error| {
            let number = number + 1;
            let error = format!("what came of conversation {number} cannot be read back: {error}");
            self.unreadable.get_or_init(|| error.clone());
            io::Error::other(error)
        }))
    }
}

/// What came of conversations, one after the other.
#[derive(Debug)]
pub struct ConversationReports<'c> {
    inner: &'c Inner,
    reader: Reader<'c>,
    next: usize,
}

impl Iterator for ConversationReports<'_> {
    type Item = io::Result<ConversationReport>;

    fn next(&mut self) -> Option<Self::Item> {
        let report = self.inner.read(&mut self.reader, self.next)?;
        self.next += 1;
        Some(report)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.inner.offsets.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for ConversationReports<'_> {}

impl<'c> IntoIterator for &'c Conversations {
    type Item = io::Result<ConversationReport>;
    type IntoIter = ConversationReports<'c>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// In this order. Where no temporary file can be made, all of them are in memory.
impl FromIterator<ConversationReport> for Conversations {
    fn from_iter<I: IntoIterator<Item = ConversationReport>>(reports: I) -> Self {
        let mut collector = Collector::new(REPORT_MEMORY, 0);
        for (number, report) in reports.into_iter().enumerate() {
            // It only says that memory is used instead.
            let _ = collector.put(number, &report);
        }
        collector.finish()
    }
}

impl From<Vec<ConversationReport>> for Conversations {
    fn from(reports: Vec<ConversationReport>) -> Self {
        reports.into_iter().collect()
    }
}

/// All of them, as a list.
impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
