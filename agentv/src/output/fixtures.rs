//! Fixtures of AgentV's `replay` provider: JSON lines with recorded outputs.

use std::path::Path;

use evaluator_document::{ConfigError, Field, Node, Problems};
use evaluator_json::Value;

use super::Output;
use crate::files::{Findings, all, regular};

/// Name of the format.
pub(super) const SCHEMA: &str = "agentv.replay_fixture.v1";

/// A recorded output.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Suite.
    pub suite: Option<String>,
    /// Test.
    pub test_id: String,
    /// Target that was recorded.
    pub source_target: String,
    /// Attempt, from 0.
    pub attempt: u64,
    /// Variant.
    pub variant: Option<String>,
    /// Output.
    pub output: Output,
}

/// Reads a file of fixtures.
///
/// # Errors
///
/// A line is not a fixture.
pub fn fixtures(file: &Path) -> Result<Vec<Fixture>, Vec<ConfigError>> {
    let text = regular(file, "file of recordings").map_err(|error| vec![error])?;
    let findings = Findings::default();
    let fixtures = findings.read_lines(file, &text, |rows, opened| {
        all(rows.iter().map(|row| fixture(row, opened.problems)))
    });
    findings.finish()?;
    Ok(fixtures.unwrap_or_default())
}

/// Reads one fixture. It can be used if there is no problem.
fn fixture(root: &Node, problems: &Problems<'_>) -> Option<Fixture> {
    let mut fields = root.field("this line", problems).fields("this recording")?;
    fields.null_is_absent();
    let schema = fields.require("schema_version").and_then(|field| field.choice(&[(SCHEMA, ())]));
    let suite = fields.take("suite").and_then(|field| field.sentence());
    let test_id = fields.require("test_id").and_then(|field| field.sentence());
    let source_target = fields.require("source_target").and_then(|field| field.sentence());
    let attempt = fields.take("attempt").map(|field| field.at_least(0, "a whole number", "0"));
    let variant = fields.take("variant").and_then(|field| field.sentence());
    let output = fields.require("output").and_then(|field| messages(&field));
    for key in ["token_usage", "cost_usd", "duration_ms", "start_time", "end_time"] {
        fields.take(key);
    }
    fields.finish();
    let object = root.to_json().ok()?;
    schema?;
    let output = Output { messages: output?, ..Output::default() };
    Some(Fixture {
        suite,
        test_id: test_id?,
        source_target: source_target?,
        attempt: attempt.unwrap_or(Some(0))?,
        variant,
        output: output.measured(object.as_object()?),
    })
}

fn messages(field: &Field<'_>) -> Option<Vec<Value>> {
    let items = field.items()?;
    all(items.iter().map(|item| {
        let value = item.node.to_json().ok()?;
        match value.get("role").and_then(Value::as_str) {
            Some(_) => Some(value),
            None => item.add("a message needs `role`").none(),
        }
    }))
}

/// Returns the output of the one fixture of a suite, a test, a recorded target and a variant.
///
/// # Errors
///
/// There is none, or more than one.
pub fn find(
    fixtures: &[Fixture],
    (suite, test_id): (&str, &str),
    (source_target, variant): (&str, Option<&str>),
) -> Result<Output, String> {
    let mut found = fixtures.iter().filter(|fixture| {
        fixture.test_id == test_id
            && fixture.suite.as_deref().is_none_or(|known| known == suite)
            && fixture.source_target == source_target
            && fixture.attempt == 0
            && fixture.variant.as_deref() == variant
    });
    match (found.next(), found.count()) {
        (Some(fixture), 0) => Ok(fixture.output.clone()),
        (None, _) => {
            Err(format!("no recording matches the test `{test_id}` of the suite `{suite}`"))
        }
        (Some(_), more) => {
            Err(format!("{} recordings match the test `{test_id}`; exactly one must", more + 1))
        }
    }
}
