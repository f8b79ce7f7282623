//! Arguments about files with parts of a run.

use std::path::PathBuf;

use clap::Args;
use evaluator_host::{
    eval_set::{EvalSet, EvalSetError},
    report::run_file::{Expect, ReadOptions},
    run::expected_cases,
};

use super::values::existing;

/// What is known about the parts of a run.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Read runs over different traces as one run, whose traces were divided between them. Without it they are refused: they may
    /// be runs of two versions of an agent
    #[arg(long)]
    pub(crate) parts: bool,
    /// Number of lines that were sent to `pipe`, whose parts must have read as many, no line in two parts that
    /// differ; or `any`: nothing that is missing is noticed
    #[arg(long, value_name = "N|any", value_parser = expected)]
    pub(crate) expect: Option<Expect>,
    /// Eval set of the parts of `pipe`, which do not have the ids of its cases
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
}

impl PartArgs {
    /// Returns how the files are read, with attributes to slice the report by.
    ///
    /// # Errors
    ///
    /// The eval set cannot be used.
    pub(crate) fn options(&self, by: &[String]) -> Result<ReadOptions, EvalSetError> {
        let golden = self.eval_set.as_deref().map(EvalSet::load).transpose()?;
        let golden = golden.as_ref().map(expected_cases);
        Ok(ReadOptions { are_parts: self.parts, by: by.to_vec(), expect: self.expect, golden })
    }
}

/// Parses what is known about the parts of filters.
fn expected(text: &str) -> Result<Expect, String> {
    match (text, text.parse()) {
        ("any", _) => Ok(Expect::Any),
        (_, Ok(lines)) => Ok(Expect::Lines(lines)),
        _ => Err("expected the number of lines that were sent, or `any`".to_owned()),
    }
}
