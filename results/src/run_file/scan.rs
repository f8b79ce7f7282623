//! Reading the lines of saved runs.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io, mem,
    path::Path,
    sync::Arc,
};

use serde::de::IgnoredAny;

use super::{
    Damage, FileProblem, Header, RunFileError, Unusable,
    alike::policies,
    contradiction, file,
    format::{self, ConversationRecord, EndRecord, EvaluationRecord, TranscriptRecord, kind},
    part::{InputError, InputErrors, Part, PartCounts},
    rows::{Position, Row},
    store::{Lines, Reader, Span, Store},
};
use crate::{
    Collector, ConversationReport, EvaluationReport, NOT_RUN, Report, run_warnings::Place,
};

/// What was found in all files so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) collector: Collector,
    pub(super) rows: Vec<Row>,
    /// Hashes of the sessions of conversations, and their positions.
    pub(super) sessions: Vec<(u64, Position)>,
    /// Hashes of the ids of further traces of conversations, and the positions of these.
    pub(super) further_traces: Vec<(u64, Position)>,
    /// By the positions of conversations.
    pub(super) transcripts: BTreeMap<Position, Span>,
    /// Ids of the golden cases of conversations that filters read.
    pub(super) cases: HashSet<Arc<str>>,
    /// Whether a row that was counted is gone.
    has_lost_rows: bool,
    /// Number of conversations in the files before.
    before: usize,
}

/// The lines of a file from a header to the next one.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) header: Header,
    /// Number of the line of the header.
    pub(super) first_line: usize,
    /// Whether the file has other headers, too.
    pub(super) is_joined: bool,
    pub(super) store: u32,
    /// Byte at which its header starts.
    pub(super) start: u64,
    /// The first of its rows.
    pub(super) first_row: usize,
    pub(super) end: Option<EndRecord<Report>>,
    pub(super) damage: Option<Damage>,
    pub(super) counts: PartCounts,
    pub(super) input_errors: InputErrors,
    /// Attributes that conversations have values of.
    pub(super) labels: BTreeSet<String>,
    /// By the numbers of conversations.
    transcripts: BTreeMap<usize, Span>,
    /// Evaluations of conversations that are not finished.
    pending: BTreeMap<usize, Vec<Span>>,
}

/// Starts of files that hold text in an encoding that is not read, and what to do about each.
const ENCODINGS: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "compressed with gzip; decompress it (`gunzip`)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it (`unzstd`)"),
    (b"\xef\xbb\xbf", "text that starts with a byte order mark; save it as UTF-8 without BOM"),
    (b"\xff\xfe", "UTF-16, as `>` in Windows PowerShell writes; redirect stdout in `cmd`"),
];

/// Returns the error of a file that cannot be used.
pub(super) fn unreadable(file: &Path, error: Unusable) -> RunFileError {
    match error {
        Unusable::Refused(error) => error,
        Unusable::Failed(source) => RunFileError::Unreadable { file: file.to_owned(), source },
    }
}

/// Opens a file, and reads its first line into the buffer. `None` without a whole header.
fn open(path: &Path, buffer: &mut Vec<u8>) -> Result<Option<(Lines<File>, Header)>, Unusable> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(FileProblem::NotAFile.of(path).into());
    }
    let mut lines = Lines::new(File::open(path)?);
    let first = lines.next(buffer)?;
    if let Some((_, encoding)) = ENCODINGS.iter().find(|(start, _)| buffer.starts_with(start)) {
        return Err(FileProblem::Encoded(encoding).of(path).into());
    }
    match first {
        Some(first) if lines.end > first.length || !format::may_start(buffer) => {
            let header = file::read_header(path, buffer)?;
            Ok(Some((lines, header)))
        }
        _ => Ok(None),
    }
}

/// Returns a hash of a text.
pub(super) fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns true for a file that no version of this program writes as a run file.
pub(super) fn is_foreign(file: &Path) -> bool {
    use RunFileError::File;
    let opened = open(file, &mut Vec::new());
    matches!(opened, Err(Unusable::Refused(File { problem: FileProblem::Foreign, .. })))
}

impl Found {
    /// Reads a file. `each` takes its segments, each as soon as it is read. Returns false if it has no whole header: its run was
    /// killed before.
    pub(super) fn read(
        &mut self,
        path: &Path,
        mut each: impl FnMut(&mut Self, Segment) -> Result<(), Unusable>,
    ) -> Result<bool, Unusable> {
        let mut buffer = Vec::new();
        let Some((mut lines, header)) = open(path, &mut buffer)? else { return Ok(false) };
        let store = self.collector.push_store(Store::closed(path)?);
        let mut segment = self.start(header, lines.number, (store, 0));
        while let Some(span) = lines.next(&mut buffer)? {
            match format::open(&buffer) {
                Ok(kind::HEADER) => {
                    let header = file::read_header(path, &buffer)?;
                    segment.is_joined = true;
                    let next = self.start(header, lines.number, (store, span.start));
                    each(self, mem::replace(&mut segment, next))?;
                    segment.first_row = self.rows.len();
                }
                // `hadoop fs -getmerge -nl` writes one behind each part. A line that is lost is noticed without it.
                Err(_) if buffer.is_empty() => {}
                opened => {
                    if let Err(reason) = segment.line(self, opened, lines.number, span, &buffer) {
                        Damage::add(&mut segment.damage, lines.number, span.start, reason);
                    }
                }
            }
        }
        each(self, segment)?;
        self.collector.values.end_part();
        self.before = self.rows.len();
        Ok(true)
    }

