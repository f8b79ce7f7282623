//! Does the app answer, and say where it knows from? Several metrics in one answer, as interface v3 of Agenta's custom code
//! has them.

use std::process::ExitCode;

use evaluator_sdk::{JsonObject, Score, agenta::EvaluateResult, evaluator};

/// What the app puts out; other keys do not matter.
#[derive(Clone, serde::Deserialize)]
struct Output {
    answer: String,
    #[serde(default)]
    sources: Vec<String>,
}

/// What the test set has for the app.
#[derive(Clone, serde::Deserialize)]
struct Inputs {
    /// Words that a good answer contains.
    #[serde(default)]
    keywords: Vec<String>,
}

/// Scores how many keywords are in the answer. A success also needs a source for it.
#[evaluator(contract = agenta)]
fn cited_answer(
    inputs: &Inputs,
    outputs: &Output,
    trace: Option<JsonObject>,
) -> Result<EvaluateResult, String> {
    if inputs.keywords.is_empty() {
        return Err("the test case has no `keywords`".to_owned());
    }
    let answer = outputs.answer.to_lowercase();
    let missing: Vec<&str> = inputs
        .keywords
        .iter()
        .filter(|keyword| !answer.contains(&keyword.to_lowercase()))
        .map(String::as_str)
        .collect();
    let found = inputs.keywords.len() - missing.len();
    Ok(EvaluateResult::new(Score::ratio(found, inputs.keywords.len()))
        .success(missing.is_empty() && !outputs.sources.is_empty())
        .metric("sources", outputs.sources.len())
        .metric("missing", missing)
        .metric("traced", trace.is_some()))
}

fn main() -> ExitCode {
    cited_answer::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;
    use serde_json::json;

    use super::*;

    fn judge(answer: &str, sources: &[&str], keywords: &[&str]) -> Result<EvaluateResult, String> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let output = Output { answer: answer.to_owned(), sources: owned(sources) };
        cited_answer(&Inputs { keywords: owned(keywords) }, &output, None)
    }

    #[test]
    fn keywords_are_counted() {
        let result =
            judge("Paris, on the Seine.", &["atlas"], &["paris", "Seine", "1789"]).unwrap();
        assert_eq!((result.score, result.success), (Some(Score::ratio(2, 3)), Some(false)));
        assert_eq!(result.metrics["missing"], json!(["1789"]));
    }

    #[test]
    fn an_answer_without_a_source_is_no_success() {
        assert_eq!(judge("Paris", &["atlas"], &["Paris"]).unwrap().success, Some(true));
        assert_eq!(judge("Paris", &[], &["Paris"]).unwrap().success, Some(false));
    }

    #[test]
    fn a_test_case_without_keywords_cannot_be_judged() {
        assert_eq!(judge("Paris", &[], &[]), Err("the test case has no `keywords`".to_owned()));
    }

    #[test]
    fn a_webhook_gets_the_output_as_text_of_json() {
        let output = r#"{"answer": "Paris", "sources": ["atlas"]}"#;
        let document = json!({"inputs": {"keywords": ["Paris"]}, "output": output}).to_string();
        let answer = testing::answer_json(&cited_answer::EVALUATOR, document);
        let expected =
            json!({"score": 1.0, "success": true, "sources": 1, "missing": [], "traced": false});
        assert_eq!(answer, Ok(expected));
    }

    #[test]
    fn an_output_of_another_shape_is_an_error() {
        let document = json!({"inputs": {"keywords": ["Paris"]}, "outputs": {"text": "Paris"}});
        let failure = testing::answer_json(&cited_answer::EVALUATOR, document.to_string());
        assert_eq!(failure.unwrap_err().to_string(), "outputs: missing field `answer`");
    }
}
