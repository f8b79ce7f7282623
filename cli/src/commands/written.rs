//! Files that a command writes its result to.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use evaluator_host::files::{WriteOptions, atomic_write, is_replaced};

use super::{broken, print, unusable};
use crate::{
    args::{ResultForm, ResultOutput},
    exit, render, streams,
};

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
        for file in files.filter(|file| is_replaced(file)) {
            self.refuse_inputs([file], inputs)?;
            self.write(file, &text).map_err(unusable)?;
        }
        Ok(())
    }

    /// Refuses to write to files that the command reads.
    pub(super) fn refuse_inputs<'f>(
        self,
        files: impl IntoIterator<Item = &'f PathBuf>,
        inputs: &[&Path],
    ) -> Result<(), u8> {
        let inputs: Vec<PathBuf> =
            inputs.iter().filter_map(|input| fs::canonicalize(input).ok()).collect();
        for file in files {
            if fs::canonicalize(file).is_ok_and(|place| inputs.contains(&place)) {
                let (what, name) = (self.0, file.display());
                return Err(unusable(format!(
                    "{name} is an input of this command; write the {what} to another file"
                )));
            }
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

    /// Writes a result in each form that is asked for, or as a table. `form` returns it as text; a table has at most so many
    /// columns. Returns the exit code.
    pub(super) fn write_forms(
        self,
        outputs: &[ResultOutput],
        form: impl Fn(ResultForm, Option<usize>) -> io::Result<String>,
    ) -> u8 {
        let table = [ResultOutput::default()];
        let outputs = if outputs.is_empty() { &table[..] } else { outputs };
        exit::worst(outputs.iter().map(|output| {
            let width = if output.file.is_none() { streams::stdout_width() } else { None };
            let is_data = matches!(output.form, ResultForm::Json | ResultForm::Html);
            let text = match form(output.form, width) {
                Ok(text) if is_data => text,
                Ok(text) => render::printable(&text).into_owned(),
                Err(error) => return broken(format!("the {} cannot be written: {error}", self.0)),
            };
            match &output.file {
                Some(file) => self.write(file, &text).map_or_else(broken, |()| exit::OK),
                None if is_data => print(&text, exit::OK),
                None => print(&render::painted(&text), exit::OK),
            }
        }))
    }
}
