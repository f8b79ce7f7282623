//! What a command line changes in a configuration.

use super::{BuiltinConfig, Config, EvaluatorConfig, EvaluatorKind};
use crate::metric::MatchType;

/// Settings given beside a configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Names of built-in metrics to run. Each replaces the evaluator of that name, whatever it was, or is appended.
    pub metrics: Vec<String>,
    /// Threshold of built-in metrics.
    pub threshold: Option<f64>,
    /// Judge model of built-in metrics.
    pub judge_model: Option<String>,
    /// Match type of built-in metrics.
    pub match_type: Option<MatchType>,
    /// How often evaluations are tried again, for the run and for all of its evaluators.
    pub retries: Option<u32>,
}

impl Overrides {
    /// Applies them. Settings go to the metrics named here if there are any, else to every built-in metric of the
    /// configuration; programs keep theirs. A configuration without evaluators gets `tool_trajectory_avg_score`.
    pub fn apply(&self, config: &mut Config) {
        if let Some(retries) = self.retries {
            config.retries = retries;
            for evaluator in &mut config.evaluators {
                match &mut evaluator.kind {
                    EvaluatorKind::Code(code) => code.retries = None,
                    EvaluatorKind::Remote(remote) => remote.retries = None,
                    _ => {}
                }
            }
        }
        let mut names: Vec<&str> = Vec::new();
        for name in &self.metrics {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if names.is_empty() && config.evaluators.is_empty() {
            names.push("tool_trajectory_avg_score");
        }
        if names.is_empty() {
            for evaluator in &mut config.evaluators {
                if let EvaluatorKind::Builtin(builtin) = &mut evaluator.kind {
                    self.set(builtin);
                }
            }
        }
        for name in names {
            let mut builtin = BuiltinConfig::default();
            self.set(&mut builtin);
            let evaluator = EvaluatorConfig::new(name, EvaluatorKind::Builtin(builtin));
            match config.evaluators.iter_mut().find(|other| other.name == name) {
                Some(other) => *other = evaluator,
                None => config.evaluators.push(evaluator),
            }
        }
    }

    fn set(&self, builtin: &mut BuiltinConfig) {
        if let Some(threshold) = self.threshold {
            builtin.threshold = threshold;
        }
        if let Some(model) = &self.judge_model {
            builtin.judge_model = Some(model.clone());
        }
        if let Some(match_type) = self.match_type {
            builtin.match_type = Some(match_type);
        }
    }
}
