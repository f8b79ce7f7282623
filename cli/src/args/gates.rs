//! Arguments about gates.

use clap::{Args, ValueEnum};
use evaluator_host::{
    config::GateOverrides,
    report::{Gate, GateError, Inconclusive},
};

/// Options of `evaluator run` and `evaluator report` about gates.
#[derive(Debug, Default, Args)]
pub(crate) struct GateFlags {
    /// Decide by all cases of an evaluator, e.g. --gate 'booking: mean >= 0.8'; `pass_rate` and e.g. `pass^3` are measures, too;
    /// repeatable. Thresholds of an evaluator with a gate fail nothing. Replaces a gate of the same measure
    #[arg(long = "gate", value_name = "NAME: MEASURE >= LIMIT", value_parser = gate)]
    pub(crate) gates: Vec<Gate>,
    /// Confidence of all gates and of the comparison with a baseline, two-sided, between 0 and 1 (default: that of each gate, else
    /// 0.95)
    #[arg(long, value_name = "C", value_parser = confidence)]
    pub(crate) confidence: Option<f64>,
    /// Pass (exit code 0) or fail (exit code 1) if gates or claims about a baseline are undecided (default: exit code 4)
    #[arg(long, value_name = "OUTCOME", value_enum)]
    pub(crate) inconclusive: Option<InconclusiveAs>,
}

impl GateFlags {
    /// Returns what they say.
    pub(crate) fn overrides(self) -> GateOverrides {
        GateOverrides::new(self.gates, self.confidence, self.inconclusive.map(Into::into))
    }
}

/// What undecided gates mean.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum InconclusiveAs {
    /// As if they passed
    Pass,
    /// As if they failed
    Fail,
}

impl From<InconclusiveAs> for Inconclusive {
    fn from(outcome: InconclusiveAs) -> Self {
        match outcome {
            InconclusiveAs::Pass => Self::Pass,
            InconclusiveAs::Fail => Self::Fail,
        }
    }
}

fn gate(text: &str) -> Result<Gate, GateError> {
    Gate::parse(text, Gate::CONFIDENCE)
}

/// Parses a confidence.
pub(super) fn confidence(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    let is_inside = number > 0.0 && number < 1.0;
    if is_inside { Ok(number) } else { Err("must be between 0 and 1, both excluded".to_owned()) }
}
