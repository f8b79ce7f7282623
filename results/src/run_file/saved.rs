//! The report of runs that were saved.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{
    Damage, Header, RunFileError, Unusable, contradiction, file, foreign,
    format::{self, EndRecord, EvaluationRecord, TranscriptRecord, kind},
    store::{Lines, Span, Store},
};
use crate::{
    Collector, ConversationReport, EvaluationReport, NOT_RUN, Partial, RECORDED_ATTRIBUTES, Report,
    Tally,
};

/// Reads the report of a saved run. Several files are parts of one run: runs of one plan on different conversations. Nothing in
/// two files shows whether their traces were divided or belong to two versions of an agent, so runs over
/// different traces are parts only with `are_parts`.
///
/// A run that did not end is reported with an error, [`Partial::Unfinished`], and the evaluations that are in its file.
///
/// A single file may also be a result of promptfoo or a log of Inspect, in JSON.
///
/// # Errors
///
/// A file cannot be read, or two files are not parts of one run.
pub fn read(files: &[PathBuf], are_parts: bool) -> Result<Report, RunFileError> {
    read_sliced(files, are_parts, &[])
}

/// Reads the report of a saved run as [`read`] does, sliced by other attributes than those of the run if `by` has any.
///
/// # Errors
///
/// As [`read`].
pub fn read_sliced(
    files: &[PathBuf],
    are_parts: bool,
    by: &[String],
) -> Result<Report, RunFileError> {
    let (mut report, recorded) = read_parts(files, are_parts)?;
    if !by.is_empty() {
        report.by.clear();
        add_attributes(&mut report.by, by);
    }
    slice_by_all(&mut report, &recorded);
    report.files = files.to_vec();
    Ok(report)
}

/// The attributes that a part of a run recorded.
type Recorded<'f> = (&'f PathBuf, BTreeSet<String>);

/// Reads the report, and the attributes of each part.
fn read_parts(
    files: &[PathBuf],
    are_parts: bool,
) -> Result<(Report, Vec<Recorded<'_>>), RunFileError> {
    if let [file] = files
        && is_foreign(file)
    {
        let report = foreign::read(file).map_err(|error| unreadable(file, error))?;
        return Ok((report, Vec::new()));
    }
    let (mut collector, mut whole) = (Collector::new(0, 0), None::<(&PathBuf, Header, Report)>);
    let (mut trace_ids, mut empty) = (HashSet::<Arc<str>>::new(), Vec::new());
    let mut recorded = Vec::new();
    for file in files {
        let first = whole.as_ref().map_or(file, |(first, ..)| *first);
        let both = || [first.clone(), file.clone()];
        let different = |difference| RunFileError::Different { files: both(), difference };
        let admit = |header: &Header| {
            let Some((_, first, _)) = &whole else { return Ok(()) };
            if let Some(difference) = difference(first, header) {
                return Err(different(difference));
            }
            let is_same = first.inputs.is_some() && first.inputs == header.inputs;
            if is_same || are_parts {
                return Ok(());
            }
            Err(RunFileError::OtherInputs { files: both() })
        };
        let mut own = BTreeSet::new();
        let is_new = |ConversationReport { trace_id, labels, .. }: &ConversationReport| {
            if labels.keys().any(|label| !own.contains(label)) {
                own.extend(labels.keys().cloned());
            }
            // A single file has each of them once.
            if files.len() == 1 || trace_ids.insert(Arc::clone(trace_id)) {
                return Ok(());
            }
            Err(different(format!("the conversation of trace {trace_id} is in both")))
        };
        let part = part(file, &mut collector, admit, is_new);
        let part = part.map_err(|error| match unreadable(file, error) {
            RunFileError::Foreign { file } => RunFileError::ForeignPart { file },
            error => error,
        });
        let Some((header, report)) = part? else {
            empty.push(file);
            continue;
        };
        own.extend(report.by.iter().cloned());
        recorded.push((file, own));
        match &mut whole {
            None => whole = Some((file, header, report)),
            Some((_, _, whole)) => merge(whole, report),
        }
    }
    let mut report = whole.map(|(_, _, report)| report).unwrap_or_default();
    empty.into_iter().try_for_each(|file| without_header(&mut report, file))?;
    report.conversations = collector.finish();
    Ok((report, recorded))
}

/// Adds attributes, each once.
fn add_attributes(by: &mut Vec<String>, more: &[String]) {
    for attribute in more {
        if !by.contains(attribute) {
            by.push(attribute.clone());
        }
    }
}

/// Notes that a run was killed before its file had a header.
fn without_header(report: &mut Report, file: &Path) -> Result<(), RunFileError> {
    report.partial = Some(Partial::Unfinished);
    let length = fs::metadata(file).map_err(|error| unreadable(file, error.into()))?.len();
    let what = if length == 0 { "is empty" } else { "ends inside its first line" };
    report.errors.push(format!(
        "{} {what}: its run was killed before the first evaluation, or still reads the traces; run it again",
        file.display()
    ));
    Ok(())
}

