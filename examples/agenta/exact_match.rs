//! Did the app say exactly what was expected? The evaluator of Agenta's guide, with the arguments it has there.

use std::{collections::BTreeMap, process::ExitCode};

use evaluator_sdk::evaluator;
use serde_json::Value;

/// Compares the output with the correct answer, character by character. Works as custom code, webhook and remote workflow.
#[evaluator(contract = agenta)]
fn exact_match(
    _app_params: BTreeMap<String, Value>,
    _inputs: BTreeMap<String, Value>,
    output: &str,
    correct_answer: &str,
) -> f64 {
    if output == correct_answer { 1.0 } else { 0.0 }
}

fn main() -> ExitCode {
    exact_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;
    use serde_json::json;

    use super::*;

    fn judge(output: &str, correct_answer: &str) -> f64 {
        exact_match(BTreeMap::new(), BTreeMap::new(), output, correct_answer)
    }

    #[test]
    fn only_the_same_text_is_a_match() {
        assert_eq!(judge("Paris", "Paris"), 1.0);
        assert_eq!(judge("paris", "Paris"), 0.0);
        assert_eq!(judge("Paris ", "Paris"), 0.0);
        assert_eq!(judge("", ""), 1.0);
    }

    #[test]
    fn every_way_in_which_agenta_calls_it_gives_the_same_answer() {
        let inputs = json!({"country": "France", "correct_answer": "Paris"});
        for document in [
            json!({"app_params": {}, "inputs": inputs, "output": "Paris", "correct_answer": "Paris"}),
            json!({"inputs": inputs, "outputs": "Paris", "trace": null}),
            json!({"inputs": inputs, "output": "Paris"}),
            json!({"inputs": inputs, "parameters": {}, "outputs": "Paris"}),
        ] {
            let answer = testing::answer_json(&exact_match::EVALUATOR, document.to_string());
            assert_eq!(answer, Ok(json!({"score": 1.0, "success": true})), "{document}");
        }
    }

    #[test]
    fn without_a_correct_answer_there_is_no_score() {
        let document = json!({"inputs": {"country": "France"}, "output": "Paris"}).to_string();
        let failure = testing::answer_json(&exact_match::EVALUATOR, document).unwrap_err();
        assert_eq!(
            failure.to_string(),
            "correct_answer: the document has none (an evaluator that can do without it takes an `Option`)"
        );
    }
}
