//! Tests of the suites of all hosts.

use std::{collections::BTreeSet, num::NonZeroUsize};

use futures_util::FutureExt as _;
use proptest::prelude::*;
use serde_json::json;

use super::{
    case::PLAIN,
    registry::{cases, faults, suites},
    testing::ended,
    *,
};
use crate::{
    json::{Object, Value, parse_python},
    process::Ending,
};

fn documents() -> Vec<Case> {
    suites().flat_map(|suite| (suite.documents)()).collect()
}

/// Returns the name of the host that sends a case.
fn host_of(case: &Case) -> &'static str {
    Release::named(case.releases[0]).unwrap()[0].host
}

#[test]
fn a_host_names_all_its_releases() {
    let named = |name: &str| -> Vec<_> {
        Release::named(name).unwrap().iter().map(|release| release.name).collect()
    };
    assert_eq!(named("agentv"), ["agentv-2.5.1", "agentv-4.42.4", "agentv-5"]);
    assert_eq!(named("agentv-5"), ["agentv-5"]);
    let error = Release::named("agentw").unwrap_err().to_string();
    assert!(error.contains("`agentw`") && error.contains("agenta-webhook"), "{error}");
    for release in Release::all() {
        assert_eq!(named(release.name), [release.name]);
    }
}

/// Output of programs, and bytes that resemble it.
fn stdout() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        Just("0.5"),
        Just("1"),
        Just("-3"),
        Just("1e999"),
        Just("NaN"),
        Just("\"0.5\""),
        Just("null"),
        Just("true"),
        Just("[]"),
        Just("{}"),
        Just("99999999999999999999"),
    ];
    let key = prop_oneof![
        Just("score"),
        Just("overall_score"),
        Just("overall_eval_status"),
        Just("success"),
        Just("pass"),
        Just("status"),
        Just("hits"),
        Just("assertions"),
        Just("checks"),
        Just("per_invocation_results"),
        Just("per_invocation_scores"),
        Just("details"),
    ];
    let object = proptest::collection::vec((key, number), 0..5).prop_map(|entries| {
        let entries: Vec<_> =
            entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", entries.join(",")).into_bytes()
    });
    prop_oneof![
        object,
        any::<Vec<u8>>(),
        "[\\[\\]{}\",:0-9 a-z\n]{0,40}".prop_map(String::into_bytes)
    ]
}

proptest! {
    #[test]
    fn an_exit_code_is_never_a_judgement(stdout in stdout(), code in 1..256, turns in 0_usize..3) {
        for host in Release::all() {
            let got = (host.record)(&ended(Ending::Exited(code), &stdout, "why"), turns);
            prop_assert!(
                matches!(got.outcome, Outcome::Error | Outcome::LooksFailed | Outcome::Lost),
                "{host}: {got:?}"
            );
            prop_assert!(got.message.is_some_and(|message| message.contains("why")), "{host}");
        }
    }

    #[test]
    fn an_answer_that_is_recorded_has_a_score_in_range(stdout in stdout(), turns in 0_usize..3) {
        for host in Release::all() {
            let got = (host.record)(&ended(Ending::Exited(0), &stdout, ""), turns);
            if got.outcome == Outcome::Recorded && host.host != "adk" {
                let score = got.score;
                let named = host.name == "agenta-code-v3" && score.is_none() && got.status.is_some();
                prop_assert!(
                    named || score.is_some_and(|score| (0.0..=1.0).contains(&score)),
                    "{host}: {got:?}"
                );
            }
        }
    }

    #[test]
    fn only_agentv_records_the_output_of_a_killed_process(stdout in stdout(), signal in 1..32) {
        for host in Release::all() {
            let got = (host.record)(&ended(Ending::Signalled(signal), &stdout, ""), 1);
            let apart = matches!(got.outcome, Outcome::Error | Outcome::LooksFailed);
            prop_assert!(apart || host.scores_everything, "{host}: {got:?}");
        }
    }
}

#[test]
fn every_release_has_documents_that_are_json_and_have_names_of_their_own() {
    let cases = documents();
    for release in Release::all() {
        let mine: Vec<_> = cases.iter().filter(|case| case.is_sent_by(release)).collect();
        let names: BTreeSet<_> = mine.iter().map(|case| case.name).collect();
        assert!(mine.len() >= 3 && names.contains(PLAIN), "{release}: {names:?}");
        assert_eq!(names.len(), mine.len(), "{release}: {names:?}");
    }
    for case in cases {
        let parsed = serde_json::from_slice::<serde_json::Value>(&case.body.bytes(None));
        assert!(parsed.is_ok_and(|value| value.is_object()), "{}", case.name);
    }
}

