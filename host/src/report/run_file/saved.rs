//! The report of runs that were saved.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::IgnoredAny;

use super::{
    Damage, RunFileError,
    file::{MALFORMED, read_header},
    format::{self, ConversationRecord, EndRecord, EvaluationRecord, Header, kind},
    store::{Lines, Span, Store},
};
use crate::{
    report::{Collector, ConversationReport, EvaluationReport, Partial, Report},
    verdict::{NOT_RUN, Tally},
};

/// Reads the report of a saved run. Several files are parts of one run: runs of one plan on different conversations.
///
/// A run that did not end is reported with an error, [`Partial::Unfinished`], and the evaluations that are in its file.
///
/// # Errors
///
/// A file cannot be read, or two files are not parts of one run.
pub fn read(files: &[PathBuf]) -> Result<Report, RunFileError> {
    let (mut collector, mut whole) = (Collector::new(0, 0), None::<(&PathBuf, Header)>);
    let mut report = Report::default();
    let mut conversations: HashSet<Arc<str>> = HashSet::new();
    for file in files {
        let unreadable = |source| RunFileError::Unreadable { file: file.clone(), source };
        let part = Part::read(file, &mut collector, |report| {
            // A single file has each of them once.
            if files.len() == 1 || conversations.insert(Arc::clone(&report.trace_id)) {
                Ok(())
            } else {
                Err(report.trace_id.to_string())
            }
        });
        let part = match part {
            Ok(part) => part,
            Err(Unusable::Refused(error)) => return Err(error),
            Err(Unusable::Failed(error)) => return Err(unreadable(error)),
            Err(Unusable::Repeated(trace_id)) => {
                let difference = format!("the conversation of trace {trace_id} is in both");
                let first = whole.map_or(file, |(first, _)| first);
                let files = [first.clone(), file.clone()];
                return Err(RunFileError::Different { files, difference });
            }
        };
        match &whole {
            None => {
                report = part.report;
                whole = Some((file, part.header));
            }
            Some((first, header)) => {
                if let Some(difference) = difference(header, &part.header) {
                    let files = [(*first).clone(), file.clone()];
                    return Err(RunFileError::Different { files, difference });
                }
                merge(&mut report, part.report);
            }
        }
    }
    report.conversations = collector.finish();
    report.performance = report.conversations.performance().cloned();
    Ok(report)
}

/// One file of a run.
struct Part {
    header: Header,
    report: Report,
}

enum Unusable {
    Refused(RunFileError),
    Failed(io::Error),
    Repeated(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl Part {
    /// Reads a file and adds its conversations.
    fn read(
        path: &Path,
        collector: &mut Collector,
        mut is_new: impl FnMut(&ConversationReport) -> Result<(), String>,
    ) -> Result<Self, Unusable> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Unusable::Refused(RunFileError::NotAFile { file: path.to_owned() }));
        }
        let (mut lines, mut buffer) = (Lines::new(file.try_clone()?), Vec::new());
        lines.next(&mut buffer)?;
        let header = read_header(path, &buffer).map_err(Unusable::Refused)?;
        let first = collector.len();
        let length = file.metadata()?.len();
        collector.push_store(Store::named(file, length));
        let (mut tally, mut end, mut damage) = (Tally::default(), None, None);
        // Evaluations of conversations that are not finished.
        let mut pending: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
        while let Some(span) = lines.next(&mut buffer)? {
            let read = match format::open(&buffer) {
                Ok(kind::EVALUATION) => serde_json::from_slice(&buffer)
                    .map(|record: EvaluationRecord<IgnoredAny>| {
                        pending.entry(record.number).or_default().push(span);
                    })
                    .map_err(|_| MALFORMED),
                Ok(kind::CONVERSATION) => match serde_json::from_slice(&buffer) {
                    Ok(ConversationRecord { number, conversation }) => {
                        is_new(&conversation).map_err(Unusable::Repeated)?;
                        pending.remove(&number);
                        conversation.evaluations.iter().for_each(|it| it.count_in(&mut tally));
                        collector.index(first + number, span, &conversation)?;
                        Ok(())
                    }
                    Err(_) => Err(MALFORMED),
                },
                Ok(kind::END) => {
                    serde_json::from_slice(&buffer).map(|it| end = Some(it)).map_err(|_| MALFORMED)
                }
                other => other.map(drop),
            };
            if let Err(reason) = read {
                Damage::add(&mut damage, lines.number, span.start, reason);
            }
        }
        collector.skip_missing();
        let is_missing = |end: &EndRecord<Report>| {
            (end.conversations, end.tally) != (collector.len() - first, tally)
        };
        let is_missing = end.as_ref().is_some_and(is_missing);
        let mut unfinished = Vec::new();
        if end.is_none() {
            for spans in pending.values() {
                unfinished.push(unfinished_conversation(&header, collector, spans)?);
            }
            collector.push_store(Store::new(usize::MAX));
            for conversation in &unfinished {
                is_new(conversation).map_err(Unusable::Repeated)?;
                collector.put(collector.len(), conversation)?;
            }
        }
        let report = Self::report(path, &header, end, damage, is_missing);
        Ok(Self { header, report })
    }

    /// The report without conversations, with an error for everything that is missing in the file.
    fn report(
        path: &Path,
        header: &Header,
        end: Option<EndRecord<Report>>,
        damage: Option<Damage>,
        is_missing: bool,
    ) -> Report {
        let file = path.display();
        let mut errors = Vec::new();
        if let Some(Damage { line, offset, reason, lines }) = damage {
            let more =
                if lines > 1 { format!(" and {} more lines", lines - 1) } else { String::new() };
            errors.push(format!(
                "{file}, line {line} (byte {offset}){more}: {reason}; what it recorded is not in the report, resume the run to \
                 evaluate it again"
            ));
        }
        let mut report = match end {
            Some(end) => {
                if errors.is_empty() && is_missing {
                    errors.push(format!("{file}: conversations are missing; run again"));
                }
                end.report
            }
            None => {
                errors.push(format!(
                    "{file} has no end line: the run was killed or still goes on; resume it with --resume --save-run {file}"
                ));
                Report { partial: Some(Partial::Unfinished), ..header.report.clone() }
            }
        };
        report.errors.extend(errors);
        report
    }
}

