//! Which contract a document is of: told by its shape, for every document, in one way only.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, fs, path::Path, sync::LazyLock};

use evaluator_protocol::{Contract, Document, JsonObject, ReadError, detect};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

/// What a host has sent, with its contract and the name of its file.
type Sample = (Contract, String, Vec<u8>);

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(read_samples);

fn samples() -> Vec<Sample> {
    SAMPLES.clone()
}

fn read_samples() -> Vec<Sample> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut samples = Vec::new();
    for contract in Contract::ALL {
        let mut files: Vec<_> = fs::read_dir(data.join(contract.name())).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().file_name());
        for file in files {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            // Beside what evaluators are sent there is what they answer, and what becomes of documents.
            let is_document = match contract {
                Contract::AgentV => name.contains("stdin"),
                Contract::Adk => name.starts_with("envelope"),
                Contract::Agenta => name.contains("request") || name.contains("arguments"),
                _ => true,
            };
            if !is_document || name.contains("converted") {
                continue;
            }
            let text = fs::read_to_string(file.path()).unwrap();
            let body = text.split_once("\r\n\r\n").map_or(text.as_str(), |(_, body)| body);
            samples.push((contract, name, body.as_bytes().to_vec()));
        }
    }
    samples
}

fn object(document: &[u8]) -> JsonObject {
    serde_json::from_slice(document).unwrap()
}

/// The text of an object with its keys in this order, which a map does not keep.
fn text<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Vec<u8> {
    let entries: Vec<String> =
        entries.into_iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", entries.join(",")).into_bytes()
}

fn undetected(document: &[u8]) -> (Vec<Contract>, String) {
    match detect(document).unwrap_err() {
        ReadError::Undetected(error) => (error.candidates.clone(), error.to_string()),
        other => panic!("{other}"),
    }
}

/// The fast path, which reads documents of the default contract without telling them apart first, makes no difference.
#[track_caller]
fn assert_reads_as_detected(document: &[u8]) {
    let slowly = detect(document)
        .and_then(|contract| Document::read_as(contract, document).map_err(ReadError::Decode));
    assert_eq!(Document::read(document), slowly, "{}", String::from_utf8_lossy(document));
}

#[test]
fn every_sample_is_of_its_contract() {
    let samples = samples();
    for contract in Contract::ALL {
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
            "the document is of no known contract: it has neither `metric_name` (agentevals), nor `candidate_answer` or \
             `criteria` with an answer (agentv), nor `eval_metric` with `actual_invocations` (adk), nor `inputs` with \
             `output` or `outputs` (agenta)",
        ),
        (
            json!({"eval_metric": {}}),
            "the document is of no known contract: it lacks `actual_invocations` to be one of adk",
        ),
        (
            json!({"actual_invocations": []}),
            "the document is of no known contract: it lacks `eval_metric` to be one of adk",
        ),
        (
            json!({"inputs": {}}),
            "the document is of no known contract: it lacks `output` or `outputs` to be one of agenta",
        ),
        (
            json!({"output": ""}),
            "the document is of no known contract: it lacks `criteria` to be one of agentv, or `inputs` to be one of agenta",
        ),
        (
            json!({"question": "?"}),
            "the document is of no known contract: it lacks `candidate_answer` to be one of agentv",
        ),
        (
            json!({"expected_outcome": "e", "inputs": {}}),
            "the document is of no known contract: it lacks `candidate_answer` to be one of agentv, or `output` or \
             `outputs` to be one of agenta",
        ),
        (
            json!({"criteria": "c"}),
            "the document is of no known contract: it lacks an answer (`output`, `answer`, `output_text` or `output_path`) \
             to be one of agentv",
        ),
    ] {
        assert_eq!(undetected(document.to_string().as_bytes()), (vec![], message.to_owned()));
    }
}

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
    for contract in Contract::ALL {
        assert!(message.contains(contract.name()), "{message}");
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

#[test]
fn documents_without_a_key_are_what_they_were_or_refused() {
    for (contract, name, document) in samples() {
        let document = object(&document);
        for key in document.keys() {
            let mut without = document.clone();
            without.remove(key);
            let without = text(&without);
            assert_reads_as_detected(&without);
            match Document::read(&without) {
                Ok(read) => assert_eq!(read.contract(), contract, "{name} without {key}"),
                Err(error) => {
                    let error = error.to_string();
                    let helps = error.contains("missing field")
                        || error.contains("no known contract: it lacks");
                    assert!(helps, "{name} without {key}: {error}");
                }
            }
        }
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

/// Keys by which documents are told apart, and others.
const KEYS: [&str; 33] = [
    "metric_name",
    "invocations",
    "config",
    "threshold",
    "expected_invocations",
    "protocol_version",
    "candidate_answer",
    "candidateAnswer",
    "criteria",
    "question",
    "expected_outcome",
    "input_files",
    "results",
    "output",
    "answer",
    "output_text",
    "output_path",
    "messages",
    "eval_metric",
    "evalMetric",
    "actual_invocations",
    "actualInvocations",
    "conversation_scenario",
    "inputs",
    "outputs",
    "app_params",
    "appParams",
    "parameters",
    "correct_answer",
    "trace",
    "testcase",
    "metricName",
    "",
];

/// Values that fit some key, or none.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(vec![
            json!(null),
            json!("text"),
            json!(0.5),
            json!(7),
            json!(true),
            json!([]),
            json!({}),
            json!([{"final_response": "a"}]),
            json!({"metric_name": "m"}),
            json!("1.1"),
        ]),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ]
}

