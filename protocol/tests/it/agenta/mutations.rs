//! Documents in which something is not as it should be.

use super::*;

/// Any JSON, with keys that mean something here and there.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (0.0..1.0_f64).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof![
            ".{0,4}",
            Just("correct_answer".to_owned()),
            Just("threshold".to_owned()),
            Just("correct_answer_key".to_owned())
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_values_under_agenta_s_names_are_read_or_refused(
        values in proptest::collection::vec(proptest::option::of(json_value()), 8)
    ) {
        let document: JsonObject = EvaluateInput::PARAMETERS
            .iter()
            .zip(values)
            .filter_map(|(key, value)| Some(((*key).to_owned(), value?)))
            .collect();
        let text = serde_json::to_vec(&document).unwrap();
        if let Ok(input) = EvaluateInput::from_json(&text) {
            let converted = input.to_eval_input("m");
            let is_sent = document.contains_key("output") || document.contains_key("outputs");
            prop_assert_eq!(converted.input.invocations.len(), usize::from(is_sent));
            prop_assert_eq!(converted.input.expected_invocations.is_some(), input.correct_answer().is_some());
            for path in converted.dropped {
                let key = path.split('.').next().unwrap();
                prop_assert!(document.get(key).is_some_and(|value| !value.is_null()), "{}", path);
            }
            for name in EvaluateInput::PARAMETERS {
                let _ = input.parameter(name);
            }
        }
    }
}
