//! Reports with any content that may be in them.

use std::time::Duration;

use evaluator_json::{Object, Value};
use evaluator_traces::conversation::{
    Counts, JudgedSpan, Latency, PerformanceMetrics, Stats, Tokens,
};
use proptest::prelude::*;

use crate::{
    ConversationReport, ERROR_TYPES, EvaluationReport, EventContext, EventTurn, Status,
    digest::Digester,
};

/// Every finite float, odd ones more often.
fn floats() -> impl Strategy<Value = f64> {
    let odd = [0.0, -0.0, 1.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 0.1 + 0.2];
    let any = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |it| it.is_finite());
    prop_oneof![prop::sample::select(odd.to_vec()), any]
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just("é\0\n\u{10ffff}\u{1b}".to_owned()), ".{0,40}"]
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
    let option = prop::option::of::<BoxedStrategy<String>>;
    let scores = (
        prop::option::of(floats()),
        prop::option::of(floats()),
        lists(prop::option::of(floats())),
        prop::sample::select(Status::ALL.to_vec()),
    );
    let error = (
        option(texts().boxed()),
        prop::option::of(prop::sample::select(ERROR_TYPES.to_vec())),
        option(texts().boxed()),
        option(texts().boxed()),
        lists(texts()),
    );
    let rest = (
        prop::option::of(objects(values())),
        prop::option::of(any::<u64>()),
        option(texts().boxed()),
        any::<u32>(),
    );
    (texts(), scores, error, rest).prop_map(|(name, scores, error, rest)| {
        let mut report = EvaluationReport::new(name);
        (report.score, report.threshold, report.per_invocation_scores, report.status) = scores;
        (report.error, report.error_type, report.stderr, report.headline, report.warnings) = error;
        let nanoseconds;
        (report.details, nanoseconds, report.failure_reason, report.attempts) = rest;
        report.duration = nanoseconds.map(Duration::from_nanos);
        report
    })
}

fn contexts() -> impl Strategy<Value = EventContext> {
    let span = (texts(), texts(), prop::option::of(texts()), prop::option::of(texts())).prop_map(
        |(trace_id, span_id, agent_name, conversation_id)| JudgedSpan {
            trace_id: trace_id.into(),
            span_id,
            agent_name,
            conversation_id,
        },
    );
    let turn = (span, prop::option::of(texts()))
        .prop_map(|(span, response_id)| EventTurn { span, response_id });
    (prop::option::of(texts()), lists(turn))
        .prop_map(|(case_id, turns)| EventContext { case_id, turns })
}

pub(super) fn reports() -> impl Strategy<Value = Vec<ConversationReport>> {
    let report = (
        texts(),
        any::<usize>(),
        (lists(texts()), lists(texts())),
        lists(evaluations()),
        prop::option::of(performances()),
        prop::option::of(contexts()),
    );
    let report = report.prop_map(|(trace_id, turns, said, evaluations, performance, events)| {
        let (warnings, failed_turns) = said;
        ConversationReport {
            trace_file: (turns % 2 == 0).then(|| trace_id.as_str().into()),
            eval_case_id: (turns % 3 == 0).then(|| trace_id.as_str().into()),
            case: (turns % 3 == 1).then(|| trace_id.as_str().into()),
            cluster: (turns % 2 == 1).then(|| trace_id.as_str().into()),
            labels: (turns % 3 > 0)
                .then(|| (trace_id.clone(), vec![trace_id.clone(); turns % 3]))
                .into_iter()
                .collect(),
            content: (turns % 2 == 0).then(|| Digester::new(&trace_id).finish()),
            dropped_copies: turns % 4,
            session: (turns % 2 == 1).then(|| trace_id.as_str().into()),
            traces: vec!["t".into(), "u".into()],
            several_values: (turns % 4 == 1).then(|| trace_id.clone()).into_iter().collect(),
            prompt: (turns % 5 == 0).then(|| ConversationReport::prompt_of(&trace_id)),
            trace_id: trace_id.into(),
            turns,
            warnings,
            failed_turns,
            evaluations,
            performance,
            events,
        }
    });
    prop::collection::vec(report, 0..6)
}
