//! Does the answer say the words it has to say? A judge of AgentV's.

use std::process::ExitCode;

use evaluator_sdk::{
    Config, Score,
    agentv::{CodeJudgeInput, CodeJudgeResult},
    evaluator,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Settings {
    /// Words that belong into the answer.
    keywords: Vec<String>,
    /// Whether `paris` is as good as `Paris`.
    #[serde(default = "yes")]
    ignore_case: bool,
}

fn yes() -> bool {
    true
}

/// Scores how many of the required keywords are in the answer.
#[evaluator(contract = agentv)]
fn keyword_check(
    input: &CodeJudgeInput,
    Config(settings): Config<Settings>,
) -> Result<CodeJudgeResult, &'static str> {
    if settings.keywords.is_empty() {
        // Otherwise every answer would pass.
        return Err("there are no keywords in the config");
    }
    let fold =
        |text: &str| if settings.ignore_case { text.to_lowercase() } else { text.to_owned() };
    let answer = fold(input.candidate_answer().ok_or("the document has no answer")?);
    let (found, missing): (Vec<&String>, Vec<&String>) =
        settings.keywords.iter().partition(|keyword| answer.contains(&fold(keyword)));
    let (count, required) = (found.len(), settings.keywords.len());
    Ok(CodeJudgeResult::new(Score::ratio(count, required))
        .with_hits(found.iter().map(|keyword| format!("mentions {keyword:?}")))
        .with_misses(missing.iter().map(|keyword| format!("does not mention {keyword:?}")))
        .reasoning(format!("{count} of {required} keywords are in the answer")))
}

fn main() -> ExitCode {
    keyword_check::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn settings(keywords: &[&str], ignore_case: bool) -> Config<Settings> {
        let keywords = keywords.iter().map(|keyword| (*keyword).to_owned()).collect();
        Config(Settings { keywords, ignore_case })
    }

    #[test]
    fn every_keyword_counts_the_same() {
        let input = CodeJudgeInput::new("Where is the tower?", "In paris, by the river.");

        let result = keyword_check(&input, settings(&["Paris", "Seine"], true)).unwrap();

        testing::agentv::assert_score(&result, 0.5);
        assert_eq!(result.hits(), ["mentions \"Paris\""]);
        assert_eq!(result.misses(), ["does not mention \"Seine\""]);
        let strict = keyword_check(&input, settings(&["Paris", "Seine"], false)).unwrap();
        testing::agentv::assert_score(&strict, 0.0);
    }

    #[test]
    fn without_an_answer_there_is_nothing_to_check() {
        let nothing = CodeJudgeInput::default();

        assert_eq!(
            keyword_check(&nothing, settings(&["a"], true)).unwrap_err(),
            "the document has no answer"
        );
    }

    #[test]
    fn keywords_have_to_be_configured() {
        let input = CodeJudgeInput::new("q", "a").with_config("ignore_case", false);

        let failure = testing::agentv::run(&keyword_check::EVALUATOR, &input).unwrap_err();

        assert_eq!(failure.to_string(), "config: missing field `keywords`");
        let failure = keyword_check(&input, settings(&[], true)).unwrap_err();
        assert_eq!(failure, "there are no keywords in the config");
    }
}
