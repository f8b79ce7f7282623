//! Did the agent say exactly what was expected?

use std::process::ExitCode;

use evaluator_sdk::{EvalResult, Expected, Invocations, Score, evaluator};

/// Compares every answer with that of the golden turn. Runs of whitespace and upper case make no difference; golden turns
/// that leave the answer open are not scored.
#[evaluator]
fn exact_match(turns: Invocations<'_>, golden: Option<Expected<'_>>) -> EvalResult {
    let Some(golden) = golden else {
        return EvalResult::not_evaluated("no golden turns: give the run an eval set");
    };
    let normalized =
        |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
    let mut differences = Vec::new();
    let mut per_turn = Vec::new();
    for (index, golden) in golden.iter().enumerate() {
        per_turn.push(golden.final_response.as_deref().map(|expected| {
            // A golden turn that never took place counts as a wrong answer.
            let turn = turns.get(index);
            let actual = turn.and_then(|turn| turn.final_response.as_deref()).unwrap_or_default();
            let same = normalized(actual) == normalized(expected);
            if !same {
                differences.push(format!("expected {expected:?}, got {actual:?}"));
            }
            Score::from(same)
        }));
    }
    let mean = Score::mean(per_turn.iter().copied().flatten());
    // The turns that took place have a score each; those beyond the golden ones are not scored.
    per_turn.resize(turns.len(), None);
    match mean {
        Some(score) => EvalResult::new(score)
            .per_invocation_scores(per_turn)
            .detail("differences", differences),
        None => EvalResult::not_evaluated("no golden turn has an answer"),
    }
}

fn main() -> ExitCode {
    exact_match::run()
}

#[cfg(test)]
mod tests {
    use evaluator_sdk::{EvalInput, EvalStatus, InvocationData, testing};

    use super::*;

    fn judge(input: &EvalInput) -> EvalResult {
        exact_match(
            Invocations(&input.invocations),
            input.expected_invocations.as_deref().map(Expected),
        )
    }

    #[test]
    fn case_and_whitespace_make_no_difference() {
        let input = testing::input("exact_match")
            .turn("When?", "At  noon.\n")
            .expected("When?", "at noon.");

        testing::assert_score(&judge(&input), 1.0);
    }

    #[test]
    fn a_different_answer_is_shown_next_to_the_expected_one() {
        let input =
            testing::input("exact_match").turn("When?", "At one.").expected("When?", "At noon.");

        let result = judge(&input);

        testing::assert_score(&result, 0.0);
        let details = result.details.unwrap();
        assert_eq!(details["differences"][0], "expected \"At noon.\", got \"At one.\"");
    }

    #[test]
    fn turns_that_never_took_place_count() {
        let input = testing::input("exact_match")
            .turn("When?", "At noon.")
            .expected("When?", "At noon.")
            .expected("Where?", "Here.");

        let result = judge(&input);

        testing::assert_score(&result, 0.5);
        assert_eq!(result.per_invocation_scores, [Some(Score::ONE)]);
    }

    #[test]
    fn turns_beyond_the_golden_ones_are_not_scored() {
        let input = testing::input("exact_match")
            .turn("When?", "At noon.")
            .turn("Thanks!", "You are welcome.")
            .expected("When?", "At noon.");

        assert_eq!(judge(&input).per_invocation_scores, [Some(Score::ONE), None]);
    }

    #[test]
    fn golden_turns_without_an_answer_are_not_scored() {
        let open = InvocationData::new("When?", "").unanswered();
        let input = testing::input("exact_match").turn("When?", "At noon.").build().expected(open);

        assert_eq!(judge(&input).status, Some(EvalStatus::NotEvaluated));
        assert_eq!(judge(&testing::input("exact_match")).status, Some(EvalStatus::NotEvaluated));
    }
}
