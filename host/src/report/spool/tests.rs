//! What comes back is what was handed in.

use std::{env, fs::File, io::Write as _, sync::Mutex, time::Duration};

use proptest::prelude::*;

use super::packed::{Names, Packed, Packer, Unpacker};
use crate::{
    conversation::{Counts, JudgedSpan, Latency, PerformanceMetrics, Stats, Tokens},
    events::{EventContext, EventTurn},
    json::{Object, Value},
    report::{Collector, ConversationReport, Conversations, EvaluationReport, Report},
    verdict::{Standing, Status},
};

/// Every float there is, odd ones more often.
fn floats() -> impl Strategy<Value = f64> {
    let odd = [0.0, -0.0, 1.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324];
    prop_oneof![prop::sample::select(odd.to_vec()), any::<u64>().prop_map(f64::from_bits)]
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("é\0\n\u{10ffff}".to_owned()), ".{0,40}"]
}

fn options<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::of(strategy)
}

fn lists<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(strategy, 0..4)
}

fn values() -> impl Strategy<Value = Value> {
    let leaves = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![any::<i64>(), Just(i64::MIN), -3..3i64].prop_map(Value::Int),
        "-?[1-9][0-9]{19,60}".prop_map(|digits| Value::BigInt(digits.into())),
        floats().prop_map(Value::Float),
        texts().prop_map(Value::String),
    ];
    leaves.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            lists(inner.clone()).prop_map(Value::Array),
            objects(inner).prop_map(Value::Object),
        ]
    })
}

fn objects(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    lists((texts(), values)).prop_map(|members| members.into_iter().collect())
}

fn stats() -> impl Strategy<Value = Stats> {
    (prop::array::uniform6(floats()), any::<usize>()).prop_map(
        |([min, median, max, p50, p95, p99], count)| Stats {
            min,
            median,
            max,
            count,
            p50,
            p95,
            p99,
        },
    )
}

fn performances() -> impl Strategy<Value = PerformanceMetrics> {
    let latency = (stats(), stats(), stats()).prop_map(|(overall, llm_calls, tool_executions)| {
        Latency { overall, llm_calls, tool_executions }
    });
    let tokens = (prop::array::uniform5(any::<i64>()), stats()).prop_map(
        |(
            [total_prompt, total_output, total, cache_creation_tokens, cache_read_tokens],
            per_llm_call,
        )| Tokens {
            total_prompt,
            total_output,
            total,
            per_llm_call,
            cache_creation_tokens,
            cache_read_tokens,
        },
    );
    // Sums over a run cannot hold any three of the largest numbers.
    let counts = prop::array::uniform3(0..usize::MAX / 1000).prop_map(
        |[llm_calls, tool_calls, invocations]| Counts { llm_calls, tool_calls, invocations },
    );
    (latency, tokens, counts, lists(texts()), lists(texts())).prop_map(
        |(latency, tokens, counts, models, tool_names)| PerformanceMetrics {
            latency,
            tokens,
            counts,
            models,
            tool_names,
        },
    )
}

fn evaluations() -> impl Strategy<Value = EvaluationReport> {
    let numbers =
        (options(floats()), options(floats()), lists(options(floats())), any::<(u32, u64, u32)>());
    let error_types = ["exited", "timed_out", "not_run", "cancelled", "of somebody's own"];
    let error = (
        options(texts()),
        options(prop::sample::select(error_types.to_vec())),
        options(texts()),
        lists(texts()),
    );
    let rest = (options(objects(values())), any::<bool>(), options(texts()));
    (texts(), prop::sample::select(Status::ALL.to_vec()), numbers, error, rest).prop_map(
        |(name, status, numbers, (error, error_type, stderr, warnings), rest)| {
            let (details, was_started, failure_reason) = rest;
            let (score, threshold, per_invocation_scores, (attempts, seconds, nanoseconds)) =
                numbers;
            let duration = Duration::new(seconds, nanoseconds % 1_000_000_000);
            EvaluationReport {
                name,
                score,
                threshold,
                status,
                failure_reason,
                per_invocation_scores,
                duration: was_started.then_some(duration),
                error,
                headline: Some("exited".to_owned()),
                error_type,
                stderr,
                attempts,
                warnings,
                details,
            }
        },
    )
}

