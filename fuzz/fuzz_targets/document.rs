//! What hosts send to evaluators.

#![no_main]

use evaluator_protocol::{Document, ReadError, detect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    let read = Document::read(document);
    let slowly = detect(document)
        .and_then(|contract| Document::read_as(contract, document).map_err(ReadError::Decode));
    assert_eq!(read, slowly, "the fast path makes a difference");
    if let Ok(document) = read {
        let reply = document.reply();
        if let Ok(converted) = document.to_eval_input("fuzz") {
            let result = evaluator_protocol::EvalResult::mean_of(
                converted.input.invocations.iter().map(|turn| turn.final_response.is_some().into()),
            );
            if let Ok(answer) = reply.answer(result) {
                assert!(answer.to_line().is_ok(), "{answer:?}");
            }
        }
    }
});
