//! The place of a list of evaluators.

use crate::files::Opened;

/// Place of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// File.
    pub(super) opened: Opened<'p>,
    /// Whether the entries are members of a composite.
    pub(super) is_member: bool,
    /// Whether the key of the list is the one of AgentV 2, `evaluators`.
    pub(super) is_old_key: bool,
    /// Files that include this one.
    pub(super) includes: &'p [std::path::PathBuf],
}

impl<'p> Place<'p> {
    pub(super) fn new(opened: Opened<'p>) -> Self {
        Self { opened, is_member: false, is_old_key: false, includes: &[] }
    }

    /// Returns the place of the members of a composite in this list.
    pub(super) fn of_members(self) -> Self {
        Self { is_member: true, ..self }
    }
}
