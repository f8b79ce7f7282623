//! Why a journal cannot be used.

use std::path::PathBuf;

/// Why a file is not used as a journal. Nothing in it was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another run writes to it.
    #[error("{} is the journal of another run that has not ended; wait for it, or name another file with --journal", .file.display())]
    Busy {
        /// The file.
        file: PathBuf,
    },
    /// It is something else.
    #[error("{} is not a journal of evaluations; it stays as it is, name another file with --journal", .file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// Another version of this program wrote it.
    #[error(
        "{} is a journal of format version {version}, and this program knows version 1; use the program that wrote it, or \
         name another file with --journal",
        .file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// The version, as it stands there.
        version: String,
    },
    /// Its first line is not what was written, so nobody knows what the others mean.
    #[error("{}, line 1: the header of this journal is damaged; delete the file to begin anew", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
    },
}
