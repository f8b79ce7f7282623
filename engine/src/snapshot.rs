//! The files of a program, as they were when the run started.
//!
//! If one of them is replaced during a run, the rest of the run would evaluate another program, and the report would mix
//! the results of two programs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{process::CommandSpec, runtime::Inputs, trace::FileStamp, verdict::Verdict};

/// The executable of a command, the script that it runs and the local files that the script imports, each with its stamp.
#[derive(Debug)]
pub struct ProgramSnapshot(Vec<(PathBuf, FileStamp)>);

impl ProgramSnapshot {
    /// Takes a snapshot of the files that `command` runs, of an evaluator that consists of `inputs`. Files whose metadata
    /// cannot be read are not watched: the start of the evaluator reports the reason.
    pub fn of(command: &CommandSpec, inputs: &Inputs) -> Self {
        let mut files = inputs.files.clone();
        files.insert(PathBuf::from(&command.program));
        let stamped = files.into_iter().filter_map(|file| {
            let metadata = fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
            Some((file, FileStamp::of(&metadata)))
        });
        Self(stamped.collect())
    }

    /// Returns the verdict of all further evaluations if one of the files has changed. A deleted file does not count: the
    /// next start of the evaluator reports it.
    pub(crate) fn changed_verdict(&self) -> Option<Verdict> {
        let file = self.first(|file, stamp| has_changed(file, stamp) == Some(true))?;
        let reason = format!(
            "{} changed during the run; run again when no program writes to it",
            file.display()
        );
        Some(Verdict::PrepareFailed { reason })
    }

    /// Returns a file that has changed or was deleted.
    pub fn outdated_file(&self) -> Option<&Path> {
        self.first(|file, stamp| has_changed(file, stamp) != Some(false))
    }

    fn first(&self, is_wanted: impl Fn(&Path, &FileStamp) -> bool) -> Option<&Path> {
        self.0.iter().find(|(file, stamp)| is_wanted(file, stamp)).map(|(file, _)| &**file)
    }
}

/// Returns true if a file has changed; `None` if it was deleted.
fn has_changed(file: &Path, stamp: &FileStamp) -> Option<bool> {
    fs::metadata(file).ok().map(|metadata| FileStamp::of(&metadata) != *stamp)
}
