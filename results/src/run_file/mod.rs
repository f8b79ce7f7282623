//! The run file: everything that a run measured, on lines of JSON, so that it can be resumed and reported.
//!
//! Every run writes one: to memory and a temporary file, or to a [`RunFile`]. Every report is rendered from it. The format
//! is described in `docs/reference/run-file.md`.
//!
//! | file | contents |
//! |---|---|
//! | `format` | lines, checksums and records |
//! | `header` | the first record |
//! | `store` | bytes in memory and in a file, and reading lines of them |
//! | `file` | a file with a name: opened, locked, replaced |
//! | `writer` | the records that a run adds to its file |
//! | `part` | parts of a run |
//! | `stream` | a part that is written to a stream |
//! | `fold` | the report of saved runs and of parts of runs |
//! | `scan` | reading lines of saved runs |
//! | `rows` | conversations of all parts, and which are the same |
//! | `merge` | reports of parts without their conversations |
//! | `alike` | whether two parts are of one run |
//! | `foreign` | results of other tools, read as saved runs |
//! | `contradiction` | records that no run writes |
//! | `baseline` | a run as later ones are compared with it |
//! | `certified` | certificates of evaluators |
//! | `changes` | what two runs measured differently |
//!
//! An evaluation of an earlier run is used if everything that it depends on is the same: the content of the evaluator's
//! files, the interpreter, the settings, the document that the evaluator is given and the numbers of turns. What the
//! evaluator reads elsewhere (the network, the environment, other files) does not count.

mod alike;
mod baseline;
mod certified;
mod changes;
mod contradiction;
mod file;
mod fold;
mod foreign;
mod format;
mod header;
mod merge;
mod part;
mod rows;
mod scan;
mod store;
mod stream;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use crate::digest::{Digest, Digester};
pub use crate::report::Header;
pub use baseline::write_baseline;
pub use changes::{Change, ChangeKind, Differences, changes};
pub use file::{Damage, RunFile, default_file};
pub use fold::{Expect, ExpectedCases, ReadOptions, read, read_parts};
pub use format::EvaluationRecord;
pub(crate) use format::{ConversationRecord, TranscriptRecord, kind};
pub use header::{EvaluatorEntry, FingerprintParts, Golden, RunHeader, TOOL, random_id};
pub use part::{InputError, Part, Shard};
pub(crate) use store::{Reader, Span, Store};
pub use stream::Event;
pub use writer::RunWriter;

/// Reason why a file is not used.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Unusable {
    /// A run does not start.
    Refused(#[from] RunFileError),
    /// A run continues without the file.
    Failed(#[from] io::Error),
}

/// Reason why a run file cannot be used. Nothing in the file was changed.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// A problem of one file.
    #[error("{}{problem}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: FileProblem,
    },
    /// It cannot be read.
    #[error("cannot read {}: {source}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// What only parts of filters need was given for something else.
    #[error(
        "--expect and --eval-set are about parts that `pipe` wrote, and these are none; leave them out"
    )]
    NotOfFilters,
    /// The golden cases are needed and not known.
    #[error(
        "parts of `pipe` do not have the ids of the golden cases, and each must have a recording (`require_all_cases` or \
         `require_evaluated`): name the eval set of the run with --eval-set"
    )]
    NoEvalSet,
    /// The golden cases are not those of the run.
    #[error(
        "the eval set is not the one that the parts were evaluated with; name that one with --eval-set"
    )]
    OtherEvalSet,
    /// It is a run of other inputs than another one.
    #[error(
        "{} and {} are runs over different traces, which are not one run: report each by itself, or `compare` \
         them. If the traces of one run were divided between them, add --parts",
        .0[0].display(),
        .0[1].display()
    )]
    OtherInputs([PathBuf; 2]),
    /// It is not a part of the same run as another one.
    #[error(
        "{} and {} are not parts of one run: {difference}; report them one by one",
        .files[0].display(),
        .files[1].display()
    )]
    Different {
        /// Both files.
        files: [PathBuf; 2],
        /// The first difference.
        difference: String,
    },
}

/// What is wrong with a file. As text, it follows the name of the file.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// Another run writes to it.
    #[error(" is in use by another run; wait for it, or name another file with --save-run")]
    Busy,
    /// It is a pipe, a device or a directory.
    #[error(" is not a regular file; name another file")]
    NotAFile,
    /// It is text in an encoding that is not read; what to do about it.
    #[error(" is {0}")]
    Encoded(&'static str),
    /// It is something else.
    #[error(" is not a run file and was not changed; name another file")]
    Foreign,
    /// It is something else, and was to be read as a part of a run.
    #[error(
        " is not a run file, so it is no part of a run; results of other tools are reported one at a time"
    )]
    ForeignPart,
    /// It is something else, and was to be read: what it has or lacks.
    #[error(" is not a run file, a result of promptfoo in JSON or a log of Inspect in JSON: {0}")]
    OtherContent(String),
    /// Another tool wrote it, and it cannot be used: the name of the tool, and the reason.
    #[error(" is a result of {0} that cannot be used: {1}")]
    OtherTool(&'static str, String),
    /// A later version of this program wrote it, with this version of the format.
    #[error(
        " is a run file of format version {0}, and this program reads version 1; use the program that wrote it, or name another file"
    )]
    Version(u64),
    /// Its digests have another encoding, so nothing in it can be reused.
    #[error(
        " cannot be resumed: the program that wrote it identified evaluators in another way; run without --resume to replace it, or \
         name another file with --save-run"
    )]
    Encoding,
    /// A run that resumes it would replace what it has by something else: what it has, and what was to resume it.
    #[error(" has {0}, and was not changed: {1} cannot resume it; name another file")]
    OtherPart(String, String),
    /// The header differs from the one that was written, so the meaning of the other lines is unknown: the likely cause with a
    /// separator, or nothing.
    #[error(
        ", line 1: the header of this run file is damaged{0}; delete the file, or name another one"
    )]
    Damaged(&'static str),
}

impl FileProblem {
    /// Returns the error of a file with this problem.
    fn of(self, file: &Path) -> RunFileError {
        RunFileError::File { file: file.to_owned(), problem: self }
    }
}
