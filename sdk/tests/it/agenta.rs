//! Evaluators in Agenta's terms: arguments by name, of any type that fits, and every result that Agenta knows.

#![expect(clippy::needless_pass_by_value, reason = "evaluators take what they like")]

use std::collections::{BTreeMap, HashMap};

use evaluator_sdk::{
    Evaluator, JsonObject, Score,
    agenta::{EvaluateResult, Outputs},
    evaluator, testing,
};
use serde_json::{Value, json};

fn answer(evaluator: &Evaluator, document: &Value) -> Result<Value, String> {
    testing::answer_json(evaluator, document.to_string()).map_err(|failure| failure.to_string())
}

/// The same in each form.
fn documents(output: &Value, correct_answer: &Value) -> [Value; 4] {
    let inputs = json!({"country": "France", "correct_answer": correct_answer});
    let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
    [
        json!({"app_params": {}, "inputs": inputs, "output": output, "correct_answer": correct_answer}),
        json!({"inputs": inputs, "outputs": output, "trace": null}),
        json!({"inputs": inputs, "output": text}),
        json!({"inputs": inputs, "parameters": {}, "outputs": output}),
    ]
}

mod arguments {
    use super::*;

    #[evaluator(contract = agenta)]
    fn of_the_guide(
        app_params: BTreeMap<String, String>,
        inputs: HashMap<String, String>,
        output: String,
        correct_answer: &str,
    ) -> bool {
        app_params.is_empty() && inputs["country"] == "France" && output == correct_answer
    }

    #[evaluator(contract = agenta)]
    fn of_later_interfaces(inputs: JsonObject, outputs: &str, trace: Option<JsonObject>) -> bool {
        inputs["correct_answer"] == outputs && trace.is_none()
    }

    #[test]
    fn both_signatures_serve_every_form() {
        for document in documents(&json!("Paris"), &json!("Paris")) {
            let expected = Ok(json!({"score": 1.0, "success": true}));
            assert_eq!(answer(&of_the_guide::EVALUATOR, &document), expected, "{document}");
            assert_eq!(answer(&of_later_interfaces::EVALUATOR, &document), expected, "{document}");
        }
    }

    #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
    struct Place {
        city: String,
        people: u64,
    }

    #[evaluator(contract = agenta)]
    fn of_own_types(output: Place, correct_answer: &Place) -> Score {
        Score::from(output == *correct_answer)
    }

    #[test]
    fn an_output_that_is_no_text_is_read_from_a_webhook_s_text() {
        let place = json!({"city": "Paris", "people": 2_000_000});
        for document in documents(&place, &place) {
            let expected = Ok(json!({"score": 1.0, "success": true}));
            assert_eq!(answer(&of_own_types::EVALUATOR, &document), expected, "{document}");
        }
        let wrong = json!({"city": "Paris", "people": "many"});
        for document in documents(&wrong, &place) {
            let error = answer(&of_own_types::EVALUATOR, &document).unwrap_err();
            let expected = "output.people: invalid type: string \"many\", expected u64";
            assert_eq!(error, expected, "{document}");
        }
        // Text is text elsewhere, even if it is JSON.
        let document = json!({"inputs": {"correct_answer": place}, "outputs": place.to_string()});
        let error = answer(&of_own_types::EVALUATOR, &document).unwrap_err();
        assert!(error.starts_with("output: invalid type: string"), "{error}");
    }

    #[evaluator(contract = agenta)]
    fn of_values(output: Value, correct_answer: Value) -> bool {
        output == correct_answer
    }

    #[test]
    fn a_value_is_what_the_document_has_and_never_made_up() {
        let document = json!({"inputs": {"correct_answer": null}, "outputs": null});
        assert_eq!(answer(&of_values::EVALUATOR, &document).unwrap()["score"], 1.0);
        let document = json!({"inputs": {}, "outputs": 1});
        let error = answer(&of_values::EVALUATOR, &document).unwrap_err();
        assert_eq!(
            error,
            "correct_answer: the document has none (an evaluator that can do without it takes an `Option`)"
        );
        let document = json!({"inputs": {"correct_answer": 1}, "parameters": {}});
        let error = answer(&of_values::EVALUATOR, &document).unwrap_err();
        assert_eq!(
            error,
            "output: the document has none (an evaluator that can do without it takes an `Option`)"
        );
    }

    #[test]
    fn a_wrong_type_is_told_by_its_place() {
        let document =
            json!({"app_params": {}, "inputs": {"n": 1}, "output": "a", "correct_answer": 7});
        assert_eq!(
            answer(&of_the_guide::EVALUATOR, &document).unwrap_err(),
            "inputs.n: invalid type: integer `1`, expected a string"
        );
        let document = json!({"app_params": {}, "inputs": {}, "output": "a", "correct_answer": 7});
        assert_eq!(
            answer(&of_the_guide::EVALUATOR, &document).unwrap_err(),
            "correct_answer: invalid type: integer `7`, expected a string"
        );
    }

