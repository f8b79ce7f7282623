//! `evaluator compare`: two saved runs, case by case.

use std::{io, panic, path::Path, thread};

use evaluator_host::{
    json,
    report::{
        Comparison, Report,
        run_file::{self, Differences, ReadOptions, RunFileError},
    },
    verdict::Standing,
};

use super::{broken, print, report::ensure_recorded, unusable, written::Written};
use crate::{
    args::{CompareArgs, ComparisonForm, ComparisonOutput},
    exit, render, streams,
};

const COMPARISON: Written = Written("comparison");

/// Compares two runs. Returns the exit code.
pub(super) fn compare(args: &CompareArgs) -> Result<u8, u8> {
    let files = args.output.iter().filter_map(|output| output.file.as_ref());
    COMPARISON.begin(files, &[&args.base, &args.new])?;
    let (base, new) = read(args);
    let (base, new) = (whole(&args.base, base)?, whole(&args.new, new)?);
    ensure_recorded(&new, &args.by, "the new run")?;
    let mut differences = Differences::default();
    if let Some(new) = &new.header {
        differences = Differences::new(&base, new, &args.claims.allowed()).map_err(unusable)?;
        render::differences(&differences);
        differences.refusal().map_or(Ok(()), |refusal| Err(unusable(refusal)))?;
    }
    let mut comparison = Comparison::new(&base, &new, &args.settings()).map_err(unusable)?;
    comparison.differences = differences.allowed.iter().map(ToString::to_string).collect();
    let code = exit::of(comparison.verdict());
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
    let said: Vec<String> = differences.said.iter().map(ToString::to_string).collect();
    let compared = Compared { runs: (&base, &new), comparison: &comparison, said, is_broken };
    codes.extend(outputs.iter().map(|output| write(&compared, output)));
    let code = exit::worst(codes);
    render::comparison_verdict(&comparison, is_broken, code);
    Ok(code)
}

type Read = Result<Report, RunFileError>;

/// Reads both runs at the same time.
fn read(args: &CompareArgs) -> (Read, Read) {
    let read = |file: &Path, by: &[String]| {
        let options = ReadOptions { by: by.to_vec(), ..ReadOptions::default() };
        run_file::read_parts(&[file.to_owned()], &options)
    };
    thread::scope(|scope| {
        let base = scope.spawn(|| read(&args.base, &[]));
        let new = read(&args.new, &args.by);
        (base.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), new)
    })
}

/// Returns a run that ended.
fn whole(file: &Path, report: Read) -> Result<Report, u8> {
    let report = report.map_err(unusable)?;
    match report.partial {
        None => Ok(report),
        Some(partial) => {
            let file = file.display();
            let resume = "finish it with `run --resume`";
            Err(unusable(format!("{file} is not compared, because {partial}; {resume}")))
        }
    }
}

/// Two runs compared.
struct Compared<'c> {
    runs: (&'c Report, &'c Report),
    comparison: &'c Comparison,
    /// What differs and decides nothing.
    said: Vec<String>,
    /// Whether something broke in one of the runs.
    is_broken: bool,
}

/// Writes a comparison in one form. Returns the exit code.
fn write(compared: &Compared<'_>, output: &ComparisonOutput) -> u8 {
    let Compared { runs, comparison, said, is_broken } = compared;
    let width = if output.file.is_none() { streams::stdout_width() } else { None };
    let text = match output.form {
        ComparisonForm::Table => render::comparison(comparison, width),
        ComparisonForm::Markdown => render::comparison_markdown(comparison),
        ComparisonForm::Json => match comparison.to_json() {
            // ASCII, as the report.
            Ok(value) => json::to_pretty(&value) + "\n",
            Err(error) => return broken(format!("the comparison cannot be written: {error}")),
        },
        ComparisonForm::Html => {
            let mut html = Vec::new();
            let written =
                render::comparison_html(*runs, comparison, said.clone(), *is_broken, &mut html);
            match written.and_then(|()| String::from_utf8(html).map_err(io::Error::other)) {
                Ok(html) => html,
                Err(error) => return broken(format!("the comparison cannot be written: {error}")),
            }
        }
    };
    let text = match output.form {
        ComparisonForm::Json | ComparisonForm::Html => text,
        _ => render::printable(&text).into_owned(),
    };
    match (&output.file, output.form) {
        (Some(file), _) => COMPARISON.write(file, &text).map_or_else(broken, |()| exit::OK),
        (None, ComparisonForm::Json | ComparisonForm::Html) => print(&text, exit::OK),
        (None, _) => print(&render::painted(&text), exit::OK),
    }
}