#[test]
fn cases_name_releases_that_exist() {
    for case in documents().iter().chain(&faults()) {
        for name in case.releases {
            assert_eq!(Release::named(name).unwrap()[0].name, *name, "{}", case.name);
        }
    }
}

#[test]
fn turns_are_counted() {
    for case in documents().into_iter().filter(|case| host_of(case) == "adk") {
        let document: serde_json::Value = serde_json::from_slice(&case.body.bytes(None)).unwrap();
        let turns = document.get("actual_invocations").or(document.get("actualInvocations"));
        assert_eq!(turns.unwrap().as_array().unwrap().len(), case.turns, "{}", case.name);
    }
}

#[test]
fn large_documents_are_larger_than_a_pipe_holds() {
    for case in documents().iter().filter(|case| case.name.starts_with("large")) {
        assert!(case.body.bytes(None).len() > 70_000, "{:?}", case.releases);
    }
}

#[test]
fn documents_are_written_as_their_host_writes_them() {
    for case in documents() {
        let text = String::from_utf8(case.body.bytes(None)).unwrap();
        let lines = text.trim_end().lines().count();
        let host = host_of(&case);
        let pretty = host == "agentv" && !case.name.contains("pipeline");
        assert_eq!(lines > 1, pretty, "{:?} {}", case.releases, case.name);
        assert_eq!(text.ends_with('\n'), host == "adk", "{:?} {}", case.releases, case.name);
    }
}

#[test]
fn only_broken_cases_are_not_documents() {
    for case in faults() {
        let bytes = case.body.bytes(None);
        if case.name == "huge" {
            assert!(bytes.len() > 15 << 20, "{:?}", case.releases);
            continue;
        }
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        let parsed = serde_json::from_slice::<serde_json::Value>(bytes);
        assert_eq!(parsed.is_err(), case.kind == Kind::Broken, "{}", case.name);
    }
}

#[test]
fn every_release_receives_every_kind() {
    let cases = faults();
    for release in Release::all() {
        for kind in [Kind::Additive, Kind::Odd, Kind::Broken] {
            let received = |case: &Case| case.kind == kind && case.is_sent_by(release);
            assert!(cases.iter().any(received), "{release} {kind:?}");
        }
    }
    let case = cases.iter().find(|case| case.name == "unknown protocol version").unwrap();
    assert!(String::from_utf8(case.body.bytes(None)).unwrap().contains("\"9.0\""));
}

#[test]
fn every_document_of_a_host_with_settings_contains_them() {
    let Some(Value::Object(settings)) = parse_python(r#"{"minLength": 3, "Tags": {"aB": []}}"#)
    else {
        panic!("it is an object");
    };
    let as_given = json!({"minLength": 3, "Tags": {"aB": []}});
    let in_snake_case = json!({"min_length": 3, "Tags": {"a_b": []}});
    let all: Vec<_> = Release::all().collect();
    let plain = cases(&all, &Object::default());
    let mut seen = 0;
    for (case, plain) in cases(&all, &settings).iter().zip(&plain) {
        if case.kind != Kind::Document {
            continue;
        }
        let document: serde_json::Value = serde_json::from_str(&case.body.text).unwrap();
        let name = format!("{:?} {}", case.releases, case.name);
        let metric = document.get("eval_metric").or(document.get("evalMetric"));
        let (config, wanted) = match (metric, host_of(case)) {
            (Some(metric), _) => {
                let criterion = &metric["criterion"];
                assert_eq!(criterion["threshold"], 0.5);
                let found = json!({"minLength": criterion["minLength"], "Tags": criterion["Tags"]});
                (found, &as_given)
            }
            // Written by hand.
            (None, "agentv") if case.name == "few keys" => continue,
            (None, "agentv") if !case.name.contains("pipeline") => {
                (document["config"].clone(), &in_snake_case)
            }
            (None, "agentevals" | "agentv") => (document["config"].clone(), &as_given),
            (None, _) => {
                assert_eq!(case.body.text, plain.body.text);
                continue;
            }
        };
        assert_eq!(config, *wanted, "{name}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_slow_task_does_not_keep_others_from_being_started() {
    let last = tokio::sync::Notify::new();
    let tasks = (0..5).map(async |index| {
        match index {
            0 => last.notified().await,
            4 => last.notify_one(),
            _ => {}
        }
        index
    });
    let results = run_concurrently(NonZeroUsize::new(2).unwrap(), tasks).now_or_never();
    assert_eq!(results, Some(vec![0, 1, 2, 3, 4]));
}
