//! `evaluator agree`: evaluators of a saved run against labels of people, or against each other.

use std::path::{Path, PathBuf};

use evaluator_host::{
    files::{WriteOptions, atomic_write},
    json,
    report::{
        Agreement, AgreementError, Certified, Labels, Report, Sheet, certify, read_labels, run_file,
    },
    verdict::Standing,
};

use super::{broken, unusable, written::Written};
use crate::{
    args::{AgreeArgs, ResultForm},
    exit, render,
};

const AGREEMENT: Written = Written("agreement");

const CERTIFICATE: Written = Written("certificate");

/// Compares evaluators with labels or with each other, or writes what is to be labelled. Returns the exit code.
pub(super) fn agree(args: &AgreeArgs) -> Result<u8, u8> {
    let (run, label_files) = args.files().map_err(unusable)?;
    let files = args.output.iter().filter_map(|output| output.file.as_ref());
    let mut inputs: Vec<&Path> = label_files.iter().map(PathBuf::as_path).collect();
    inputs.push(run);
    AGREEMENT.begin(files, &inputs)?;
    let labels = match label_files {
        [] => None,
        files => {
            let meanings = args.meanings().map_err(unusable)?;
            let mut labels = read_labels(files, &meanings).map_err(unusable)?;
            args.split.iter().try_for_each(|it| labels.keep_split(it)).map_err(unusable)?;
            Some(labels)
        }
    };
    let report = run_file::read(&[run.to_owned()], false).map_err(unusable)?;
    if let Some(file) = &args.sheet {
        return sheet(args, &report, file);
    }
    let certified = match (&args.certify, &labels) {
        (Some(file), Some(labels)) => {
            CERTIFICATE.refuse_inputs([file], &inputs)?;
            let certified = certify(&report, labels.clone(), &args.settings()).map_err(refused)?;
            Some((file, certified))
        }
        _ => None,
    };
    let code = compare(args, run, &report, labels.as_ref())?;
    match certified {
        Some((file, certified)) if code == exit::OK => Ok(write_certificate(file, &certified)),
        _ => Ok(code),
    }
}

/// Writes a certificate. Returns the exit code.
fn write_certificate(file: &Path, certified: &Certified) -> u8 {
    let further = certified.further_recordings;
    if further > 0 {
        let further = render::counted(further, "further recording");
        render::warning(&format!(
            "the certificate rests on one recording of each case; {further} of them left out"
        ));
    }
    let ties = certified.certificate.labels.ties;
    if ties > 0 {
        let ties = render::counted(ties, "conversation");
        render::warning(&format!(
            "the certificate leaves out {ties} about which as many people say one as the other"
        ));
    }
    let text = certified.certificate.to_text();
    CERTIFICATE.write(file, &text).map_or_else(broken, |()| exit::OK)
}

fn compare(
    args: &AgreeArgs,
    run: &Path,
    report: &Report,
    labels: Option<&Labels>,
) -> Result<u8, u8> {
    let agreement = Agreement::new(report, labels, &args.settings()).map_err(refused)?;
    let mut codes = vec![exit::of(agreement.verdict())];
    let errors: u64 = agreement.evaluators.iter().map(|it| it.errors).sum();
    let is_incomplete = report.partial.is_some() || !report.errors.is_empty();
    if report.standing() == Standing::Errored && (errors > 0 || is_incomplete) {
        codes.push(exit::ERRORED);
        let (run, outcome) = (run.display(), render::sentence(report));
        render::warning(&format!("{run} is a run in which something broke: {outcome}"));
    }
    let is_broken = codes.len() > 1;
    codes.push(AGREEMENT.write_forms(&args.output, |form, _| match form {
        ResultForm::Table => Ok(render::agreement(&agreement)),
        ResultForm::Markdown => Ok(render::agreement_markdown(&agreement)),
        ResultForm::Json => Ok(json::to_pretty(&agreement.to_json()?) + "\n"),
        ResultForm::Html => render::agreement_html(&agreement, is_broken),
    }));
    let code = exit::worst(codes);
    render::agreement_verdict(&agreement, is_broken, code);
    Ok(code)
}

/// Reports why nothing is compared. Returns the exit code.
fn refused(error: AgreementError) -> u8 {
    match error {
        AgreementError::Unreadable(_) => broken(error),
        _ => unusable(error),
    }
}

/// Writes conversations to label. A file that exists may have labels, and stays as it is.
fn sheet(args: &AgreeArgs, report: &Report, file: &Path) -> Result<u8, u8> {
    if file.exists() {
        let name = file.display();
        let reason = format!("{name} exists, and may have labels already; name another file");
        return Err(unusable(reason));
    }
    let sheet = Sheet::new(report, &args.sheet_settings()).map_err(refused)?;
    let written = atomic_write(file, WriteOptions::default(), |out| render::sheet(&sheet, out));
    written.map_err(|error| broken(format!("cannot write {}: {error}", file.display())))?;
    render::sheet_verdict(&sheet, file);
    Ok(exit::OK)
}
