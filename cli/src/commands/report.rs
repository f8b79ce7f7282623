//! `evaluator report`, and writing reports.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evaluator_host::{
    config::OutputFormat,
    document::did_you_mean,
    files::{WriteOptions, atomic_write, is_replaced},
    report::{
        Gate, GateResult, Partial, Report, RunningGate, Undecided,
        run_file::{self, Expect},
    },
};

use super::{baseline::BaselineFile, broken, print_document, print_with, unusable};
use crate::{
    args::{GateFlags, ReportArgs, ReportOutput, is_same_file, outputs},
    exit,
    render::{self, Painted},
    streams,
};

/// Variable with the file of the job summary in GitHub workflows.
const JOB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Number of conversations above which a terminal shows the overview.
const LONG: usize = 20;

/// Content of a report until the command ends.
const NO_REPORT: &str =
    "there is no report: the command has not ended, was killed, or refused its input";

/// Reports saved runs.
pub(super) fn report(args: ReportArgs, verbose: u8) -> Result<u8, u8> {
    let outputs = outputs(args.output, args.output_file, None).map_err(unusable)?;
    let inputs = args.runs.iter().chain(&args.baseline.baseline).chain(&args.parts.eval_set);
    begin(&outputs, inputs, [])?;
    let updated = args.baseline.baseline.as_deref().filter(|_| args.baseline.update_baseline);
    if let Some(file) = updated.filter(|file| args.runs.iter().any(|run| is_same_file(run, file))) {
        let file = file.display();
        return Err(unusable(format!(
            "{file} is a run that this command reports, and --update-baseline would replace it by less; name another baseline"
        )));
    }
    if updated.is_some() && args.parts.expect == Some(Expect::Any) {
        return Err(unusable(
            "--expect any does not notice parts that are missing, so its report is no baseline: name the number of lines that were \
             sent with --expect N, or leave out --update-baseline",
        ));
    }
    let confidence = args.gates.confidence;
    let baseline = BaselineFile::open(&args.baseline, None, confidence, (None, &outputs))?;
    let options = args.parts.options(&args.by).map_err(unusable)?;
    let mut report = run_file::read_parts(&args.runs, &options).map_err(unusable)?;
    report.remarks.iter().for_each(|remark| render::note(remark));
    let given = args.gates.gates.clone();
    gated(&mut report, args.gates).map_err(unusable)?;
    ensure_whole(&report, &given, args.baseline.baseline.is_some()).map_err(unusable)?;
    enough_recordings(&report, &given).map_err(unusable)?;
    ensure_recorded(&report, &args.by, "the saved run")?;
    baseline.compare(&mut report)?;
    let code = exit::worst([show(&report, &outputs), report.standing().exit_code()]);
    let code = baseline.update(&report, code);
    render::verdict(&report, code, verbose > 0);
    Ok(code)
}

/// Checks that a run that ended with its gates is not asked for what needs all cases: which ones it has depends on their
/// results.
fn ensure_whole(report: &Report, given: &[Gate], has_baseline: bool) -> Result<(), String> {
    if report.partial != Some(Partial::Decided) {
        return Ok(());
    }
    let what = if has_baseline {
        "a comparison".to_owned()
    } else if let Some(gate) = given.iter().find(|it| RunningGate::new(it).is_none()) {
        format!("`{gate}`")
    } else {
        return Ok(());
    };
    Err(format!(
        "the run ended when all gates were decided, and {what} needs all cases; run it again without `--until-decided`"
    ))
}

/// Checks that gates of the command line do not need more recordings of a case than the run has.
///
/// # Errors
///
/// Returns a message if one does, and nothing broke that could have been one.
fn enough_recordings(report: &Report, given: &[Gate]) -> Result<(), String> {
    if given.iter().all(|gate| gate.recordings() < 2) {
        return Ok(());
    }
    // Results that cannot be read are an error of the report.
    let decided = report.decide_gates().unwrap_or_default().into_iter();
    let is_short = |it: &GateResult| {
        matches!(it.undecided, Some(Undecided::TooFewConversations(_)))
            && it.tally.total() == it.tally.scored()
    };
    let is_given = |it: &GateResult| {
        let same =
            |gate: &Gate| gate.evaluator == it.gate.evaluator && gate.measure == it.gate.measure;
        given.iter().any(same)
    };
    let short = decided.into_iter().find(|it| is_short(it) && is_given(it));
    short.map_or(Ok(()), |it| Err(it.gate.needs_recordings()))
}

