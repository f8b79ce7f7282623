//! `evaluator compare`: two saved runs, case by case.

use std::path::Path;

use evaluator_host::{
    files::{WriteOptions, atomic_write},
    report::{Comparison, Report, Verdict, run_file},
};

use super::{broken, print, unusable};
use crate::{
    args::{CompareArgs, ComparisonForm, ComparisonOutput},
    exit, render,
};

/// Compares two runs. Returns the exit code.
pub(super) fn compare(args: &CompareArgs) -> Result<u8, u8> {
    let (base, new) = (whole(&args.base)?, whole(&args.new)?);
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
