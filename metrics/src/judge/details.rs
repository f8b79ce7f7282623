//! Judgements as details of a report.

use evaluator_json::{Object, Value};

use super::{Case, Conclusion, Judgement, Refusal, RubricScore, Votes};
use crate::{
    Outcome, Scored,
    turns::{count, object},
};

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotEvaluated(reason) => Self::not_evaluated(reason),
            Refusal::Failed(reason) => Self::Failed { reason },
        }
    }
}

impl Judgement {
    /// Returns the outcome of the metric: a score only if the judge did not fail, see [`Judgement::conclude`].
    #[must_use]
    pub fn outcome(&self, case: &Case<'_>) -> Outcome {
        match self.conclude(case.criterion) {
            Conclusion::Failed(reason) => Outcome::Failed { reason },
            Conclusion::NotEvaluated(reason) => {
                let mut details = self.details(case);
                details.insert("reason".to_owned(), reason.into());
                Outcome::NotEvaluated { details }
            }
            Conclusion::Scored { score, passed } => Outcome::Scored(Scored {
                passed: Some(passed),
                per_turn: self.turns.iter().map(|turn| turn.score).collect(),
                details: Some(self.details(case)),
                ..Scored::new(score)
            }),
        }
    }

    /// Returns the details of the report: the scores of rubrics as agentevals has them, and `judge` with votes, agreement
    /// and warnings.
    #[must_use]
    pub fn details(&self, case: &Case<'_>) -> Object {
        let mut details = Object::default();
        if let Some(overall) = &self.rubrics {
            let turns = case.actual.iter().zip(&self.turns).map(|(turn, judged)| {
                let rubrics = judged.rubrics.as_deref().unwrap_or_default();
                object([
                    ("invocation_id", turn.id.as_str().into()),
                    ("rubric_scores", scores(rubrics)),
                ])
            });
            details.insert("per_invocation".to_owned(), Value::Array(turns.collect()));
            details.insert("overall_rubric_scores".to_owned(), scores(overall));
        }
        details.insert("judge".to_owned(), self.judge(case));
        details
    }

    fn judge(&self, case: &Case<'_>) -> Value {
        let texts = |texts: Vec<String>| Value::Array(texts.into_iter().map(Value::from).collect());
        let troubles = self.troubles.iter();
        let troubles =
            troubles.map(|trouble| format!("turn {}: {}", trouble.turn + 1, trouble.cause));
        let mut members = vec![
            ("samples", count(case.criterion.samples)),
            ("votes", Value::Array(self.votes.iter().map(votes).collect())),
            ("warnings", texts(self.warnings.clone())),
            ("errors", texts(troubles.collect())),
            ("close", self.close.into()),
        ];
        if let Some((agreement, turn)) = self.agreement() {
            members.push(("agreement", agreement.into()));
            members.push(("agreement_turn", count(turn)));
        }
        object(members)
    }
}

fn scores(rubrics: &[RubricScore]) -> Value {
    let scores = rubrics.iter().map(|rubric| {
        object([
            ("rubric_id", rubric.id.as_str().into()),
            ("score", rubric.score.map_or(Value::Null, Value::Float)),
            ("rationale", rubric.rationale.as_str().into()),
        ])
    });
    Value::Array(scores.collect())
}

fn votes(votes: &Votes) -> Value {
    let mut members = vec![("turn", count(votes.turn))];
    members.extend(votes.rubric.as_deref().map(|rubric| ("rubric", rubric.into())));
    members.extend([
        ("positive", count(votes.positive)),
        ("negative", count(votes.negative)),
        ("no_score", count(votes.no_score)),
        ("unreadable", count(votes.unreadable)),
        ("failed", count(votes.failed)),
    ]);
    if votes.swapped != (0, 0) {
        let (positive, negative) = votes.swapped;
        let swapped = [("positive", count(positive)), ("negative", count(negative))];
        members.push(("swapped", object(swapped)));
        members.push(("depends_on_order", votes.depends_on_order().into()));
    }
    object(members)
}