    fn start(&mut self, header: Header, first_line: usize, (store, start): Position) -> Segment {
        if self.rows.is_empty() {
            self.collector.set_subjects(header.subjects());
        }
        Segment {
            header,
            first_line,
            is_joined: first_line > 1,
            store,
            start,
            first_row: self.rows.len(),
            ..Segment::default()
        }
    }

    /// Adds a conversation of a part.
    fn add(&mut self, part: Option<Part>, row: Row, conversation: &ConversationReport) {
        let is_of_filter = matches!(part, Some(Part::Pipe { .. }));
        if let Some(session) = &conversation.session {
            self.sessions.push((hash_of(session), row.position()));
        }
        for id in conversation.traces.iter().filter(|id| **id != conversation.trace_id) {
            self.further_traces.push((hash_of(id), row.position()));
        }
        if let Some(case) = conversation.eval_case_id.as_ref().filter(|_| is_of_filter)
            && !self.cases.contains(case)
        {
            self.cases.insert(Arc::clone(case));
        }
        let place = match part {
            None => Place::Number(self.before.saturating_add(row.number)),
            Some(Part::Shard(_)) => Place::Number(row.number),
            Some(Part::Pipe { .. }) => Place::TraceId(Arc::clone(&conversation.trace_id)),
        };
        self.collector.inner.totals.count(&place, conversation);
        if part.is_none() {
            self.collector.values.add(row.number, conversation);
        }
        self.rows.push(row);
    }

    pub(super) fn conversation(&self, row: &Row) -> io::Result<ConversationReport> {
        let span = Span { start: row.start, length: row.length.into() };
        let line = self.collector.line(row.store, span)?;
        Collector::read_all(&line)
    }

    /// Removes rows that do not count.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&Row) -> bool) {
        let before = self.rows.len();
        self.rows.retain(is_kept);
        self.has_lost_rows |= self.rows.len() < before;
    }

    /// Returns all conversations, in the order of the run.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub(super) fn finish(self, part: Option<Part>) -> io::Result<Collector> {
        let Self { mut collector, mut rows, transcripts, has_lost_rows, .. } = self;
        match part {
            None => rows.sort_unstable_by_key(|row| (row.store, row.number)),
            Some(Part::Shard(_)) => rows.sort_unstable_by(|one, other| {
                (one.number, &one.id, one.hash).cmp(&(other.number, &other.id, other.hash))
            }),
            Some(Part::Pipe { .. }) => rows
                .sort_unstable_by(|one, other| (&one.id, one.hash).cmp(&(&other.id, other.hash))),
        }
        for row in rows {
            let transcript = transcripts.get(&row.position()).copied();
            collector.push(row.store, (row.start, row.length), transcript);
        }
        if has_lost_rows {
            collector.recount()?;
        }
        Ok(collector)
    }
}

