//! `evaluator compare`: two saved runs, case by case.

use std::{collections::BTreeSet, fs, path::Path};

use clap::ValueEnum as _;
use evaluator_host::{
    files::{WriteOptions, atomic_write, is_replaced},
    json,
    report::{
        Comparison, Report, Verdict,
        run_file::{self, ChangeKind, Header, changes},
    },
    verdict::Standing,
};

use super::{broken, print, unusable};
use crate::{
    args::{Allowed, CompareArgs, ComparisonForm, ComparisonOutput},
    exit, render,
};

/// Content of an output until the command ends.
const NO_COMPARISON: &str =
    "there is no comparison: the command has not ended, was killed, or refused its input\n";

/// Compares two runs. Returns the exit code.
pub(super) fn compare(args: &CompareArgs) -> Result<u8, u8> {
    begin(args)?;
    let (base, new) = (whole(&args.base)?, whole(&args.new)?);
    refuse_changes(args)?;
    let comparison = Comparison::new(&base, &new, &args.claims.settings()).map_err(unusable)?;
    let code = match comparison.verdict() {
        Verdict::Pass => exit::OK,
        Verdict::Fail => exit::FAILED,
        Verdict::Inconclusive => exit::INCONCLUSIVE,
    };
    let table = [ComparisonOutput { form: ComparisonForm::Table, file: None }];
    let outputs = if args.output.is_empty() { &table[..] } else { &args.output };
    let mut codes = vec![code];
    for (file, report) in [(&args.base, &base), (&args.new, &new)] {
        if report.standing() == Standing::Errored {
            codes.push(exit::ERRORED);
            let (file, outcome) = (file.display(), render::sentence(report));
            render::warning(&format!("{file} is a run in which something broke: {outcome}"));
        }
    }
    let is_broken = codes.len() > 1;
    codes.extend(outputs.iter().map(|output| write(&comparison, output)));
    let code = exit::worst(codes);
    render::comparison_verdict(&comparison, is_broken, code);
    Ok(code)
}

/// Writes a text without a comparison to every file, so that no earlier comparison is taken for that of this command, however it
/// ends. Files that the command reads are refused.
fn begin(args: &CompareArgs) -> Result<(), u8> {
    let inputs = [&args.base, &args.new].map(fs::canonicalize);
    let files = args.output.iter().filter_map(|output| output.file.as_deref());
    for file in files.filter(|file| is_replaced(file)) {
        let name = file.display();
        let place = fs::canonicalize(file);
        if inputs.iter().flatten().any(|input| place.as_ref().is_ok_and(|it| it == input)) {
            return Err(unusable(format!(
                "{name} is an input of this command; write the comparison to another file"
            )));
        }
        write_file(file, NO_COMPARISON).map_err(unusable)?;
    }
    Ok(())
}

fn write_file(file: &Path, text: &str) -> Result<(), String> {
    atomic_write(file, WriteOptions::default(), |out| out.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write the comparison to {}: {error}", file.display()))
}

/// Reads a run that ended.
fn whole(file: &Path) -> Result<Report, u8> {
    let report = run_file::read(&[file.to_owned()], false).map_err(unusable)?;
    match report.partial {
        None => Ok(report),
        Some(partial) => {
            let file = file.display();
            let resume = "finish it with `run --resume`";
            Err(unusable(format!("{file} is not compared, because {partial}; {resume}")))
        }
    }
}

/// Refuses runs that did not measure the same, unless that is allowed. What is allowed, and what may differ between machines, is
/// printed.
fn refuse_changes(args: &CompareArgs) -> Result<(), u8> {
    let header = |file| run_file::read_header(file).map_err(unusable);
    let (Some(base), Some(new)) = (header(&args.base)?, header(&args.new)?) else { return Ok(()) };
    let has = |header: &Header, case: &str| {
        header.golden.as_ref().is_some_and(|golden| golden.cases.contains_key(case))
    };
    let is_compared = |case: &str| has(&base, case) && has(&new, case);
    let (mut refused, mut hints) = (Vec::new(), BTreeSet::new());
    for change in changes(&base, &new, is_compared) {
        let word = match change.kind {
            ChangeKind::Environment => {
                render::note(&change.to_string());
                continue;
            }
            ChangeKind::Config => Allowed::Config,
            ChangeKind::Golden => Allowed::Golden,
            ChangeKind::Judge => Allowed::Judge,
            _ => Allowed::Evaluator,
        };
        if args.allow_changed.iter().any(|it| [word, Allowed::All].contains(it)) {
            render::warning(&change.to_string());
        } else {
            refused.push(change.to_string());
            hints.extend(word.to_possible_value().map(|value| value.get_name().to_owned()));
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    let hints = hints.into_iter().map(|word| format!("--allow-changed {word}"));
    let hints = hints.collect::<Vec<_>>().join(" ");
    let refused = refused.join("\n");
    Err(unusable(format!(
        "the runs did not measure the same:\n{refused}\n{hints} compares them all the same"
    )))
}

/// Writes a comparison in one form. Returns the exit code.
fn write(comparison: &Comparison, output: &ComparisonOutput) -> u8 {
    let text = match output.form {
        ComparisonForm::Table => render::comparison(comparison),
        ComparisonForm::Markdown => render::comparison_markdown(comparison),
        ComparisonForm::Json => match serde_json::to_value(comparison) {
            // ASCII, as the report.
            Ok(value) => json::to_pretty(&value.into()) + "\n",
            Err(error) => return broken(format!("the comparison cannot be written: {error}")),
        },
    };
    let text = match output.form {
        ComparisonForm::Json => text,
        _ => render::printable(&text).into_owned(),
    };
    match (&output.file, output.form) {
        (Some(file), _) => write_file(file, &text).map_or_else(broken, |()| exit::OK),
        (None, ComparisonForm::Json) => print(&text, exit::OK),
        (None, _) => print(&render::painted(&text), exit::OK),
    }
}
