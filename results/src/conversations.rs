//! The conversations of a report, which are read from a run file one by one.

use std::{
    collections::BTreeMap,
    io, mem,
    sync::{Arc, OnceLock, mpsc::sync_channel},
    thread,
};

use evaluator_traces::conversation::RunPerformance;

use super::{
    CaseValues, ConversationReport, EvaluationOutcome, EvaluationReport, Partial, Tally,
    encoding::Parts,
    run_file::{ConversationRecord, Reader, Span, Store, TranscriptRecord, kind},
    run_warnings::{Place, RunWarnings, Subjects},
    totals::{EvaluatorScores, NotEvaluated, Totals},
};

/// Bytes of results in memory before they go to a temporary file: those of about a thousand conversations.
pub const REPORT_MEMORY: usize = 1 << 20;

/// Number of files that are read at the same time, each with an open file. There may be such a reader on each processor.
const READERS: usize = 12;

/// Number of conversations that are read together by another thread.
const BATCH: usize = 64;

/// Number of conversations that wait for those before them.
const WAITING: usize = 1000;

/// Number of conversations up to which the values of cases are collected. They take about 200 bytes for each.
const COLLECTED: u64 = 100_000;

/// Reports of the conversations of a run, in the order of the traces.
///
/// A bounded part of them is in memory, and 16 bytes for each. The rest is in a file, so reading them may fail. A report
/// with conversations that cannot be read [never passes](Self::unreadable).
///
/// Clones share their content.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("{:?}", self.into_iter().collect::<Vec<_>>())]
pub struct Conversations(Arc<Inner>);

/// Takes the reports of conversations in the order in which they are finished.
#[derive(Debug, Default)]
pub struct Collector {
    pub(super) inner: Inner,
    pub(super) values: ValuesInOrder,
    /// Whether a conversation was replaced, so that everything has to be counted again.
    pub(super) is_replaced: bool,
}

/// Values of cases, collected while conversations are added nearly in their order.
#[derive(Debug, Default)]
pub(super) struct ValuesInOrder {
    values: CaseValues,
    /// The conversation that comes next.
    next: usize,
    waiting: BTreeMap<usize, ConversationReport>,
    /// Whether the order is another one, so that the conversations have to be read again.
    gave_up: bool,
}

impl ValuesInOrder {
    /// Adds a conversation by its number in its file.
    pub(super) fn add(&mut self, number: usize, conversation: &ConversationReport) {
        if self.gave_up {
            return;
        }
        let mut is_odd = number < self.next;
        if number == self.next {
            self.values.add(conversation);
            self.next += 1;
        } else {
            is_odd |= self.waiting.insert(number, CaseValues::part_of(conversation)).is_some();
        }
        while let Some(conversation) = self.waiting.remove(&self.next) {
            self.values.add(&conversation);
            self.next += 1;
        }
        let is_large =
            self.waiting.len() > WAITING || self.values.cases.conversations() > COLLECTED;
        if is_odd || is_large {
            *self = Self { gave_up: true, ..Self::default() };
        }
    }

    /// Adds the rest of a file that was read. The numbers of the next one start again.
    pub(super) fn end_part(&mut self) {
        let rest = mem::take(&mut self.waiting);
        rest.values().for_each(|conversation| self.values.add(conversation));
        self.next = 0;
    }
}

/// Content of all conversations.
#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) stores: Vec<Store>,
    pub(super) entries: Vec<Entry>,
    /// Positions of transcripts, by the numbers of their conversations.
    transcripts: BTreeMap<usize, Entry>,
    pub(super) totals: Totals,
    performance: Option<RunPerformance>,
    /// The first error of reading a conversation.
    unreadable: OnceLock<String>,
    /// Values of cases, once they were asked for.
    values: OnceLock<CaseValues>,
}

/// Position of a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    start: u64,
    /// 0 if it was not handed in.
    pub(super) length: u32,
    store: u32,
}