impl Segment {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be used.
    fn line(
        &mut self,
        found: &mut Found,
        opened: Result<&str, &'static str>,
        number: usize,
        span: Span,
        line: &[u8],
    ) -> Result<(), &'static str> {
        let is_behind_end = self.end.is_some();
        match opened? {
            kind::EVALUATION if number - self.first_line <= self.header.earlier => Ok(()),
            kind::EVALUATION | kind::CONVERSATION | kind::INPUT_ERROR | kind::END
                if is_behind_end =>
            {
                Err("it is behind the last line of its run")
            }
            kind::EVALUATION => {
                let record: EvaluationRecord<IgnoredAny> = format::record(line)?;
                self.pending.entry(record.number).or_default().push(span);
                Ok(())
            }
            kind::CONVERSATION => self.conversation(found, span, line),
            kind::TRANSCRIPT => {
                let record: TranscriptRecord<'_> = format::record(line)?;
                self.transcripts.insert(record.number, span);
                Ok(())
            }
            kind::INPUT_ERROR => {
                let error: InputError = format::record(line)?;
                self.counts.sum.add(&error.content);
                self.input_errors.add(number, error);
                Ok(())
            }
            kind::END => {
                self.end = Some(format::record(line)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn conversation(
        &mut self,
        found: &mut Found,
        span: Span,
        line: &[u8],
    ) -> Result<(), &'static str> {
        let read = Collector::read(line);
        let (number, conversation) = read.map_err(|_| "the record is malformed")?;
        if let Some(contradiction) = contradiction::of_conversation(&conversation, &self.header) {
            return Err(contradiction);
        }
        if let Some(Part::Shard(shard)) = self.header.part
            && !shard.has(&conversation.trace_id)
        {
            return Err("its conversation is of another shard");
        }
        let position = (self.store, span.start);
        self.pending.remove(&number);
        self.counts.add(&conversation, self.header.part.is_some());
        if conversation.labels.keys().any(|label| !self.labels.contains(label)) {
            self.labels.extend(conversation.labels.keys().cloned());
        }
        if let Some(transcript) = self.transcripts.get(&number) {
            found.transcripts.insert(position, *transcript);
        }
        let row = Row::new(&conversation, number, position, line).ok_or("the line is too long")?;
        found.add(self.header.part, row, &conversation);
        Ok(())
    }

    /// Adds conversations of which some evaluations are finished.
    pub(super) fn add_unfinished(&mut self, found: &mut Found) -> io::Result<()> {
        let pending = mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let mut unfinished = Vec::new();
        for (number, spans) in &pending {
            let lines = spans.iter().map(|span| found.collector.line(self.store, *span));
            let lines = lines.collect::<io::Result<Vec<_>>>()?;
            unfinished.push((*number, unfinished_conversation(&self.header, &lines)?));
        }
        let store = found.collector.push_store(Store::new(usize::MAX));
        for (number, conversation) in unfinished {
            let record = ConversationRecord { number, conversation: &conversation };
            let span = found.collector.store().add(kind::CONVERSATION, &record)?;
            let line = found.collector.line(store, span)?;
            let row = Row::new(&conversation, number, (store, span.start), &line);
            let row = row.ok_or_else(|| io::Error::other("the line is too long"))?;
            found.add(self.header.part, row, &conversation);
        }
        Ok(())
    }

    /// Drops conversations for which a later line has the same number.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub(super) fn drop_superseded(&mut self, found: &mut Found) -> io::Result<()> {
        let rows = &mut found.rows[self.first_row..];
        rows.sort_unstable_by_key(|row| (row.number, row.store, row.start));
        let pairs = rows.windows(2).filter(|pair| pair[0].number == pair[1].number);
        let superseded: HashSet<Position> = pairs.map(|pair| pair[0].position()).collect();
        if superseded.is_empty() {
            return Ok(());
        }
        found.retain(|row| !superseded.contains(&row.position()));
        self.counts = PartCounts::default();
        let rows = &mut found.rows[self.first_row..];
        rows.sort_unstable_by_key(Row::position);
        // In the order of the file, which is opened once.
        for rows in rows.chunk_by(|one, other| one.store == other.store) {
            let mut reader = Reader::new(&found.collector.inner.stores[rows[0].store as usize]);
            for row in rows {
                let line = reader.line(Span { start: row.start, length: row.length.into() })?;
                self.counts.add(&Collector::read(line)?.1, self.header.part.is_some());
            }
        }
        Ok(())
    }

    /// Returns the reason why the last line does not fit the others.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let end = self.end.as_ref()?;
        let is_partial = end.report.partial.is_some();
        let is_part = self.header.part.is_some();
        let counts = !is_partial && !is_part && self.header.conversations > 0;
        let PartCounts { conversations, tally, sum } = self.counts;
        if (end.conversations, end.tally) != (conversations, tally)
            || counts && end.conversations != self.header.conversations
        {
            return Some("its conversations are not as many as its first and last line say");
        }
        if is_part && end.sum != Some(sum) {
            return Some("its conversations are not those that its last line has the sum of");
        }
        if is_part && policies(&end.report) != policies(&self.header.report) {
            return Some("its last line has other policies than its first one");
        }
        let lines = (conversations + self.input_errors.count) as u64;
        let is_filter = matches!(self.header.part, Some(Part::Pipe { .. }));
        let is_short = is_filter && end.read != Some(lines);
        is_short.then_some("it does not have a record of each line that its last line counts")
    }
}

/// The report of a conversation of which some evaluations are finished, from the lines of these.
fn unfinished_conversation(header: &Header, lines: &[Vec<u8>]) -> io::Result<ConversationReport> {
    let mut conversation = ConversationReport::new("".into());
    let mut finished: BTreeMap<(String, u32), EvaluationReport> = BTreeMap::new();
    for line in lines {
        let record: EvaluationRecord<EvaluationReport> = serde_json::from_slice(line)?;
        (conversation.trace_id, conversation.turns) = (record.trace_id, record.turns);
        let entry = header.entry(&record.evaluation.name);
        let is_consistent =
            entry.is_some_and(|it| contradiction::of_evaluation(&record.evaluation, it).is_none());
        if !is_consistent {
            continue;
        }
        let repeat = (record.evaluation.name.clone(), record.repeat);
        finished.insert(repeat, record.evaluation);
    }
    let evaluations = header.evaluators.iter().map(|entry| {
        let missing = || {
            let mut missing = EvaluationReport::new(&entry.name);
            missing.threshold = Some(entry.threshold);
            missing.error = Some(format!("{} was not finished", entry.name));
            missing.error_type = Some(NOT_RUN);
            missing
        };
        let repeats = (0..entry.repeat.max(1))
            .map(|repeat| finished.remove(&(entry.name.clone(), repeat)).unwrap_or_else(missing));
        EvaluationReport::combine(repeats.collect())
    });
    conversation.evaluations = evaluations.collect();
    Ok(conversation)
}