    #[derive(serde::Deserialize)]
    struct Settings {
        #[serde(default)]
        min_length: usize,
    }

    #[evaluator(contract = agenta)]
    fn of_parameters(
        parameters: Settings,
        app_params: Option<JsonObject>,
        testcase: Option<Value>,
    ) -> JsonObject {
        let answered = json!({
            "min_length": parameters.min_length, "app_params": app_params.is_some(),
            "testcase": testcase.is_some(),
        });
        answered.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn parameters_are_empty_where_there_are_none() {
        let answered = |document: Value| answer(&of_parameters::EVALUATOR, &document).unwrap();
        assert_eq!(
            answered(json!({"inputs": {}, "output": ""})),
            json!({"min_length": 0, "app_params": false, "testcase": false})
        );
        assert_eq!(
            answered(json!({"inputs": {}, "parameters": {"min_length": 3}, "testcase": {"id": 1}})),
            json!({"min_length": 3, "app_params": false, "testcase": true})
        );
        let wrong = json!({"inputs": {}, "parameters": {"min_length": "x"}});
        assert_eq!(
            answer(&of_parameters::EVALUATOR, &wrong).unwrap_err(),
            "parameters.min_length: invalid type: string \"x\", expected usize"
        );
    }

    #[test]
    fn the_correct_answer_is_where_the_parameters_say() {
        let document = json!({
            "inputs": {"country": "France", "capital": "Paris"}, "outputs": "Paris",
            "parameters": {"correct_answer_key": "capital"},
        });
        assert_eq!(answer(&of_the_guide::EVALUATOR, &document).unwrap()["score"], 1.0);
    }
}

mod results {
    use super::*;

    #[evaluator(contract = agenta)]
    fn returned(output: Value) -> Value {
        output
    }

    #[evaluator(contract = agenta)]
    fn typed(output: f64) -> Result<EvaluateResult, String> {
        let score = Score::new(output).map_err(|error| error.to_string())?;
        Ok(EvaluateResult::new(score).success(false).metric("words", 3))
    }

    #[evaluator(contract = agenta)]
    fn text(output: String) -> Outputs {
        Outputs::Text(output)
    }

    #[evaluator(contract = agenta)]
    fn number(output: f64) -> f64 {
        output
    }

    fn code(output: Value) -> Value {
        json!({"inputs": {}, "outputs": output})
    }

    #[test]
    fn any_value_that_says_something_is_one() {
        let answered = |output: Value| answer(&returned::EVALUATOR, &code(output));
        assert_eq!(answered(json!(0.25)), Ok(json!({"score": 0.25, "success": false})));
        assert_eq!(answered(json!(true)), Ok(json!({"success": true})));
        assert_eq!(answered(json!("good")), Ok(json!("good")));
        assert_eq!(answered(json!([1, "x"])), Ok(json!([1, "x"])));
        let metrics = json!({"a": 1, "b": {"score": 0.5}});
        assert_eq!(answered(metrics.clone()), Ok(metrics));
        assert_eq!(
            answered(json!({"score": 0.7, "why": "r"})),
            Ok(json!({"score": 0.7, "success": true, "why": "r"}))
        );
        for nothing in [json!(null), json!({}), json!({"score": 2}), json!({"success": "yes"})] {
            let document = code(nothing).to_string();
            let failure = testing::answer_json(&returned::EVALUATOR, document).unwrap_err();
            assert_eq!(failure.kind(), "answer", "{failure}");
        }
    }

    #[test]
    fn a_form_that_needs_a_score_gets_one_or_an_error() {
        let v1 = |output: Value| {
            let document =
                json!({"app_params": {}, "inputs": {}, "output": output, "correct_answer": ""});
            answer(&returned::EVALUATOR, &document)
        };
        assert_eq!(v1(json!(false)), Ok(json!({"score": 0.0, "success": false})));
        assert_eq!(
            v1(json!("good")).unwrap_err(),
            "Agenta does not accept a text as an answer (custom code v1): return a score"
        );
        let webhook = json!({"inputs": {}, "output": "good"});
        assert_eq!(answer(&text::EVALUATOR, &webhook), Ok(json!("good")));
    }

    #[test]
    fn types_say_the_same() {
        let answered = |output: f64| answer(&typed::EVALUATOR, &code(json!(output)));
        assert_eq!(answered(0.75), Ok(json!({"score": 0.75, "success": false, "words": 3})));
        assert!(answered(1.5).unwrap_err().starts_with("1.5 is not a score"));
    }

    #[test]
    fn numbers_that_are_no_scores_are_errors() {
        assert_eq!(
            answer(&number::EVALUATOR, &code(json!(0.5))),
            Ok(json!({"score": 0.5, "success": true}))
        );
        let error = answer(&number::EVALUATOR, &code(json!(2))).unwrap_err();
        assert!(error.starts_with("2 is not a score"), "{error}");
    }
}
