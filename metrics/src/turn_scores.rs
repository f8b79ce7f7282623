//! Scores of turns, some of which may not be evaluated.

use evaluator_json::{Object, Value, count};
use indexmap::IndexMap;

use super::{Outcome, Scored, turns::mean};

/// Score of a turn.
#[derive(Clone, Debug)]
pub enum TurnScore {
    /// A score, and whether the turn passes.
    Scored {
        /// Score, from 0 to 1.
        score: f64,
        /// Whether the turn passes.
        passed: bool,
        /// Something that the user should know about this turn.
        note: Option<String>,
    },
    /// There was nothing to score, with the reason.
    NotEvaluated(String),
}

/// Scores of the turns of a conversation.
#[derive(Debug, Default)]
pub struct TurnScores(Vec<TurnScore>);

impl TurnScores {
    /// Adds the score of the next turn.
    pub fn add(&mut self, score: TurnScore) {
        self.0.push(score);
    }

    /// Combines the scores: the mean of the evaluated turns, which passes if each of them does.
    pub fn outcome(self, turns: usize, golden: usize, details: Object) -> Outcome {
        let mut details = details;
        let (mut per_turn, mut all_passed, mut notes) = (Vec::new(), true, Vec::new());
        for (index, score) in self.0.into_iter().enumerate() {
            let (score, note) = match score {
                TurnScore::Scored { score, passed, note } => {
                    all_passed &= passed;
                    (Some(score), note)
                }
                TurnScore::NotEvaluated(reason) => (None, Some(format!("not evaluated: {reason}"))),
            };
            per_turn.push(score);
            notes.extend(note.map(|note| (index, note)));
        }
        let scores: Vec<f64> = per_turn.iter().copied().flatten().collect();
        if scores.is_empty() {
            let first = notes.into_iter().next().map(|(_, note)| note);
            let reason = first.as_deref().and_then(|note| note.strip_prefix("not evaluated: "));
            return Outcome::not_evaluated(reason.unwrap_or("no turns to compare"));
        }
        if turns != golden {
            details.insert("missing_turns".to_owned(), count(golden.saturating_sub(turns)));
            details.insert("unexpected_turns".to_owned(), count(turns.saturating_sub(golden)));
        }
        if scores.len() < per_turn.len() {
            details.insert("evaluated_turns".to_owned(), count(scores.len()));
            details.insert("turns".to_owned(), count(per_turn.len()));
        }
        if !notes.is_empty() {
            let notes = by_text(notes).into_iter().map(|(text, turns)| match turns.as_slice() {
                [turn] => Value::String(format!("turn {turn}: {text}")),
                turns => Value::String(format!("turns {}: {text}", turns.join(", "))),
            });
            details.insert("notes".to_owned(), Value::Array(notes.collect()));
        }
        Outcome::Scored(Scored {
            passed: Some(all_passed),
            per_turn,
            details: (!details.is_empty()).then_some(details),
            ..Scored::new(mean(&scores))
        })
    }
}

/// Returns each text once, with the numbers of its turns.
fn by_text(notes: Vec<(usize, String)>) -> IndexMap<String, Vec<String>> {
    let mut turns: IndexMap<String, Vec<String>> = IndexMap::new();
    for (index, text) in notes {
        turns.entry(text).or_default().push((index + 1).to_string());
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_about_several_turns_is_one() {
        let scored = |note: &str| TurnScore::Scored {
            score: 1.0,
            passed: true,
            note: Some(note.to_owned()),
        };
        let mut scores = TurnScores::default();
        for score in [scored("short"), TurnScore::NotEvaluated("empty".to_owned()), scored("short")]
        {
            scores.add(score);
        }
        let Outcome::Scored(scored) = scores.outcome(3, 3, Object::default()) else {
            panic!("it is scored");
        };
        let notes = scored.details.unwrap()["notes"].as_array().unwrap().to_vec();
        let notes: Vec<&str> = notes.iter().filter_map(Value::as_str).collect();
        assert_eq!(notes, ["turns 1, 3: short", "turn 2: not evaluated: empty"]);
    }
}
