//! Properties of conversations that hold for every trace, checked with recordings of real producers.
//!
//! The recordings are those of `EVALUATOR_PRODUCERS_DIR`, by default `tests/producers/traces`, and the examples.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use evaluator_traces::{
    conversation::{Conversation, GroupBy, extract},
    json::to_python,
    trace::{TraceFormats, load_text},
};
use serde_json::{Value, json};

/// The documents of OTLP JSON among the recordings, with their paths.
fn recordings() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let producers = std::env::var_os("EVALUATOR_PRODUCERS_DIR")
        .map_or_else(|| root.join("tests/producers/traces"), PathBuf::from);
    let directories = [producers, root.join("examples/traces")];
    let mut files: Vec<PathBuf> = directories
        .iter()
        .filter_map(|directory| fs::read_dir(directory).ok())
        .flat_map(|entries| entries.map(|entry| entry.expect("an entry").path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let document: Value = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
        document.get("resourceSpans")?;
        Some((path, document))
    };
    let found: Vec<_> = files.into_iter().filter_map(read).collect();
    assert!(!found.is_empty(), "no recordings");
    found
}

fn conversations(document: &Value) -> Vec<Conversation> {
    let loaded = load_text(&document.to_string(), "t.json".as_ref(), &TraceFormats::default());
    let mut found = extract(&loaded.expect("a document").traces, GroupBy::Conversation, false);
    found.sort_by(|a, b| a.trace_id.cmp(&b.trace_id));
    found
}

/// Everything that was said and called.
fn content(document: &Value) -> Vec<String> {
    let mut content = Vec::new();
    for conversation in conversations(document) {
        content.push(format!("conversation {:?}", conversation.errors));
        for turn in conversation.turns {
            content.push(format!("{:?} {:?} {:?}", turn.span_id, turn.user_text, turn.final_text));
            content.push(format!("{:?} {:?}", turn.agent_name, turn.unrecorded));
            let calls = turn.llm_calls.iter();
            content.extend(calls.map(|call| format!("{:?} {:?}", call.span_id, call.usage)));
            for call in turn.tool_calls {
                let (arguments, result) =
                    (to_python(&call.arguments), to_python(call.result.value()));
                content.push(format!("{} {:?} {arguments} {result}", call.name, call.call_id));
            }
        }
    }
    content
}

/// The lists of spans of a document.
fn lists(document: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let resources = document["resourceSpans"].as_array_mut().expect("resources").iter_mut();
    resources
        .flat_map(|resource| resource["scopeSpans"].as_array_mut().expect("scopes").iter_mut())
        .filter_map(|scope| scope["spans"].as_array_mut())
}

#[test]
fn the_order_of_spans_does_not_matter() {
    for (path, document) in recordings() {
        let mut other = document.clone();
        for list in lists(&mut other) {
            list.reverse();
            let middle = list.len() / 3;
            list.rotate_left(middle);
        }
        for resource in other["resourceSpans"].as_array_mut().expect("resources") {
            resource["scopeSpans"].as_array_mut().expect("scopes").reverse();
        }
        assert_eq!(content(&other), content(&document), "{}", path.display());
    }
}

#[test]
fn spans_of_other_services_change_nothing() {
    for (path, mut document) in recordings() {
        let expected = content(&document);
        let mut added = Vec::new();
        for span in lists(&mut document).flatten() {
            added.push(json!({
                "traceId": span["traceId"], "parentSpanId": span["spanId"],
                "spanId": format!("{:016x}", 0xabcd_0000 + added.len()), "name": "POST /v1",
                "startTimeUnixNano": span["startTimeUnixNano"],
                "endTimeUnixNano": span["endTimeUnixNano"],
                "attributes": [
                    {"key": "http.request.method", "value": {"stringValue": "POST"}},
                    {"key": "group_id", "value": {"stringValue": "consumers"}},
                    {"key": "input", "value": {"stringValue": "hello"}},
                ],
            }));
        }
        let service = json!({"scopeSpans": [{"scope": {"name": "http"}, "spans": added}]});
        document["resourceSpans"].as_array_mut().expect("resources").push(service);
        assert_eq!(content(&document), expected, "{}", path.display());
    }
}

/// Text without what escapes and notations change: quotes, backslashes, letters after them, and white space.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '\\' {
            rest = rest.trim_start_matches('\\');
            let code = rest.strip_prefix('u').and_then(|rest| rest.get(..4));
            if let Some(unit) = code.and_then(|code| u16::from_str_radix(code, 16).ok()) {
                units.push(unit);
                rest = &rest[5..];
                continue;
            }
            rest = rest.strip_prefix(['n', 't', 'r']).unwrap_or(rest);
        }
        bare.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        if !character.is_whitespace() && !matches!(character, '\\' | '"' | '\'') {
            bare.push(character);
        }
    }
    bare + &String::from_utf16_lossy(&units)
}

#[test]
fn every_text_occurs_in_the_trace() {
    for (path, document) in recordings() {
        let recorded = bare(&document.to_string());
        let mut texts: BTreeMap<String, &str> = BTreeMap::new();
        for turn in conversations(&document).iter().flat_map(|found| &found.turns) {
            texts.extend(turn.user_text.clone().map(|text| (text, "user")));
            texts.extend(turn.final_text.clone().map(|text| (text, "answer")));
            for call in &turn.tool_calls {
                texts.insert(call.name.clone(), "name");
                texts.extend(call.result.value().as_str().map(|text| (text.to_owned(), "result")));
                for (key, value) in call.arguments.as_object().into_iter().flat_map(|it| it.iter())
                {
                    texts.insert(key.clone(), "argument");
                    texts.extend(value.as_str().map(|text| (text.to_owned(), "argument")));
                }
            }
        }
        for (text, part) in texts {
            assert!(recorded.contains(&bare(&text)), "{}: {part} {text:?}", path.display());
        }
    }
}
