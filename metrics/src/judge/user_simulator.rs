//! `per_turn_user_simulator_quality_v1`: whether a simulated user keeps to its plan.

use evaluator_json::strip;

use super::{
    Asked, Case, Judge, JudgedTurn, Judgement, Order, Question, Refusal, Scenario, Status,
    TurnJudgement, Votes,
    answer::{Readings, check_all},
    judgement::{close, verdicts},
    prompt::USER,
    reply::{Label, user_label},
};

/// The metric. It asks about each message of the user but the first, then about a stop signal as the next message.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserSimulator;

fn scenario<'a>(case: &Case<'a>) -> Result<&'a Scenario, Refusal> {
    let missing =
        || Refusal::Failed("the metric judges a simulated user and needs its scenario".to_owned());
    case.scenario.ok_or_else(missing)
}

/// Returns the turns as text. An answer without parts is the word `None`, as in ADK.
fn history(turns: &[JudgedTurn]) -> String {
    let none = || "None".to_owned();
    let mut messages = Vec::new();
    for turn in turns {
        messages.extend(turn.user_text().map(|text| format!("user: {text}")));
        messages.extend(
            turn.answer
                .as_ref()
                .map(|answer| format!("{}: {}", answer.role, answer.text().unwrap_or_else(none))),
        );
    }
    messages.join("\n\n")
}

/// Returns whether the first message is the one of the scenario; `None` if it has no text.
fn starts_as_planned(case: &Case<'_>, scenario: &Scenario) -> Option<bool> {
    let text = case.actual.first()?.user_text()?;
    Some(strip(&text) == strip(&scenario.starting_prompt))
}

/// Returns the score of each row: the first turn, the others, with the stop signal in place of the last one if it fails.
fn rows(first: Option<bool>, verdicts: &[Option<bool>], threshold: f64) -> Vec<Option<f64>> {
    let score = |verdict: Option<bool>| verdict.map(|verdict| f64::from(u8::from(verdict)));
    let Some((stop, others)) = verdicts.split_last() else { return Vec::new() };
    let mut rows: Vec<Option<f64>> =
        std::iter::once(&first).chain(others).map(|verdict| score(*verdict)).collect();
    let stop = score(*stop);
    if Status::of(stop, threshold) == Status::Failed
        && let Some(last) = rows.last_mut()
    {
        *last = stop;
    }
    rows
}

/// Returns the sum of the scores that pass, divided by the number of all rows.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 turns")]
fn overall(rows: &[Option<f64>], threshold: f64) -> Option<f64> {
    let passed = rows.iter().flatten().filter(|score| **score >= threshold);
    (!rows.is_empty()).then(|| passed.sum::<f64>() / rows.len() as f64)
}

impl Judge for UserSimulator {
    fn name(&self) -> &'static str {
        USER
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        let scenario = scenario(case)?;
        case.check_samples()?;
        let turns = case.actual;
        let Some(last) = turns.len().checked_sub(1) else {
            return Err(Refusal::Failed("the conversation has no turns".to_owned()));
        };
        let messages = turns.iter().skip(1).map(|turn| turn.user_text().unwrap_or_default());
        let messages = messages.chain([case.criterion.stop_signal.clone()]);
        let questions = messages.enumerate().map(|(index, message)| Question {
            turn: last.min(index + 1),
            part: usize::from(index == last),
            prompt: USER,
            variables: vec![
                ("conversation_plan", scenario.conversation_plan.clone()),
                ("conversation_history", history(&turns[..=index])),
                ("generated_user_response", message),
                ("stop_signal", case.criterion.stop_signal.clone()),
                ("persona", scenario.persona.clone()),
            ],
            samples: case.criterion.samples,
            order: Order::Plain,
        });
        Ok(questions.collect())
    }

    fn aggregate(&self, case: &Case<'_>, asked: &[Asked]) -> Result<Judgement, Refusal> {
        check_all(&self.plan(case)?, asked)?;
        let (rules, threshold) = (&case.criterion.rules, case.criterion.threshold);
        let mut judgement = Judgement::default();
        for asked in asked {
            let turn = asked.question.turn;
            let readings = Readings::new(&asked.answers, rules, false, user_label);
            if let Some((sample, reason)) = readings.failed.first() {
                let (turn, sample) = (turn + 1, sample + 1);
                return Err(Refusal::Failed(format!("turn {turn}, sample {sample}: {reason}")));
            }
            let unreadable = readings.unreadable.len();
            let mut votes = Votes { turn, unreadable, ..Votes::default() };
            for (_, label) in &readings.read {
                votes.add(Some(*label == Label::Valid), Order::Plain);
            }
            judgement.note(turn, &readings, case.criterion);
            judgement.votes.push(votes);
        }
        let first = starts_as_planned(case, scenario(case)?);
        let rows_of = |verdicts: &[Option<bool>]| rows(first, verdicts, threshold);
        let rows = rows_of(&verdicts(&judgement.votes));
        judgement.score = overall(&rows, threshold);
        judgement.close =
            close(&judgement.votes, threshold, |verdicts| overall(&rows_of(verdicts), threshold));
        let turn = |score| TurnJudgement { score, rubrics: None };
        judgement.turns = rows.into_iter().map(turn).collect();
        Ok(judgement)
    }
}
