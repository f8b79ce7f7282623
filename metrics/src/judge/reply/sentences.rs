//! Sentences of a text, and labels of sentences.

use std::sync::LazyLock;

use evaluator_json::strip;
use regex_lite::Regex;

use super::pattern;

/// What a judge says about one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentenceLabel {
    /// The sentence.
    pub sentence: String,
    /// Label as written.
    pub label: String,
    /// Reason of the label.
    pub rationale: String,
    /// Part of the context that supports the sentence.
    pub supporting_excerpt: Option<String>,
    /// Part of the context that contradicts the sentence.
    pub contradicting_excerpt: Option<String>,
}

impl SentenceLabel {
    /// Returns 1 for a sentence without a hallucination, 0 for one with a hallucination, `None` for an unknown label.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        match self.label.to_lowercase().as_str() {
            "supported" | "not_applicable" => Some(1.0),
            "unsupported" | "contradictory" | "disputed" => Some(0.0),
            _ => None,
        }
    }
}

static SENTENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)<sentence>(.*?)</sentence>"));

/// The first line of a block, then the starts of the other lines.
static FIELDS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    ["sentence:", "\nlabel:", "\nrationale:", "\nsupporting_excerpt:", "\ncontradicting_excerpt:"]
        .map(ignoring_case)
});
static NEXT: LazyLock<Regex> = LazyLock::new(|| ignoring_case("\nsentence:"));

/// Compiles a text that matches in any case as in Python, where `i` and `s` have more than two cases.
fn ignoring_case(text: &str) -> Regex {
    let text: String = text
        .chars()
        .map(|character| match character {
            'i' => "[iI\u{131}\u{130}]".to_owned(),
            's' => "[sS\u{17f}]".to_owned(),
            other if other.is_ascii_lowercase() => {
                format!("[{other}{}]", other.to_ascii_uppercase())
            }
            other => other.to_string(),
        })
        .collect();
    pattern(&text)
}

/// Returns the sentences of a reply that marks each of them.
#[must_use]
pub fn sentences(reply: &str) -> Vec<String> {
    let captures = SENTENCE.captures_iter(reply);
    captures.filter_map(|captures| Some(captures.get(1)?.as_str().to_owned())).collect()
}

/// Returns the labels of a reply; incomplete blocks are left out.
#[must_use]
pub fn sentence_labels(reply: &str) -> Vec<SentenceLabel> {
    let mut rest = strip(reply);
    let mut labels = Vec::new();
    while let Some((label, end)) = next_label(rest) {
        labels.push(label);
        rest = &rest[end..];
    }
    labels
}

/// Returns the first complete block and its end.
fn next_label(text: &str) -> Option<(SentenceLabel, usize)> {
    let mut starts = [(0, 0); 5];
    let mut position = 0;
    for (start, field) in starts.iter_mut().zip(FIELDS.iter()) {
        let found = field.find(&text[position..])?;
        *start = (position + found.start(), position + found.end());
        position = start.1;
    }
    let end = NEXT.find(&text[position..]).map_or(text.len(), |next| position + next.start());
    let field = |index: usize| {
        let until = starts.get(index + 1).map_or(end, |next| next.0);
        strip(&text[starts[index].1..until]).to_owned()
    };
    let excerpt = |index| Some(field(index)).filter(|text| text.to_lowercase() != "null");
    let label = SentenceLabel {
        sentence: field(0),
        label: field(1),
        rationale: field(2),
        supporting_excerpt: excerpt(3),
        contradicting_excerpt: excerpt(4),
    };
    Some((label, end))
}
