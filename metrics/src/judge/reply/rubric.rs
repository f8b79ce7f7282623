//! Verdicts about rubrics: one block of labelled lines per rubric.

use std::ops::Range;

use evaluator_json::{is_space, strip};
use unicode_normalization::UnicodeNormalization;

/// What a judge says about one rubric.
#[derive(Clone, Debug, PartialEq)]
pub struct RubricBlock {
    /// Id of the rubric, if the block has one.
    pub id: Option<String>,
    /// Text of the rubric as the judge repeats it.
    pub property: String,
    /// Reason of the verdict.
    pub rationale: String,
    /// 1 or 0; `None` if the verdict is neither yes nor no.
    pub score: Option<f64>,
}

/// Returns the place of each line with the label and the text behind it, without blanks around it. Only blanks may stand before
/// the label, unless it may be `anywhere`.
fn lines<'t>(reply: &'t str, label: &str, anywhere: bool) -> Vec<(Range<usize>, &'t str)> {
    let mut end = 0;
    let lines = reply.split('\n').map(|line| {
        let start = end;
        end += line.len() + 1;
        (start..start + line.len(), line)
    });
    let behind = |line: &'t str| match anywhere {
        true => line.split_once(label).map(|(_, text)| text),
        false => line.trim_start_matches(is_space).strip_prefix(label),
    };
    lines.filter_map(|(place, line)| Some((place, strip(behind(line)?)))).collect()
}

/// Returns the blocks of a reply; none if the reply cannot be read.
#[must_use]
pub fn rubric_blocks(reply: &str) -> Vec<RubricBlock> {
    let properties = lines(reply, "Property: ", false);
    let rationales = lines(reply, "Rationale: ", true);
    let verdicts = lines(reply, "Verdict: ", true);
    if properties.len() != rationales.len() || properties.len() != verdicts.len() {
        return Vec::new();
    }
    let ids = lines(reply, "ID: ", false);
    let mut previous = 0;
    let mut blocks = Vec::with_capacity(properties.len());
    for (((line, property), (_, rationale)), (_, verdict)) in
        properties.into_iter().zip(rationales).zip(verdicts)
    {
        let between = |id: &&(Range<usize>, &str)| (previous..line.start).contains(&id.0.start);
        let id = ids.iter().rfind(between).map(|(_, id)| *id);
        let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        previous = line.end;
        blocks.push(RubricBlock {
            id,
            property: property.to_owned(),
            rationale: rationale.to_owned(),
            score: score(verdict),
        });
    }
    blocks
}

fn score(verdict: &str) -> Option<f64> {
    let verdict = verdict.to_lowercase();
    if verdict.contains("yes") { Some(1.0) } else { verdict.contains("no").then_some(0.0) }
}

/// Returns the text of a rubric as it is compared: without differences that models make when they repeat a text.
#[must_use]
pub fn normalize_rubric(text: &str) -> String {
    let plain = text.nfkc().map(|character| match character {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2013}' | '\u{2014}' => '-',
        other => other,
    });
    let plain: String = plain.collect();
    let words: Vec<&str> = plain.split(is_space).filter(|word| !word.is_empty()).collect();
    let around = |character: char| "*_`#>-\u{2022}\"' ".contains(character);
    words.join(" ").trim_matches(around).to_lowercase()
}
