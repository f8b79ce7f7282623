//! Reports of parts, and one of all of them.

use std::{
    collections::{BTreeMap, HashSet},
    mem,
    path::Path,
};

use evaluator_traces::trace::UnusableParts;

use super::{
    part::{InputError, InputErrors, Part},
    scan::Segment,
};
use crate::{Partial, Report, digest::Digest};

/// Number of errors of one kind that are named.
const NAMED: usize = 10;

/// What a part is known by: parts with the same identity are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Identity {
    /// A whole run, by its place.
    Run(usize),
    Shard(u64),
    /// A part that a filter wrote, by its sum.
    Filter(Digest),
    /// A part of a filter that did not end.
    Unfinished,
}

/// The report of a part without its conversations.
#[derive(Debug)]
pub(super) struct PartReport<'f> {
    pub(super) identity: Identity,
    is_ended: bool,
    report: Report,
    /// Number of errors and warnings from before the first evaluation: all parts have those.
    begun: [usize; 2],
    read: u64,
    file: &'f Path,
    input_errors: InputErrors,
}

impl<'f> PartReport<'f> {
    /// Takes the report of a part; `place` is that of a whole run.
    pub(super) fn new(segment: &mut Segment, file: &'f Path, place: usize) -> Self {
        let begun = &segment.header.report;
        let end = segment.end.take();
        let identity = match (segment.header.part, &end) {
            (None, _) => Identity::Run(place),
            (Some(Part::Shard(shard)), _) => Identity::Shard(shard.number),
            (Some(Part::Pipe { .. }), Some(_)) => Identity::Filter(segment.counts.sum),
            (Some(Part::Pipe { .. }), None) => Identity::Unfinished,
        };
        let (is_ended, read) = (end.is_some(), end.as_ref().and_then(|end| end.read));
        let unfinished = || Report { partial: Some(Partial::Unfinished), ..begun.clone() };
        let report = end.map_or_else(unfinished, |end| end.report);
        let known = |begun: &[String], all: &[String]| {
            if all.starts_with(begun) { begun.len() } else { 0 }
        };
        Self {
            begun: [known(&begun.errors, &report.errors), known(&begun.warnings, &report.warnings)],
            identity,
            is_ended,
            report,
            read: read.unwrap_or_default(),
            file,
            input_errors: mem::take(&mut segment.input_errors),
        }
    }

    /// Attributes by which the part is sliced.
    pub(super) fn attributes(&self) -> &[String] {
        &self.report.by
    }

    /// What decides between two parts with one identity: a whole one counts, not one that was cancelled. Its files and lines are
    /// named in errors, so those of the first count.
    fn key(&self) -> (bool, bool, String, &'f Path, Option<usize>) {
        let is_partial = self.report.partial.is_some();
        let report = serde_json::to_string(&self.report).unwrap_or_default();
        let first_error = self.input_errors.named.first().map(|(line, _)| *line);
        (!self.is_ended, is_partial, report, self.file, first_error)
    }
}

/// What a set of parts amounts to.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) report: Report,
    /// Lines that filters read.
    pub(super) read: u64,
    /// Number of different parts.
    pub(super) parts: usize,
    /// Numbers of the shards that are there, sorted.
    shards: Vec<u64>,
    /// Whether each part has its last line, and was not partial.
    pub(super) is_ended: bool,
}

/// Returns the report of a set of parts.
pub(super) fn merged(mut parts: Vec<PartReport<'_>>) -> Merged {
    parts.sort_by(|one, other| {
        one.identity.cmp(&other.identity).then_with(|| one.key().cmp(&other.key()))
    });
    parts.dedup_by(|next, kept| {
        next.identity == kept.identity && next.identity != Identity::Unfinished
    });
    let mut merged = Merged { is_ended: true, parts: parts.len(), ..Merged::default() };
    let mut first: Option<[Vec<String>; 2]> = None;
    let (mut input_errors, mut more) = (Vec::new(), BTreeMap::new());
    for mut part in parts {
        merged.read = merged.read.saturating_add(part.read);
        merged.is_ended &= part.is_ended && part.report.partial.is_none();
        if let Identity::Shard(number) = part.identity {
            merged.shards.push(number);
        }
        let errors = mem::take(&mut part.input_errors);
        if let (Some((first, _)), count @ 1..) = (errors.named.first(), errors.more()) {
            more.insert((part.file, *first), count);
        }
        input_errors.extend(errors.named.into_iter().map(|(line, error)| (part.file, line, error)));
        let Some(known) = &first else {
            let Report { errors, warnings, .. } = &part.report;
            let begun = [&errors[..part.begun[0]], &warnings[..part.begun[1]]];
            first = Some(begun.map(<[String]>::to_vec));
            merged.report = part.report;
            continue;
        };
        if !matches!(part.identity, Identity::Run(_)) {
            part.forget_begun(known);
        }
        merge(&mut merged.report, part.report);
    }
    input_errors.sort_by_key(|(file, line, _)| (*file, *line));
    // A part that did not end is there as often as it is given.
    input_errors.dedup_by_key(|(file, line, _)| (*file, *line));
    let sentences = input_errors.iter().map(|(file, line, error)| sentence(file, *line, error));
    merged.report.errors.extend(sentences);
    merged.report.counted_errors += more.values().map(|count| count - 1).sum::<usize>();
    merged.report.errors.extend(more.into_iter().map(|((file, _), count)| {
        format!(
            "{}: {count} more lines of the input cannot be used; its records of the kind `input_error` name them",
            file.display()
        )
    }));
    merged
}

