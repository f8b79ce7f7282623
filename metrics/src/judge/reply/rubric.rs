//! Verdicts about rubrics: one block of labelled lines per rubric.

use std::ops::Range;

use evaluator_json::{is_space, strip};
use unicode_normalization::UnicodeNormalization;

use super::{object::unfenced, word::first_word};
use crate::judge::code::Code;

const ID: &str = "ID: ";
const PROPERTY: &str = "Property: ";
const RATIONALE: &str = "Rationale: ";
const VERDICT: &str = "Verdict: ";

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
    let properties = lines(reply, PROPERTY, false);
    let rationales = lines(reply, RATIONALE, true);
    let verdicts = lines(reply, VERDICT, true);
    if properties.len() != rationales.len() || properties.len() != verdicts.len() {
        return Vec::new();
    }
    let ids = lines(reply, ID, false);
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

/// Returns the score of a verdict by its first word.
fn score(verdict: &str) -> Option<f64> {
    match first_word(verdict)?.as_str() {
        "yes" => Some(1.0),
        "no" => Some(0.0),
        _ => None,
    }
}

/// Reads the blocks of a reply. If the reply has the code, a block is what is between an id and a verdict with the code, and
/// all else is ignored. Else the reply must consist of blocks and nothing else, in a fence or not.
///
/// # Errors
///
/// A block is incomplete, or there is none.
pub fn rubric_verdicts(reply: &str, code: Option<&Code>) -> Result<Vec<RubricBlock>, String> {
    match code.filter(|code| code.is_in(reply)) {
        Some(code) => coded(reply, code.as_str()),
        None => {
            let reply = unfenced(reply);
            check_whole(reply)?;
            Ok(rubric_blocks(reply))
        }
    }
}

/// Checks that a reply consists of complete blocks and nothing else. What the judge quotes looks like a block, or is text that
/// belongs to none.
fn check_whole(reply: &str) -> Result<(), String> {
    if rubric_blocks(reply).is_empty() {
        return Err("the reply has no verdicts, or incomplete ones".to_owned());
    }
    // The part of a block that comes next; for verdicts also whether there was a rationale.
    enum Next {
        Block,
        Property,
        Verdict(bool),
    }
    let mut next = Next::Block;
    for line in reply.split('\n').map(|line| line.trim_start_matches(is_space)) {
        let (is_rationale, is_verdict) = (line.contains(RATIONALE), line.contains(VERDICT));
        let starts = |label: &str| line.starts_with(label);
        next = match next {
            blank @ (Next::Block | Next::Property) if strip(line).is_empty() => blank,
            Next::Block if starts(ID) => Next::Property,
            Next::Block | Next::Property if starts(PROPERTY) => Next::Verdict(false),
            Next::Verdict(false) if is_rationale && !is_verdict => Next::Verdict(true),
            Next::Verdict(true) if is_verdict && !is_rationale => Next::Block,
            Next::Verdict(rationale)
                if !(starts(ID) || starts(PROPERTY) || is_rationale || is_verdict) =>
            {
                Next::Verdict(rationale)
            }
            _ => return Err("the reply is not blocks of verdicts and nothing else".to_owned()),
        };
    }
    Ok(())
}

/// Returns the text behind a label at the start of a line, without marks like `**` around both.
fn labelled<'t>(line: &'t str, label: &str) -> Option<&'t str> {
    let is_mark = |c: char| c.is_whitespace() || "*_`#>-".contains(c);
    let rest = line.trim_start_matches(is_mark).strip_prefix(label)?;
    let rest = rest.trim_start_matches(is_mark).strip_prefix(':')?;
    Some(rest.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c)))
}

/// Returns the blocks between ids and verdicts with a code.
fn coded(reply: &str, code: &str) -> Result<Vec<RubricBlock>, String> {
    let (id, verdict) = (format!("ID{code}"), format!("Verdict{code}"));
    let mut blocks = Vec::new();
    let mut open: Option<RubricBlock> = None;
    for line in reply.lines() {
        // A model may write the code behind the other labels, too.
        let plain = line.replace(code, "");
        if let Some(id) = labelled(line, &id) {
            let id = Some(id.to_owned()).filter(|id| !id.is_empty());
            let block =
                RubricBlock { id, property: String::new(), rationale: String::new(), score: None };
            if open.replace(block).is_some() {
                return Err("a block has an id and no verdict".to_owned());
            }
        } else if let Some(text) = labelled(line, &verdict) {
            let block = open.take().ok_or("a verdict has no id")?;
            blocks.push(RubricBlock { score: score(text), ..block });
        } else if let Some(block) = &mut open {
            if let (true, Some(text)) = (block.property.is_empty(), labelled(&plain, "Property")) {
                text.clone_into(&mut block.property);
            } else if let Some(text) = labelled(&plain, "Rationale") {
                text.clone_into(&mut block.rationale);
            }
        }
    }
    match (open, blocks.is_empty()) {
        (None, false) => Ok(blocks),
        (None, true) => Err("the reply has no verdicts".to_owned()),
        (Some(_), _) => Err("a block has an id and no verdict".to_owned()),
    }
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
