//! The report of saved runs: a fold over a set of parts. Their order, their repetition and files that hold several of them make
//! no difference.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File},
    io::{self, Read as _},
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Damage, Header, RunFileError, Unusable,
    alike::{Environments, difference, other_policies},
    foreign,
    merge::{Identity, Merged, PartReport, add_attributes, merged},
    part::Part,
    rows::{self, Row},
    scan::{Found, LeftOut, Position, Segment, hash_of, is_foreign, unreadable},
    store::Span,
};
use crate::{Collector, ConversationReport, Partial, RECORDED_ATTRIBUTES, Report, digest::Digest};

/// Number of conversations with different records that are named.
const NAMED: usize = 10;

/// Warning of a report of parts that are not known to be all.
const UNCHECKED: &str = "parts that are missing are not noticed, as --expect any asks for";

/// How saved runs are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Whether whole runs over different traces are parts of one run.
    pub are_parts: bool,
    /// Attributes to slice the report by, in place of those of the run.
    pub by: Vec<String>,
    /// What is known about the parts that filters wrote.
    pub expect: Option<Expect>,
    /// The golden cases of the run, which parts of filters do not have.
    pub golden: Option<ExpectedCases>,
}

/// What is known about the parts that filters wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Number of lines that filters were sent.
    Lines(u64),
    /// Nothing: it is not noticed if a part is missing.
    Any,
}

/// Golden cases of an eval set.
#[derive(Clone, Debug, Default)]
pub struct ExpectedCases {
    /// Digest of all, see [`Golden::digest`](super::Golden::digest).
    pub digest: Digest,
    /// Ids of those that have turns, in the order of the eval set.
    pub ids: Vec<String>,
}

/// Reads the report of a saved run, as [`read_parts`] does.
///
/// # Errors
///
/// As [`read_parts`].
pub fn read(files: &[PathBuf], are_parts: bool) -> Result<Report, RunFileError> {
    read_parts(files, &ReadOptions { are_parts, ..ReadOptions::default() })
}

/// Reads the report of a saved run, or of a set of parts of one run: shards, parts that filters wrote, or whole runs of one plan
/// on different conversations. Nothing in two whole runs shows whether their traces were divided or belong to two versions of an
/// agent, so runs over different traces are parts only if that is said.
///
/// A run that did not end, and a set of parts that is not whole, are reported with errors and as [partial](Report::partial).
///
/// A single file may also be a result of promptfoo or a log of Inspect, in JSON.
///
/// # Errors
///
/// A file cannot be read, or two files are not parts of one run.
pub fn read_parts(files: &[PathBuf], options: &ReadOptions) -> Result<Report, RunFileError> {
    if let [file] = files
        && is_foreign(file)
    {
        let mut report = foreign::read(file).map_err(|error| unreadable(file, error))?;
        slice_by(&mut report, options, &[]);
        report.files = files.to_vec();
        return Ok(report);
    }
    let (mut left_out, mut counts) = (HashMap::new(), Counts::default());
    loop {
        let mut fold = Fold::new(files, left_out);
        fold.read_all(options)?;
        if fold.leave_out(&mut counts).map_err(|error| fold.unread(error))? {
            left_out = mem::take(&mut fold.found.left_out);
            continue;
        }
        return fold.finish(options, counts);
    }
}

/// Conversations that are there several times with the same results.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Number of all.
    twice: usize,
    /// Number of those that are in several parts.
    shared: usize,
}

/// The parts that were read so far.
struct Fold<'f> {
    files: &'f [PathBuf],
    found: Found,
    set: PartSet<'f>,
}

