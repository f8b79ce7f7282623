//! Does the answer say what is expected, and mention what was attached? A judge of AgentV's.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use evaluator_sdk::{
    agentv::{Assertion, CodeJudgeInput, CodeJudgeResult},
    evaluator,
};

/// Scores whether the answer contains the expected outcome, and the name of every file that came with the question.
#[evaluator(contract = agentv)]
fn expected_outcome(input: &CodeJudgeInput) -> Result<CodeJudgeResult, &'static str> {
    let answer = input.candidate_answer().ok_or("the document has no answer")?.to_lowercase();
    // Version 5 of AgentV does not send it: there is nothing to compare with, which is not the agent's fault.
    let outcome = input.expected_outcome().ok_or("the document has no expected outcome")?;
    let contains = |text: &str| answer.contains(&text.to_lowercase());
    let expected =
        Assertion::new("contains the expected outcome", contains(outcome)).evidence(outcome);
    // A file may be a guideline and an input.
    let files: BTreeSet<&String> =
        input.guideline_files().iter().chain(input.input_files()).collect();
    let attached = files.into_iter().filter_map(|path| {
        let name = Path::new(path).file_name()?.to_str()?;
        Some(Assertion::new(format!("mentions the attachment {name}"), contains(name)))
    });
    Ok(CodeJudgeResult::of([expected].into_iter().chain(attached)))
}

fn main() -> ExitCode {
    expected_outcome::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::testing;

    use super::*;

    fn input(answer: &str) -> CodeJudgeInput {
        CodeJudgeInput::new("What is the capital?", answer).with_expected_outcome("Paris")
    }

    #[test]
    fn without_attachments_the_outcome_decides() {
        testing::agentv::assert_score(&expected_outcome(&input("It is paris.")).unwrap(), 1.0);
        testing::agentv::assert_score(&expected_outcome(&input("It is Lyon.")).unwrap(), 0.0);
    }

    #[test]
    fn every_attachment_wants_to_be_mentioned() {
        let input = input("Paris, says atlas.txt.")
            .with_guideline_file("/evals/style.md")
            .with_input_file("/evals/atlas.txt")
            .with_input_file("/evals/style.md");

        let result = expected_outcome(&input).unwrap();

        testing::agentv::assert_score(&result, 2.0 / 3.0);
        assert_eq!(
            result.hits(),
            ["contains the expected outcome", "mentions the attachment atlas.txt"]
        );
        assert_eq!(result.misses(), ["mentions the attachment style.md"]);
    }

    #[test]
    fn without_an_expectation_nothing_is_judged() {
        let input = CodeJudgeInput::new("What is the capital?", "Paris.");

        assert_eq!(expected_outcome(&input).unwrap_err(), "the document has no expected outcome");
    }
}
