//! Random documents of every format, sound and odd.

use proptest::prelude::*;

fn scalar() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "-1.5e3",
        "12345678901234567890123",
        "NaN",
        "-Infinity",
        "\"\"",
        "\"t1\"",
        "\"A\"",
        "\"\\u0041\"",
        "\"\\ud800\"",
        "\"é\\n\"",
        "[]",
        "{}",
        "[1]",
        "{\"a\": [{}]}",
        "\"session.id\"",
        "{\"stringValue\": \"s1\"}",
        "{\"intValue\": \"7\"}",
        "[{\"key\": \"session.id\", \"value\": {\"stringValue\": \"s\"}}]",
    ])
    .prop_map(str::to_owned)
}

/// An object of some of these members in any order, perhaps repeated, and with others among them.
fn object(members: Vec<(&'static str, BoxedStrategy<String>)>) -> BoxedStrategy<String> {
    let of_count = members.len();
    let member = (0..of_count).prop_flat_map(move |which| {
        let (key, value) = members[which].clone();
        // Mostly what belongs there.
        let value = prop_oneof![9 => value, 1 => scalar()];
        (Just(key), value)
    });
    let other = (prop::sample::select(vec!["x", "", "traceid", "k\\u0065y"]), scalar());
    let member = prop_oneof![8 => member, 1 => other];
    (prop::collection::vec(member, 0..7), prop::sample::select(vec!["", " ", "\n"]))
        .prop_map(|(mut members, blank)| {
            // A repeated key is rare in life, and is to be rare here.
            let mut seen = std::collections::HashSet::new();
            let mut spare = 1;
            members.retain(|(key, _)| {
                seen.insert(*key) || {
                    spare -= 1;
                    spare == 0
                }
            });
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\":{blank}{value}")).collect();
            format!("{{{blank}{}}}", members.join(&format!(",{blank}")))
        })
        .boxed()
}

pub(crate) fn list(item: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop::collection::vec(prop_oneof![12 => item, 1 => scalar()], 0..4)
        .prop_map(|items| format!("[{}]", items.join(", ")))
        .boxed()
}

fn id(names: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(names).prop_map(|name| format!("\"{name}\"")).boxed()
}

fn key() -> BoxedStrategy<String> {
    id(&[
        "gen_ai.conversation.id",
        "session.id",
        "agentevals.session_name",
        "other",
        "session\\u002eid",
    ])
}

fn attributes() -> BoxedStrategy<String> {
    let value =
        object(vec![("stringValue", id(&["s1", "s2", " s1 "])), ("intValue", scalar().boxed())]);
    list(object(vec![("key", key()), ("value", value), ("type", id(&["int64", "string"]))]))
}

pub(crate) fn span() -> BoxedStrategy<String> {
    object(vec![
        ("traceId", id(&["t1", "t2", "T1", "0123456789abcdef0123456789abcdef"])),
        ("trace_id", id(&["t1", "t2"])),
        ("span_id", id(&["a", "b"])),
        ("start_time_unix_nano", id(&["1", "2"])),
        ("spanId", id(&["a", "b", "c", "d"])),
        ("parentSpanId", id(&["a", "b"])),
        ("startTimeUnixNano", id(&["1", "2", "99999999999999999999"])),
        ("attributes", attributes()),
        ("events", list(object(vec![("name", scalar().boxed()), ("attributes", attributes())]))),
    ])
}

pub(crate) fn document() -> BoxedStrategy<String> {
    let scope = || object(vec![("name", id(&["s1", "s2"])), ("version", id(&["1"]))]);
    let resource = || object(vec![("attributes", attributes())]);
    let spans = object(vec![
        ("scope", scope()),
        ("spans", list(span())),
        ("instrumentationLibrary", scope()),
        ("instrumentation_library", scope()),
    ]);
    let spans = list(object(vec![
        ("resource", resource()),
        ("scopeSpans", list(spans.clone())),
        ("scope_spans", list(spans.clone())),
        ("instrumentationLibrarySpans", list(spans)),
    ]));
    let logs = object(vec![
        ("scope", scope()),
        ("logRecords", list(span())),
        ("log_records", list(span())),
    ]);
    let logs = list(object(vec![
        ("resource", resource()),
        ("scopeLogs", list(logs.clone())),
        ("scope_logs", list(logs)),
    ]));
    let jaeger_span = object(vec![
        ("traceID", id(&["t1", "t2"])),
        ("spanID", id(&["a", "b", "c"])),
        ("startTime", scalar().boxed()),
        (
            "tags",
            list(object(vec![
                ("key", key()),
                ("value", id(&["s1", "7"])),
                ("type", id(&["int64", "string"])),
            ])),
        ),
        ("processID", id(&["p1", "p2"])),
    ]);
    let process = || object(vec![("serviceName", scalar().boxed()), ("tags", attributes())]);
    let data = list(object(vec![
        ("spans", list(jaeger_span)),
        ("processes", object(vec![("p1", process()), ("p2", process())])),
    ]));
    let documents = prop_oneof![
        object(vec![("resourceSpans", spans.clone()), ("resourceLogs", logs.clone())]),
        object(vec![("batches", spans.clone()), ("resource_spans", spans.clone())]),
        object(vec![("data", data.clone()), ("errors", scalar().boxed())]),
        object(vec![("data", data), ("resourceSpans", spans.clone()), ("batches", spans.clone())]),
        object(vec![("trace", object(vec![("resourceSpans", spans)])), ("resource_logs", logs)]),
    ];
    documents.boxed()
}
