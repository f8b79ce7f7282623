//! Files that a command writes its result to.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evaluator_host::files::{WriteOptions, atomic_write, is_replaced};

use super::unusable;

/// Kind of result that a command writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written(pub(super) &'static str);

impl Written {
    /// Writes a text without a result to every file, so that no earlier result is taken for that of this command, however it
    /// ends. Files that the command reads are refused.
    pub(super) fn begin<'f>(
        self,
        files: impl Iterator<Item = &'f PathBuf>,
        inputs: &[&Path],
    ) -> Result<(), u8> {
        let what = self.0;
        let text = format!(
            "there is no {what}: the command has not ended, was killed, or refused its input\n"
        );
        let inputs: Vec<PathBuf> =
            inputs.iter().filter_map(|input| fs::canonicalize(input).ok()).collect();
        for file in files.filter(|file| is_replaced(file)) {
            let name = file.display();
            if fs::canonicalize(file).is_ok_and(|place| inputs.contains(&place)) {
                return Err(unusable(format!(
                    "{name} is an input of this command; write the {what} to another file"
                )));
            }
            self.write(file, &text).map_err(unusable)?;
        }
        Ok(())
    }

    /// Writes a file, whole or not at all.
    pub(super) fn write(self, file: &Path, text: &str) -> Result<(), String> {
        let written =
            atomic_write(file, WriteOptions::default(), |out| out.write_all(text.as_bytes()));
        let (what, name) = (self.0, file.display());
        written.map_err(|error| format!("cannot write the {what} to {name}: {error}"))
    }
}
