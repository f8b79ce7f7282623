//! The conversations of trace files as evaluators see them, without evaluating them.

use std::path::PathBuf;

use evaluator_engine::{attributes::Attributes, conversations::Conversations};

use super::{
    diagnosis,
    recordings::{Recordings, turns_document},
};
use crate::{
    conversation::{Conventions, Conversation, GROUPING, GroupBy, GroupedBy},
    json::Value,
    trace::{LoadError, LoadErrorKind, TraceFormats, TraceIndex, UnusableParts, trace_files},
};

/// The conversations of some trace files.
#[derive(Debug)]
pub struct Inspection {
    /// The conversations, without golden cases.
    pub recordings: Recordings,
    /// The grouping of the traces.
    pub grouped_by: GroupedBy,
    /// One error per input that cannot be used, or only in part.
    pub errors: Vec<LoadError>,
    /// Warning about files in directories that are not read.
    pub warning: Option<String>,
}

impl Inspection {
    /// Reads trace files and directories of them; `-` is the standard input. Blocks.
    ///
    /// Groups traces as a run without an eval set does.
    pub fn new(
        inputs: &[PathBuf],
        formats: &TraceFormats,
        conventions: &Conventions,
        group_by: GroupBy,
    ) -> Self {
        let found = trace_files(inputs);
        let warning = found.warning();
        let mut errors = found.errors;
        let mut index = TraceIndex::new(found.files, formats, GROUPING, &|| false);
        errors.append(&mut index.errors);
        let (conversations, grouped_by) =
            Conversations::new(index, conventions.clone(), group_by, false, Attributes::default());
        let recordings = Recordings::without_cases(conversations);
        Self { recordings, grouped_by, errors, warning }
    }

    /// Returns the parts of all files that cannot be used.
    pub fn left_out(&self) -> UnusableParts {
        let mut all = UnusableParts::default();
        for error in &self.errors {
            if let LoadErrorKind::Unusable(parts) = &error.kind {
                all.append(parts);
            }
        }
        all
    }

    /// Returns a hint on how to correct the file of one of the errors; `None` if the error message says enough.
    pub fn hint(error: &LoadError) -> Option<String> {
        diagnosis::trace_hint(error)
    }
}

/// Returns the turns of a conversation as the document of an evaluator has them (`invocations`).
pub fn invocations(conversation: &Conversation) -> Value {
    match turns_document(conversation, None) {
        Value::Object(mut document) => document.swap_remove("invocations").unwrap_or_default(),
        _ => Value::Null,
    }
}
