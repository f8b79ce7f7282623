//! Documents in which something is not as it should be.

use super::*;

/// Every place in a document, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            found.push(at.clone());
            places(value, &at, found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            let at = format!("{at}/{index}");
            found.push(at.clone());
            places(value, &at, found);
        }),
        _ => {}
    }
}

#[test]
fn whatever_is_wrong_inside_it_is_read_or_refused_with_a_path() {
    let others = [
        json!(null),
        json!(1),
        json!(-1.5),
        json!("x"),
        json!(true),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"x": 1}),
    ];
    for text in [STATIC, IMAGE] {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for place in all {
            for other in &others {
                let mut mutated = document.clone();
                *mutated.pointer_mut(&place).unwrap() = other.clone();
                let mutated = mutated.to_string();
                assert_eq!(detect(mutated.as_bytes()), Ok(Contract::Adk), "{place}");
                match Document::read(mutated.as_bytes()) {
                    Ok(read) => {
                        let reply = read.reply();
                        read.to_eval_input("m").unwrap();
                        let answer = reply.answer(EvalResult::new(Score::ONE)).unwrap();
                        reply.check(&answer).unwrap();
                    }
                    Err(error) => {
                        let top = place.split('/').nth(1).unwrap();
                        assert!(error.to_string().starts_with(top), "{place}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_document_that_lost_keys_is_read_or_refused() {
    let document: Value = serde_json::from_str(STATIC).unwrap();
    let mut all = Vec::new();
    places(&document, "", &mut all);
    for place in all {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let mut mutated = document.clone();
        if let Some(Value::Object(map)) = mutated.pointer_mut(parent) {
            map.remove(key);
        }
        let read = Document::read(mutated.to_string().as_bytes());
        let needed = ["/eval_metric", "/actual_invocations", "/eval_metric/metric_name"];
        assert_eq!(read.is_err(), needed.contains(&place.as_str()), "{place}");
    }
}
