//! A saved run that new ones are compared with.

use std::{
    collections::HashSet,
    io, panic,
    path::{Path, PathBuf},
    thread,
};

use thiserror::Error;

use super::{
    CaseValues, Comparison, ComparisonError, ComparisonSettings, Report, Standing,
    comparison::BaseValues,
    run_file::{self, Change, ChangeKind, Differences, Header, RunFileError},
};

/// A saved run that new ones are compared with, and how.
#[derive(Debug)]
pub struct Baseline {
    file: PathBuf,
    report: Report,
    settings: ComparisonSettings,
    /// Kinds of changes that do not prevent a comparison.
    allowed: Vec<ChangeKind>,
}

/// Reason why a file is not a baseline.
#[derive(Debug, Error)]
pub enum BaselineError {
    /// It is not a run file that can be read.
    #[error(transparent)]
    File(#[from] RunFileError),
    /// It is a run that is not whole, or in which something broke.
    #[error("{0}")]
    NotWhole(String),
    /// The settings of the comparison are wrong, or the file cannot be read back.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
}

impl Baseline {
    /// Reads a run that is whole. Changes of the `allowed` kinds do not prevent a comparison.
    ///
    /// # Errors
    ///
    /// The file is not a run file, its run is not whole, something broke in it, or the settings are wrong.
    pub fn read(
        file: &Path,
        settings: ComparisonSettings,
        allowed: Vec<ChangeKind>,
    ) -> Result<Self, BaselineError> {
        settings.check()?;
        let report = run_file::read(&[file.to_owned()], false)?;
        if let Some(reason) = problem(&report) {
            return Err(BaselineError::NotWhole(format!(
                "{} is not a baseline: {reason}; write it again from a run that passed",
                file.display()
            )));
        }
        // What cannot be read back is found now.
        report.case_values().map_err(ComparisonError::from)?;
        Ok(Self { file: file.to_owned(), report, settings, allowed })
    }

    /// Returns true for a result of another tool.
    pub fn is_foreign(&self) -> bool {
        self.report.header.as_ref().is_some_and(|it| !it.is_of_run_file())
    }

    /// Returns what a run with this header measures differently.
    ///
    /// # Errors
    ///
    /// A conversation of the baseline cannot be read back.
    pub fn differences(&self, new: &Header) -> io::Result<Differences> {
        Differences::new(&self.report, new, &self.allowed)
    }

    /// Returns an error if a run with this header and cases with these ids has no evaluator or no case of the baseline.
    ///
    /// # Errors
    ///
    /// No evaluator or no case is in both.
    pub fn check_shared<I: AsRef<str>>(
        &self,
        new: &Header,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<(), ComparisonError> {
        let values = self.report.case_values()?;
        let known: HashSet<&str> = values.cases.all().collect();
        if !ids.into_iter().any(|id| known.contains(id.as_ref())) {
            return Err(ComparisonError::NoCommonCase);
        }
        let base = self.report.header.iter().flat_map(|header| &header.evaluators);
        let mut base = base.map(|entry| &*entry.name).peekable();
        let names: HashSet<&str> = new.evaluators.iter().map(|entry| &*entry.name).collect();
        if base.peek().is_some() && !names.is_empty() && !base.any(|name| names.contains(name)) {
            return Err(ComparisonError::NoCommonEvaluator);
        }
        Ok(())
    }

    /// Compares a run with the baseline; the comparison becomes part of its report.
    ///
    /// # Errors
    ///
    /// No case is in both runs, or a conversation cannot be read back. The report stays as it is.
    pub fn compare(&self, report: &mut Report) -> Result<(), ComparisonError> {
        let mut comparison = Comparison::new(&self.report, report, &self.settings)?;
        comparison.base = self.file.display().to_string();
        if let Some(header) = &report.header {
            let differences = self.differences(header)?;
            comparison.differences = texts(differences.refused.iter().chain(&differences.allowed));
        }
        report.comparison = Some(comparison);
        Ok(())
    }
}

impl Comparison {
    /// Compares two runs, also by the values of the attributes by which the new one is sliced.
    ///
    /// # Errors
    ///
    /// No case is in both runs, the margin is no share, or a conversation cannot be read back.
    pub fn new(
        base: &Report,
        new: &Report,
        settings: &ComparisonSettings,
    ) -> Result<Self, ComparisonError> {
        settings.check()?;
        let (old, values) = of_both(base, new)?;
        let base = BaseValues::new(old);
        let mut comparison = Self::of(&base, values, settings)?;
        comparison.slices = new.sliced_differences(&base, settings)?;
        comparison.same_recordings = old.cases.have_same_recordings(&values.cases);
        Ok(comparison)
    }
}

/// Returns the values of both runs, which are read at the same time, since each is a file of its own.
fn of_both<'r>(base: &'r Report, new: &'r Report) -> io::Result<(&'r CaseValues, &'r CaseValues)> {
    let (base, new) = thread::scope(|scope| {
        let base = scope.spawn(|| base.case_values());
        let new = new.case_values();
        (base.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), new)
    });
    Ok((base?, new?))
}

fn texts<'c>(changes: impl Iterator<Item = &'c Change>) -> Vec<String> {
    changes.map(ToString::to_string).collect()
}

/// Returns the reason why nothing may be compared with a run; `None` if it is whole.
fn problem(report: &Report) -> Option<String> {
    if let Some(error) = report.errors.first() {
        return Some(error.clone());
    }
    if let Some(partial) = report.partial {
        return Some(partial.to_string());
    }
    if report.standing() == Standing::Errored {
        return Some(format!("{} evaluations broke in it", report.tally().errored));
    }
    report.conversations.is_empty().then(|| "it has no conversations".to_owned())
}
