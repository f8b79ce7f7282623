//! Judgements as details of a report.

use evaluator_json::{Object, Value, count, object};
use evaluator_metrics::{Outcome, Scored};

use super::{Case, Conclusion, Criterion, Judgement, Panel, Refusal, RubricScore, Votes};

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotEvaluated(reason) => Self::not_evaluated(reason),
            Refusal::Failed(reason) => Self::Failed { reason },
        }
    }
}

impl Judgement {
    /// Returns the outcome of the metric with these details: a score only if the judge did not fail, see
    /// [`Judgement::conclude`].
    pub fn outcome(&self, criterion: &Criterion, mut details: Object) -> Outcome {
        match self.conclude(criterion) {
            Conclusion::Failed(reason) => Outcome::Failed { reason },
            Conclusion::NotEvaluated(reason) => {
                details.insert("reason".to_owned(), reason.into());
                Outcome::NotEvaluated { details }
            }
            Conclusion::Scored { score, passed } => {
                let mut scored = Scored::new(score);
                scored.passed = Some(passed);
                scored.per_turn = self.turns.iter().map(|turn| turn.score).collect();
                scored.details = Some(details);
                Outcome::Scored(scored)
            }
        }
    }

    /// Returns the details of the report: the scores of rubrics as agentevals has them, and `judge` with votes, agreement
    /// and warnings.
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
        let problems = self.problems.iter().map(ToString::to_string);
        let mut members = vec![
            ("samples", count(case.criterion.samples)),
            ("votes", Value::Array(self.votes.iter().filter_map(votes).collect())),
            ("warnings", texts(self.warnings.clone())),
            ("errors", texts(problems.collect())),
            ("close", self.close.into()),
        ];
        if !self.missed.is_empty() {
            members.push(("missed", texts(self.missed.clone())));
        }
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

/// Returns the counts of one order.
fn order((positive, negative): (usize, usize)) -> Value {
    let agreement = Panel::Majority.agreement(positive, negative);
    object([
        ("positive", count(positive)),
        ("negative", count(negative)),
        ("agreement", agreement.map_or(Value::Null, Value::Float)),
    ])
}

/// Returns the counts; `None` if nothing is counted, as for the labels of sentences.
fn votes(votes: &Votes) -> Option<Value> {
    let Votes { positive, negative, no_score, unreadable, failed, .. } = *votes;
    if positive + negative + no_score + unreadable + failed == 0 {
        return None;
    }
    let mut members = vec![("turn", count(votes.turn))];
    members.extend(votes.rubric.as_deref().map(|rubric| ("rubric", rubric.into())));
    members.extend([
        ("positive", count(positive)),
        ("negative", count(negative)),
        ("no_score", count(no_score)),
        ("unreadable", count(unreadable)),
        ("failed", count(failed)),
    ]);
    if let (None, Some(reason)) = (&votes.rubric, votes.reason()) {
        members.push(("reason", reason.as_str().into()));
    }
    if votes.scores.iter().any(|score| *score != 0.0 && *score != 1.0) {
        let scores = votes.scores.iter().map(|score| Value::Float(*score));
        members.push(("scores", Value::Array(scores.collect())));
    }
    if votes.swapped != (0, 0) {
        let (positive, negative) = votes.swapped;
        let plain = (votes.positive - positive, votes.negative - negative);
        members.push(("plain", order(plain)));
        members.push(("swapped", order(votes.swapped)));
    }
    if votes.swapped != (0, 0) || votes.depends_on_order() {
        members.push(("depends_on_order", votes.depends_on_order().into()));
    }
    if !votes.members.is_empty() {
        let models = votes.members.iter().map(|member| {
            let mut model = vec![("model", member.model.as_str().into())];
            model.push(("counts", member.counts.into()));
            model.push(("score", member.votes.score().map_or(Value::Null, Value::Float)));
            model.extend(self::votes(&member.votes).map(|votes| ("votes", votes)));
            object(model)
        });
        members.push(("models", Value::Array(models.collect())));
    }
    Some(object(members))
}
