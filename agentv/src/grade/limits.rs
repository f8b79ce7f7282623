//! Limits on what was measured.

use super::{Row, Score, share};
use crate::{
    model::{Limit, Limits},
    output::Output,
};

/// Tools that explore.
const EXPLORING: [&str; 10] =
    ["read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"];

/// Compares what was measured with limits.
///
/// # Errors
///
/// Something was not measured.
pub fn grade(limits: &Limits, output: &Output) -> Result<Score, String> {
    let rows: Vec<Row> =
        limits.limits.iter().map(|limit| row(limit, output)).collect::<Result<_, _>>()?;
    let passed = rows.iter().filter(|row| row.passed).count();
    Ok(match limits.share {
        true => Score::new(share(passed, rows.len()), rows),
        false => Score::of(passed == rows.len(), rows),
    })
}

#[expect(clippy::cast_precision_loss, reason = "outputs have fewer than 2^53 calls")]
fn row(limit: &Limit, output: &Output) -> Result<Row, String> {
    let missing = |what: &str| format!("{what} was not recorded, so the limit cannot be judged");
    let usage = || output.usage.ok_or_else(|| missing("the number of tokens (`token_usage`)"));
    let (name, value, limit) = match *limit {
        Limit::Duration(limit) => {
            let value =
                output.duration_ms.ok_or_else(|| missing("the duration (`duration_ms`)"))?;
            ("duration in ms", value, limit)
        }
        Limit::Cost(limit) => {
            let value = output.cost_usd.ok_or_else(|| missing("the cost (`cost_usd`)"))?;
            ("cost in USD", value, limit)
        }
        Limit::TotalTokens(limit) => {
            let usage = usage()?;
            ("tokens", usage.input + usage.output + usage.cached.unwrap_or_default(), limit)
        }
        Limit::InputTokens(limit) => ("tokens of input", usage()?.input, limit),
        Limit::OutputTokens(limit) => ("tokens of output", usage()?.output, limit),
        Limit::Tokens(limit) => {
            let usage = usage()?;
            ("tokens", usage.input + usage.output, limit)
        }
        Limit::ToolCalls(limit) => ("tool calls", output.tool_calls().count() as f64, limit),
        Limit::ModelCalls(limit) => ("model calls", output.count_model_calls() as f64, limit),
        Limit::Exploration { target, tolerance } => {
            return Ok(exploration(target, tolerance, output));
        }
    };
    Ok(Row::new(format!("{name}: {value} of at most {limit}"), value <= limit))
}

fn exploration(target: f64, tolerance: f64, output: &Output) -> Row {
    let (mut exploring, mut all) = (0_usize, 0_usize);
    for call in output.tool_calls() {
        all += 1;
        exploring += usize::from(EXPLORING.contains(&call.tool));
    }
    if all == 0 {
        return Row::new(format!("exploring calls: no tool calls, wanted {target}"), false);
    }
    let ratio = share(exploring, all);
    let text = format!("exploring calls: {ratio}, wanted {target} +- {tolerance}");
    Row::new(text, (ratio - target).abs() <= tolerance)
}
