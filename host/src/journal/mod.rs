//! A durable record of finished evaluations, so that a run that was killed can go on where it was.
//!
//! A journal is a text file: a header, and a line of JSON per evaluation, each with its own checksum. A line is written
//! before anything tells of its evaluation, so what a killed run has reported is in its journal; and it is on the disk half
//! a second later, so that is what a power cut may cost.
//!
//! | file | what |
//! |---|---|
//! | `store` | [`Journal`]: finds and adds evaluations |
//! | `file` | the file: opened, locked, mended |
//! | `scan` | reading through a file, up to what is damaged |
//! | `line` | lines that know whether they are whole |
//! | `header` | the first line: format and version |
//! | `record`, `verdict` | what a line says of an evaluation |
//! | `writer` | the thread that writes, several records at a time |
//! | `key` | which evaluation a record is of |
//! | `fingerprint` | what an evaluator is, for its key |
//! | `digest` | the hash of several things |
//! | `place` | where the journal is when nobody says |
//!
//! A record counts for an evaluation when everything is the same that decides it: the content of the evaluator's files, what
//! runs them, its settings, and the document it is given. What the same files read elsewhere (the network, the environment,
//! files that nothing here knows of) is no part of that: whoever changes it begins a new journal.

mod digest;
mod error;
mod file;
mod fingerprint;
mod header;
mod key;
mod line;
mod place;
mod record;
mod scan;
mod store;
mod verdict;
mod writer;

#[cfg(test)]
mod tests;

pub use digest::{Digest, Digester};
pub use error::JournalError;
pub use fingerprint::{Fingerprint, Unreadable};
pub use key::Key;
pub use place::default_file;
pub use scan::Damage;
pub use store::Journal;
