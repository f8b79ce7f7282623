//! Documents that hosts send to evaluators.

#![no_main]

use evaluator_protocol::{
    Document, EvalResult, ReadError, Score, adk::MetricInput, agentv::CodeJudgeInput, detect,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    let read = Document::read(document);
    let slowly = detect(document)
        .and_then(|contract| Document::read_as(contract, document).map_err(ReadError::Decode));
    assert_eq!(read, slowly, "the fast path makes a difference");
    let Ok(document) = read else { return };
    reads_back(&document);
    let reply = document.reply();
    let is_foreign = !matches!(document, Document::Agentevals(_));
    let unjudged = document.unjudged();
    let Ok(converted) = document.to_eval_input("fuzz") else {
        assert_eq!(unjudged, None);
        return;
    };
    let turns = converted.input.invocations;
    assert_eq!(unjudged.is_some(), is_foreign && turns.is_empty());
    let answered = turns.iter().map(|turn| Score::from(turn.final_response.is_some()));
    if let Ok(answer) = reply.answer(EvalResult::mean_of(answered)) {
        assert!(answer.to_line().is_ok(), "{answer:?}");
        assert_eq!(reply.check(&answer), Ok(()));
        assert_eq!(reply.settle(answer.clone()), Ok(answer));
    }
});

/// Checks that a document that is read, written and read again is the same.
fn reads_back(document: &Document) {
    match document {
        Document::AgentV(input) => {
            let written = serde_json::to_vec(input).expect("it was JSON");
            assert_eq!(CodeJudgeInput::from_json(&written).as_ref(), Ok(&**input));
        }
        Document::Adk(input) => {
            let written = serde_json::to_vec(input).expect("it was JSON");
            assert_eq!(MetricInput::from_json(&written).as_ref(), Ok(&**input));
        }
        _ => {}
    }
}