fn contexts() -> impl Strategy<Value = EventContext> {
    let span = (texts(), texts(), options(texts()), options(texts())).prop_map(
        |(trace_id, span_id, agent_name, conversation_id)| JudgedSpan {
            trace_id: trace_id.into(),
            span_id,
            agent_name,
            conversation_id,
        },
    );
    let turn =
        (span, options(texts())).prop_map(|(span, response_id)| EventTurn { span, response_id });
    (options(texts()), lists(turn)).prop_map(|(case_id, turns)| EventContext { case_id, turns })
}

fn reports() -> impl Strategy<Value = Vec<ConversationReport>> {
    let report = (
        texts(),
        any::<usize>(),
        lists(texts()),
        lists(evaluations()),
        options(performances()),
        options(contexts()),
    );
    let report =
        report.prop_map(|(trace_id, turns, warnings, evaluations, performance, events)| {
            ConversationReport {
                trace_id: trace_id.into(),
                turns,
                warnings,
                evaluations,
                performance,
                events,
            }
        });
    prop::collection::vec(report, 0..6)
}

fn packed<T: Packed>(value: &T) -> Option<T> {
    let (mut bytes, mut names) = (Vec::new(), Names::default());
    value.pack(&mut Packer { bytes: &mut bytes, names: &mut names });
    let mut from = Unpacker { bytes: &bytes, names: &names };
    T::unpack(&mut from).filter(|_| from.bytes.is_empty())
}

/// A short report that does not end where its parts could.
fn short(number: usize) -> ConversationReport {
    ConversationReport {
        trace_id: format!("t{number}").into(),
        turns: number,
        warnings: vec!["odd".repeat(number % 50)],
        evaluations: Vec::new(),
        performance: None,
        events: None,
    }
}

fn texts_of(conversations: &Conversations) -> Vec<String> {
    conversations.iter().map(|it| format!("{:?}", it.unwrap())).collect()
}

proptest! {
    #[test]
    fn numbers_stay_what_they_are(float in floats(), int: i64, natural: u64) {
        prop_assert_eq!(packed(&float).map(f64::to_bits), Some(float.to_bits()));
        prop_assert_eq!(packed(&int), Some(int));
        prop_assert_eq!(packed(&natural), Some(natural));
    }

    #[test]
    fn what_comes_back_is_what_was_handed_in(
        (reports, order) in reports().prop_flat_map(|reports| {
            let order: Vec<usize> = (0..reports.len()).collect();
            (Just(reports), Just(order).prop_shuffle())
        }),
        memory in prop_oneof![Just(0), 0..4000usize, Just(usize::MAX)],
    ) {
        let mut collector = Collector::new(memory, reports.len());
        for number in order {
            collector.put(number, &reports[number]).unwrap();
        }
        let conversations = collector.finish();
        let expected: Vec<_> = reports.iter().map(|report| format!("{report:?}")).collect();
        for _ in 0..2 {
            prop_assert_eq!(&texts_of(&conversations), &expected);
        }
        for (number, expected) in expected.iter().enumerate().rev() {
            let one = conversations.get(number).unwrap().unwrap();
            prop_assert_eq!(&format!("{one:?}"), expected);
        }
        prop_assert!(conversations.get(reports.len()).is_none());
        prop_assert_eq!(conversations.len(), reports.len());

        // Wherever it was, the report says the same of it.
        let whole = |conversations: Conversations| {
            let performance = conversations.performance().cloned();
            let report =
                Report { conversations, performance, require_evaluated: true, ..Report::default() };
            (report.to_json().unwrap(), format!("{:?}", report.balance()))
        };
        prop_assert_eq!(whole(conversations), whole(reports.into()));
    }

    #[test]
    fn bytes_of_another_kind_are_refused_and_never_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let names = Names::default();
        let _ = ConversationReport::read(&bytes, &names);
    }
}