impl Inner {
    /// Copies the lines of the conversations to one temporary file, in their order, if they take turns in more files than are
    /// read at the same time: without it, a file is opened for nearly every line.
    ///
    /// # Errors
    ///
    /// A line cannot be read or written. Nothing has changed then.
    fn copy_in_order(&mut self) -> io::Result<()> {
        let Self { stores, entries, .. } = self;
        let turns = entries.chunk_by(|one, other| one.store == other.store).count();
        if stores.len() <= READERS || turns <= stores.len() {
            return Ok(());
        }
        let (store, mut end) = (number(stores.len())?, 0);
        let copy = |entry: &Entry| {
            let start = end;
            end += u64::from(entry.length);
            Entry { start, store, ..*entry }
        };
        let copies: Vec<Entry> = entries.iter().map(copy).collect();
        let mut ordered = Store::with_length(end)?;
        let mut numbers: Vec<u32> = (0..number(entries.len())?).collect();
        let of = |number: &u32| entries[*number as usize];
        numbers.sort_unstable_by_key(|number| (of(number).store, of(number).start));
        for numbers in numbers.chunk_by(|one, other| of(one).store == of(other).store) {
            let mut reader = Reader::new(&stores[of(&numbers[0]).store as usize]);
            for number in numbers {
                let Entry { start, length, .. } = of(number);
                let line = reader.line(Span { start, length: length.into() })?;
                ordered.put(copies[*number as usize].start, line)?;
            }
        }
        stores.push(ordered);
        *entries = copies;
        Ok(())
    }
}

fn number(count: usize) -> io::Result<u32> {
    u32::try_from(count).map_err(io::Error::other)
}

/// Entry of a conversation that was not handed in.
const MISSING: Entry = Entry { start: 0, length: 0, store: 0 };

impl Collector {
    /// A collector that keeps this number of bytes in memory, see [`REPORT_MEMORY`], for this number of conversations.
    pub fn new(memory: usize, conversations: usize) -> Self {
        let stores = vec![Store::new(memory)];
        let entries = vec![MISSING; conversations];
        Self { inner: Inner { stores, entries, ..Inner::default() }, ..Self::default() }
    }

    /// Adds the report of the conversation with this number. One that was added before is replaced, see
    /// `recount`.
    ///
    /// # Errors
    ///
    /// The report cannot be serialized.
    pub fn put(&mut self, number: usize, report: &ConversationReport) -> io::Result<()> {
        let record = ConversationRecord { number, conversation: report };
        let line = self.store().add(kind::CONVERSATION, &record)?;
        let entry = self.entry(line)?;
        self.inner.totals.count(&Place::Number(number), report);
        self.values.add(number, report);
        let entries = &mut self.inner.entries;
        if number >= entries.len() {
            entries.resize(number + 1, MISSING);
        }
        self.is_replaced |= entries[number].length > 0;
        entries[number] = entry;
        Ok(())
    }

    /// Adds the transcript of the conversation with this number, see
    /// [`RunWriter::transcript`](super::run_file::RunWriter::transcript).
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn put_transcript(&mut self, number: usize, document: &str) -> io::Result<()> {
        let record = TranscriptRecord { number, document: serde_json::from_str(document)? };
        let line = self.store().add(kind::TRANSCRIPT, &record)?;
        let entry = self.entry(line)?;
        self.inner.transcripts.insert(number, entry);
        Ok(())
    }

    /// Writes what was added to a temporary file, if there is more of it than memory may hold.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written. Nothing is lost: everything stays in memory from then on. Reported once.
    pub fn flush(&mut self) -> io::Result<()> {
        self.store().flush()
    }

    /// The conversations. Those that were not added cannot be read.
    pub fn finish(mut self) -> Conversations {
        self.inner.stores.iter_mut().for_each(Store::close);
        // If it fails, because the disk is full, the lines are read where they are.
        let _ = self.inner.copy_in_order();
        self.inner.performance = self.inner.totals.finish();
        let ValuesInOrder { values, gave_up, .. } = self.values;
        if !gave_up && values.cases.conversations() == self.inner.entries.len() as u64 {
            self.inner.values = values.into();
        }
        Conversations(Arc::new(self.inner))
    }

    /// Sets the number of conversations, and what the warnings of the run are about.
    pub(super) fn expect(&mut self, conversations: usize, subjects: Subjects) {
        self.inner.entries.resize(conversations, MISSING);
        self.set_subjects(subjects);
    }

    /// Sets what the warnings of the run are about.
    pub(super) fn set_subjects(&mut self, subjects: Subjects) {
        self.inner.totals.run_warnings = RunWarnings::new(subjects);
    }

