//! Does the answer say what is expected, and mention what was attached? A code judge of AgentV's guide.

use std::process::ExitCode;

use evaluator_sdk::{
    agentv::{Assertion, CodeJudgeInput, CodeJudgeResult},
    evaluator,
};

/// Scores whether the answer contains the expected outcome, and the name of every file that came with the question.
#[evaluator(contract = agentv)]
fn expected_outcome(input: &CodeJudgeInput) -> Result<CodeJudgeResult, &'static str> {
    let answer = input.candidate_answer().ok_or("the document has no answer")?;
    // Version 5 of AgentV does not send it: there is nothing to compare with, which is not the agent's fault.
    let outcome = input.expected_outcome().ok_or("the document has no expected outcome")?;
    let outcome = match answer.contains(outcome) {
        true => Assertion::new("Answer matches expected outcome", true),
        false => Assertion::new("Answer does not match expected outcome", false),
    };
    let files = input.guideline_files().iter().chain(input.input_files());
    let attachments = files.map(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        match answer.contains(name) {
            true => Assertion::new(format!("Mentions attachment: {name}"), true),
            false => Assertion::new(format!("Missing attachment: {name}"), false),
        }
    });
    let result = CodeJudgeResult::of([outcome].into_iter().chain(attachments));
    let (passed, all) = (result.hits().len(), result.assertions.len());
    Ok(result.reasoning(format!("Passed {passed}/{all} checks")))
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
        testing::agentv::assert_score(&expected_outcome(&input("It is Paris.")).unwrap(), 1.0);
        testing::agentv::assert_score(&expected_outcome(&input("It is Lyon.")).unwrap(), 0.0);
        testing::agentv::assert_score(&expected_outcome(&input("It is paris.")).unwrap(), 0.0);
    }

    #[test]
    fn every_attachment_wants_to_be_mentioned() {
        let input = input("Paris, says atlas.txt.")
            .with_guideline_file("/evals/style.md")
            .with_input_file("/evals/atlas.txt")
            .with_input_file("style.md");

        let result = expected_outcome(&input).unwrap();

        testing::agentv::assert_score(&result, 0.5);
        assert_eq!(
            result.hits(),
            ["Answer matches expected outcome", "Mentions attachment: atlas.txt"]
        );
        // A guideline that is an input as well is asked for twice.
        assert_eq!(
            result.misses(),
            ["Missing attachment: style.md", "Missing attachment: style.md"]
        );
        assert_eq!(result.reasoning.as_deref(), Some("Passed 2/4 checks"));
    }

    #[test]
    fn without_an_answer_or_an_expectation_nothing_is_judged() {
        let no_outcome = CodeJudgeInput::new("What is the capital?", "Paris.");
        let no_answer = CodeJudgeInput::default().with_expected_outcome("Paris");

        assert_eq!(
            expected_outcome(&no_outcome).unwrap_err(),
            "the document has no expected outcome"
        );
        assert_eq!(expected_outcome(&no_answer).unwrap_err(), "the document has no answer");
    }
}