/// Leaves out slices by attributes that a part did not record, with a warning. A single file is sliced by everything.
fn slice_by_all(report: &mut Report, recorded: &[Recorded<'_>]) {
    let Report { by, warnings, .. } = report;
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

/// Returns true for a file that no version of this program writes as a run file.
fn is_foreign(file: &Path) -> bool {
    matches!(open(file), Err(Unusable::Refused(RunFileError::Foreign { .. })))
}

fn unreadable(file: &Path, error: Unusable) -> RunFileError {
    match error {
        Unusable::Refused(error) => error,
        Unusable::Failed(source) => RunFileError::Unreadable { file: file.to_owned(), source },
    }
}

/// Opens a file and reads its header; `None` if there is none.
fn open(path: &Path) -> Result<Option<(File, Lines<File>, Header)>, Unusable> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(RunFileError::NotAFile { file: path.to_owned() }.into());
    }
    let (mut lines, mut buffer) = (Lines::new(file.try_clone()?), Vec::new());
    match lines.next(&mut buffer)? {
        Some(first) if lines.end > first.length || !format::may_start(&buffer) => {
            let header = file::read_header(path, &buffer)?;
            Ok(Some((file, lines, header)))
        }
        _ => Ok(None),
    }
}

/// Reads a file and adds its conversations. Returns its header and its report without conversations; `None` if its run was
/// killed before it had written the header.
fn part(
    path: &Path,
    collector: &mut Collector,
    admit: impl FnOnce(&Header) -> Result<(), RunFileError>,
    mut is_new: impl FnMut(&ConversationReport) -> Result<(), RunFileError>,
) -> Result<Option<(Header, Report)>, Unusable> {
    let Some((file, mut lines, header)) = open(path)? else { return Ok(None) };
    admit(&header)?;
    let mut buffer = Vec::new();
    let length = file.metadata()?.len();
    collector.push_store(Store::named(file, length));
    let (mut tally, mut end, mut damage) = (Tally::default(), None, None);
    // Numbers may be any: only their order counts.
    let mut conversations: Vec<(usize, Span)> = Vec::new();
    let mut transcripts: BTreeMap<usize, Span> = BTreeMap::new();
    // Evaluations of conversations that are not finished.
    let mut pending: BTreeMap<usize, Vec<Span>> = BTreeMap::new();
    while let Some(span) = lines.next(&mut buffer)? {
        let read = match format::open(&buffer) {
            Ok(kind::EVALUATION) if lines.number - 1 <= header.earlier => Ok(()),
            Ok(kind::EVALUATION) => {
                format::record(&buffer).map(|record: EvaluationRecord<IgnoredAny>| {
                    pending.entry(record.number).or_default().push(span);
                })
            }
            Ok(kind::CONVERSATION) => match consistent(&buffer, &header) {
                Ok((number, conversation)) => {
                    is_new(&conversation)?;
                    pending.remove(&number);
                    conversation.evaluations.iter().for_each(|it| it.count_in(&mut tally));
                    collector.count_read(number, &conversation);
                    conversations.push((number, span));
                    Ok(())
                }
                Err(reason) => Err(reason),
            },
            Ok(kind::TRANSCRIPT) => {
                let record = format::record(&buffer);
                record.map(|it: TranscriptRecord<'_>| transcripts.extend([(it.number, span)]))
            }
            Ok(kind::END) => format::record(&buffer).map(|it| end = Some(it)),
            other => other.map(drop),
        };
        if let Err(reason) = read {
            Damage::add(&mut damage, lines.number, span.start, reason);
        }
    }
    conversations.sort_by_key(|(number, _)| *number);
    add(collector, &conversations, &transcripts)?;
    let is_missing =
        end.as_ref().is_some_and(|end| contradicts(end, &header, &conversations, tally));
    if end.is_none() {
        add_unfinished(&header, collector, &pending, is_new)?;
    }
    let mut report = without_conversations(path, &header, end, damage, is_missing);
    report.gates.clone_from(&header.gates);
    report.until_decided = header.seed;
    report.header = Some(Arc::new(header.clone()));
    Ok(Some((header, report)))
}

/// Adds conversations, and the transcripts that belong to them.
fn add(
    collector: &mut Collector,
    conversations: &[(usize, Span)],
    transcripts: &BTreeMap<usize, Span>,
) -> io::Result<()> {
    for (number, conversation) in conversations {
        if let Some(transcript) = transcripts.get(number) {
            collector.push_transcript(collector.len(), *transcript)?;
        }
        collector.push(*conversation)?;
    }
    collector.end_part();
    Ok(())
}

/// Returns true if a file does not have each conversation once that its first and its last line count.
fn contradicts(
    end: &EndRecord<Report>,
    header: &Header,
    conversations: &[(usize, Span)],
    tally: Tally,
) -> bool {
    let is_partial = end.report.partial.is_some();
    (end.conversations, end.tally) != (conversations.len(), tally)
        || !is_partial && end.conversations != header.conversations
        || conversations.windows(2).any(|pair| pair[0].0 == pair[1].0)
}

/// Reads the record of a conversation. Returns its number and its report.
///
/// # Errors
///
/// It has other members, or no run with this header writes it.
fn consistent(line: &[u8], header: &Header) -> Result<(usize, ConversationReport), &'static str> {
    let (number, conversation) = Collector::read(line).map_err(|_| "the record is malformed")?;
    contradiction::of_conversation(&conversation, header).map_or(Ok((number, conversation)), Err)
}

