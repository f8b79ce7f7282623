//! What can be read and not be run.

use super::{Config, ConfigError, EvaluatorKind, Grader, Problem};

impl Config {
    /// Whether this version can run everything that the configuration asks for; to be asked before anything runs, when
    /// all settings from elsewhere have been applied.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the place of every entry that cannot be run.
    pub fn ensure_runnable(&self) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        for evaluator in &self.evaluators {
            let EvaluatorKind::OpenAiEval(openai) = &evaluator.kind else { continue };
            let name = &evaluator.name;
            problems.push(Problem {
                message: format!("`type: openai_eval` cannot be run by this version (`{name}`)"),
                place: evaluator.place,
                hint: Some(unrunnable_hint(&openai.grader).to_owned()),
            });
            if matches!(openai.grader, Grader::TextSimilarity(_)) && self.eval_set.is_none() {
                problems.push(Problem {
                    message: format!(
                        "`{name}` compares with expected answers, and there is no eval set"
                    ),
                    place: evaluator.place,
                    hint: Some("give one, as `eval_set` or on the command line".to_owned()),
                });
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(ConfigError {
            file: self.file.clone().unwrap_or_default(),
            source_text: self.source_text.clone(),
            problems,
        })
    }
}

/// What comes closest to it.
fn unrunnable_hint(grader: &Grader) -> &'static str {
    match grader {
        Grader::TextSimilarity(_) => "the built-in `response_match_score` compares words (ROUGE-1)",
        Grader::LabelModel(_) => "write a `type: code` evaluator that asks the model",
    }
}
