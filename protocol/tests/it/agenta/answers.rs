//! Answers to Agenta.

use super::*;

fn answer(document: &[u8], result: EvalResult) -> Result<Value, String> {
    let reply = Document::read(document).unwrap().reply();
    let answer = reply.answer(result).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(answer).unwrap())
}

#[test]
fn every_form_is_told_score_and_success() {
    for document in [CODE_V1, CODE, webhook(), remote()] {
        let result = EvalResult::new(Score::ratio(3, 4)).detail("why", "x");
        assert_eq!(answer(document, result), Ok(json!({"score": 0.75, "success": true})));
        assert_eq!(
            answer(document, EvalResult::not_evaluated("no tools")),
            Err("not evaluated: no tools".to_owned())
        );
    }
}

#[test]
fn the_threshold_of_the_document_decides() {
    let document = json!({"inputs": {}, "outputs": "a", "parameters": {"threshold": 0.8}});
    let result = EvalResult::new(Score::ratio(3, 4));
    assert_eq!(
        answer(document.to_string().as_bytes(), result),
        Ok(json!({"score": 0.75, "success": false}))
    );
}

#[test]
fn answers_of_others_are_left_alone() {
    let reply = read(webhook()).reply();
    let other = Answer::Agentevals(EvalResult::new(Score::ONE));
    assert_eq!(reply.settle(other.clone()), Ok(other));
}

#[test]
fn answers_are_json_and_as_long_as_agenta_reads() {
    let outputs: Outputs = EvaluateResult::new(Score::ratio(3, 4)).success(true).into();
    let reply = HttpReply::answer(&outputs);
    assert_eq!((reply.status, reply.content_type), (200, "application/json"));
    assert_eq!(reply.body, r#"{"score":0.75,"success":true}"#);
    let long = HttpReply::answer(&Outputs::Text("x".repeat(MAX_REPLY)));
    assert_eq!((long.status, long.content_type), (500, "text/plain; charset=utf-8"));
    assert!(long.body.starts_with("the answer has 1048578 bytes"), "{}", long.body);
    assert_eq!(HttpReply::error(ErrorStatus::Busy, " ").body, "too many requests");
}

proptest! {
    /// Agenta fails itself over an error whose body is a JSON object, and shows the text of every other.
    #[test]
    fn no_error_is_json(message in prop_oneof![".*", Just("{\"a\": 1}".to_owned()), Just("1".to_owned())]) {
        let reply = HttpReply::error(ErrorStatus::Failed, &message);
        prop_assert_eq!(reply.status, 500);
        prop_assert!(serde_json::from_str::<Value>(&reply.body).is_err(), "{}", reply.body);
        prop_assert!(reply.body.contains(message.trim()));
    }
}
