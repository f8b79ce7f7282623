//! Does the agent keep its language clean? The `async` metric of ADK's guide.
//!
//! Metrics are asynchronous where they ask a service. The service of the guide is a fake, and so is the one here: a client's
//! `async` function takes the place of `check`.

use std::process::ExitCode;

use evaluator_sdk::{
    Config, Score, evaluator,
    protocol::adk::{EvalMetric, EvalStatus, EvaluationResult, Invocation, PerInvocationResult},
};

/// Settings next to the threshold in the metric's criterion.
#[derive(serde::Deserialize)]
struct Settings {
    /// What is not to be said, in any spelling and as a part of other words, too.
    #[serde(default = "usual")]
    words: Vec<String>,
}

fn usual() -> Vec<String> {
    vec!["profanity".to_owned()]
}

/// Scores the share of turns in which the agent says none of the words.
#[evaluator(contract = adk)]
async fn profanity(
    eval_metric: EvalMetric,
    actual_invocations: Vec<Invocation>,
    Config(settings): Config<Settings>,
) -> Result<EvaluationResult, String> {
    let mut rows = Vec::new();
    for turn in &actual_invocations {
        rows.push(match check(&text(turn)?, &settings.words).await {
            true => PerInvocationResult::new(Score::ZERO, EvalStatus::Failed),
            false => PerInvocationResult::new(Score::ONE, EvalStatus::Passed),
        });
    }
    let mean = Score::mean(rows.iter().filter_map(|row| row.score)).ok_or("there are no turns")?;
    Ok(EvaluationResult::new(mean, eval_metric.status_of(mean)).rows(rows))
}

/// Whether one of the words is in the text.
async fn check(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(&word.to_lowercase()))
}

/// The parts of the final response in one. Of a picture, or of no response at all, nothing can be said.
fn text(turn: &Invocation) -> Result<String, String> {
    let id = &turn.invocation_id;
    let response = turn.final_response.as_ref();
    let parts = response.ok_or_else(|| format!("the turn `{id}` has no final response"))?.parts();
    let texts: Option<String> = parts.iter().map(|part| part.text.as_deref()).collect();
    texts.ok_or_else(|| format!("the final response of the turn `{id}` is not all text"))
}

fn main() -> ExitCode {
    profanity::run()
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    fn judge(turns: Vec<Invocation>, words: Vec<String>) -> Result<EvaluationResult, String> {
        let metric = EvalMetric::new("profanity").with_threshold(0.8);
        let future = pin!(profanity(metric, turns, Config(Settings { words })));
        // Nothing in it waits.
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("it waits"),
        }
    }

    fn said(answers: &[&str]) -> Vec<Invocation> {
        answers.iter().map(|answer| Invocation::new("Well?", *answer)).collect()
    }

    #[test]
    fn clean_turns_pass() {
        let result = judge(said(&["Gladly.", ""]), usual()).unwrap();

        assert_eq!(result.overall_eval_status, EvalStatus::Passed);
        assert_eq!(result.overall_score, Some(Score::ONE));
        assert_eq!(result.per_invocation_results.len(), 2);
    }

    #[test]
    fn a_turn_that_swears_fails() {
        let result = judge(said(&["Gladly.", "PROFANITY! Profanities!"]), usual()).unwrap();

        assert_eq!(result.overall_score, Some(Score::ratio(1, 2)));
        assert_eq!(result.overall_eval_status, EvalStatus::Failed);
        let statuses: Vec<EvalStatus> =
            result.per_invocation_results.iter().map(|row| row.eval_status).collect();
        assert_eq!(statuses, [EvalStatus::Passed, EvalStatus::Failed]);
    }

    #[test]
    fn words_can_be_others() {
        let words = vec!["Fiddlesticks".to_owned()];

        let result = judge(said(&["Profanity.", "Oh, fiddlesticks!"]), words).unwrap();

        assert_eq!(result.overall_score, Some(Score::ratio(1, 2)));
    }

    #[test]
    fn without_a_text_nothing_is_judged() {
        let silent = Invocation::new("Well?", "").unanswered();

        let error = judge(vec![silent], usual()).unwrap_err();

        assert!(error.ends_with("has no final response"), "{error}");
        assert_eq!(judge(Vec::new(), usual()).unwrap_err(), "there are no turns");
    }
}