    /// Counts the conversations again.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub(super) fn recount(&mut self) -> io::Result<()> {
        let mut totals = Totals::default();
        totals.run_warnings = self.inner.totals.run_warnings.unset();
        let (readers, parts) = (Vec::new(), Parts::ALL);
        let mut reports = ConversationReports { inner: &self.inner, readers, next: 0, parts };
        let entries = self.inner.entries.iter().enumerate();
        let mut entries: Vec<_> = entries.filter(|(_, entry)| entry.length > 0).collect();
        // In the order of the files, each of which is opened once.
        entries.sort_unstable_by_key(|(_, entry)| (entry.store, entry.start));
        for (number, entry) in entries {
            let line = reports.line(*entry)?;
            totals.count(&Place::Number(number), &Self::read(line.as_bytes())?.1);
        }
        self.inner.totals = totals;
        Ok(())
    }

    /// Returns the number of conversations that were added.
    pub(super) fn added(&self) -> usize {
        self.inner.entries.iter().filter(|entry| entry.length > 0).count()
    }

    /// Continues in another store. Returns its number.
    pub(super) fn push_store(&mut self, store: Store) -> u32 {
        self.inner.stores.push(store);
        u32::try_from(self.inner.stores.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns a line of a store.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn line(&self, store: u32, span: Span) -> io::Result<Vec<u8>> {
        self.inner.stores[store as usize].line(span)
    }

    /// The store that is added to.
    pub(super) fn store(&mut self) -> &mut Store {
        let last = self.inner.stores.len() - 1;
        &mut self.inner.stores[last]
    }

    /// Reads the line of a conversation without the details of its evaluations, unless they have the reason why one was not evaluated.
    pub(super) fn read(line: &[u8]) -> io::Result<(usize, ConversationReport)> {
        let line = str::from_utf8(line).map_err(io::Error::other)?;
        let outline = Parts { details: false, ..Parts::ALL };
        let mut record: ConversationRecord<ConversationReport> = outline.read(line)?;
        let is_unevaluated =
            |it: &EvaluationReport| it.outcome() == EvaluationOutcome::NotEvaluated;
        if record.conversation.evaluations.iter().any(is_unevaluated) {
            record = Parts::ALL.read(line)?;
        }
        Ok((record.number, record.conversation))
    }

    /// Reads the line of a conversation.
    ///
    /// # Errors
    ///
    /// It is not that of a conversation.
    pub(super) fn read_all(line: &[u8]) -> io::Result<ConversationReport> {
        let record: ConversationRecord<ConversationReport> = serde_json::from_slice(line)?;
        Ok(record.conversation)
    }

    /// Adds the conversation on a line of a store, behind all others, without counting it, and its transcript if there is one.
    pub(super) fn push(
        &mut self,
        store: u32,
        (start, length): (u64, u32),
        transcript: Option<Span>,
    ) {
        if let Some(Span { start, length }) = transcript
            && let Ok(length) = u32::try_from(length)
        {
            let number = self.inner.entries.len();
            self.inner.transcripts.insert(number, Entry { start, length, store });
        }
        self.inner.entries.push(Entry { start, length, store });
    }

    fn entry(&self, line: Span) -> io::Result<Entry> {
        let length = u32::try_from(line.length).map_err(io::Error::other)?;
        Ok(Entry { start: line.start, length, store: number(self.inner.stores.len() - 1)? })
    }

    pub(super) fn partial(&self) -> Option<Partial> {
        let totals = &self.inner.totals;
        let stopped = (totals.tally.not_run > 0).then_some(Partial::FailFast);
        if totals.cancelled { Some(Partial::Cancelled) } else { stopped }
    }
}

impl Conversations {
    /// Number of conversations.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The reports in order.
    pub fn iter(&self) -> ConversationReports<'_> {
        self.iter_from(0)
    }

    /// The reports from this number on.
    pub fn iter_from(&self, next: usize) -> ConversationReports<'_> {
        ConversationReports { inner: &self.0, readers: Vec::new(), next, parts: Parts::ALL }
    }

    /// The report of the conversation with this number, from 0; `None` beyond the last one.
    pub fn get(&self, number: usize) -> Option<io::Result<ConversationReport>> {
        self.iter_from(number).next()
    }

    /// Returns the transcript of the conversation with this number, see
    /// [`RunWriter::transcript`](super::run_file::RunWriter::transcript); `None` if the run file does not have it.
    pub fn transcript(&self, number: usize) -> Option<io::Result<String>> {
        let entry = self.0.transcripts.get(&number)?;
        let span = Span { start: entry.start, length: entry.length.into() };
        let read = || {
            let line = self.0.stores[entry.store as usize].line(span)?;
            let record: TranscriptRecord<'_> = serde_json::from_slice(&line)?;
            Ok(record.document.get().to_owned())
        };
        Some(read().map_err(|error: io::Error| {
            let error = format!(
                "the transcript of conversation {} cannot be read back: {error}",
                number + 1
            );
            self.0.unreadable.get_or_init(|| error.clone());
            io::Error::other(error)
        }))
    }

    /// Returns the bytes that the conversation with this number has in the run file, with its transcript.
    pub fn size(&self, number: usize) -> usize {
        let entries = self.0.entries.get(number).into_iter();
        let entries = entries.chain(self.0.transcripts.get(&number));
        entries.map(|entry| entry.length as usize).sum()
    }

    /// Returns the number of transcripts.
    pub fn transcripts(&self) -> usize {
        self.0.transcripts.len()
    }

    /// Number of evaluations that passed, failed, broke, were not evaluated and were not run.
    pub fn tally(&self) -> Tally {
        self.0.totals.tally
    }

    /// Number of [warnings](super::EvaluationReport::warnings) of all evaluations.
    pub fn warnings(&self) -> u64 {
        self.0.totals.warnings
    }

    /// Number of evaluations for which an evaluator was called: all but those of conversations that cannot be evaluated.
    pub fn asked(&self) -> usize {
        self.0.totals.asked
    }

    /// Scores of the evaluators that were called, in the order of the configuration.
    pub fn evaluator_scores(&self) -> &[EvaluatorScores] {
        &self.0.totals.evaluators
    }

    /// Number of conversations that an evaluator did not evaluate. Errors do not count.
    pub fn dropped_out(&self) -> u64 {
        self.0.totals.dropped_out
    }

    /// Evaluators that broke and scored no conversation, in the order of the configuration.
    pub fn evaluators_that_never_worked(&self) -> impl Iterator<Item = &str> {
        let never_worked = self.evaluator_scores().iter().filter(|it| it.broke && it.scored == 0);
        never_worked.map(|it| &*it.name)
    }

    /// Number of evaluators that were called, and of those that each executor contained, by its name.
    pub fn contained(&self) -> (usize, BTreeMap<&str, usize>) {
        let mut executors = BTreeMap::new();
        for executor in self.evaluator_scores().iter().filter_map(|it| it.contained.as_deref()) {
            *executors.entry(executor).or_default() += 1;
        }
        (self.evaluator_scores().len(), executors)
    }

    /// Reasons why evaluators did not evaluate conversations, in the order of the report. Reads the conversations only if an
    /// evaluator has more than ten reasons.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read.
    pub fn not_evaluated(&self) -> io::Result<Vec<NotEvaluated>> {
        if self.evaluator_scores().iter().all(|it| it.others == 0) {
            return Ok(self.0.totals.not_evaluated());
        }
        let mut totals = Totals::default();
        for (number, conversation) in self.iter().enumerate() {
            totals.count(&Place::Number(number), &conversation?);
        }
        Ok(totals.not_evaluated())
    }

    /// Latencies, tokens and counts of all conversations; `None` if no conversation has them.
    pub fn performance(&self) -> Option<&RunPerformance> {
        self.0.performance.as_ref()
    }

    /// Values of all cases.
    pub(super) fn case_values(&self) -> io::Result<&CaseValues> {
        if let Some(values) = self.0.values.get() {
            return Ok(values);
        }
        let mut values = CaseValues::default();
        for conversation in self.iter().outlines() {
            values.add(&conversation?);
        }
        Ok(self.0.values.get_or_init(|| values))
    }

    /// The first error of reading a conversation so far.
    pub fn unreadable(&self) -> Option<&str> {
        self.0.unreadable.get().map(String::as_str)
    }
}