/// Documents as lists of entries; keys may repeat.
fn entries() -> impl Strategy<Value = Vec<(String, Value)>> {
    proptest::collection::vec((select(&KEYS[..]).prop_map(str::to_owned), value()), 0..8)
}

fn text_of(entries: &[(String, Value)]) -> Vec<u8> {
    text(entries.iter().map(|(key, value)| (key, value)))
}

/// A sample with its keys in any order, some of them gone, renamed, `null` or of another type, and some added.
fn mutated() -> impl Strategy<Value = (Contract, Vec<(String, Value)>)> {
    let sample = select(samples()).prop_flat_map(|(contract, _, document)| {
        let entries: Vec<(String, Value)> = object(&document).into_iter().collect();
        (Just(contract), Just(entries).prop_shuffle())
    });
    let change = (any::<prop::sample::Index>(), 0..5_u8, select(&KEYS[..]), value());
    (sample, proptest::collection::vec(change, 0..4)).prop_map(
        |((contract, mut entries), changes)| {
            for (at, change, key, value) in changes {
                if entries.is_empty() {
                    break;
                }
                let at = at.index(entries.len());
                match change {
                    0 => drop(entries.remove(at)),
                    1 => entries[at].0 = key.to_owned(),
                    2 => entries[at].1 = Value::Null,
                    3 => entries[at].1 = value,
                    _ => entries.push((key.to_owned(), value)),
                }
            }
            (contract, entries)
        },
    )
}

/// The keys of the samples of each contract.
static OWN_KEYS: LazyLock<BTreeSet<(Contract, String)>> = LazyLock::new(|| {
    let keys = SAMPLES.iter().map(|(of, _, sample)| (*of, object(sample)));
    keys.flat_map(|(of, sample)| sample.into_iter().map(move |(key, _)| (of, key))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_fast_path_agrees(entries in entries()) {
        assert_reads_as_detected(&text_of(&entries));
    }

    #[test]
    fn the_order_of_keys_and_their_values_do_not_matter(
        (entries, shuffled) in entries().prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle()))
    ) {
        let detected = detect(&text_of(&entries));
        prop_assert_eq!(&detected, &detect(&text_of(&shuffled)));
        let nulls: Vec<_> = shuffled.into_iter().map(|(key, _)| (key, Value::Null)).collect();
        prop_assert_eq!(&detected, &detect(&text_of(&nulls)));
        let mut more = entries;
        more.insert(0, ("unknown".to_owned(), json!({"metric_name": "m"})));
        match (detected, detect(&text_of(&more))) {
            // Of an object with nothing in it that is known, less can be said when something else is in it.
            (Ok(Contract::Agentevals), Err(_)) => prop_assert!(more.len() == 1 || more.iter().all(|(key, _)| !KEYS[..6].contains(&key.as_str()))),
            (before, after) => prop_assert_eq!(before, after),
        }
    }

    #[test]
    fn errors_name_the_candidates_or_what_is_missing(entries in entries()) {
        if let Err(ReadError::Undetected(error)) = detect(&text_of(&entries)) {
            let message = error.to_string();
            match error.candidates[..] {
                [] => prop_assert!(message.contains("no known contract")),
                [_] => prop_assert!(false, "one candidate is an answer"),
                _ => prop_assert!(error.candidates.iter().all(|candidate| message.contains(candidate.name())), "{}", message),
            }
        }
    }

    #[test]
    fn mutated_samples_are_read_as_detected((contract, entries) in mutated()) {
        let document = text_of(&entries);
        assert_reads_as_detected(&document);
        // Without keys that tell of another contract they are what they were, or refused.
        let foreign = |key: &String| KEYS.contains(&key.as_str()) && !OWN_KEYS.contains(&(contract, key.clone()));
        if !entries.iter().any(|(key, _)| foreign(key)) {
            if let Ok(read) = Document::read(&document) {
                prop_assert_eq!(read.contract(), contract);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        assert_reads_as_detected(&bytes);
    }

    #[test]
    fn cut_samples_are_refused((_, _, document) in select(samples()), at in any::<prop::sample::Index>()) {
        let end = document.trim_ascii_end().len();
        let cut = &document[..at.index(end)];
        prop_assert!(matches!(Document::read(cut), Err(ReadError::Decode(_))));
    }

    #[test]
    fn a_read_document_can_be_converted_or_says_where_not((_, entries) in mutated()) {
        if let Ok(read) = Document::read(&text_of(&entries)) {
            if let Err(error) = read.to_eval_input("m") {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
