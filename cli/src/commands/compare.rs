//! `evaluator compare`: two saved runs, case by case.

use std::{panic, path::Path, thread};

use evaluator_host::{
    json,
    report::{
        Comparison, Partial, Report,
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
    if !args.more.is_empty() {
        return Err(unusable(
            "two files are compared; join the parts of each run first, in any order: `cat PART.. >RUN`",
        ));
    }
    COMPARISON.begin(files, &[&args.base, &args.new])?;
    let (base, new) = read(args)?;
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
            for error in &report.errors {
                render::warning(&format!("{file}: {error}"));
            }
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

/// A run, and whether what is known about parts of `pipe` is about it.
type Read = Result<(Report, bool), RunFileError>;

/// Reads both runs at the same time.
fn read(args: &CompareArgs) -> Result<(Report, Report), u8> {
    let options = args.parts.options(&[]).map_err(unusable)?;
    let read = |file: &Path, by: &[String]| -> Read {
        let files = [file.to_owned()];
        let options = ReadOptions { by: by.to_vec(), ..options.clone() };
        match run_file::read_parts(&files, &options) {
            // The other one may consist of parts of filters.
            Err(RunFileError::NotOfFilters) => {
                let options = ReadOptions { expect: None, golden: None, ..options };
                Ok((run_file::read_parts(&files, &options)?, false))
            }
            read => Ok((read?, true)),
        }
    };
    let (base, new) = thread::scope(|scope| {
        let base = scope.spawn(|| read(&args.base, &[]));
        let new = read(&args.new, &args.by);
        (base.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), new)
    });
    let ((base, of_base), (new, of_new)) = (base.map_err(unusable)?, new.map_err(unusable)?);
    if !of_base && !of_new {
        return Err(unusable(RunFileError::NotOfFilters));
    }
    Ok((base, new))
}

/// Returns a run that ended.
fn whole(file: &Path, report: Report) -> Result<Report, u8> {
    let name = file.display();
    report.remarks.iter().for_each(|remark| render::note(&format!("{name}: {remark}")));
    if report.is_unchecked {
        render::warning(&format!("{name}: parts that are missing are not noticed (--expect any)"));
    }
    match report.partial {
        None => Ok(report),
        Some(partial @ Partial::Incomplete) => {
            let errors = report.errors.join("; ");
            Err(unusable(format!("{name} is not compared, because {partial}: {errors}")))
        }
        Some(partial) => {
            let advice = match partial {
                Partial::Decided => "run it again without --until-decided",
                _ => "finish it with `run --resume`",
            };
            Err(unusable(format!("{name} is not compared, because {partial}; {advice}")))
        }
    }
}
