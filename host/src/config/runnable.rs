//! What can be read and not be run.

use super::{Config, ConfigError, EvaluatorKind, Grader, Problem, paths::MissingPath};

impl Config {
    /// Whether every file that the configuration names exists, and this version can run everything that it asks for; to
    /// be asked before anything runs, when all settings from elsewhere have been applied.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the place of every path that does not exist and every entry that cannot be run.
    pub fn ensure_runnable(&self) -> Result<(), ConfigError> {
        // An eval set that was replaced is not read.
        let is_used = |missing: &&MissingPath| {
            !missing.is_eval_set || self.eval_set.as_ref() == Some(&missing.path)
        };
        let missing = self.missing.iter().filter(is_used);
        let mut problems: Vec<Problem> = missing.map(|missing| missing.problem.clone()).collect();
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
        problems.sort_by_key(|problem| problem.place.map(|place| place.start));
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