/// Applies gates of the command line to a saved run.
fn gated(report: &mut Report, flags: GateFlags) -> Result<(), String> {
    let Report { gates, inconclusive, conversations, header, .. } = report;
    // The header also has those that were asked for no conversation.
    let mut evaluators: Vec<&str> =
        conversations.evaluator_scores().iter().map(|it| &*it.name).collect();
    for entry in header.iter().flat_map(|header| &header.evaluators) {
        if !evaluators.contains(&&*entry.name) {
            evaluators.push(&entry.name);
        }
    }
    flags.overrides().apply(gates, inconclusive, &evaluators)
}

/// Checks that a saved run has values of the attributes of the command line. `name` is what a message calls the run.
pub(super) fn ensure_recorded(report: &Report, by: &[String], name: &str) -> Result<(), u8> {
    if by.is_empty() {
        return Ok(());
    }
    let recorded = report.labels().map_err(broken)?;
    let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
    if let Some(missing) = by.iter().find(|it| !recorded.contains(&it.as_str())) {
        let hint = did_you_mean(missing, recorded.iter().copied()).unwrap_or_else(
            || match &recorded[..] {
                [] => "name it when you run: --by, or the key `by`".to_owned(),
                _ => format!(
                    "it has those of {}; name others when you run: --by, or the key `by`",
                    recorded.join(", ")
                ),
            },
        );
        return Err(unusable(format!("{name} has no values of `{missing}`; {hint}")));
    }
    Ok(())
}

/// Writes a report that consists of an error to every file, so that no report of an earlier command is taken for that of
/// this one, however this one ends. Files that the command reads are refused, and those that it writes something else to, each
/// with its option.
pub(super) fn begin<'p>(
    outputs: &[ReportOutput],
    inputs: impl IntoIterator<Item = &'p PathBuf>,
    written: impl IntoIterator<Item = (&'static str, &'p PathBuf)>,
) -> Result<(), u8> {
    let inputs = inputs.into_iter().map(|input| ("an input".to_owned(), input));
    let written = written.into_iter().map(|(option, file)| (format!("the file of {option}"), file));
    // They may be missing: files that the command writes.
    let others: Vec<(String, &PathBuf)> = inputs.chain(written).collect();
    let files = outputs.iter().filter_map(|output| output.file.as_deref());
    for file in files.filter(|file| is_replaced(file)) {
        if let Some((what, _)) = others.iter().find(|(_, other)| is_same_file(other, file)) {
            let file = file.display();
            return Err(unusable(format!(
                "{file} is {what} of this command; write the report to another file"
            )));
        }
    }
    let mut report = Report::default();
    report.errors.push(NO_REPORT.to_owned());
    for output in outputs {
        let Some(file) = output.file.as_deref().filter(|file| is_replaced(file)) else { continue };
        let write = |out: &mut dyn io::Write| render::report(&report, output.form(), None, out);
        atomic_write(file, WriteOptions::default(), write).map_err(|error| {
            unusable(format!("cannot write the report to {}: {error}", file.display()))
        })?;
    }
    Ok(())
}

/// Writes a report in all requested forms. Returns the exit code.
pub(super) fn show(report: &Report, outputs: &[ReportOutput]) -> u8 {
    let codes = outputs.iter().map(|output| {
        let form = output.form.unwrap_or_else(|| default_form(report, output.file.is_some()));
        show_report(report, form, output.file.as_deref())
    });
    let code = exit::worst(codes);
    // The forms on stdout show them.
    if outputs.iter().all(|output| output.file.is_some()) {
        render::errors_of_summary(report).into_iter().flatten().for_each(|it| render::remark(&it));
    }
    if outputs.iter().any(|output| output.form == Some(OutputFormat::Github)) {
        append_job_summary(outputs, |out| render::markdown(report, out));
    }
    code
}

