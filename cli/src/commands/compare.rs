//! `evaluator compare`: two saved runs, case by case.

use std::{panic, path::Path, thread};

use evaluator_host::{
    json,
    report::{
        Comparison, Report,
        run_file::{self, Differences, ReadOptions, RunFileError},
    },
    verdict::Standing,
};

use super::{report::ensure_recorded, unusable, written::Written};
use crate::{
    args::{CompareArgs, ResultForm},
    exit, render,
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
    codes.push(COMPARISON.write_forms(&args.output, |form, width| match form {
        ResultForm::Table => Ok(render::comparison(&comparison, width)),
        ResultForm::Markdown => Ok(render::comparison_markdown(&comparison)),
        ResultForm::Json => Ok(json::to_pretty(&comparison.to_json()?) + "\n"),
        ResultForm::Html => {
            render::comparison_html((&base, &new), &comparison, said.clone(), is_broken)
        }
    }));
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
