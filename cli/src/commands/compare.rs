//! `evaluator compare`: two saved runs, case by case.

use std::{collections::BTreeSet, path::Path};

use clap::ValueEnum as _;
use evaluator_host::{
    files::{WriteOptions, atomic_write},
    report::{
        Comparison, Report, Verdict,
        run_file::{self, ChangeKind, Header, changes},
    },
};

use super::{broken, print, unusable};
use crate::{
    args::{Allowed, CompareArgs, ComparisonForm, ComparisonOutput},
    exit, render,
};

/// Compares two runs. Returns the exit code.
pub(super) fn compare(args: &CompareArgs) -> Result<u8, u8> {
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
    let code = outputs.iter().fold(code, |code, output| write(&comparison, output, code));
    render::comparison_verdict(&comparison, code);
    Ok(code)
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
fn write(comparison: &Comparison, output: &ComparisonOutput, code: u8) -> u8 {
    let text = match output.form {
        ComparisonForm::Table => render::comparison(comparison),
        ComparisonForm::Markdown => render::comparison_markdown(comparison),
        ComparisonForm::Json => match serde_json::to_string_pretty(comparison) {
            Ok(text) => text + "\n",
            Err(error) => return broken(format!("the comparison cannot be written: {error}")),
        },
    };
    let Some(file) = &output.file else {
        return match output.form {
            ComparisonForm::Json => print(&text, code),
            _ => print(&render::painted(&text), code),
        };
    };
    let text = render::printable(&text);
    match atomic_write(file, WriteOptions::default(), |out| out.write_all(text.as_bytes())) {
        Ok(()) => code,
        Err(error) => {
            let file = file.display();
            exit::worst([code, broken(format!("cannot write the comparison to {file}: {error}"))])
        }
    }
}