#[test]
fn records_of_any_length_are_found_in_any_order_of_finishing() {
    // Some do not fit the part of the file that is read at a time.
    let long = |number: usize| ConversationReport {
        warnings: vec!["x".repeat(number % 7 * 20_000)],
        ..short(number)
    };
    let mut collector = Collector::new(100_000, 500);
    // As if some took much longer than those around them.
    for slow in [false, true] {
        for number in (0..500).filter(|number| (number % 31 == 0) == slow) {
            collector.put(number, &long(number)).unwrap();
        }
    }
    let conversations = collector.finish();
    let ids: Vec<_> = conversations.iter().map(|it| it.unwrap()).collect();
    for (number, report) in ids.iter().enumerate() {
        assert_eq!(*report.trace_id, *format!("t{number}"));
        assert_eq!(report.warnings[0].len(), number % 7 * 20_000);
    }
    assert_eq!(ids.len(), 500);
}

#[test]
fn where_no_file_can_be_made_everything_stays_in_memory_and_that_is_said_once() {
    let nowhere = env::temp_dir().join("evaluator-no-such-folder");
    let mut collector = Collector::new(0, 100).in_folder(nowhere);
    let said: Vec<bool> = (0..100).map(|it| collector.put(it, &short(it)).is_err()).collect();
    assert_eq!(said.iter().position(|said| *said), Some(0));
    assert_eq!(said.iter().filter(|said| **said).count(), 1);
    let all: Conversations = (0..100).map(short).collect();
    assert_eq!(texts_of(&collector.finish()), texts_of(&all));
}

#[test]
fn a_file_that_cannot_be_written_any_more_keeps_what_it_has() {
    let mut collector = Collector::new(200, 100);
    for number in 0..50 {
        collector.put(number, &short(number)).unwrap();
    }
    // One that may only be read, with a part of what was to be written: as a disk leaves it that became full.
    let file = collector.store().file().as_mut().unwrap().get_mut().unwrap();
    let path = env::temp_dir().join(format!("evaluator-spool-{}", std::process::id()));
    let mut copy = File::create(&path).unwrap();
    std::io::Seek::rewind(file).unwrap();
    std::io::copy(file, &mut copy).unwrap();
    copy.write_all(b"torn").unwrap();
    *collector.store().file() = Some(Mutex::new(File::open(&path).unwrap()));
    let said: Vec<bool> = (50..100).map(|it| collector.put(it, &short(it)).is_err()).collect();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(said.iter().filter(|said| **said).count(), 1);
    let all: Conversations = (0..100).map(short).collect();
    assert_eq!(texts_of(&collector.finish()), texts_of(&all));
}

/// A report whose temporary file was given another content by `change`.
fn with_file(change: impl FnOnce(&mut File)) -> Report {
    let mut collector = Collector::new(0, 10);
    for number in 0..10 {
        collector.put(number, &short(number)).unwrap();
    }
    change(collector.store().file().as_mut().unwrap().get_mut().unwrap());
    let conversations = collector.finish();
    Report { conversations, max_error_rate: 1.0, allow_unevaluated: true, ..Report::default() }
}

#[test]
fn what_cannot_be_read_back_is_an_error_and_never_green() {
    let truncated = with_file(|file| file.set_len(100).unwrap());
    let zeros = with_file(|file| {
        let length = file.metadata().unwrap().len();
        file.set_len(20).unwrap();
        file.set_len(length).unwrap();
    });
    let changed = with_file(|file| {
        std::io::Seek::seek(file, std::io::SeekFrom::Start(14)).unwrap();
        file.write_all(b"T").unwrap();
    });
    for report in [truncated, zeros, changed] {
        assert_eq!(report.standing(), Standing::Passed);
        let error = report.to_json().unwrap_err().to_string();
        assert!(error.starts_with("what came of conversation"), "{error}");
        assert_eq!(report.conversations.unreadable(), Some(error.as_str()));
        // Whatever is tolerated.
        assert_eq!(report.standing(), Standing::Errored);
    }
}

#[test]
fn a_conversation_that_was_not_handed_in_is_an_error() {
    let mut collector = Collector::new(0, 3);
    collector.put(0, &short(0)).unwrap();
    collector.put(2, &short(2)).unwrap();
    let conversations = collector.finish();
    let read: Vec<bool> = conversations.iter().map(|it| it.is_ok()).collect();
    assert_eq!(read, [true, false, true]);
    let report = Report { conversations, ..Report::default() };
    assert_eq!(report.standing(), Standing::Errored);
}
