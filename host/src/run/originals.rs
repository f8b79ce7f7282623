//! The files that make a program, as they were when the run began.
//!
//! Whoever replaces one of them while a run is on would get a report that mixes what two programs say.

use std::{
    fs::{self, Metadata},
    path::PathBuf,
};

use crate::{process::CommandSpec, runtime::Composition, trace::FileStamp, verdict::Verdict};

/// The program of a command, and the script that it runs with everything that the script imports from beside it.
#[derive(Debug)]
pub(super) struct Originals {
    files: Vec<Original>,
}

#[derive(Debug)]
struct Original {
    file: PathBuf,
    stamp: FileStamp,
}

impl Original {
    fn is_another(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|metadata| FileStamp::of(&metadata) != self.stamp)
    }

    fn verdict(&self) -> Verdict {
        let reason = format!(
            "{} changed while the run was on; run again when nobody writes to it",
            self.file.display()
        );
        Verdict::PrepareFailed { reason }
    }
}

impl Originals {
    /// The files that this command runs, of an evaluator that consists of `composition`. Files that cannot be looked at are
    /// not watched: starting the evaluator will say why.
    pub(super) fn of(command: &CommandSpec, composition: &Composition) -> Self {
        let mut files = composition.files.clone();
        files.insert(PathBuf::from(&command.program));
        let files = files.into_iter();
        let stamped = files.filter_map(|file| {
            let metadata = fs::metadata(&file).ok().filter(Metadata::is_file)?;
            Some(Original { stamp: FileStamp::of(&metadata), file })
        });
        Self { files: stamped.collect() }
    }

    /// The verdict on all that is left to do, once one of the files is another. One that is gone is no other: to start it
    /// says so.
    pub(super) fn replaced(&self) -> Option<Verdict> {
        self.files.iter().find(|it| it.is_another()).map(Original::verdict)
    }
}
