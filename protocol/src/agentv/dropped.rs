//! What a document of AgentV has and the default contract has no room for.

use super::{CodeJudgeInput, Message, Trace, wire::Wire};

/// Notes the paths of everything outside of messages. `user` is what the user said, if it stands in a turn.
pub(super) fn note(document: &CodeJudgeInput, user: Option<&str>, dropped: &mut Vec<String>) {
    let Wire { trace, trace_summary, metadata, other, .. } = &document.wire;
    texts(document, user, dropped);
    let key = if document.wire.input.is_some() { "input" } else { "input_messages" };
    note_if(user.is_none() && !document.input_messages().is_empty(), key, dropped);
    files(&document.wire, dropped);
    repeated_messages(document, dropped);
    if let Some(trace) = trace {
        self::trace(trace, document.messages(), dropped);
    }
    for (key, trace) in [("trace", trace), ("trace_summary", trace_summary)] {
        note_keys(Some(key), trace.iter().flat_map(|trace| &trace.other), dropped);
    }
    note_if(metadata.as_ref().is_some_and(|object| !object.is_empty()), "metadata", dropped);
    note_keys(None, other, dropped);
}

/// Notes what would stand in the performance metrics of turns, if there were any.
pub(super) fn note_numbers(document: &CodeJudgeInput, dropped: &mut Vec<String>) {
    let wire = &document.wire;
    for (key, is_there) in [
        ("trace", wire.trace.is_some()),
        ("trace_summary", wire.trace_summary.is_some()),
        ("token_usage", wire.token_usage.is_some()),
        ("cost_usd", wire.cost_usd.is_some()),
        ("duration_ms", wire.duration_ms.is_some()),
        ("start_time", wire.start_time.is_some()),
        ("end_time", wire.end_time.is_some()),
    ] {
        note_if(is_there, key, dropped);
    }
}

/// Texts that did not become a part of a turn.
fn texts(document: &CodeJudgeInput, user: Option<&str>, dropped: &mut Vec<String>) {
    let wire = &document.wire;
    let differs = |text: &Option<String>, used: Option<&str>| {
        text.as_deref().is_some_and(|text| !text.is_empty() && Some(text) != used)
    };
    let answer = document.candidate_answer();
    for (key, text, used) in [
        ("question", &wire.question, user),
        ("input_text", &wire.input_text, user),
        ("criteria", &wire.criteria, None),
        ("expected_outcome", &wire.expected_outcome, None),
        ("answer", &wire.answer, answer),
        ("output_text", &wire.output_text, answer),
        ("candidate_answer", &wire.candidate_answer, answer),
    ] {
        note_if(differs(text, used), key, dropped);
    }
    // Where there are expected messages, they are what the turns are made of.
    if !document.expected_messages().is_empty() {
        let last = document.expected_messages().last().map(Message::text);
        for (key, text) in [
            ("reference_answer", &wire.reference_answer),
            ("expected_output_text", &wire.expected_output_text),
        ] {
            note_if(differs(text, last.as_deref()), key, dropped);
        }
    }
}

fn files(wire: &Wire, dropped: &mut Vec<String>) {
    for (key, files) in [
        ("guideline_files", &wire.guideline_files),
        ("guideline_paths", &wire.guideline_paths),
        ("input_files", &wire.input_files),
    ] {
        note_if(files.as_ref().is_some_and(|files| !files.is_empty()), key, dropped);
    }
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    note_if(said(&wire.file_changes), "file_changes", dropped);
    note_if(said(&wire.workspace_path), "workspace_path", dropped);
}

/// Messages under keys that are not looked at because there are others.
fn repeated_messages(document: &CodeJudgeInput, dropped: &mut Vec<String>) {
    let wire = &document.wire;
    let used = document.wire.transcript().map(|(key, _)| key);
    let output = wire.output.as_ref().and_then(|output| output.messages());
    for (key, messages, used) in [
        ("output", output, used == Some("output")),
        ("output_messages", wire.output_messages.as_deref(), used == Some("output_messages")),
        ("input_messages", wire.input_messages.as_deref(), wire.input.is_none()),
        ("expected_messages", wire.expected_messages.as_deref(), wire.expected_output.is_none()),
    ] {
        note_if(!used && messages.is_some_and(|messages| !messages.is_empty()), key, dropped);
    }
}

fn trace(trace: &Trace, transcript: Option<&[Message]>, dropped: &mut Vec<String>) {
    let has_more = trace.messages.as_ref().is_some_and(|messages| {
        !messages.ends_with(transcript.unwrap_or_default()) || transcript.is_none()
    });
    note_if(has_more, "trace.messages", dropped);
    note_if(
        trace.events.as_ref().is_some_and(|events| !events.is_empty()),
        "trace.events",
        dropped,
    );
    note_if(
        trace.metadata.as_ref().is_some_and(|object| !object.is_empty()),
        "trace.metadata",
        dropped,
    );
}

fn note_keys<'a>(
    prefix: Option<&str>,
    object: impl IntoIterator<Item = (&'a String, &'a serde_json::Value)>,
    dropped: &mut Vec<String>,
) {
    for (key, value) in object {
        let path = prefix.map_or_else(|| key.clone(), |prefix| format!("{prefix}.{key}"));
        note_if(!value.is_null(), &path, dropped);
    }
}

fn note_if(is_there: bool, path: &str, dropped: &mut Vec<String>) {
    if is_there {
        dropped.push(path.to_owned());
    }
}
