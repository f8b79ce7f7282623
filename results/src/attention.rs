//! Conversations that need attention: those with failed evaluations, worst first.

use std::io;

use super::{ConversationReport, EvaluationOutcome, EvaluationReport, Report};

/// Conversations with failed evaluations.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// The worst ones, the worst first.
    pub conversations: Vec<ConversationReport>,
    /// Number of all conversations with failed evaluations.
    pub failed: usize,
}

impl Report {
    /// Returns the worst conversations, at most `most`, by the
    /// evaluations that are counted. The worst is the one whose failed evaluations are furthest below their
    /// thresholds in sum, see [`EvaluationReport::shortfall`]; of equal ones, the first.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn attention(
        &self,
        most: usize,
        is_counted: impl Fn(&ConversationReport, &EvaluationReport) -> bool,
    ) -> io::Result<Attention> {
        let (mut worst, mut failed) = (Vec::<(f64, usize)>::new(), 0);
        if self.tally().failed > 0 {
            for (number, conversation) in self.conversations.iter().outlines().enumerate() {
                let conversation = conversation?;
                let evaluations = conversation.evaluations.iter();
                let counted = evaluations.filter(|it| is_counted(&conversation, it));
                let mut shortfalls = counted.filter_map(EvaluationReport::shortfall).peekable();
                if shortfalls.peek().is_none() {
                    continue;
                }
                failed += 1;
                let shortfall: f64 = shortfalls.sum();
                let place = worst.partition_point(|(other, _)| *other >= shortfall);
                if place < most {
                    worst.insert(place, (shortfall, number));
                    worst.truncate(most);
                }
            }
        }
        let conversations = worst.iter().filter_map(|(_, number)| self.conversations.get(*number));
        Ok(Attention { conversations: conversations.collect::<io::Result<_>>()?, failed })
    }
}

impl EvaluationReport {
    /// Returns how far a failed evaluation is below its threshold, as a share of the threshold in 0..=1; 1 if it fails for
    /// another reason. `None` if it did not fail.
    pub fn shortfall(&self) -> Option<f64> {
        let is_failed = self.outcome() == EvaluationOutcome::Failed;
        is_failed.then(|| match (self.score, self.threshold) {
            (Some(score), Some(asked)) if score < asked && asked > 0.0 => {
                ((asked - score) / asked).min(1.0)
            }
            _ => 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Status;

    fn report(scores: &[Vec<f64>]) -> Report {
        let conversation = |(number, scores): (usize, &Vec<f64>)| {
            let evaluation = |score: &f64| EvaluationReport {
                score: Some(*score),
                threshold: Some(0.5),
                status: if *score < 0.5 { Status::Failed } else { Status::Passed },
                ..EvaluationReport::new("check")
            };
            ConversationReport {
                evaluations: scores.iter().map(evaluation).collect(),
                ..ConversationReport::new(number.to_string().into())
            }
        };
        let conversations: Vec<_> = scores.iter().enumerate().map(conversation).collect();
        Report { conversations: conversations.into(), ..Report::default() }
    }

    fn ids(attention: &Attention) -> Vec<&str> {
        attention.conversations.iter().map(|it| &*it.trace_id).collect()
    }

    #[test]
    fn what_is_furthest_below_its_thresholds_is_first() {
        let all = [vec![0.4, 1.0], vec![1.0, 1.0], vec![0.0, 0.4], vec![0.4, 0.4], vec![0.4, 0.9]];
        let found = report(&all).attention(3, |_, _| true).unwrap();
        assert_eq!((ids(&found), found.failed), (vec!["2", "3", "0"], 4));
        assert_eq!(report(&all).attention(3, |_, it| it.name == "other").unwrap().failed, 0);
        assert_eq!(ids(&report(&all).attention(0, |_, _| true).unwrap()), Vec::<&str>::new());
    }

    #[test]
    fn a_failure_whatever_its_score_is_as_bad_as_a_score_of_zero() {
        let failed = EvaluationReport { status: Status::Failed, ..EvaluationReport::new("check") };
        let missing = EvaluationReport {
            score: Some(0.9),
            threshold: Some(0.5),
            failure_reason: Some("a golden turn is missing".to_owned()),
            ..failed.clone()
        };
        assert_eq!((failed.shortfall(), missing.shortfall()), (Some(1.0), Some(1.0)));
        let broken = EvaluationReport { error: Some("broke".to_owned()), ..failed };
        assert_eq!(broken.shortfall(), None);
    }

    proptest! {
        #[test]
        fn a_longer_list_begins_with_the_shorter_one(
            scores in prop::collection::vec(prop::collection::vec(0.0..1.0f64, 1..4), 0..20),
            most in 0..8usize,
        ) {
            let report = report(&scores);
            let (all, some) = (report.attention(20, |_, _| true).unwrap(), report.attention(most, |_, _| true).unwrap());
            prop_assert_eq!(all.failed, all.conversations.len());
            prop_assert_eq!(ids(&some), &ids(&all)[..most.min(all.failed)]);
        }
    }
}
