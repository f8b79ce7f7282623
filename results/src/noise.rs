//! How much evaluators and the agent vary, where conversations were evaluated several times or cases have several recordings.

use std::{collections::HashMap, fmt, io, sync::Arc};

use evaluator_statistics::{anova, disagreement};

use super::{
    ALL_EVALUATORS, EvaluationOutcome, EvaluationReport, Report, gate::score_of,
    totals::find_or_add,
};

/// Share of the variance from which on more of its cause is worth it.
const MUCH: f64 = 1.0 / 3.0;

/// How much the scores of an evaluator vary, and why. As text, it is a sentence without a full stop.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorNoise {
    /// Name of the evaluator.
    pub name: String,
    /// Conversations with several repeats, and those of them whose repeats disagree: the evaluator flickers.
    pub conversations: Disagreeing,
    /// Cases with several recordings, and those of them whose recordings disagree: the agent does.
    pub cases: Disagreeing,
    /// Shares of the variance; `None` if nothing varies, or there are too few scores.
    pub variance: Option<VarianceShares>,
}

/// How many of several groups have members that pass and members that fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disagreeing {
    /// Number of those whose members disagree.
    pub some: u64,
    /// Number of all with several members.
    pub all: u64,
}

/// Shares of the variance of scores, which sum up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VarianceShares {
    /// Between cases; if cases have one recording each, that of the agent is part of it.
    pub cases: f64,
    /// Between recordings of a case; if nothing was repeated, that of the evaluator is part of it. `None` if cases have one
    /// recording each.
    pub agent: Option<f64>,
    /// Between repeats of an evaluation; `None` if nothing was repeated.
    pub evaluator: Option<f64>,
}

/// Scores of an evaluator.
#[derive(Default)]
struct Scores {
    /// Of each conversation.
    repeats: Vec<Vec<f64>>,
    /// Means of the conversations of each case.
    cases: Vec<Case>,
    numbers: HashMap<Arc<str>, usize>,
    conversations: Disagreeing,
}

#[derive(Default)]
struct Case {
    means: Vec<f64>,
    passed: u64,
}

impl Report {
    /// Returns how much the evaluators vary, in the order of the configuration. Empty if nothing was repeated, and no case has
    /// several recordings.
    ///
    /// # Errors
    ///
    /// A conversation cannot be read back.
    pub fn noise(&self) -> io::Result<Vec<EvaluatorNoise>> {
        if !self.case_values()?.has_groups() {
            return Ok(Vec::new());
        }
        let mut evaluators: Vec<(String, Scores)> = Vec::new();
        for conversation in self.conversations.iter().outlines() {
            let conversation = conversation?;
            let evaluations = conversation.evaluations.iter().enumerate();
            for (column, it) in evaluations.filter(|(_, it)| it.name != ALL_EVALUATORS) {
                let new = || (it.name.clone(), Scores::default());
                let (_, scores) =
                    find_or_add(&mut evaluators, column, |(name, _)| *name == it.name, new);
                scores.add(conversation.case(), it);
            }
        }
        let noise = evaluators.into_iter().map(|(name, scores)| scores.noise(name));
        Ok(noise.filter(|it| it.conversations.all + it.cases.all > 0).collect())
    }
}

impl Disagreeing {
    /// Counts a group with this number of members, of which some passed. One member is no group.
    fn add(&mut self, passed: u64, members: u64) {
        if let Ok(Some(disagreement)) = disagreement(passed, members) {
            self.all += 1;
            self.some += u64::from(disagreement > 0.0);
        }
    }
}

impl Scores {
    fn add(&mut self, case: &Arc<str>, evaluation: &EvaluationReport) {
        let scores: Vec<f64> = evaluation.each_repeat().filter_map(score_of).collect();
        if scores.is_empty() || !evaluation.is_scored() {
            return;
        }
        if let Some((passed, all)) = evaluation.passed_of_scored() {
            self.conversations.add(passed as u64, all as u64);
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry(Arc::clone(case)).or_insert(next);
        if number == self.cases.len() {
            self.cases.push(Case::default());
        }
        let case = &mut self.cases[number];
        case.means.push(scores.iter().sum::<f64>() / scores.len() as f64);
        case.passed += u64::from(evaluation.outcome() == EvaluationOutcome::Passed);
        self.repeats.push(scores);
    }

    fn noise(self, name: String) -> EvaluatorNoise {
        let mut cases = Disagreeing::default();
        self.cases.iter().for_each(|case| cases.add(case.passed, case.means.len() as u64));
        let variance = self.variance();
        EvaluatorNoise { name, conversations: self.conversations, cases, variance }
    }

    /// Divides the variance of the scores.
    fn variance(&self) -> Option<VarianceShares> {
        let of_repeats = anova(&self.repeats).ok();
        let means: Vec<&[f64]> = self.cases.iter().map(|case| &*case.means).collect();
        let of_recordings = anova(&means).ok();
        let evaluator = of_repeats.map(|it| it.within);
        // The mean of several repeats has a part of the variance of one.
        let left = of_repeats.map_or(0.0, |it| it.within / it.repeats.max(1.0));
        let agent = of_recordings.map(|it| (it.within - left).max(0.0));
        let cases = of_recordings.or(of_repeats)?.between;
        let all = cases + agent.unwrap_or_default() + evaluator.unwrap_or_default();
        let share = |part: f64| part / all;
        (all > 0.0).then(|| VarianceShares {
            cases: share(cases),
            agent: agent.map(share),
            evaluator: evaluator.map(share),
        })
    }
}

impl fmt::Display for EvaluatorNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups =
            [(self.conversations, "repeats", "conversation"), (self.cases, "recordings", "case")];
        write!(f, "{}: ", self.name)?;
        let mut is_first = true;
        for (Disagreeing { some, all }, members, noun) in
            groups.into_iter().filter(|it| it.0.all > 0)
        {
            let before = if std::mem::take(&mut is_first) { "" } else { ", " };
            let noun = if all == 1 { noun.to_owned() } else { format!("{noun}s") };
            let percent = percent(some as f64 / all as f64);
            write!(f, "{before}{members} disagree in {some} of {all} {noun} ({percent})")?;
        }
        match &self.variance {
            Some(variance) => write!(f, "; {variance}"),
            None => Ok(()),
        }
    }
}

