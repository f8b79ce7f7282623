//! `per_turn_user_simulator_quality_v1`: whether a simulated user keeps to its plan.

use evaluator_json::{Value, strip};

use super::{
    Answer, Asked, Case, Judge, JudgedTurn, Question, Reading, Refusal, Scenario, Scores, Status,
    Tally, TurnJudgement, Vote, Votes,
    answer::{Readings, check_all},
    material::continued,
    prompt::USER,
    reply::user_label,
    scheme::schema::{closed, list, typed},
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
        let user = turn.user_text();
        messages.extend(user.map(|text| format!("user: {}", continued(&text))));
        messages.extend(turn.answer.as_ref().map(|answer| {
            format!("{}: {}", answer.role, continued(&answer.text().unwrap_or_else(none)))
        }));
    }
    messages.join("\n\n")
}

/// Returns whether the first message is the one of the scenario; `None` if it has no text.
fn starts_as_planned(case: &Case<'_>, scenario: &Scenario) -> Option<bool> {
    let text = case.actual.first()?.user_text()?;
    Some(strip(&text) == strip(&scenario.starting_prompt))
}

/// Returns the score of each row: the first turn, the others, with the stop signal in place of the last one if it fails.
fn rows(first: Option<bool>, values: &[Option<f64>], threshold: f64) -> Vec<Option<f64>> {
    let Some((stop, others)) = values.split_last() else { return Vec::new() };
    let first = first.map(|first| f64::from(u8::from(first)));
    let mut rows: Vec<Option<f64>> = [first].into_iter().chain(others.iter().copied()).collect();
    if Status::of(*stop, threshold) == Status::Failed
        && let Some(last) = rows.last_mut()
    {
        *last = *stop;
    }
    rows
}

/// Returns the sum of the scores that pass, divided by the number of all rows.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 turns")]
fn overall(rows: &[Option<f64>], threshold: f64) -> Option<f64> {
    let passed = rows.iter().flatten().filter(|score| **score >= threshold);
    (!rows.is_empty()).then(|| passed.sum::<f64>() / rows.len() as f64)
}

/// Returns the schema of a reply.
fn schema() -> Value {
    let text = || typed("string");
    let criterion = closed([("name", text()), ("reasoning", text()), ("passes", typed("boolean"))]);
    closed([("criteria", list(criterion)), ("is_valid", typed("boolean"))])
}

impl Judge for UserSimulator {
    fn name(&self) -> &str {
        USER
    }

    fn can_swap(&self) -> bool {
        false
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
        let questions = messages.enumerate().map(|(index, message)| {
            let variables = vec![
                ("conversation_plan", scenario.conversation_plan.clone()),
                ("conversation_history", history(&turns[..=index])),
                ("generated_user_response", message),
                ("stop_signal", case.criterion.stop_signal.clone()),
                ("persona", scenario.persona.clone()),
            ];
            Ok(Question {
                part: usize::from(index == last),
                schema: Some(schema()),
                samples: case.criterion.samples,
                ..case.criterion.prompts.question(last.min(index + 1), USER, variables)?
            })
        });
        questions.collect()
    }

    fn read(&self, _: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        user_label(reply, question.code.as_ref()).map(Vote::of_label)
    }

    /// A missing reply counts as an unreadable one.
    fn read_answer(&self, case: &Case<'_>, question: &Question, answer: &Answer) -> Reading {
        match answer {
            Answer::Nothing => Reading::Unreadable("no reply".to_owned()),
            _ => Reading::new(answer, &case.criterion.rules, |it| self.read(case, question, it)),
        }
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        check_all(planned, asked)?;
        let mut tally = Tally::default();
        for asked in asked {
            let readings = Readings::new(std::slice::from_ref(asked));
            let turn = readings.turn;
            if let Some((sample, reason)) = readings.failed.first() {
                let (turn, sample) = (turn + 1, sample + 1);
                return Err(Refusal::Failed(format!("turn {turn}, sample {sample}: {reason}")));
            }
            tally.note(&readings, case.criterion);
            let votes = Votes::binary(turn).of_part(asked.question.part);
            tally.votes.push(readings.count(votes, <[Vote]>::first));
        }
        Ok(tally)
    }

    fn score(&self, case: &Case<'_>, _: &Tally, values: &[Option<f64>]) -> Scores {
        let threshold = case.criterion.threshold;
        let planned = case.scenario.and_then(|scenario| starts_as_planned(case, scenario));
        let rows = rows(planned, values, threshold);
        let score = overall(&rows, threshold);
        let turns = rows.into_iter().map(|score| TurnJudgement { score, rubrics: None });
        Scores { score, turns: turns.collect(), ..Scores::default() }
    }
}
