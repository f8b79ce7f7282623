//! Documents that lost keys, and ones made of any keys.

use super::*;

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
                // Of these there is always enough left.
                Err(error)
                    if matches!(contract, Contract::AgentV | Contract::Agentevals)
                        && key != "metric_name" =>
                {
                    panic!("{name} without {key}: {error}")
                }
                Err(error) => {
                    let error = error.to_string();
                    let helps = error.contains("missing field")
                        || error.contains("no known contract: for ");
                    assert!(helps, "{name} without {key}: {error}");
                }
            }
        }
    }
}

/// Keys that distinguish documents, and others.
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
