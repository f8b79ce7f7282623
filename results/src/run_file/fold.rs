//! The report of saved runs: a fold over a set of parts. Their order, their repetition and files that hold several of them make
//! no difference.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::{self, File},
    io::{self, Read as _},
    mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Damage, FileProblem, Header, RunFileError, Unusable,
    alike::{Environments, difference, other_policies},
    foreign,
    merge::{Identity, Merged, PartReport, add_attributes, merged},
    part::Part,
    rows::{self, Position, Row},
    scan::{Found, Segment, hash_of, is_foreign, unreadable},
};
use crate::{ConversationReport, Partial, RECORDED_ATTRIBUTES, Report, digest::Digest};

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
    let mut fold = Fold { files, found: Found::default(), set: PartSet::default() };
    fold.read_all(options)?;
    fold.finish(options)
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
    /// Errors about files.
    problems: Vec<String>,
    /// Whether something is not there.
    is_incomplete: bool,
    /// Whether a run was killed before its file had a header.
    is_begun_only: bool,
}

impl<'f> Fold<'f> {
    fn read_all(&mut self, options: &ReadOptions) -> Result<(), RunFileError> {
        for file in self.files {
            let Self { found, set, files } = self;
            let read = found
                .read(file, |found, segment| set.take(file, found, segment, options.are_parts));
            match read.map_err(|error| unreadable(file, error)) {
                Ok(true) => {}
                Ok(false) => set.without_header(file)?,
                Err(RunFileError::File { problem: FileProblem::Foreign, .. })
                    if files.len() > 1 =>
                {
                    return Err(FileProblem::ForeignPart.of(file));
                }
                Err(error @ RunFileError::File { problem: FileProblem::Damaged(_), .. })
                    if files.len() > 1 =>
                {
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

    /// Drops rows of which another one has all results. Returns what is there several times; nothing for whole runs.
    fn drop_doubles(&mut self) -> io::Result<rows::Doubles> {
        if self.part().is_none() {
            return Ok(rows::Doubles::default());
        }
        let mut rows = mem::take(&mut self.found.rows);
        let doubles =
            rows::doubles(&mut rows, |row| self.found.conversation(row), |row| self.part_of(row));
        self.found.rows = rows;
        let doubles = doubles?;
        let same: HashSet<Position> = doubles.same.iter().map(Row::position).collect();
        self.found.retain(|row| !same.contains(&row.position()));
        Ok(doubles)
    }

    /// Returns the part that a row is in.
    fn part_of(&self, row: &Row) -> Identity {
        let starts = &self.set.starts;
        let behind = starts.partition_point(|(start, _)| *start <= row.position());
        behind.checked_sub(1).map_or(Identity::Unfinished, |place| starts[place].1)
    }

    fn file_of(&self, store: u32) -> &'f Path {
        let before = self.set.stores.iter().rfind(|(own, _)| *own <= store);
        before.map_or(Path::new(""), |(_, file)| file)
    }

    /// Returns the places of two conversations, in order.
    fn places(&self, rows: [&Row; 2]) -> io::Result<[String; 2]> {
        let mut places = [self.place(rows[0])?, self.place(rows[1])?];
        places.sort();
        Ok(places)
    }

    /// Returns the place of a conversation, and its number of turns.
    fn place(&self, row: &Row) -> io::Result<String> {
        let file = self.file_of(row.store);
        let turns = self.found.conversation(row)?.turns;
        let noun = if turns == 1 { "turn" } else { "turns" };
        let is_line = self.set.stores.iter().any(|(own, _)| *own == row.store);
        let line = match is_line {
            true => format!(", line {}", line_number(file, row.start)?),
            false => String::new(),
        };
        Ok(format!("{}{line} ({turns} {noun})", file.display()))
    }

    /// Finishes the report.
    fn finish(mut self, options: &ReadOptions) -> Result<Report, RunFileError> {
        let (part, files) = (self.part(), self.files);
        let doubles = self.drop_doubles().map_err(|error| unread(files, error))?;
        let conflicts = match part {
            Some(_) => self.conflicts(&doubles.different).map_err(|error| unread(files, error))?,
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
            let lines = || missing_lines(options.expect, merged.read, doubles.shared);
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
        let collector = self.found.finish(part).map_err(|error| unread(files, error))?;
        report.warnings.extend(collector.inner.totals.run_warnings.sentences());
        if merged.parts > 1 {
            report.warnings.extend(set.environments.warnings());
        }
        slice_by(&mut report, options, &set.recorded);
        report.remarks.extend(remark(doubles.twice));
        report.files = files.to_vec();
        report.conversations = collector.finish();
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
    fn conflicts(&mut self, different: &[[Row; 2]]) -> io::Result<Vec<String>> {
        let mut conflicts = Vec::new();
        for [one, other] in different.iter().take(NAMED) {
            let [first, second] = self.places([one, other])?;
            let contents =
                [self.found.conversation(one)?.content, self.found.conversation(other)?.content];
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
        if different.len() > NAMED {
            let more = different.len() - NAMED;
            conflicts.push(format!("{more} more conversations are there with different records"));
        }
        let sessions = mem::take(&mut self.found.sessions);
        let sessions = self.divided(sessions, |it| it.session.into_iter().collect(), |id, places| {
            format!("the traces of the conversation {id} are in {places}: evaluators have seen parts of it; group its traces")
        })?;
        let mut traces = mem::take(&mut self.found.further_traces);
        if sessions.is_empty() && !traces.is_empty() {
            let rows = self.found.rows.iter();
            traces.extend(rows.map(|row| (hash_of(&row.id.to_string()), row.position())));
            let ids = |it: ConversationReport| it.traces.into_iter().chain([it.trace_id]).collect();
            conflicts.extend(self.divided(traces, ids, |id, places| {
                format!("trace {id} is in the conversations of {places}: evaluators have seen parts of it; group its spans")
            })?);
        }
        conflicts.extend(sessions);
        Ok(conflicts)
    }

    /// Returns errors about what different conversations share, although it belongs to one: by its hashes with the positions of
    /// conversations, and its names in a conversation.
    fn divided(
        &self,
        mut hashes: Vec<(u64, Position)>,
        names: impl Fn(ConversationReport) -> Vec<Arc<str>>,
        message: impl Fn(&str, &str) -> String,
    ) -> io::Result<Vec<String>> {
        hashes.sort_unstable();
        let shared = hashes.chunk_by(|one, other| one.0 == other.0).filter(|it| it.len() > 1);
        let shared: HashSet<Position> = shared.flatten().map(|(_, position)| *position).collect();
        let rows = self.found.rows.iter().map(|row| (row.position(), row));
        let rows: HashMap<_, _> = rows.filter(|(position, _)| shared.contains(position)).collect();
        // Others belong to rows that were dropped.
        hashes.retain(|(_, position)| rows.contains_key(position));
        let mut divided = Vec::new();
        for pair in hashes.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let [one, other] = [rows[&pair[0].1], rows[&pair[1].1]];
            let [own, others] =
                [self.found.conversation(one)?, self.found.conversation(other)?].map(&names);
            let shared =
                own.iter().find(|name| hash_of(name) == pair[0].0 && others.contains(name));
            if let Some(name) = shared.filter(|_| one.id != other.id) {
                let places = self.places([one, other])?.join(" and ");
                divided.push(format!("{} before they are evaluated", message(name, &places)));
            }
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
            && segment.counts.conversations + segment.input_errors.count == 0;
        self.admit(file, &segment, is_empty, are_parts)?;
        if segment.end.is_none() {
            segment.add_unfinished(found)?;
        }
        if !matches!(segment.header.part, Some(Part::Pipe { .. })) {
            segment.drop_superseded(found)?;
        }
        self.note_problems(file, &segment);
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
            return Err(RunFileError::OtherInputs(files()));
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

fn unread(files: &[PathBuf], source: io::Error) -> RunFileError {
    RunFileError::Unreadable { file: files.first().cloned().unwrap_or_default(), source }
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