/// Reports of conversations in order.
#[derive(Debug)]
pub struct ConversationReports<'c> {
    inner: &'c Inner,
    /// Each reads the store with its number; the last one was used last.
    readers: Vec<(u32, Reader<'c>)>,
    next: usize,
    parts: Parts,
}

impl<'c> ConversationReports<'c> {
    /// The same reports without the performance of the conversations, which are read in two thirds of the time.
    #[must_use]
    pub fn without_performance(self) -> Self {
        Self { parts: Parts { performance: false, ..self.parts }, ..self }
    }

    /// The same reports without the performance of the conversations and the details of their evaluations, which are read
    /// in a third of the time.
    #[must_use]
    pub fn outlines(self) -> Self {
        Self { parts: Parts::NONE, ..self }
    }

    /// Continues with the report of this number.
    pub fn seek(&mut self, number: usize) {
        self.next = number;
    }

    /// Passes each report to a function. Another thread reads ahead if there are many.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read, or the function returns an error. No further one is passed.
    pub fn try_for_each_ahead(
        mut self,
        mut each: impl FnMut(ConversationReport) -> io::Result<()>,
    ) -> io::Result<()> {
        let first = self.by_ref().take(BATCH).collect::<Vec<_>>();
        first.into_iter().try_for_each(|report| each(report?))?;
        thread::scope(|scope| {
            let (give, take) = sync_channel(2);
            let mut ahead = Self { readers: Vec::new(), ..self };
            let read = move || {
                loop {
                    let batch: Vec<_> = ahead.by_ref().take(BATCH).collect();
                    // The receiver is gone if the function has failed.
                    if batch.is_empty() || give.send(batch).is_err() {
                        return;
                    }
                }
            };
            if self.next >= self.inner.entries.len() {
                return Ok(());
            }
            if thread::Builder::new().spawn_scoped(scope, read).is_err() {
                return self.try_for_each(|report| each(report?));
            }
            take.into_iter().flatten().try_for_each(|report| each(report?))
        })
    }

