//! Labels that people gave to conversations, read from files.
//!
//! | file | contents |
//! |---|---|
//! | `label` | a label, and where it is written |
//! | `meaning` | what the text of a label says |
//! | `read` | files of all forms |
//! | `table` | CSV |
//! | `record` | rows of CSV and objects of JSON, read alike: own files, and scores of Langfuse |
//! | `label_studio` | JSON exports of Label Studio |

mod label;
mod label_studio;
mod meaning;
mod read;
mod record;
mod table;

#[cfg(test)]
mod tests;

pub use label::{Label, LabelCounts, LabelError, LabelPlace, LabelValue, Labels, UnmatchedLabel};
pub use meaning::Meanings;
pub use read::read_labels;
