//! `final_response_match_v2`: whether each answer says the same as the expected one.

use super::{
    Asked, Case, Judge, Judgement, Order, Question, Refusal, TurnJudgement, Votes,
    answer::{Readings, check_all},
    judgement::{close, mean_verdict, verdicts},
    material::response,
    prompt::{MATCH, MATCH_SWAPPED},
    reply::{Label, match_label},
};

/// The metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinalResponseMatch;

impl Judge for FinalResponseMatch {
    fn name(&self) -> &'static str {
        MATCH
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        let golden = case.golden_turns()?;
        let missing = || Refusal::NotEvaluated("no golden turns to compare with".to_owned());
        let golden = golden.ok_or_else(missing)?;
        case.check_samples()?;
        let criterion = case.criterion;
        let pairs = case.actual.iter().zip(golden).enumerate();
        let questions = pairs.flat_map(|(turn, (actual, expected))| {
            let variables = vec![
                ("prompt", expected.user_text().unwrap_or_else(|| "None".to_owned())),
                ("response", response(actual, criterion.include_intermediate)),
                ("golden_response", response(expected, criterion.include_intermediate)),
            ];
            Order::of(criterion.samples, criterion.swap).into_iter().map(move |(order, samples)| {
                let prompt = if order == Order::Plain { MATCH } else { MATCH_SWAPPED };
                Question { turn, part: 0, prompt, variables: variables.clone(), samples, order }
            })
        });
        Ok(questions.collect())
    }

    fn aggregate(&self, case: &Case<'_>, asked: &[Asked]) -> Result<Judgement, Refusal> {
        check_all(&self.plan(case)?, asked)?;
        let rules = &case.criterion.rules;
        let mut judgement = Judgement::default();
        for group in asked.chunk_by(|a, b| a.question.turn == b.question.turn) {
            let turn = group[0].question.turn;
            let orders: Vec<Order> = orders(group);
            let answers = group.iter().flat_map(|asked| &asked.answers);
            let readings =
                Readings::new(answers, rules, true, |text| match_label(text, rules.unknown_word));
            let mut votes = Votes {
                turn,
                unreadable: readings.unreadable.len(),
                failed: readings.failed.len(),
                ..Votes::default()
            };
            for (sample, label) in &readings.read {
                votes.add(Some(*label == Label::Valid), orders[*sample]);
            }
            judgement.note(turn, &readings, case.criterion);
            let score = mean_verdict(&[votes.verdict()]);
            judgement.turns.push(TurnJudgement { score, rubrics: None });
            judgement.votes.push(votes);
        }
        judgement.score = mean_verdict(&verdicts(&judgement.votes));
        judgement.close = close(&judgement.votes, case.criterion.threshold, mean_verdict);
        Ok(judgement)
    }
}

/// Returns the order of each sample of a turn.
pub(super) fn orders(group: &[Asked]) -> Vec<Order> {
    let orders = group.iter();
    orders.flat_map(|asked| vec![asked.question.order; asked.answers.len()]).collect()
}