/// The report of a conversation of which some evaluations are finished.
fn unfinished_conversation(
    header: &Header,
    collector: &mut Collector,
    spans: &[Span],
) -> io::Result<ConversationReport> {
    let mut conversation = ConversationReport::new("".into());
    let mut finished: BTreeMap<String, EvaluationReport> = BTreeMap::new();
    for span in spans {
        let line = collector.store().line(*span)?;
        let record: EvaluationRecord<EvaluationReport> = serde_json::from_slice(&line)?;
        (conversation.trace_id, conversation.turns) = (record.trace_id, record.turns);
        finished.insert(record.evaluation.name.clone(), record.evaluation);
    }
    let evaluations = header.evaluators.iter().map(|entry| {
        finished.remove(&entry.name).unwrap_or_else(|| {
            let mut missing = EvaluationReport::new(&entry.name);
            missing.threshold = Some(entry.threshold);
            missing.error = Some(format!("{} was not finished", entry.name));
            missing.error_type = Some(NOT_RUN);
            missing
        })
    });
    conversation.evaluations = evaluations.collect();
    Ok(conversation)
}

/// Adds the report of another part of the run.
fn merge(report: &mut Report, part: Report) {
    let errors = report.errors.len();
    report.causes.extend(part.causes.into_iter().map(|(index, cause)| (errors + index, cause)));
    report.errors.extend(part.errors);
    report.left_out.append(&part.left_out);
    report.unusable_eval_set |= part.unusable_eval_set;
    report.unsaved |= part.unsaved;
    report.unreliable += part.unreliable;
    report.warnings.extend(part.warnings);
    // A case is recorded if one of the parts has a recording.
    let cases: HashSet<String> = part.unrecorded_cases.into_iter().collect();
    report.unrecorded_cases.retain(|case| cases.contains(case));
    report.reused = report.reused.zip(part.reused).map(|(first, second)| first + second);
    report.partial = report.partial.or(part.partial);
}

/// The first difference between what two runs measure; `None` if they are of the same plan.
fn difference(first: &Header, second: &Header) -> Option<String> {
    if first.plan.is_some() && first.plan == second.plan {
        return None;
    }
    if first.tool != second.tool {
        return Some(format!("the first is of {}, the second of {}", first.tool, second.tool));
    }
    for (key, value) in &first.settings {
        let other = second.settings.get(key);
        if other != Some(value) {
            let other = other.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            return Some(format!("`{key}` is {value} in the first and {other} in the second"));
        }
    }
    if first.golden != second.golden {
        return Some("their golden cases differ".to_owned());
    }
    let names = |header: &Header| -> Vec<String> {
        header.evaluators.iter().map(|evaluator| evaluator.name.clone()).collect()
    };
    if names(first) != names(second) {
        return Some(format!(
            "their evaluators are {} and {}",
            names(first).join(", "),
            names(second).join(", ")
        ));
    }
    let changed = first.evaluators.iter().zip(&second.evaluators).find(|(one, two)| one != two);
    Some(match changed {
        Some((one, two)) if one.threshold != two.threshold => {
            format!("the threshold of {} is {} and {}", one.name, one.threshold, two.threshold)
        }
        Some((one, _)) => format!("the evaluator {} has changed", one.name),
        None => "their plans differ".to_owned(),
    })
}
