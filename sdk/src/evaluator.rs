//! Evaluators as values.

use std::fmt;

use evaluator_protocol::{Answer, Document};
use serde_json::Value;

use crate::{contract::Contract, failure::Failure};

/// An evaluator as a value: `#[evaluator]` generates it as `name::EVALUATOR`.
///
/// Serve several from one program with [`run_any`](crate::run_any), or call one in a test with
/// [`testing::run`](crate::testing::run).
#[derive(Clone, Copy)]
pub struct Evaluator {
    name: &'static str,
    docs: &'static str,
    contract: &'static str,
    strict: bool,
    call: Call,
    config_schema: ConfigSchema,
}

/// A value that [`run_any`](crate::run_any) takes: an [`Evaluator`].
///
/// The trait is sealed. It exists for the compiler's message where the function is given instead.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an evaluator as a value",
    label = "expected `Evaluator`",
    note = "pass `name::EVALUATOR`, which `#[evaluator]` puts next to the function `name`"
)]
pub trait IntoEvaluator: sealed::Sealed {
    /// Returns the evaluator.
    #[doc(hidden)]
    fn evaluator(&self) -> Evaluator;
}

#[diagnostic::do_not_recommend]
impl IntoEvaluator for Evaluator {
    fn evaluator(&self) -> Evaluator {
        *self
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Evaluator {}
}

pub(crate) type Call = fn(Document) -> Result<Answer, Failure>;
pub(crate) type ConfigSchema = fn() -> Option<Value>;

impl Evaluator {
    pub(crate) const fn new<C: Contract>(
        name: &'static str,
        docs: &'static str,
        strict: bool,
        call: Call,
        config_schema: ConfigSchema,
    ) -> Self {
        Self { name, docs, contract: C::NAME.name(), strict, call, config_schema }
    }

    /// Name: that of the function, or the one given by `name = ".."`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the function's doc comment as text, without the indentation and decoration it has in the source.
    pub fn description(&self) -> String {
        plain_text(self.docs)
    }

    /// Name of the contract it is written against, e.g. `agentevals`.
    pub const fn contract(&self) -> &'static str {
        self.contract
    }

    /// Returns true if it refuses documents of an unknown major protocol version.
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// JSON Schema of its config: `None` when it takes none, when the type has none, or without the feature `schema`.
    pub fn config_schema(&self) -> Option<Value> {
        (self.config_schema)()
    }

    pub(crate) fn call(&self, document: Document) -> Result<Answer, Failure> {
        (self.call)(document)
    }
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator")
            .field("name", &self.name)
            .field("contract", &self.contract)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

/// Removes the decoration of a doc comment: the common indentation and, in block comments, the column
/// of stars.
fn plain_text(docs: &str) -> String {
    let lines: Vec<&str> = docs.lines().map(str::trim_end).collect();
    let inner = |line: &&str| !line.is_empty();
    let starred = lines.len() > 1
        && lines
            .iter()
            .skip(1)
            .copied()
            .filter(inner)
            .all(|line| line.trim_start().starts_with('*'));
    let lines: Vec<&str> = lines
        .into_iter()
        .map(|line| match line.trim_start().strip_prefix('*') {
            Some(rest) if starred => rest,
            _ => line,
        })
        .collect();
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().copied().filter(inner).map(indentation).min().unwrap_or_default();
    let text: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or("")).collect();
    text.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn line_comments_lose_their_common_indentation() {
        assert_eq!(plain_text(" Scores.\n\n     code\n more\n"), "Scores.\n\n    code\nmore");
        assert_eq!(plain_text("no blank\n"), "no blank");
        assert_eq!(plain_text(""), "");
    }

    #[test]
    fn block_comments_lose_their_stars() {
        assert_eq!(plain_text("\n     * Scores.\n     *\n     * More.\n     "), "Scores.\n\nMore.");
        assert_eq!(plain_text(" One line. "), "One line.");
        assert_eq!(plain_text(" * item\n * item\n"), "item\nitem");
    }
}