/// The report without conversations, with an error for everything that is missing in the file.
fn without_conversations(
    path: &Path,
    header: &Header,
    end: Option<EndRecord<Report>>,
    damage: Option<Damage>,
    is_missing: bool,
) -> Report {
    let file = path.display();
    let mut errors = Vec::new();
    if let Some(Damage { line, offset, reason, lines }) = damage {
        let more = if lines > 1 { format!(" and {} more lines", lines - 1) } else { String::new() };
        errors.push(format!(
            "{file}, line {line} (byte {offset}){more}: {reason}; what it recorded is not in the report, resume the run to \
             evaluate it again"
        ));
    }
    let mut report = match end {
        Some(end) => {
            if errors.is_empty() && is_missing {
                errors.push(format!(
                    "{file}: its conversations are not as many as its first and last line say; run again"
                ));
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

/// Adds conversations of which some evaluations are finished.
fn add_unfinished(
    header: &Header,
    collector: &mut Collector,
    pending: &BTreeMap<usize, Vec<Span>>,
    mut is_new: impl FnMut(&ConversationReport) -> Result<(), RunFileError>,
) -> Result<(), Unusable> {
    let mut unfinished = Vec::new();
    for spans in pending.values() {
        unfinished.push(unfinished_conversation(header, collector, spans)?);
    }
    collector.push_store(Store::new(usize::MAX));
    for conversation in &unfinished {
        is_new(conversation)?;
        collector.put(collector.len(), conversation)?;
    }
    Ok(())
}

/// The report of a conversation of which some evaluations are finished.
fn unfinished_conversation(
    header: &Header,
    collector: &mut Collector,
    spans: &[Span],
) -> io::Result<ConversationReport> {
    let mut conversation = ConversationReport::new("".into());
    let mut finished: BTreeMap<(String, u32), EvaluationReport> = BTreeMap::new();
    for span in spans {
        let line = collector.store().line(*span)?;
        let record: EvaluationRecord<EvaluationReport> = serde_json::from_slice(&line)?;
        (conversation.trace_id, conversation.turns) = (record.trace_id, record.turns);
        let entry = header.evaluators.iter().find(|it| it.name == record.evaluation.name);
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
    report.reused =
        report.reused.zip(part.reused).map(|(first, second)| first.saturating_add(second));
    if let Some(judges) = part.judges
        && let Some(cost) = report.judges.get_or_insert_default().append(judges)
    {
        report.warnings.push(format!("the cost of judges in one part, {cost}, is not added"));
    }
    report.partial = report.partial.or(part.partial);
    add_attributes(&mut report.by, &part.by);
}

/// The first difference between what two runs measure; `None` if they are of the same plan.
fn difference(first: &Header, second: &Header) -> Option<String> {
    // No plan contains what decides about the run as a whole.
    if first.gates != second.gates {
        return Some("their gates differ".to_owned());
    }
    if first.report.inconclusive != second.report.inconclusive {
        return Some("undecided gates do not mean the same in both".to_owned());
    }
    if first.seed.is_some() || second.seed.is_some() {
        // Which cases it has depends on their results, so no gate may count them with others.
        return Some(
            "one of them ends as soon as its gates are decided (`until_decided`)".to_owned(),
        );
    }
    if first.plan.is_some() && first.plan == second.plan {
        return None;
    }
    let measured = |header: &Header| {
        let Header { encoding, tool, settings, golden, evaluators, .. } = header;
        let evaluators: BTreeMap<_, _> = evaluators.iter().map(|it| (&it.name, it)).collect();
        json!({
            "encoding": encoding, "tool": tool, "settings": settings, "golden": golden,
            "evaluators": evaluators,
        })
    };
    let (path, first, second) = differing("", &measured(first), &measured(second))
        .unwrap_or_else(|| ("plan".to_owned(), json!(first.plan), json!(second.plan)));
    let shown =
        |value: Value| if value.is_object() { "there".to_owned() } else { value.to_string() };
    let (first, second) = (shown(first), shown(second));
    Some(format!("`{path}` is {first} in the first and {second} in the second"))
}

/// Path and values of the first difference of two documents. A missing member is `null`.
fn differing(path: &str, first: &Value, second: &Value) -> Option<(String, Value, Value)> {
    match (first, second) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let in_both =
                |key: &str| differing(&format!("{path}.{key}"), &first[key], &second[key]);
            keys.into_iter().find_map(|key| in_both(key))
        }
        _ if first == second => None,
        _ => Some((path.trim_start_matches('.').to_owned(), first.clone(), second.clone())),
    }
}
