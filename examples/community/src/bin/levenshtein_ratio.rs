//! How close is every answer to a certain text?

use std::process::ExitCode;

use evaluator_community::{
    python,
    result::{answer, not_evaluated, scored},
};
use evaluator_sdk::{Config, EvalResult, Invocations, Score, evaluator};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    /// The text to compare with; what is not a text is taken as Python shows it. Without it nothing is judged.
    expected: Option<Value>,
    /// Whether upper and lower case are the same.
    #[serde(deserialize_with = "python::truth")]
    case_insensitive: bool,
}

/// Scores the share of characters that can stay when an answer is edited into the expected text.
///
/// Characters are Unicode code points, as they are: "é" as one and as two of them are different texts.
#[evaluator]
fn levenshtein_ratio(turns: Invocations<'_>, Config(settings): Config<Settings>) -> EvalResult {
    let Some(expected) = &settings.expected else {
        return not_evaluated(&turns, "missing config: expected");
    };
    let cased =
        |text: &str| if settings.case_insensitive { text.to_lowercase() } else { text.to_owned() };
    let expected = cased(&python::str(expected));
    let mut rows = Vec::new();
    let mut scores = Vec::new();
    for turn in turns {
        let got = cased(answer(turn));
        let distance = strsim::levenshtein(&got, &expected);
        let longest = got.chars().count().max(expected.chars().count()).max(1);
        let similarity =
            Score::clamped(1.0 - distance as f64 / longest as f64).unwrap_or(Score::ZERO);
        rows.push(json!({
            "invocation_id": turn.invocation_id,
            "distance": distance,
            "similarity": similarity.get(),
        }));
        scores.push(similarity);
    }
    scored(scores, "", Vec::new()).detail("per_invocation", rows)
}

fn main() -> ExitCode {
    levenshtein_ratio::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn judge(answer: &str, expected: &str, case_insensitive: bool) -> f64 {
        let input = testing::input("levenshtein_ratio").turn("?", answer);
        let settings = Settings { expected: Some(expected.into()), case_insensitive };
        levenshtein_ratio(Invocations(&input.invocations), Config(settings)).score.get()
    }

    #[test]
    fn every_edit_costs_its_share() {
        assert_eq!(judge("kitten", "sitting", false), 1.0 - 3.0 / 7.0);
        assert_eq!(judge("", "", false), 1.0);
        assert_eq!(judge("", "abc", false), 0.0);
    }

    #[test]
    fn case_counts_by_default() {
        assert_eq!(judge("ABc", "abc", false), 1.0 - 2.0 / 3.0);
        assert_eq!(judge("ABc", "abc", true), 1.0);
    }

    #[test]
    fn characters_are_code_points() {
        assert_eq!(judge("caf\u{e9}", "cafe\u{301}", false), 1.0 - 2.0 / 5.0);
        assert_eq!(judge("😀😀", "😀", false), 0.5);
    }

    #[test]
    fn the_distance_is_shown() {
        let input = testing::input("levenshtein_ratio").turn("?", "True").config("expected", true);

        let result = testing::run(&levenshtein_ratio::EVALUATOR, &input).unwrap();

        let rows = &result.details.unwrap()["per_invocation"];
        assert_eq!(*rows, json!([{"invocation_id": "", "distance": 0, "similarity": 1.0}]));
    }
}
