//! Differences of documents.

use similar::TextDiff;

/// Lines around a difference.
const CONTEXT: usize = 3;

/// Returns the unified diff of two documents, without a header; empty if they are equal.
#[must_use]
pub fn diff(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(CONTEXT).missing_newline_hint(false).to_string()
}
