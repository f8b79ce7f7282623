//! What a judge is.

use std::fmt;

use evaluator_traces::conversation::TurnPart;

use super::{
    Answer, Asked, Case, Judgement, Member, Question, Reading, Refusal, Scores, Tally, Vote, panel,
};

/// A metric that a model judges.
pub trait Judge: Send + Sync + fmt::Debug {
    /// Returns the name of the metric.
    fn name(&self) -> &str;

    /// Returns the parts of recorded turns that are judged; the message of the user and the answer by default. A recording
    /// without them cannot be judged.
    fn parts(&self) -> &[TurnPart] {
        &[TurnPart::User, TurnPart::Answer]
    }

    /// Returns true if the judge compares material that can be shown in two orders, so that
    /// [`Criterion::swap`](super::Criterion::swap) has an effect; true by default.
    fn can_swap(&self) -> bool {
        true
    }

    /// Returns the questions about a conversation, in order.
    ///
    /// # Errors
    ///
    /// The conversation cannot be judged.
    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal>;

    /// Returns the question that follows from the answers to another one; `None` by default.
    fn follow_up(&self, _case: &Case<'_>, _asked: &Asked) -> Option<Question> {
        None
    }

    /// Returns the votes in the text of a reply to the question.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be read.
    fn read(&self, case: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String>;

    /// Reads an answer to the question.
    fn read_answer(&self, case: &Case<'_>, question: &Question, answer: &Answer) -> Reading {
        Reading::new(answer, &case.criterion.rules, |reply| self.read(case, question, reply))
    }

    /// Returns the question with its answers as the judge reads them, one per sample.
    fn asked(&self, case: &Case<'_>, question: Question, answers: &[Answer]) -> Asked {
        let answers = answers.iter();
        let readings = answers.map(|answer| self.read_answer(case, &question, answer)).collect();
        Asked::new(question, readings)
    }

    /// Returns the votes in the answers of one model. `planned` is what [`plan`](Self::plan) returned, and `asked` has these
    /// questions in order, each followed by its follow-up question.
    ///
    /// # Errors
    ///
    /// A question was not asked as often as it says, or an answer is missing that the metric cannot do without.
    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal>;

    /// Returns the scores that follow from the votes. `values` has the score of each of the votes of `tally`, in order;
    /// [`Votes::score`](super::Votes::score) is one of the vote itself, others ask what would follow from another one.
    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores;

    /// Returns the judgement by the answers of one model or of several. Of several models, the verdict of each is one vote, see
    /// [`Panel`](super::Panel).
    ///
    /// # Errors
    ///
    /// As [`tally`](Self::tally), if more models fail than [`Criterion::quorum`](super::Criterion::quorum) allows.
    fn aggregate(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        members: &[Member<'_>],
    ) -> Result<Judgement, Refusal> {
        let tally = |member: &Member<'_>| self.tally(case, planned, member.asked);
        let tally = match members {
            [only] => tally(only)?,
            _ => {
                let tallies = members.iter().map(|member| (member.model, tally(member)));
                panel::combine(case.criterion, tallies.collect())?
            }
        };
        Ok(Judgement::new(case, tally, |tally, values| self.score(case, tally, values)))
    }
}
