//! Images and files in messages, in recordings of real instrumentations.

use std::{fs, path::Path};

use evaluator_traces::{
    conversation::{Attachment, GroupBy, Turn, extract},
    trace::{TraceFormats, load_text},
};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Returns the only turn of a recording that has text.
fn turn(name: &str) -> Turn {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/attachments").join(name);
    let text = fs::read_to_string(&path).expect("a recording");
    let loaded = load_text(&text, &path, &TraceFormats::default()).expect("a trace");
    let conversations = extract(&loaded.traces, GroupBy::Trace, false);
    // The client of Anthropic records its requests as traces of their own, without content.
    let turns = conversations.into_iter().flat_map(|it| it.turns);
    let mut turns: Vec<Turn> = turns.filter(|turn| turn.user_text.is_some()).collect();
    assert_eq!(turns.len(), 1, "{name}");
    turns.remove(0)
}

fn described(it: &Attachment) -> String {
    let Attachment { kind, media_type, name, url, size, data } = it;
    let data = data.as_deref().map(|data| if data == PNG { "the pixel" } else { data });
    let texts = [Some(kind.as_str()), media_type.as_deref(), name.as_deref(), url.as_deref(), data];
    let size = size.map(|size| format!("{size} bytes"));
    texts.into_iter().flatten().map(str::to_owned).chain(size).collect::<Vec<_>>().join(", ")
}

#[test]
fn images_of_the_user_are_attachments_of_the_turn_and_not_text() {
    const IMAGE: &str = "image, image/png, the pixel, 70 bytes";
    const LINK: &str = "image, https://example.com/b.png";
    for (name, expected) in [
        ("openai-openinference.json", &[IMAGE, LINK][..]),
        ("openai-openinference-responses.json", &[IMAGE]),
        ("anthropic-openinference.json", &[IMAGE, LINK]),
        ("anthropic-traceloop.json", &[IMAGE, LINK]),
        ("pydantic-ai.json", &[IMAGE, "image, image/png, https://example.com/b.png"]),
        (
            "vercel-ai-5.json",
            &[IMAGE, "image, https://example.com/b.png", "file, application/pdf, a.pdf, 18 bytes"],
        ),
    ] {
        let turn = turn(name);
        let found: Vec<String> = turn.user_attachments.iter().map(described).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(turn.user_text.as_deref(), Some("What is this?"), "{name}");
        assert_eq!(turn.final_text.as_deref(), Some("A red dot."), "{name}");
        assert!(turn.final_attachments.is_empty(), "{name}");
    }
}
