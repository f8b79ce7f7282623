//! Agenta as a host: what it records of replies and returned values, held to what it has recorded.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use evaluator_protocol::{
    Score,
    agenta::{
        EvaluateResult, Outputs,
        http::{ErrorStatus, HttpReply, MAX_REPLY},
        record::{self, Recorded, Refused},
    },
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn list(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

/// Numbers compare as numbers: what is recorded as 1 may be written as 1.0.
#[track_caller]
fn assert_recorded(found: Result<Recorded, Refused>, case: &Value) {
    let expected = &case["result"];
    match found {
        Ok(Recorded::Scored { score, success }) if case.get("result_repr").is_some() => {
            assert!(score.is_nan() && !success, "{case}");
        }
        Ok(Recorded::Scored { score, success }) => {
            assert_eq!(expected["score"].as_f64(), Some(score), "{case}");
            assert_eq!(expected["success"], success, "{case}");
        }
        Ok(Recorded::Value(value)) => assert_eq!(&value, expected, "{case}"),
        Err(refused) => {
            assert_eq!(case["error"]["code"], refused.code, "{case}");
            assert_eq!(case["error"]["type"], refused.kind, "{case}");
        }
        other => panic!("{other:?}: {case}"),
    }
}

#[test]
fn replies_of_webhooks_become_what_agenta_has_recorded() {
    let cases = list(include_str!("data/agenta/webhook-replies.json"));
    assert_eq!(cases.len(), 29);
    for case in cases {
        let status = u16::try_from(case["status"].as_u64().unwrap()).unwrap();
        let body = case["body"].as_str().unwrap().as_bytes();
        assert_recorded(record::webhook(status, body, case["parameters"].get("threshold")), &case);
    }
}

#[test]
fn what_is_not_finite_is_taken_for_a_score() {
    let scored = |body: &str| record::webhook(200, body.as_bytes(), None).unwrap();
    assert_eq!(scored("Infinity"), Recorded::Scored { score: f64::INFINITY, success: true });
    assert_eq!(scored("-Infinity"), Recorded::Scored { score: f64::NEG_INFINITY, success: false });
    assert_eq!(scored("1e400"), Recorded::Scored { score: f64::INFINITY, success: true });
    assert!(matches!(scored("NaN"), Recorded::Scored { score, success: false } if score.is_nan()));
    let object = json!({"score": null, "why": "NaN \" Infinity", "success": true});
    let body = r#"{"score": NaN, "why": "NaN \" Infinity", "success": true}"#;
    assert_eq!(scored(body), Recorded::Value(object));
}

#[test]
fn long_replies_are_refused() {
    let long = format!("\"{}\"", "x".repeat(MAX_REPLY - 1));
    assert_eq!(record::webhook(200, long.as_bytes(), None).unwrap_err().code, 500);
    assert_eq!(record::remote(200, long.as_bytes()).unwrap_err().code, 500);
    assert!(record::webhook(200, &long.as_bytes()[..MAX_REPLY], None).is_err(), "cut short");
}

#[test]
fn workflows_fail_where_an_error_is_a_json_object() {
    for case in list(include_str!("data/agenta/workflow-results.json")) {
        let status = u16::try_from(case["reply"]["status"].as_u64().unwrap()).unwrap();
        let body = case["reply"]["body"].as_str().unwrap().as_bytes();
        let recorded = if case["remote"] == true {
            record::remote(status, body)
        } else {
            record::webhook(status, body, None)
        };
        let workflow = &case["workflow"];
        match recorded {
            Ok(Recorded::Value(value)) => assert_eq!(value, workflow["data"]["outputs"], "{case}"),
            Ok(Recorded::Scored { score, success }) => {
                let outputs = json!({"score": score, "success": success});
                assert_eq!(outputs, workflow["data"]["outputs"], "{case}");
            }
            Ok(Recorded::Nothing) => assert_eq!(workflow["data"], json!({}), "{case}"),
            Err(refused) => {
                assert_eq!(refused.raises, workflow.get("raised").is_some(), "{case}");
                if !refused.raises {
                    assert_eq!(workflow["status"]["code"], refused.code, "{case}");
                    assert_eq!(workflow["status"]["message"], refused.message, "{case}");
                    let kind = workflow["status"]["type"].as_str().unwrap();
                    assert!(kind.ends_with(refused.kind), "{case}");
                }
            }
            other => panic!("{other:?}: {case}"),
        }
    }
}

/// The value that a Python expression of the samples stands for, where JSON has one.
fn value_of(expression: &str) -> Option<Value> {
    let json = match expression {
        "True" => "true".to_owned(),
        "None" => "null".to_owned(),
        "-1" => expression.to_owned(),
        "(1, 2)" => "[1, 2]".to_owned(),
        other => other.replace('\'', "\"").replace("True", "true"),
    };
    serde_json::from_str(&json).ok()
}

#[test]
fn returned_values_become_what_agenta_has_recorded() {
    let mut checked = 0;
    for case in list(include_str!("data/agenta/code-results.json")) {
        let (Some(version), Some(value)) =
            (case["version"].as_str(), value_of(case["return"].as_str().unwrap()))
        else {
            continue;
        };
        let about_arguments =
            version == "9" || case.get("inputs").is_some() || case.get("outputs").is_some();
        if about_arguments || case.get("handler").is_some() {
            continue;
        }
        let version = version.parse().unwrap();
        assert_recorded(record::code(version, &value, case.get("threshold")), &case);
        checked += 1;
    }
    assert!(checked >= 32, "{checked}");
}

#[test]
fn the_handler_for_any_code_takes_any_threshold() {
    let threshold = |value: Value| record::custom_code_threshold(Some(&value));
    assert_eq!(threshold(json!(1)), Some(1.0));
    assert_eq!(threshold(json!(" 1_0.5 ")), Some(10.5));
    assert_eq!(threshold(json!("_1")), None);
    assert_eq!(threshold(json!(0)), Some(0.5));
    assert_eq!(record::custom_code_threshold(None), Some(0.5));
}

#[test]
fn answers_and_errors_are_recorded_as_such() {
    let outputs: Outputs = EvaluateResult::new(Score::ratio(3, 4)).success(true).into();
    let reply = HttpReply::answer(&outputs);
    assert_eq!((reply.status, reply.content_type), (200, "application/json"));
    let recorded = Ok(Recorded::Value(json!({"score": 0.75, "success": true})));
    assert_eq!(record::webhook(reply.status, reply.body.as_bytes(), None), recorded);
    let long = HttpReply::answer(&Outputs::Text("x".repeat(MAX_REPLY)));
    assert_eq!((long.status, long.content_type), (500, "text/plain; charset=utf-8"));
    assert!(long.body.starts_with("the answer has 1048578 bytes"), "{}", long.body);
    assert_eq!(HttpReply::error(ErrorStatus::Busy, " ").body, "too many requests");
}

proptest! {
    #[test]
    fn no_error_makes_agenta_fail_or_pass(message in prop_oneof![".*", Just("{\"a\": 1}".to_owned()), Just("1".to_owned())]) {
        for status in [ErrorStatus::BadRequest, ErrorStatus::NotEvaluated, ErrorStatus::Failed] {
            let reply = HttpReply::error(status, &message);
            for recorded in [record::webhook(reply.status, reply.body.as_bytes(), None), record::remote(reply.status, reply.body.as_bytes())] {
                let refused = recorded.unwrap_err();
                prop_assert!(!refused.raises);
                prop_assert_eq!(refused.code, status.code());
                prop_assert_eq!(refused.message, reply.body.clone());
            }
        }
    }

    #[test]
    fn no_reply_makes_the_model_panic(status in prop_oneof![Just(200_u16), 100..600_u16], body in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = record::webhook(status, &body, None);
        let _ = record::remote(status, &body);
    }
}