#[derive(Default)]
struct PartSet<'f> {
    /// The part that others are compared with, and its file.
    first: Option<(&'f PathBuf, Header)>,
    /// Whether the first part is that of an empty stream, so that another one takes its place.
    is_first_empty: bool,
    /// The header of the report, with the identity of its part.
    header: Option<(Identity, Header)>,
    parts: Vec<PartReport<'f>>,
    environments: Environments,
    /// Where parts start, in order.
    starts: Vec<(Position, Identity)>,
    /// Files by their stores.
    stores: Vec<(u32, &'f PathBuf)>,
    /// Attributes that were recorded, each with a file.
    recorded: Vec<(&'f PathBuf, BTreeSet<String>)>,
    /// Lines that are replaced by later ones with the same number.
    superseded: Vec<Position>,
    /// Errors about files.
    problems: Vec<String>,
    /// Whether something is not there.
    is_incomplete: bool,
    /// Whether a run was killed before its file had a header.
    is_begun_only: bool,
}

impl<'f> Fold<'f> {
    fn new(files: &'f [PathBuf], left_out: HashMap<Position, LeftOut>) -> Self {
        Self { files, found: Found::new(left_out), set: PartSet::default() }
    }

    fn read_all(&mut self, options: &ReadOptions) -> Result<(), RunFileError> {
        for file in self.files {
            let Self { found, set, files } = self;
            let read = found
                .read(file, |found, segment| set.take(file, found, segment, options.are_parts));
            match read.map_err(|error| unreadable(file, error)) {
                Ok(true) => {}
                Ok(false) => set.without_header(file)?,
                Err(RunFileError::Foreign { file }) => {
                    return Err(match files.len() {
                        1 => RunFileError::Foreign { file },
                        _ => RunFileError::ForeignPart { file },
                    });
                }
                Err(error @ RunFileError::Damaged { .. }) if files.len() > 1 => {
                    set.problems.push(error.to_string());
                    set.is_incomplete = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn part(&self) -> Option<Part> {
        self.set.header.as_ref().and_then(|(_, header)| header.part)
    }

    /// Leaves out lines that do not count. Returns true if there are some, so that everything has to be read again.
    fn leave_out(&mut self, counts: &mut Counts) -> io::Result<bool> {
        let superseded = mem::take(&mut self.set.superseded).into_iter();
        let mut left_out: Vec<_> = superseded.map(|it| (it, LeftOut::Superseded)).collect();
        if left_out.is_empty() && self.part().is_some() {
            let doubles = self.doubles()?;
            counts.twice += doubles.twice;
            counts.shared += doubles.shared;
            left_out.extend(doubles.same.iter().map(|it| (position(it), LeftOut::Same)));
        }
        let is_again = !left_out.is_empty();
        self.found.left_out.extend(left_out);
        Ok(is_again)
    }

    fn doubles(&mut self) -> io::Result<rows::Doubles> {
        let mut rows = mem::take(&mut self.found.rows);
        let doubles =
            rows::doubles(&mut rows, |row| self.conversation(row), |row| self.part_of(row));
        self.found.rows = rows;
        doubles
    }

    fn conversation(&self, row: &Row) -> io::Result<ConversationReport> {
        let span = Span { start: row.start, length: row.length.into() };
        let line = self.found.collector.line(row.store, span)?;
        Collector::read_all(&line)
    }

    fn unread(&self, source: io::Error) -> RunFileError {
        let file = self.files.first().cloned().unwrap_or_default();
        RunFileError::Unreadable { file, source }
    }

    /// Returns the part that a row is in.
    fn part_of(&self, row: &Row) -> Identity {
        let starts = &self.set.starts;
        let behind = starts.partition_point(|(start, _)| *start <= position(row));
        behind.checked_sub(1).map_or(Identity::Unfinished, |place| starts[place].1)
    }

    fn file_of(&self, store: u32) -> &'f Path {
        let before = self.set.stores.iter().rfind(|(own, _)| *own <= store);
        before.map_or(Path::new(""), |(_, file)| file)
    }

    /// Returns the place of a conversation, and its number of turns.
    fn place(&self, row: &Row) -> io::Result<String> {
        let file = self.file_of(row.store);
        let turns = self.conversation(row)?.turns;
        let noun = if turns == 1 { "turn" } else { "turns" };
        let is_line = self.set.stores.iter().any(|(own, _)| *own == row.store);
        let line = match is_line {
            true => format!(", line {}", line_number(file, row.start)?),
            false => String::new(),
        };
        Ok(format!("{}{line} ({turns} {noun})", file.display()))
    }

    /// Finishes the report.
    fn finish(mut self, options: &ReadOptions, counts: Counts) -> Result<Report, RunFileError> {
        let part = self.part();
        let conflicts = match part {
            Some(_) => self.conflicts().map_err(|error| self.unread(error))?,
            None if self.files.len() > 1 => self.refuse_doubles().map(|()| Vec::new())?,
            None => Vec::new(),
        };
        let mut set = mem::take(&mut self.set);
        let header = set.header.take().map(|(_, header)| header);
        let mut merged = merged(mem::take(&mut set.parts));
        let mut report = mem::take(&mut merged.report);
        if part.is_some() {
            set.problems.sort();
            set.problems.dedup();
        }
        set.problems.extend(conflicts);
        if let Some(header) = &header {
            let lines = || missing_lines(options.expect, merged.read, counts.shared);
            let missing = self.missing(&set, header, &merged, lines);
            set.is_incomplete |= !missing.is_empty();
            set.problems.extend(missing);
            if matches!(part, Some(Part::Pipe { .. })) {
                if options.expect == Some(Expect::Any) {
                    report.is_unchecked = true;
                    report.warnings.push(UNCHECKED.to_owned());
                }
                self.add_unrecorded(&mut report, header, options.golden.as_ref())?;
            } else if options.expect.is_some() || options.golden.is_some() {
                return Err(RunFileError::NotOfFilters);
            }
        }
        report.errors.extend(set.problems);
        if set.is_begun_only {
            report.partial = Some(Partial::Unfinished);
        } else if set.is_incomplete {
            report.partial = report.partial.or(Some(Partial::Incomplete));
        }
        if report.partial.is_some() && part.is_some() {
            // A conversation that is not there may belong to any of them.
            report.unrecorded_cases.clear();
        }
        if let Some(header) = header {
            report.gates.clone_from(&header.gates);
            report.until_decided = header.seed;
            // The parts are one run.
            report.header = Some(Arc::new(Header { part: None, ..header }));
        }
        report.warnings.extend(self.found.collector.warnings());
        if merged.parts > 1 {
            report.warnings.extend(set.environments.warnings());
        }
        slice_by(&mut report, options, &set.recorded);
        report.remarks.extend(remark(counts.twice));
        report.files = self.files.to_vec();
        report.conversations = self.found.finish(part);
        Ok(report)
    }

    /// Returns errors about what is missing in a set of parts.
    fn missing(
        &self,
        set: &PartSet<'_>,
        header: &Header,
        merged: &Merged,
        lines: impl Fn() -> Option<String>,
    ) -> Vec<String> {
        match header.part {
            None => Vec::new(),
            Some(Part::Pipe { .. }) => lines().into_iter().collect(),
            Some(Part::Shard(shard)) => {
                let mut missing = merged.missing_shards(shard.of);
                let (found, all) = (self.found.rows.len(), header.conversations);
                let is_whole = missing.is_empty() && merged.is_ended && set.problems.is_empty();
                if is_whole && found != all {
                    missing.push(format!(
                        "the shards have {found} conversations, and the run has {all}"
                    ));
                }
                missing
            }
        }
    }

    /// Refuses whole runs with the same conversation.
    fn refuse_doubles(&mut self) -> Result<(), RunFileError> {
        let mut rows: Vec<&Row> = self.found.rows.iter().collect();
        rows.sort_by(|one, other| one.id.cmp(&other.id).then(one.store.cmp(&other.store)));
        let doubled = rows.windows(2).find(|pair| pair[0].id == pair[1].id);
        let Some([first, second]) = doubled else { return Ok(()) };
        let difference = format!("the conversation of trace {} is in both", first.id);
        let files = [first, second].map(|row| self.file_of(row.store).to_owned());
        Err(RunFileError::Different { files, difference })
    }

    /// Returns errors about conversations of which there are different records.
    fn conflicts(&mut self) -> io::Result<Vec<String>> {
        let doubles = self.doubles()?;
        let mut conflicts = Vec::new();
        for [one, other] in doubles.different.iter().take(NAMED) {
            let mut places = [self.place(one)?, self.place(other)?];
            places.sort();
            let [first, second] = places;
            let contents = [self.conversation(one)?.content, self.conversation(other)?.content];
            let id = &one.id;
            conflicts.push(match contents[0] == contents[1] {
                true => format!(
                    "trace {id} has other results in {first} than in {second}; report one of the two"
                ),
                false => format!(
                    "trace {id} is in {first} and with other spans in {second}: evaluators have seen parts of the conversation; group \
                     its spans before they are evaluated"
                ),
            });
        }
        if doubles.different.len() > NAMED {
            let more = doubles.different.len() - NAMED;
            conflicts.push(format!("{more} more conversations are there with different records"));
        }
        let sessions = self.divided_sessions()?;
        if sessions.is_empty() {
            conflicts.extend(self.divided_traces()?);
        }
        conflicts.extend(sessions);
        Ok(conflicts)
    }

    /// Returns errors about further traces of conversations that are in other conversations, too.
    fn divided_traces(&mut self) -> io::Result<Vec<String>> {
        let mut traces = mem::take(&mut self.found.further_traces);
        if traces.is_empty() {
            return Ok(Vec::new());
        }
        let rows = &self.found.rows;
        traces.extend(rows.iter().map(|row| (hash_of(&row.id.to_string()), position(row))));
        traces.sort_unstable();
        let mut divided = Vec::new();
        for pair in traces.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let row = |wanted: Position| rows.iter().find(|row| position(row) == wanted);
            let (Some(one), Some(other)) = (row(pair[0].1), row(pair[1].1)) else { continue };
            let ids = |row: &Row| -> io::Result<BTreeSet<Arc<str>>> {
                let ConversationReport { trace_id, traces, .. } = self.conversation(row)?;
                Ok(traces.into_iter().chain([trace_id]).collect())
            };
            let (own, others) = (ids(one)?, ids(other)?);
            let shared = own.intersection(&others).find(|id| hash_of(id) == pair[0].0);
            let Some(id) = shared.filter(|_| one.id != other.id) else { continue };
            let mut places = [self.place(one)?, self.place(other)?];
            places.sort();
            let [first, second] = places;
            divided.push(format!(
                "trace {id} is in the conversations of {first} and {second}: evaluators have seen parts of it; group its spans before \
                 they are evaluated"
            ));
            if divided.len() == NAMED {
                break;
            }
        }
        Ok(divided)
    }

    /// Returns errors about sessions whose traces are in several conversations.
    fn divided_sessions(&mut self) -> io::Result<Vec<String>> {
        let mut sessions = mem::take(&mut self.found.sessions);
        sessions.sort_unstable();
        let mut divided = Vec::new();
        for pair in sessions.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let rows = &self.found.rows;
            let row = |wanted: Position| rows.iter().find(|row| position(row) == wanted);
            let (Some(one), Some(other)) = (row(pair[0].1), row(pair[1].1)) else { continue };
            let session = self.conversation(one)?.session;
            if one.id == other.id || session != self.conversation(other)?.session {
                continue;
            }
            let mut places = [self.place(one)?, self.place(other)?];
            places.sort();
            let [first, second] = places;
            let session = session.as_deref().unwrap_or_default();
            divided.push(format!(
                "the traces of the conversation {session} are in {first} and {second}: evaluators have seen parts of it; group its traces \
                 before they are evaluated"
            ));
            if divided.len() == NAMED {
                break;
            }
        }
        Ok(divided)
    }

    /// Adds the golden cases that no conversation of a filter was compared with.
    fn add_unrecorded(
        &self,
        report: &mut Report,
        header: &Header,
        golden: Option<&ExpectedCases>,
    ) -> Result<(), RunFileError> {
        let is_required = report.require_all_cases || report.require_evaluated;
        match (&header.golden, golden) {
            (Some(own), Some(given)) if own.digest() == given.digest => {
                let is_missing = |id: &&String| !self.found.cases.contains(&***id);
                report.unrecorded_cases = given.ids.iter().filter(is_missing).cloned().collect();
                Ok(())
            }
            (_, Some(_)) => Err(RunFileError::OtherEvalSet),
            (Some(_), None) if is_required => Err(RunFileError::NoEvalSet),
            _ => Ok(()),
        }
    }
}

impl<'f> PartSet<'f> {
    /// Takes a segment of a file.
    fn take(
        &mut self,
        file: &'f PathBuf,
        found: &mut Found,
        mut segment: Segment,
        are_parts: bool,
    ) -> Result<(), Unusable> {
        if self.stores.last().is_none_or(|(store, _)| *store != segment.store) {
            self.stores.push((segment.store, file));
        }
        // The filter had nothing to read, so it did not prepare anything.
        let is_empty = segment.header.plan.is_none()
            && matches!(segment.header.part, Some(Part::Pipe { .. }))
            && segment.conversations + segment.input_errors.count == 0;
        self.admit(file, &segment, is_empty, are_parts)?;
        self.note_problems(file, &segment);
        if segment.end.is_none() {
            segment.add_unfinished(found)?;
        }
        if !matches!(segment.header.part, Some(Part::Pipe { .. })) {
            self.superseded.extend(superseded(&mut found.rows[segment.first_row..]));
        }
        let position = (segment.store, segment.start);
        let part = PartReport::new(&mut segment, file, self.parts.len());
        self.starts.push((position, part.identity));
        let mut own = segment.labels;
        own.extend(part.attributes().iter().cloned());
        if !is_empty && self.recorded.iter().all(|(_, known)| *known != own) {
            self.recorded.push((file, own));
        }
        let key = |header: &Header| serde_json::to_string(header).unwrap_or_default();
        let is_better = self.header.as_ref().is_none_or(|(identity, header)| {
            let known = (header.plan.is_none(), *identity);
            match (is_empty, part.identity).cmp(&known) {
                std::cmp::Ordering::Equal => key(&segment.header) < key(header),
                order => order.is_lt(),
            }
        });
        if is_better {
            self.header = Some((part.identity, segment.header));
        }
        self.parts.push(part);
        Ok(())
    }

    /// Checks that a part is of the same run as the first one.
    fn admit(
        &mut self,
        file: &'f PathBuf,
        segment: &Segment,
        is_empty: bool,
        are_parts: bool,
    ) -> Result<(), RunFileError> {
        let header = &segment.header;
        let Some((first_file, first)) = &self.first else {
            self.first = Some((file, header.clone()));
            self.is_first_empty = is_empty;
            return Ok(());
        };
        let files = || [(*first_file).clone(), file.clone()];
        let difference = match is_empty || self.is_first_empty {
            true => other_policies(first, header),
            false => difference(first, header),
        };
        if let Some(mut difference) = difference {
            if segment.first_line > 1 {
                difference =
                    format!("the second starts at line {}, and {difference}", segment.first_line);
            }
            return Err(RunFileError::Different { files: files(), difference });
        }
        if self.is_first_empty {
            self.first = Some((file, header.clone()));
            self.is_first_empty = is_empty;
            return Ok(());
        }
        let is_same = first.inputs.is_some() && first.inputs == header.inputs;
        if first.part.is_none() && !is_same && !are_parts {
            return Err(RunFileError::OtherInputs { files: files() });
        }
        if first.part.is_some() && !is_empty {
            self.environments.add(first, header);
        }
        Ok(())
    }

    /// Notes what is missing in a segment.
    fn note_problems(&mut self, file: &Path, segment: &Segment) {
        let (file, before) = (file.display(), self.problems.len());
        let part = match segment.is_joined {
            true => format!("{file} (the part from line {} on)", segment.first_line),
            false => file.to_string(),
        };
        let is_filter = matches!(segment.header.part, Some(Part::Pipe { .. }));
        let [evaluate, run] = match is_filter {
            true => ["send its lines to another filter"; 2],
            false => ["resume the run to evaluate it again", "run again"],
        };
        if let Some(Damage { line, offset, reason, lines }) = &segment.damage {
            let more =
                if *lines > 1 { format!(" and {} more lines", lines - 1) } else { String::new() };
            self.problems.push(format!(
                "{file}, line {line} (byte {offset}){more}: {reason}; what it recorded is not in the report, {evaluate}"
            ));
        }
        match (&segment.end, segment.contradiction()) {
            (Some(_), Some(contradiction)) if segment.damage.is_none() => {
                self.problems.push(format!("{part}: {contradiction}; {run}"));
            }
            (Some(_), _) => {}
            (None, _) => self.problems.push(match is_filter {
                true => format!("{part} has no end line: a filter was killed or still goes on; {run}"),
                false => {
                    let own = if segment.is_joined { "its own file".to_owned() } else { file.to_string() };
                    format!(
                        "{part} has no end line: the run was killed or still goes on; resume it with --resume --save-run {own}"
                    )
                }
            }),
        }
        self.is_incomplete |= self.problems.len() > before;
    }

    /// Notes that a run was killed before its file had a header.
    fn without_header(&mut self, file: &Path) -> Result<(), RunFileError> {
        let length = fs::metadata(file).map_err(|error| unreadable(file, error.into()))?.len();
        let what = if length == 0 { "is empty" } else { "ends inside its first line" };
        self.problems.push(format!(
            "{} {what}: its run was killed before the first evaluation, or still reads the traces; run it again",
            file.display()
        ));
        self.is_begun_only = true;
        Ok(())
    }
}

fn position(row: &Row) -> Position {
    (row.store, row.start)
}

/// Returns the positions of rows of a segment for which a later one has the same number.
fn superseded(rows: &mut [Row]) -> Vec<Position> {
    rows.sort_unstable_by_key(|row| (row.number, row.store, row.start));
    let pairs = rows.windows(2).filter(|pair| pair[0].number == pair[1].number);
    pairs.map(|pair| position(&pair[0])).collect()
}

/// Returns the remark about conversations that were there several times.
fn remark(twice: usize) -> Option<String> {
    let (noun, verb) = if twice == 1 { ("conversation", "was") } else { ("conversations", "were") };
    (twice > 0).then(|| {
        format!("{twice} {noun} {verb} there several times with the same results, and counted once")
    })
}

/// Returns an error if parts of filters are missing, or are not known to be all. A line that several parts have may stand for one
/// that no part has.
fn missing_lines(expect: Option<Expect>, read: u64, shared: usize) -> Option<String> {
    match expect {
        Some(Expect::Any) => None,
        Some(Expect::Lines(sent)) if sent == read => (shared > 0).then(|| {
            let lines = if shared == 1 { "line is" } else { "lines are" };
            format!(
                "{shared} {lines} in several parts, so it is not known whether others are missing: divide the input again, or accept \
                 what is there with --expect any"
            )
        }),
        Some(Expect::Lines(sent)) => {
            let mut error =
                format!("the parts have read {read} lines, and {sent} were sent (--expect {sent})");
            if read < sent {
                error += "; equal parts count once: if lines of the input are equal, divide `sort -u` of it, or accept what is there \
                          with --expect any";
            }
            Some(error)
        }
        None => Some(
            "it is not known whether parts are missing: name the number of lines that were sent with --expect N, or accept what is \
             there with --expect any"
                .to_owned(),
        ),
    }
}

/// Returns the number of the line at a position in a file, from 1.
fn line_number(file: &Path, start: u64) -> io::Result<usize> {
    let mut before = File::open(file)?.take(start);
    let (mut buffer, mut lines) = (vec![0; 1 << 16], 1);
    loop {
        match before.read(&mut buffer)? {
            0 => return Ok(lines),
            length => lines += buffer[..length].iter().filter(|byte| **byte == b'\n').count(),
        }
    }
}

/// Slices a report by the given attributes, else by its own. Leaves out those that a part did not record, with a warning. A single
/// file is sliced by everything.
fn slice_by(report: &mut Report, options: &ReadOptions, recorded: &[(&PathBuf, BTreeSet<String>)]) {
    let Report { by, warnings, .. } = report;
    if !options.by.is_empty() {
        by.clear();
        add_attributes(by, &options.by);
    }
    by.retain(|attribute| {
        // Their values are in every file: conversations without one have none.
        let is_in_all = recorded.len() < 2 || RECORDED_ATTRIBUTES.contains(&attribute.as_str());
        let without = recorded.iter().find(|(_, own)| !is_in_all && !own.contains(attribute));
        if let Some((file, _)) = without {
            warnings.push(format!(
                "the parts are not sliced by `{attribute}`, because {} did not record it; name it with --by when you run each part",
                file.display()
            ));
        }
        without.is_none()
    });
}
