//! Documents as hosts and people write them, and what is missing from others.

use super::*;

#[test]
fn every_sample_is_of_its_contract() {
    let samples = samples();
    for &contract in Contract::ALL {
        assert!(samples.iter().filter(|(of, ..)| *of == contract).count() >= 3, "{contract}");
    }
    for (contract, name, document) in samples {
        assert_eq!(detect(&document), Ok(contract), "{name}");
        let read = Document::read(&document).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read.contract(), contract, "{name}");
        assert_reads_as_detected(&document);
        let converted = read.to_eval_input("m").unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!converted.input.metric_name.is_empty(), "{name}");
    }
}

/// The hosts that write snake_case have commands, or clients, that write camelCase; agentevals has none.
#[test]
fn every_sample_is_of_its_contract_in_camel_case() {
    let camel = |key: String| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |name, word| {
            let (letter, rest) = word.split_at(word.len().min(1));
            name + &letter.to_ascii_uppercase() + rest
        })
    };
    for (contract, name, document) in samples() {
        if contract != Contract::Agentevals {
            let document: JsonObject =
                object(&document).into_iter().map(|(key, value)| (camel(key), value)).collect();
            assert_eq!(detect(&text(&document)), Ok(contract), "{name}");
        }
    }
}

#[test]
fn shapes_of_the_documentation_are_told() {
    use Contract::{Adk, AgentV, Agenta, Agentevals};
    for (document, contract) in [
        (json!({"metric_name": "m"}), Agentevals),
        (json!({"metric_name": null}), Agentevals),
        (json!({"metric_name": "m", "criteria": "c"}), Agentevals),
        (json!({"candidate_answer": "a", "question": "q", "expected_outcome": "e"}), AgentV),
        (json!({"candidateAnswer": "a"}), AgentV),
        (json!({"criteria": "", "output": null}), AgentV),
        (json!({"criteria": "", "answer": "a"}), AgentV),
        (json!({"criteria": "", "outputText": "a"}), AgentV),
        (json!({"criteria": "", "output_path": "/a"}), AgentV),
        // Parts, as they are written by hand.
        (json!({"question": "q", "answer": "a"}), AgentV),
        (json!({"expected_outcome": "e"}), AgentV),
        (json!({"traceSummary": null, "config": {}}), AgentV),
        (json!({"results": {}}), AgentV),
        (json!({"results": {"a": {"score": 1}}}), AgentV),
        (json!({"eval_metric": {}, "actual_invocations": []}), Adk),
        (json!({"evalMetric": {}, "actualInvocations": null}), Adk),
        (json!({"inputs": {}, "output": "a"}), Agenta),
        (json!({"inputs": {}, "outputs": {}, "trace": null}), Agenta),
        (json!({"inputs": {}, "parameters": {}}), Agenta),
        (json!({"app_params": {}, "correct_answer": 1, "output": "a"}), Agenta),
        (json!({"inputs": {}, "output": "a", "correct_answer": 1}), Agenta),
        // What is missing from one of the default contract, its own error says.
        (json!({}), Agentevals),
        (json!({"invocations": []}), Agentevals),
        (json!({"config": {}, "threshold": 1}), Agentevals),
    ] {
        let text = document.to_string();
        assert_eq!(detect(text.as_bytes()), Ok(contract), "{text}");
        assert_reads_as_detected(text.as_bytes());
    }
}

#[test]
fn what_is_missing_is_said() {
    for (document, message) in [
        (
            json!({"a": 1}),
            "the document matches no known contract: it has neither `metric_name` (agentevals), nor `candidate_answer` or \
             `criteria` with an answer (agentv), nor `eval_metric` with `actual_invocations` (adk), nor `inputs` with \
             `output` or `outputs` (agenta)",
        ),
        (
            json!({"eval_metric": {}}),
            "the document matches no known contract: for adk it lacks `actual_invocations`",
        ),
        (
            json!({"actual_invocations": []}),
            "the document matches no known contract: for adk it lacks `eval_metric`",
        ),
        (
            json!({"inputs": {}}),
            "the document matches no known contract: for agenta it lacks `output` or `outputs`",
        ),
        (
            json!({"output": ""}),
            "the document matches no known contract: for agentv it lacks `criteria`, or for agenta it lacks `inputs`",
        ),
        (
            json!({"question": "?"}),
            "the document matches no known contract: for agentv it lacks `candidate_answer`",
        ),
        (
            json!({"expected_outcome": "e", "inputs": {}}),
            "the document matches no known contract: for agentv it lacks `candidate_answer`, or for agenta it lacks `output` or \
             `outputs`",
        ),
        (
            json!({"criteria": "c"}),
            "the document matches no known contract: for agentv it lacks an answer (`output`, `answer`, `output_text` \
             or `output_path`)",
        ),
    ] {
        assert_eq!(undetected(document.to_string().as_bytes()), (vec![], message.to_owned()));
    }
}

#[test]
fn what_is_no_document_is_an_error() {
    for text in [
        "",
        " ",
        "null",
        "[]",
        "[{}]",
        "\"metric_name\"",
        "{",
        "{\"inputs\"",
        "{\"a\": 1} {}",
        "\u{feff}{}",
    ] {
        assert!(matches!(detect(text.as_bytes()), Err(ReadError::Decode(_))), "{text:?}");
        assert_reads_as_detected(text.as_bytes());
    }
    let not_utf8 = b"{\"metric_name\": \"\xff\"}";
    assert!(matches!(Document::read(not_utf8), Err(ReadError::Decode(_))));
    // Keys that are given twice count once.
    assert_eq!(detect(br#"{"inputs": 1, "inputs": 2, "output": 3}"#), Ok(Contract::Agenta));
}