/// The shares, and what would make the mean more certain.
impl fmt::Display for VarianceShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.agent.is_some() { "cases" } else { "conversations" };
        write!(f, "of the variance, {} is between {between}", percent(self.cases))?;
        let evaluator =
            if self.evaluator.is_some() { "the agent" } else { "the agent or the evaluator" };
        for (share, cause) in [(self.agent, evaluator), (self.evaluator, "the evaluator")] {
            if let Some(share) = share {
                write!(f, ", {} {cause}", percent(share))?;
            }
        }
        f.write_str(": more cases help")?;
        if self.agent.is_some_and(|share| share >= MUCH) {
            f.write_str(", more recordings of a case do, too")?;
        }
        match self.evaluator {
            Some(share) if share >= MUCH => f.write_str(", more repeats do, too"),
            Some(_) => f.write_str(", more repeats hardly do"),
            None => Ok(()),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConversationReport, Status};

    /// A report of conversations: the case, and the scores of the repeats.
    fn report(conversations: &[(&str, &[f64])]) -> Report {
        let evaluation = |score: &f64| EvaluationReport {
            score: Some(*score),
            threshold: Some(0.5),
            status: if *score < 0.5 { Status::Failed } else { Status::Passed },
            ..EvaluationReport::new("check")
        };
        let conversation = |(case, scores): &(&str, &[f64])| ConversationReport {
            eval_case_id: Some((*case).into()),
            evaluations: vec![EvaluationReport::combine(scores.iter().map(evaluation).collect())],
            ..ConversationReport::new("t".into())
        };
        let conversations: Vec<_> = conversations.iter().map(conversation).collect();
        Report { conversations: conversations.into(), ..Report::default() }
    }

    fn noise(conversations: &[(&str, &[f64])]) -> Vec<String> {
        report(conversations).noise().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_run_without_groups_has_no_noise() {
        assert!(noise(&[("a", &[1.0]), ("b", &[0.0])]).is_empty());
    }

    #[test]
    fn repeats_that_disagree_are_the_evaluators() {
        let shown = noise(&[("a", &[0.9, 0.9]), ("b", &[0.2, 0.6]), ("c", &[0.1, 0.1])]);
        // Means 0.9, 0.4, 0.1: MSB 0.3267, MSW 0.02667, between (0.3267 - 0.0267) / 2.
        assert_eq!(
            shown,
            [
                "check: repeats disagree in 1 of 3 conversations (33 %); of the variance, 85 % is between conversations, 15 % the \
                 evaluator: more cases help, more repeats hardly do"
            ]
        );
    }

    #[test]
    fn recordings_that_disagree_are_the_agents() {
        let shown = noise(&[("a", &[1.0]), ("a", &[0.0]), ("b", &[1.0]), ("b", &[1.0])]);
        assert!(
            shown[0].starts_with("check: recordings disagree in 1 of 2 cases (50 %); "),
            "{shown:?}"
        );
        assert!(
            shown[0].contains("100 % the agent or the evaluator: more cases help, more recordings"),
            "{shown:?}"
        );
    }

    #[test]
    fn both_are_told_apart() {
        let flat: [(&str, &[f64]); 4] =
            [("a", &[1.0, 1.0]), ("a", &[0.6, 0.6]), ("b", &[0.4, 0.4]), ("b", &[0.0, 0.0])];
        let found = report(&flat).noise().unwrap().remove(0);
        assert_eq!((found.conversations.some, found.conversations.all), (0, 4));
        assert_eq!((found.cases.some, found.cases.all), (0, 2));
        let variance = found.variance.unwrap();
        assert_eq!(variance.evaluator, Some(0.0));
        // Within 0.08; between (0.36 - 0.08) / 2 = 0.14.
        assert!((variance.agent.unwrap() - 0.08 / 0.22).abs() < 1e-9, "{variance:?}");
    }

    #[test]
    fn what_does_not_vary_has_no_shares() {
        let shown = noise(&[("a", &[1.0, 1.0]), ("b", &[1.0, 1.0])]);
        assert_eq!(shown, ["check: repeats disagree in 0 of 2 conversations (0 %)"]);
    }
}
