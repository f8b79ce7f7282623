//! Outputs that were recorded earlier, by the ids of their tests.
use std::path::Path;
/// Recordings.
#[derive(Debug, Default)]
pub struct Recordings {}
impl Recordings { /// x
 pub fn x(_: &Path) {} }
