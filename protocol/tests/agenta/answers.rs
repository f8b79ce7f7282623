//! What Agenta is told.

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
