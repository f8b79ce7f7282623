//! What is run, and what comes of it.

use std::{fmt, fs, path::PathBuf};

use serde_json::{Value, json};

/// Seconds after which an evaluator that hangs is given up, where a host can be told.
pub(crate) const LIMIT: u32 = 3;

/// An evaluator that was exported, and what it is to do.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// What it is called in the results.
    pub(crate) label: String,
    /// The evaluator's name.
    pub(crate) name: String,
    /// Its settings, an object.
    pub(crate) config: Value,
    /// The program that it is in.
    pub(crate) program: PathBuf,
    /// The folder of what was exported.
    pub(crate) exported: PathBuf,
    /// Whether it never ends, so that the host has to have a limit.
    pub(crate) hangs: bool,
    /// Whether it judges which tools were called.
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

    /// The fault that the fixture is told, if it is one.
    pub(crate) fn fault(&self) -> &str {
        self.config["fault"].as_str().unwrap_or_default()
    }
}

/// How a host takes an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Fail,
    /// Where the host has a word for that.
    NotEvaluated,
    /// Likewise.
    Error,
    /// It does not say anything.
    Lost,
    /// The host ended before it had recorded anything.
    HostDied,
    /// It waited for as long as anybody had patience.
    HostHung,
}

/// What a host says of an evaluator.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) verdict: Verdict,
    pub(crate) score: Option<f64>,
    /// Where it records any; None for turns that were not scored.
    pub(crate) turns: Option<Vec<Option<f64>>>,
    /// What the evaluator said besides, where the host keeps it as it came.
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
