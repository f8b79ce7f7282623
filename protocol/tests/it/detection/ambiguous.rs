//! Documents of several contracts, and documents inside others.

use super::*;

#[test]
fn an_ambiguous_document_names_its_candidates() {
    use Contract::{Adk, AgentV, Agenta, Agentevals};
    let document = json!({"metric_name": "m", "inputs": {}, "output": "a"}).to_string();
    let expected = "the document may be of several contracts: agentevals, agenta; choose with --contract (it has \
                    `metric_name`, and `inputs` with `output`)";
    assert_eq!(undetected(document.as_bytes()), (vec![Agentevals, Agenta], expected.to_owned()));
    let document = json!({
        "metric_name": "m", "candidate_answer": "a", "eval_metric": {}, "actual_invocations": [], "inputs": {},
        "parameters": {},
    });
    let (candidates, message) = undetected(document.to_string().as_bytes());
    assert_eq!(candidates, [Agentevals, AgentV, Adk, Agenta]);
    assert_reads_as_detected(document.to_string().as_bytes());
    for &contract in Contract::ALL {
        assert!(message.contains(contract.name()), "{message}");
    }
    // What is forced is read.
    for contract in [Agentevals, Agenta] {
        let forced = json!({"metric_name": "m", "inputs": {}, "output": "a"}).to_string();
        let read = Document::read_as(contract, forced.as_bytes()).unwrap();
        assert_eq!(read.contract(), contract);
    }
    // Whatever two samples are put into one, both are named.
    let samples = samples();
    for (first, first_name, one) in &samples {
        for (second, second_name, other) in samples.iter().filter(|(of, ..)| of != first) {
            let mut both = object(one);
            both.extend(object(other));
            let (candidates, _) = undetected(&text(&both));
            assert!(
                candidates.contains(first) && candidates.contains(second),
                "{first_name} and {second_name}: {candidates:?}"
            );
        }
    }
}

#[test]
fn a_document_inside_another_one_says_nothing() {
    let samples = samples();
    for (contract, name, document) in &samples {
        for (_, inner_name, inner) in &samples {
            for key in ["config", "metadata", "unknown"] {
                let mut outer = object(document);
                outer.insert(key.to_owned(), Value::Object(object(inner)));
                assert_eq!(detect(&text(&outer)), Ok(*contract), "{inner_name} in {name}");
            }
        }
    }
}

/// Keys that several contracts have do not make a document one of the wrong contract.
#[test]
fn parts_of_one_contract_are_not_claimed_by_another() {
    use Contract::{Adk, Agenta, Agentevals};
    for (document, contract) in [
        (json!({"eval_metric": {}, "actual_invocations": [], "results": {}}), Adk),
        (json!({"inputs": {}, "output": "a", "question": "q"}), Agenta),
        (json!({"metric_name": "m", "expected_outcome": "o"}), Agentevals),
        (json!({"invocations": [], "expected_outcome": "o"}), Agentevals),
    ] {
        assert_eq!(detect(document.to_string().as_bytes()), Ok(contract), "{document}");
    }
    for document in [
        json!({"results": {}, "inputs": {}}),
        json!({"inputs": {}, "expected_output": "a"}),
        json!({"app_params": {}, "input_files": []}),
        json!({"question": "q"}),
        json!({"output": "a"}),
    ] {
        let (candidates, message) = undetected(document.to_string().as_bytes());
        assert_eq!(candidates, [], "{document}");
        assert!(message.contains("matches no known contract"), "{message}");
    }
}
