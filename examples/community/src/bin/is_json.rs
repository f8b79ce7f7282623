//! Is every answer JSON?

use std::process::ExitCode;

use evaluator_community::{
    python::{self, json},
    result::{answer, without_issues},
};
use evaluator_sdk::{Config, EvalResult, Failure, Invocations, evaluator};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default)]
struct Settings {
    /// Whether JSON may stand in a Markdown code block, which then is all of the answer.
    #[serde(deserialize_with = "python::truth")]
    extract_markdown_fence: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { extract_markdown_fence: true }
    }
}

/// Scores 1 for every answer that Python's `json` module reads, 0 for the others.
///
/// # Errors
///
/// When an answer is nested too deep to tell.
#[evaluator]
fn is_json(
    turns: Invocations<'_>,
    Config(settings): Config<Settings>,
) -> Result<EvalResult, Failure> {
    let mut issues = Vec::new();
    for turn in turns.iter() {
        let text = python::strip(answer(turn));
        let inside = if settings.extract_markdown_fence { fenced(text) } else { None };
        issues.push(match json::check(inside.unwrap_or(text)) {
            Ok(()) => None,
            Err(json::Error::Invalid(why)) => Some(format!("not valid JSON ({why})")),
            Err(why @ json::Error::TooDeep) => {
                let message = format!("the response of turn `{}` is {why}", turn.invocation_id);
                return Err(Failure::new("too_deep", message));
            }
        });
    }
    Ok(without_issues(&turns, "issues", issues))
}

/// What stands in a code block of no language or of JSON, if the text is nothing but that block.
fn fenced(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("```")?.strip_suffix("```")?;
    let language = inside.char_indices().nth(4).map_or(inside, |(end, _)| &inside[..end]);
    let is_json = language.to_uppercase() == "JSON";
    Some(python::strip(if is_json { &inside[language.len()..] } else { inside }))
}

fn main() -> ExitCode {
    is_json::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn judge(answer: &str, extract_markdown_fence: bool) -> Result<EvalResult, Failure> {
        let input = testing::input("is_json").turn("?", answer);
        is_json(Invocations(&input.invocations), Config(Settings { extract_markdown_fence }))
    }

    #[test]
    fn a_mistake_is_shown_with_its_place() {
        let result = judge("{'a': 1}", true).unwrap();

        testing::assert_score(&result, 0.0);
        assert_eq!(
            result.details.unwrap()["issues"][0],
            ": not valid JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"
        );
    }

    #[test]
    fn a_code_block_is_looked_into_if_it_is_everything() {
        for text in ["```json\n[1]\n```", "```\n[1]\n```  \n", "```JSON [1]```", "``` json```"] {
            let expected = if text.contains(" json") { 0.0 } else { 1.0 };
            testing::assert_score(&judge(text, true).unwrap(), expected);
            testing::assert_score(&judge(text, false).unwrap(), 0.0);
        }
        for text in
            ["See:\n```json\n[1]\n```", "```yaml\n[1]\n```", "```json\n[1]\n```\nDone.", "`````"]
        {
            testing::assert_score(&judge(text, true).unwrap(), 0.0);
        }
    }

    #[test]
    fn too_deep_is_no_judgement() {
        let failure = judge(&"[".repeat(5000), true).unwrap_err();

        assert_eq!(failure.kind(), "too_deep");
    }
}
