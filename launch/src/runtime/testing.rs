//! Helpers for the tests of this crate.

pub(crate) use evaluator_test_support::Directory;

use super::PrepareEvent;

/// For calls whose events do not matter.
pub(crate) fn no_events(_: PrepareEvent) {}
