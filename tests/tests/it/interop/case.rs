//! Cases, and the results that hosts record.

use std::{fmt, fs, path::PathBuf};

use serde_json::{Value, json};

/// Timeout in seconds of an evaluator that hangs, for hosts that have such a setting.
pub(crate) const LIMIT: u32 = 3;

/// An exported evaluator with its settings.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Name in the results.
    pub(crate) label: String,
    /// The evaluator's name.
    pub(crate) name: String,
    /// Its settings, an object.
    pub(crate) config: Value,
    /// The program that it is in.
    pub(crate) program: PathBuf,
    /// Directory of the exported files.
    pub(crate) exported: PathBuf,
    /// True if it never exits, so that the host needs a timeout.
    pub(crate) hangs: bool,
    /// True if it judges tool calls.
    pub(crate) judges_tools: bool,
}

impl Case {
    /// A file that was exported.
    pub(crate) fn read(&self, suffix: &str) -> String {
        let path = self.exported.join(format!("{}{suffix}", self.name));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The entry of a YAML file that was exported, with the label for its name, and indented.
    pub(crate) fn entry(&self, suffix: &str, indent: &str) -> String {
        let text = self.read(suffix);
        // Without the head, and without the name of the list.
        let lines = text.lines().skip_while(|line| line.starts_with('#')).skip(1);
        let (name, label) = (json!(self.name).to_string(), json!(self.label).to_string());
        let named = |line: &str| line.replace(&format!("name: {name}"), &format!("name: {label}"));
        lines.map(|line| format!("{indent}{}\n", named(line))).collect()
    }

    /// The fault that the fixture is to trigger; empty for other evaluators.
    pub(crate) fn fault(&self) -> &str {
        self.config["fault"].as_str().unwrap_or_default()
    }
}

/// Verdict of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    /// For hosts that have this verdict.
    NotEvaluated,
    /// For hosts that have this verdict.
    Error,
    /// The host records nothing.
    Lost,
    /// The host exited before it recorded anything.
    HostDied,
    /// The host did not exit in time.
    HostHung,
}

/// Result that a host records for an evaluator.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) verdict: Verdict,
    pub(crate) score: Option<f64>,
    /// Scores of the turns, for hosts that record them; `None` for turns without a score.
    pub(crate) turns: Option<Vec<Option<f64>>>,
    /// Details of the evaluator, for hosts that keep them unchanged.
    pub(crate) details: Option<Value>,
    /// All explanations, in whatever form.
    pub(crate) reason: String,
}

impl Recorded {
    /// Nothing but a verdict.
    pub(crate) fn only(verdict: Verdict) -> Self {
        Self { verdict, score: None, turns: None, details: None, reason: String::new() }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotEvaluated => "not evaluated",
            Self::Error => "error",
            Self::Lost => "nothing",
            Self::HostDied => "ends the host",
            Self::HostHung => "hangs the host",
        })
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        // Longer ones differ in their last digits from machine to machine.
        let is_shown = self.verdict != Verdict::NotEvaluated;
        if let Some(score) = self.score.filter(|_| is_shown) {
            let rounded = (score * 1e4).round() / 1e4;
            write!(f, ", {rounded}")?;
        }
        Ok(())
    }
}

/// Numbers of a list, and nulls.
pub(crate) fn numbers(list: &Value) -> Vec<Option<f64>> {
    list.as_array().into_iter().flatten().map(Value::as_f64).collect()
}