/// Returns the form of a report for which none was chosen: a table, or on a terminal the overview of a long one.
fn default_form(report: &Report, has_file: bool) -> OutputFormat {
    let is_long = report.conversations.len() > LONG;
    let is_terminal = !has_file && streams::stdout_is_terminal();
    if is_long && is_terminal { OutputFormat::Overview } else { OutputFormat::default() }
}

/// Writes a report in one form, one conversation after the other.
fn show_report(report: &Report, output: OutputFormat, file: Option<&Path>) -> u8 {
    let code = report.standing().exit_code();
    let for_people =
        matches!(output, OutputFormat::Table | OutputFormat::Overview | OutputFormat::Summary);
    let width = if file.is_none() { streams::stdout_width() } else { None };
    let write = |out: &mut dyn io::Write| render::report(report, output, width, out);
    let errors = match output {
        OutputFormat::Summary => render::errors_of_summary(report),
        _ => Ok(Vec::new()),
    };
    match file {
        // On stdout, the forms for people have the layout that users of agentevals know, and the outcome is on stderr. A
        // file contains both.
        Some(file) if for_people => {
            let write = |out: &mut dyn io::Write| {
                let mut out = Painted::new(out, render::printable);
                write(&mut out)?;
                errors?.into_iter().try_for_each(|error| writeln!(out, "{error}"))?;
                writeln!(out, "{}", render::sentence(report))?;
                out.flush()
            };
            write_file(file, write, code)
        }
        Some(file) => write_file(file, write, code),
        None if for_people => {
            let code = print_with(
                |out| {
                    let mut out = Painted::new(out, render::painted);
                    let written = write(&mut out);
                    // Also if reading has failed: what was read before is shown.
                    written.and(out.flush())
                },
                code,
            );
            // Results that cannot be read back have been reported.
            errors.into_iter().flatten().for_each(|error| render::remark(&error));
            code
        }
        None => print_document(write, code),
    }
}

/// Appends the report to the summary of a GitHub job, if the environment names its file. The annotations are written by then,
/// so a failure is a warning.
pub(super) fn append_job_summary(
    outputs: &[ReportOutput],
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) {
    let Some(file) = env::var_os(JOB_SUMMARY).filter(|file| !file.is_empty()) else { return };
    let file = Path::new(&file);
    // The report may be written there as another output.
    if outputs.iter().any(|output| output.file.as_deref() == Some(file)) {
        return;
    }
    let appended =
        fs::OpenOptions::new().append(true).create(true).open(file).and_then(|summary| {
            let mut out = io::BufWriter::new(summary);
            write(&mut out)?;
            writeln!(out)?;
            out.flush()
        });
    if let Err(error) = appended {
        let file = file.display();
        render::warning(&format!(
            "cannot append to the job summary {file} ({JOB_SUMMARY}): {error}"
        ));
    }
}

fn write_file(
    file: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    code: u8,
) -> u8 {
    match atomic_write(file, WriteOptions::default(), write) {
        Ok(()) => code,
        Err(error) => {
            let file = file.display();
            exit::worst([code, broken(format!("cannot write the report to {file}: {error}"))])
        }
    }
}

#[cfg(test)]
mod tests {
    use evaluator_host::report::{Collector, ConversationReport};

    use super::*;

    #[test]
    fn a_report_that_cannot_be_read_back_is_an_error_and_no_file() {
        let mut collector = Collector::new(0, 2);
        // The other one is missing.
        collector.put(0, &ConversationReport::new("t".into())).unwrap();
        let mut report = Report::default();
        report.conversations = collector.finish();
        assert!(render::sentence(&report).starts_with("NOTHING EVALUATED: "));
        let file = env::temp_dir().join(format!("evaluator-unreadable-{}", std::process::id()));
        for output in [OutputFormat::Table, OutputFormat::Summary, OutputFormat::Json] {
            assert_eq!(show_report(&report, output, Some(&file)), exit::ERRORED);
            assert!(!file.exists());
        }
        let sentence = render::sentence(&report);
        assert!(sentence.starts_with("ERROR: "), "{sentence}");
        assert!(
            sentence
                .ends_with("not whole: conversation 2 cannot be read back: it was never finished"),
            "{sentence}"
        );
    }
}