    /// The next report without its performance, and the performance as it is in the run file.
    pub(super) fn next_with_text(
        &mut self,
    ) -> Option<io::Result<(ConversationReport, Option<String>)>> {
        self.next_as(|line| {
            let (record, text): (ConversationRecord<ConversationReport>, _) =
                Parts::read_with_text(line)?;
            Ok((record.conversation, text))
        })
    }

    fn next_as<T>(&mut self, decode: impl FnOnce(&str) -> io::Result<T>) -> Option<io::Result<T>> {
        let entry = *self.inner.entries.get(self.next)?;
        self.next += 1;
        Some(self.line(entry).and_then(decode).map_err(|error| {
            let error = format!("conversation {} cannot be read back: {error}", self.next);
            self.inner.unreadable.get_or_init(|| error.clone());
            io::Error::other(error)
        }))
    }

    fn line(&mut self, entry: Entry) -> io::Result<&str> {
        if entry.length == 0 {
            return Err(io::Error::other("it was never finished"));
        }
        let inner: &'c Inner = self.inner;
        let known = self.readers.iter().position(|(store, _)| *store == entry.store);
        let reader = match known {
            Some(place) => self.readers.remove(place),
            None => (entry.store, Reader::new(&inner.stores[entry.store as usize])),
        };
        if self.readers.len() >= READERS {
            self.readers.remove(0);
        }
        self.readers.push(reader);
        let place = self.readers.len() - 1;
        let (_, reader) = &mut self.readers[place];
        let line = reader.line(Span { start: entry.start, length: entry.length.into() })?;
        // At once, which is faster than string by string.
        str::from_utf8(line).map_err(io::Error::other)
    }
}

impl Iterator for ConversationReports<'_> {
    type Item = io::Result<ConversationReport>;

    fn next(&mut self) -> Option<Self::Item> {
        let parts = self.parts;
        self.next_as(|line| {
            let record: ConversationRecord<ConversationReport> = parts.read(line)?;
            Ok(record.conversation)
        })
    }
}

impl<'c> IntoIterator for &'c Conversations {
    type Item = io::Result<ConversationReport>;
    type IntoIter = ConversationReports<'c>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// In this order. A report that cannot be serialized cannot be read.
impl FromIterator<ConversationReport> for Conversations {
    fn from_iter<I: IntoIterator<Item = ConversationReport>>(reports: I) -> Self {
        let mut collector = Collector::new(REPORT_MEMORY, 0);
        for (number, report) in reports.into_iter().enumerate() {
            let _ = collector.put(number, &report);
            // It fails only by using memory.
            let _ = collector.flush();
        }
        collector.finish()
    }
}

impl From<Vec<ConversationReport>> for Conversations {
    fn from(reports: Vec<ConversationReport>) -> Self {
        reports.into_iter().collect()
    }
}
