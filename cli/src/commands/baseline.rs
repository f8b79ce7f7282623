//! The run that a new one is compared with, in `run` and `report`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use evaluator_host::{
    files::{WriteOptions, atomic_write, check_destination},
    report::{Baseline, Report, run_file},
};

use super::{broken, unusable};
use crate::{
    args::{BaselineArgs, OF_BASELINES, ReportOutput, is_same_file},
    exit, render,
};

/// The run that a new one is compared with, and the file that the new one is written to.
#[derive(Debug, Default)]
pub(super) struct BaselineFile {
    /// `None` if the file is still missing, or there is none.
    pub(super) baseline: Option<Arc<Baseline>>,
    /// File to write the run to.
    update: Option<PathBuf>,
    /// Whether the new run has to show something.
    pub(super) has_claims: bool,
}

impl BaselineFile {
    /// Reads the baseline that the options or the configuration name. `inputs` are other files that the command reads or writes.
    ///
    /// # Errors
    ///
    /// Returns the exit code, after a message, if the file cannot be used, or an option needs one and there is none.
    pub(super) fn open(
        args: &BaselineArgs,
        configured: Option<&Path>,
        confidence: Option<f64>,
        (saved, outputs): (Option<&Path>, &[ReportOutput]),
    ) -> Result<Self, u8> {
        let Some(file) = args.baseline.as_deref().or(configured) else {
            return match args.given.first_of(OF_BASELINES) {
                Some(option) => Err(unusable(format!(
                    "{option} is about a baseline, and there is none; name one with --baseline FILE (key `baseline`)"
                ))),
                None => Ok(Self::default()),
            };
        };
        let name = file.display();
        let others = saved.into_iter().chain(outputs.iter().filter_map(|it| it.file.as_deref()));
        if others.into_iter().any(|it| is_same_file(it, file)) {
            return Err(unusable(format!(
                "{name} is the baseline, and this command would write something else to it; name another file"
            )));
        }
        let update = args.update_baseline.then(|| file.to_owned());
        if let Some(file) = &update {
            check_destination(file)
                .map_err(|error| unusable(format!("cannot write {name}: {error}")))?;
        }
        let settings = args.claims.settings(confidence);
        let has_claims = settings.no_regressions || settings.no_worse_than.is_some();
        if !file.exists() {
            if update.is_none() {
                return Err(unusable(format!(
                    "the baseline {name} does not exist; --update-baseline writes it after a run that ends with exit code 0"
                )));
            }
            render::note(&format!("there is no baseline {name} yet, so nothing is compared"));
            return Ok(Self { baseline: None, update, has_claims });
        }
        let baseline = Baseline::read(file, settings, args.claims.allowed()).map_err(unusable)?;
        if update.is_some() && baseline.is_foreign() {
            return Err(unusable(format!(
                "{name} is a result of another tool, which --update-baseline does not replace; save this run with --save-run FILE, and \
                 compare later ones with that file"
            )));
        }
        Ok(Self { baseline: Some(Arc::new(baseline)), update, has_claims })
    }

    /// Returns true if runs need fingerprints of their evaluators.
    pub(super) fn needs_identities(&self) -> bool {
        self.baseline.is_some() || self.update.is_some()
    }

    /// Compares a saved run with the baseline.
    ///
    /// # Errors
    ///
    /// Returns the exit code, after a message, if the runs cannot be compared.
    pub(super) fn compare(&self, report: &mut Report) -> Result<(), u8> {
        let is_foreign = report.header.as_ref().is_some_and(|it| !it.is_of_run_file());
        if is_foreign && self.update.is_some() {
            return Err(unusable(
                "a result of another tool is a baseline as it is: name it with --baseline, and leave out --update-baseline",
            ));
        }
        let Some(baseline) = &self.baseline else { return Ok(()) };
        if let Some(header) = &report.header {
            let differences = baseline.differences(header).map_err(unusable)?;
            render::differences(&differences);
            differences.refusal().map_or(Ok(()), |refusal| Err(unusable(refusal)))?;
        }
        baseline.compare(report).map_err(unusable)
    }

    /// Writes the run to the file of the baseline if that is asked for and the run passed. Failures of the first one are known ones
    /// if something is claimed. Returns the exit code.
    pub(super) fn update(&self, report: &Report, code: u8) -> u8 {
        let Some(file) = &self.update else { return code };
        let name = file.display();
        let is_first = self.baseline.is_none() && self.has_claims;
        // Exit code 1 may also mean that nothing was scored.
        let has_known = is_first && code == exit::FAILED && report.tally().failed > 0;
        if code != exit::OK && !has_known {
            render::warning(&format!(
                "the baseline {name} stays as it is, because the run did not pass"
            ));
            return code;
        }
        let options = WriteOptions { durable: true, ..WriteOptions::default() };
        match atomic_write(file, options, |out| run_file::write_baseline(report, out)) {
            Ok(()) => {
                render::note(&format!(
                    "the run is the baseline {name} now; keep it under version control"
                ));
                if has_known {
                    render::note(
                        "what failed in it is known, and does not fail the next run with these claims",
                    );
                }
                code
            }
            Err(error) => broken(format!("cannot write the baseline {name}: {error}")),
        }
    }
}
