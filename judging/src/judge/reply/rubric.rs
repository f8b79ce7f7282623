//! Verdicts about rubrics: one block of labelled lines per rubric.

use evaluator_json::{is_space, strip};
use unicode_normalization::UnicodeNormalization;

use super::{object::unfenced, word::first_word};
use crate::judge::code::{Code, after_draft};

const ID: &str = "ID: ";
const PROPERTY: &str = "Property: ";
const RATIONALE: &str = "Rationale: ";
const VERDICT: &str = "Verdict: ";

/// Verdict of a judge about one rubric.
#[derive(Clone, Debug, Default, PartialEq)]
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
    let reply = after_draft(reply, code);
    match code.filter(|code| code.is_in(reply)) {
        Some(code) => coded(reply, code.as_str()),
        None => whole(unfenced(reply)),
    }
}

/// Part of a block that comes next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Block,
    Property,
    Rationale,
    Verdict,
}

/// Returns the blocks of a reply that consists of complete blocks and nothing else. What the judge quotes looks like a block,
/// or is text that belongs to none.
fn whole(reply: &str) -> Result<Vec<RubricBlock>, String> {
    let mut blocks: Vec<RubricBlock> = Vec::new();
    let (mut block, mut next) = (RubricBlock::default(), Next::Block);
    for line in reply.split('\n').map(|line| line.trim_start_matches(is_space)) {
        let starts = |label: &str| line.strip_prefix(label).map(|text| strip(text).to_owned());
        let behind = |label: &str| line.split_once(label).map(|(_, text)| strip(text).to_owned());
        let labels = (starts(ID), starts(PROPERTY), behind(RATIONALE), behind(VERDICT));
        next = match (next, labels) {
            (Next::Block | Next::Property, (None, None, None, None)) if strip(line).is_empty() => {
                next
            }
            (Next::Block, (id @ Some(_), None, None, None)) => {
                block.id = id;
                Next::Property
            }
            (Next::Block | Next::Property, (None, Some(property), None, None)) => {
                block.property = property;
                Next::Rationale
            }
            // Some models write the id behind the text.
            (Next::Rationale, (id @ Some(_), None, None, None)) if block.id.is_none() => {
                block.id = id;
                next
            }
            (Next::Rationale, (None, None, Some(rationale), None)) => {
                block.rationale = rationale;
                Next::Verdict
            }
            (Next::Verdict, (None, None, None, Some(verdict))) => {
                block.score = score(&verdict);
                block.id = block.id.filter(|id| !id.is_empty());
                blocks.push(std::mem::take(&mut block));
                Next::Block
            }
            // Evidence, and further lines of a rationale.
            (Next::Rationale | Next::Verdict, (None, None, None, None)) if !is_label(line) => next,
            _ => return Err("the reply is not blocks of verdicts and nothing else".to_owned()),
        };
    }
    match (next, blocks.is_empty()) {
        (Next::Block, false) => Ok(blocks),
        _ => Err("the reply has no verdicts, or incomplete ones".to_owned()),
    }
}

/// Returns the text behind a label at the start of a line, without marks like `**` around both, and without the number of an
/// item of a list.
fn labelled<'t>(line: &'t str, label: &str) -> Option<&'t str> {
    let is_mark = |c: char| c.is_whitespace() || "*_`#>-".contains(c);
    let line = line.trim_start_matches(is_mark);
    let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = item.strip_prefix(['.', ')']).filter(|_| item.len() < line.len()).unwrap_or(line);
    let rest = item.trim_start_matches(is_mark).strip_prefix(label)?;
    let rest = rest.trim_start_matches(is_mark).strip_prefix(':')?;
    Some(rest.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c)))
}

/// Returns true if a line starts with a label of a block, however it is written: `**verdict:** no` is not evidence.
fn is_label(line: &str) -> bool {
    let line = line.to_lowercase();
    ["id", "property", "rationale", "verdict"].iter().any(|label| labelled(&line, label).is_some())
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
            if open.replace(RubricBlock { id, ..RubricBlock::default() }).is_some() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_verdict_in_another_form_is_not_evidence_before_a_quoted_one() {
        let reply = |own: &str| {
            format!(
                "ID: a\nProperty: p\nEvidence: e\nRationale: r\n{own}\nThe agent wrote:\nVerdict: yes\n"
            )
        };
        for own in ["**Verdict:** no", "Verdict:no", "verdict: no", "VERDICT : no", "- Verdict: no"]
        {
            assert!(rubric_verdicts(&reply(own), None).is_err(), "{own}");
        }
        let further = reply("and another reason");
        assert_eq!(rubric_verdicts(&further, None).unwrap()[0].score, Some(1.0));
    }
}
