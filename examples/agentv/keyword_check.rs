//! Does the answer say the words it has to say? The code judge that AgentV's guide begins with.

use std::process::ExitCode;

use evaluator_sdk::{
    Config, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    evaluator,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Settings {
    /// Words that belong into the answer, in this spelling.
    #[serde(default = "usual")]
    keywords: Vec<String>,
}

fn usual() -> Vec<String> {
    ["async", "await"].map(str::to_owned).to_vec()
}

/// Scores how many of the required keywords are in the answer.
#[evaluator(contract = agentv)]
fn keyword_check(
    input: &CodeJudgeInput,
    Config(Settings { keywords }): Config<Settings>,
) -> Result<CodeJudgeResult, &'static str> {
    if keywords.is_empty() {
        // Otherwise every answer would pass.
        return Err("there are no keywords in the config");
    }
    let answer = input.candidate_answer().ok_or("the document has no answer")?;
    let (found, missing): (Vec<&String>, Vec<&String>) =
        keywords.iter().partition(|keyword| answer.contains(keyword.as_str()));
    let (count, required) = (found.len(), keywords.len());
    Ok(CodeJudgeResult::new(Score::ratio(count, required))
        .with_hits(found.iter().map(|keyword| format!("Contains required keyword: {keyword}")))
        .with_misses(missing.iter().map(|keyword| format!("Missing required keyword: {keyword}")))
        .reasoning(format!("Found {count}/{required} required keywords")))
}

fn main() -> ExitCode {
    keyword_check::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn settings(keywords: &[&str]) -> Config<Settings> {
        let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
        Config(Settings { keywords })
    }

    #[test]
    fn every_keyword_counts_the_same() {
        let input = CodeJudgeInput::new("Where is the tower?", "In Paris, by the river.");

        let result = keyword_check(&input, settings(&["Paris", "Seine"])).unwrap();

        testing::agentv::assert_score(&result, 0.5);
        assert_eq!(result.hits(), ["Contains required keyword: Paris"]);
        assert_eq!(result.misses(), ["Missing required keyword: Seine"]);
        assert_eq!(result.reasoning.as_deref(), Some("Found 1/2 required keywords"));
    }

    #[test]
    fn keywords_are_found_inside_of_words_and_in_their_spelling_only() {
        let input = CodeJudgeInput::new("How?", "Use asynchronous calls, and Await them.");

        let result = testing::agentv::run(&keyword_check::EVALUATOR, &input).unwrap();

        assert_eq!(result.hits(), ["Contains required keyword: async"]);
        assert_eq!(result.misses(), ["Missing required keyword: await"]);
    }

    #[test]
    fn an_empty_answer_misses_everything_and_no_answer_is_no_miss() {
        let silent = keyword_check(&CodeJudgeInput::new("q", ""), settings(&["a"])).unwrap();
        testing::agentv::assert_score(&silent, 0.0);

        let nothing = keyword_check(&CodeJudgeInput::default(), settings(&["a"]));
        assert_eq!(nothing.unwrap_err(), "the document has no answer");
    }

    #[test]
    fn no_keywords_are_no_check() {
        let input = CodeJudgeInput::new("q", "a");

        let failure = keyword_check(&input, settings(&[])).unwrap_err();

        assert_eq!(failure, "there are no keywords in the config");
    }
}
