//! Sentences of a text, and labels of sentences.

use std::sync::LazyLock;

use evaluator_json::strip;
use regex_lite::Regex;
use unicode_normalization::UnicodeNormalization;

use super::{object::unfenced, pattern, word::first_word};
use crate::judge::code::{Code, after_draft};

/// Verdict of a judge about one sentence.
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
    pub fn score(&self) -> Option<f64> {
        match first_word(&self.label)?.as_str() {
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
pub fn sentences(reply: &str) -> Vec<String> {
    let captures = SENTENCE.captures_iter(reply);
    captures.filter_map(|captures| Some(captures.get(1)?.as_str().to_owned())).collect()
}

/// Returns the labels of a reply; incomplete blocks are left out.
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

/// Returns the sentences of a reply that marks each sentence of an answer.
///
/// # Errors
///
/// There are none, or they are not all of the answer.
pub fn answer_sentences(reply: &str, answer: &str) -> Result<Vec<String>, String> {
    let sentences = sentences(reply).into_iter().filter(|sentence| !strip(sentence).is_empty());
    let sentences: Vec<String> = sentences.collect();
    if sentences.is_empty() {
        return Err("the reply has no sentences".to_owned());
    }
    let found: String = sentences.iter().map(|sentence| letters(sentence)).collect();
    if found != letters(answer) {
        return Err("the sentences are not those of the answer".to_owned());
    }
    Ok(sentences)
}

/// Returns the letters and digits of a text, without the numbers of lists. The rest may be left out by a judge that repeats the
/// text.
fn letters(text: &str) -> String {
    let text = text.replace("<sentence>", "").replace("</sentence>", "");
    let text: String = text.nfkc().collect();
    let lines = text.lines().map(|line| {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = line.len() - rest.len();
        match rest.strip_prefix(['.', ')']) {
            Some(item) if (1..=2).contains(&number) && item.starts_with(' ') => item.to_owned(),
            _ => line.to_owned(),
        }
    });
    lines
        .flat_map(|line| line.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<_>>())
        .collect()
}

/// Returns the label of each of the sentences that were asked about. If the reply has the code, only lines with it count, and
/// all else is ignored; else the reply must consist of blocks and nothing else.
///
/// # Errors
///
/// The labels are not those of the sentences, one for each, in their order.
pub fn sentence_verdicts(
    reply: &str,
    code: Option<&Code>,
    asked: &[String],
) -> Result<Vec<SentenceLabel>, String> {
    let reply = after_draft(reply, code);
    let labels = match code.filter(|code| code.is_in(reply)) {
        Some(code) => coded_labels(reply, code.as_str())?,
        None => whole_labels(unfenced(reply))?,
    };
    if labels.len() != asked.len() {
        return Err(format!("{} labels for {} sentences", labels.len(), asked.len()));
    }
    for (number, (label, sentence)) in labels.iter().zip(asked).enumerate() {
        if letters(&label.sentence) != letters(sentence) {
            return Err(format!("label {} is not that of sentence {0}", number + 1));
        }
    }
    Ok(labels)
}

/// Returns the labels of a reply that consists of complete blocks and nothing else.
fn whole_labels(reply: &str) -> Result<Vec<SentenceLabel>, String> {
    let labels = sentence_labels(reply);
    let text = format!("\n{reply}");
    let starts = [&*NEXT].into_iter().chain(&FIELDS[1..]);
    let complete = starts.clone().all(|start| start.find_iter(&text).count() == labels.len());
    let first = NEXT.find(&text).is_some_and(|first| first.start() == 0);
    let excerpts = labels.iter().filter_map(|label| label.contradicting_excerpt.as_ref());
    if !complete || !first || excerpts.clone().any(|excerpt| excerpt.contains('\n')) {
        return Err("the reply is not blocks of labels and nothing else".to_owned());
    }
    Ok(labels)
}

/// Returns the labels between lines with a code.
fn coded_labels(reply: &str, code: &str) -> Result<Vec<SentenceLabel>, String> {
    let starts = [format!("sentence{code}:"), format!("label{code}:")];
    let [sentence, label] = starts.each_ref().map(|start| ignoring_case(start));
    let mut labels = Vec::new();
    let mut position = 0;
    while let Some(start) = sentence.find(&reply[position..]) {
        let start = position + start.end();
        let end = sentence.find(&reply[start..]).map_or(reply.len(), |next| start + next.start());
        let block = &reply[start..end];
        let found: Vec<_> = label.find_iter(block).collect();
        let [found] = &found[..] else {
            return Err(format!("a sentence has {} labels", found.len()));
        };
        let behind = strip(&block[found.end()..]);
        let (text, rationale) = behind.split_once('\n').unwrap_or((behind, ""));
        labels.push(SentenceLabel {
            sentence: strip(&block[..found.start()]).to_owned(),
            label: strip(text).to_owned(),
            rationale: strip(rationale).to_owned(),
            supporting_excerpt: None,
            contradicting_excerpt: None,
        });
        position = end;
    }
    if labels.is_empty() || label.find_iter(reply).count() != labels.len() {
        return Err("the reply has no labels, or some without a sentence".to_owned());
    }
    Ok(labels)
}
