//! Settings of a command line that override a configuration.

use super::{BuiltinConfig, Config, EvaluatorConfig, EvaluatorKind, JudgeSettings};
use crate::metric::{MatchType, Metrics};

/// Settings that override a configuration.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Names of built-in metrics to run. Each replaces the evaluator of that name or is appended.
    pub metrics: Vec<String>,
    /// Programs to run, which are appended. Their names are none of the configuration.
    pub programs: Vec<EvaluatorConfig>,
    /// Threshold of built-in metrics, and of these programs.
    pub threshold: Option<f64>,
    /// Judge model of built-in metrics.
    pub judge_model: Option<String>,
    /// Settings of judges that win over those of the configuration. The budget is that of the run.
    pub judge: JudgeSettings,
    /// Match type of built-in metrics that compare tool calls.
    pub match_type: Option<MatchType>,
    /// Number of retries of the run and all of its evaluators.
    pub retries: Option<u32>,
    /// Number of evaluations of each conversation by all evaluators.
    pub repeat: Option<u32>,
}

impl Overrides {
    /// Applies the settings: to the metrics named here if there are any, else to every built-in metric of the
    /// configuration. Programs of the configuration keep theirs. A configuration without evaluators gets
    /// `tool_trajectory_avg_score`.
    pub fn apply(&self, config: &mut Config, metrics: &Metrics) {
        self.apply_to_evaluators(config, metrics);
        for program in &self.programs {
            let mut program = program.clone();
            if let (Some(threshold), EvaluatorKind::Code(code)) =
                (self.threshold, &mut program.kind)
            {
                code.threshold = threshold;
            }
            config.evaluators.push(program);
        }
        let flags = &self.judge;
        config.judge = flags.over_same_layer(&config.judge);
        for judge in config.evaluators.iter_mut().filter_map(EvaluatorConfig::judge_mut) {
            judge.samples = flags.samples.or(judge.samples);
            judge.mode = flags.mode.or(judge.mode);
            if flags.cassette.is_some() {
                judge.cassette.clone_from(&flags.cassette);
            }
        }
    }

    fn apply_to_evaluators(&self, config: &mut Config, metrics: &Metrics) {
        if let Some(retries) = self.retries {
            config.retries = retries;
            for evaluator in &mut config.evaluators {
                match &mut evaluator.kind {
                    EvaluatorKind::Code(code) => code.retries = None,
                    EvaluatorKind::Remote(remote) => remote.program.retries = None,
                    _ => {}
                }
            }
        }
        if self.repeat.is_some() {
            config.repeat = self.repeat;
            config.evaluators.iter_mut().for_each(|evaluator| evaluator.repeat = None);
        }
        if self.metrics.is_empty() && !config.evaluators.is_empty() {
            for evaluator in &mut config.evaluators {
                match &mut evaluator.kind {
                    EvaluatorKind::Builtin(builtin) => self.set(&evaluator.name, builtin, metrics),
                    EvaluatorKind::LlmJudge(llm_judge) => {
                        if let Some(model) = &self.judge_model {
                            llm_judge.judge.models = vec![model.clone()];
                        }
                    }
                    _ => {}
                }
            }
            return;
        }
        let default = ["tool_trajectory_avg_score".to_owned()];
        let names_nothing = self.metrics.is_empty() && self.programs.is_empty();
        for name in if names_nothing { &default[..] } else { &self.metrics } {
            let mut builtin = BuiltinConfig::default();
            self.set(name, &mut builtin, metrics);
            let evaluator = EvaluatorConfig::new(name, EvaluatorKind::Builtin(builtin));
            match config.evaluators.iter_mut().find(|other| other.name == *name) {
                Some(other) => *other = evaluator,
                None => config.evaluators.push(evaluator),
            }
        }
    }

    fn set(&self, name: &str, builtin: &mut BuiltinConfig, metrics: &Metrics) {
        builtin.threshold = self.threshold.unwrap_or(builtin.threshold);
        if let Some(model) = &self.judge_model {
            builtin.judge.models = vec![model.clone()];
        }
        if let Some(match_type) = self.match_type
            && metrics.with_setting(MatchType::KEY).any(|metric| metric == name)
        {
            let value = match_type.as_str().into();
            builtin.settings.insert(MatchType::KEY.to_owned(), value);
        }
    }
}