impl PartReport<'_> {
    /// Removes what was known before the first evaluation and is in the report of the first part.
    fn forget_begun(&mut self, known: &[Vec<String>; 2]) {
        let Report { errors, causes, warnings, left_out, .. } = &mut self.report;
        *left_out = UnusableParts::default();
        let is_new = |place: usize, text: &String, known: &[String], begun: usize| {
            place >= begun || !known.contains(text)
        };
        let (all, mut all_causes) = (mem::take(errors), mem::take(causes));
        for (place, error) in all.into_iter().enumerate() {
            if is_new(place, &error, &known[0], self.begun[0]) {
                causes.extend(all_causes.remove(&place).map(|cause| (errors.len(), cause)));
                errors.push(error);
            }
        }
        let (mut places, begun) = (0.., self.begun[1]);
        warnings.retain(|it| is_new(places.next().unwrap_or_default(), it, &known[1], begun));
    }
}

/// The error of a run about a line of the input of a filter, which is recorded on a line of a file.
fn sentence(file: &Path, recorded: usize, error: &InputError) -> String {
    let InputError { line, offset, message, error_type, .. } = error;
    format!(
        "{}, line {recorded}: line {line} (byte {offset}) of the input cannot be used ({error_type}): {message}",
        file.display()
    )
}

/// Adds attributes, each once.
pub(super) fn add_attributes(by: &mut Vec<String>, more: &[String]) {
    for attribute in more {
        if !by.contains(attribute) {
            by.push(attribute.clone());
        }
    }
}

/// Adds the report of another part of the run.
fn merge(report: &mut Report, part: Report) {
    let errors = report.errors.len();
    let behind = |(index, cause)| (errors.saturating_add(index), cause);
    report.causes.extend(part.causes.into_iter().map(behind));
    report.errors.extend(part.errors);
    report.left_out.append(&part.left_out);
    report.unusable_eval_set |= part.unusable_eval_set;
    report.unsaved |= part.unsaved;
    report.unreliable = report.unreliable.saturating_add(part.unreliable);
    report.warnings.extend(part.warnings);
    // A case is recorded if one of the parts has a recording.
    let cases: HashSet<String> = part.unrecorded_cases.into_iter().collect();
    report.unrecorded_cases.retain(|case| cases.contains(case));
    let reused = [report.reused, part.reused];
    let sum = reused.iter().flatten().fold(0_usize, |sum, count| sum.saturating_add(*count));
    report.reused = reused.iter().any(Option::is_some).then_some(sum);
    if let Some(judges) = part.judges
        && let Some(cost) = report.judges.get_or_insert_default().append(judges)
    {
        report.warnings.push(format!("the cost of judges in one part, {cost}, is not added"));
    }
    report.partial = report.partial.or(part.partial);
    report.grouping = report.grouping.or(part.grouping);
    add_attributes(&mut report.by, &part.by);
}

impl Merged {
    /// Returns a sentence for each range of shards that are missing.
    pub(super) fn missing_shards(&self, of: u64) -> Vec<String> {
        let before = std::iter::once(0).chain(self.shards.iter().copied());
        let after = self.shards.iter().copied().chain([of.saturating_add(1)]);
        let gaps = before.zip(after).filter(|(before, after)| before.saturating_add(1) < *after);
        let gaps: Vec<(u64, u64)> = gaps.map(|(before, after)| (before + 1, after - 1)).collect();
        let mut missing: Vec<String> = gaps
            .iter()
            .take(NAMED)
            .map(|(first, last)| match first == last {
                true => format!("shard {first}/{of} is missing"),
                false => format!("shards {first}/{of} to {last}/{of} are missing"),
            })
            .collect();
        if gaps.len() > NAMED {
            missing.push("more shards are missing".to_owned());
        }
        missing
    }
}
