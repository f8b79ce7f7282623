//! `final_response_match_v2`: whether each answer says the same as the expected one.

use evaluator_json::Value;

use super::{
    Asked, Case, Judge, Order, Question, Refusal, Scores, Tally, TurnJudgement, Vote, Votes,
    answer::{Readings, check_all},
    judgement::mean,
    material::response,
    prompt::{MATCH, MATCH_SWAPPED},
    reply::match_label,
    scheme::schema::{closed, one_of, typed},
};

/// The metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinalResponseMatch;

impl Judge for FinalResponseMatch {
    fn name(&self) -> &str {
        MATCH
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        let golden = case.golden_turns()?;
        let missing = || Refusal::NotEvaluated("no golden turns to compare with".to_owned());
        let golden = golden.ok_or_else(missing)?;
        case.check_samples()?;
        let criterion = case.criterion;
        if criterion.swap && criterion.prompts.has(MATCH) != criterion.prompts.has(MATCH_SWAPPED) {
            return Err(Refusal::Failed(format!(
                "with `swap`, a prompt is needed for {MATCH} and for {MATCH_SWAPPED}"
            )));
        }
        let mut planned = Vec::new();
        for (turn, (actual, expected)) in case.actual.iter().zip(golden).enumerate() {
            for (order, samples) in Order::of(criterion.samples, criterion.swap) {
                let prompt = if order == Order::Plain { MATCH } else { MATCH_SWAPPED };
                let variables = vec![
                    ("prompt", expected.user_text().unwrap_or_else(|| "None".to_owned())),
                    ("response", response(actual, criterion.include_intermediate)),
                    ("golden_response", response(expected, criterion.include_intermediate)),
                ];
                let question = criterion.prompts.question(turn, prompt, variables)?;
                let schema = Some(schema());
                planned.push(Question { schema, samples, order, ..question });
            }
        }
        Ok(planned)
    }

    fn read(&self, case: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        let unknown = case.criterion.rules.unknown_word;
        match_label(reply, question.code.as_ref(), unknown).map(Vote::of_label)
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        check_all(planned, asked)?;
        let mut tally = Tally::default();
        for readings in Readings::by_turn(asked) {
            tally.note(&readings, case.criterion);
            tally.votes.push(readings.count(Votes::binary(readings.turn), <[Vote]>::first));
        }
        Ok(tally)
    }

    fn score(&self, _: &Case<'_>, _: &Tally, values: &[Option<f64>]) -> Scores {
        let turns = values.iter().map(|score| TurnJudgement { score: *score, rubrics: None });
        let score = mean(values.iter().copied().flatten());
        Scores { score, turns: turns.collect(), ..Scores::default() }
    }
}

/// Returns the schema of a reply.
fn schema() -> Value {
    let label = one_of(["valid", "invalid"].into_iter());
    closed([("reasoning", typed("string")), ("is_the_agent_response_valid", label)])
}
