//! Verdicts about rubrics: one block of labelled lines per rubric.

use std::{ops::Range, sync::LazyLock};

use evaluator_json::{is_space, strip};
use regex_lite::Regex;
use unicode_normalization::UnicodeNormalization;

use super::pattern;

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

static ID: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[~]*ID: (.*)"));
static PROPERTY: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[~]*Property: (.*)"));
static RATIONALE: LazyLock<Regex> = LazyLock::new(|| pattern(r"Rationale: (.*)"));
static VERDICT: LazyLock<Regex> = LazyLock::new(|| pattern(r"Verdict: (.*)"));

/// Returns the position of each line that matches and its text without blanks around it.
fn lines<'t>(pattern: &Regex, reply: &'t str) -> Vec<(Range<usize>, &'t str)> {
    let captures = pattern.captures_iter(reply);
    captures
        .filter_map(|captures| Some((captures.get(0)?.range(), strip(captures.get(1)?.as_str()))))
        .collect()
}

/// Returns the blocks of a reply; none if the reply cannot be read.
#[must_use]
pub fn rubric_blocks(reply: &str) -> Vec<RubricBlock> {
    let properties = lines(&PROPERTY, reply);
    let rationales = lines(&RATIONALE, reply);
    let verdicts = lines(&VERDICT, reply);
    if properties.len() != rationales.len() || properties.len() != verdicts.len() {
        return Vec::new();
    }
    let ids = lines(&ID, reply);
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
