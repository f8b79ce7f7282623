//! The report of a run.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use evaluator_traces::{conversation::GroupedBy, trace::UnusableParts};
use serde::{Deserialize, Serialize};

use super::{
    Balance, Comparison, Conversations, EvaluatorScores, Gate, GateVerdict, Inconclusive, Standing,
    Tally, Undecided,
    error_type::CANCELLED,
    model::{
        ALL_EVALUATORS, ConversationReport, EvaluationReport, JudgeUsage, Partial, SuiteReport,
        is_default,
    },
    run_file::RunHeader,
};

/// The first record of a run file.
pub type Header = RunHeader<Report>;

/// The report of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Report {
    /// Conversations in the order of the traces.
    #[serde(skip)]
    pub conversations: Conversations,
    /// Files that the run is saved in.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
    /// First record of the run file; of several files, that of the first. `None` if no run file was begun.
    #[serde(skip)]
    pub header: Option<Arc<Header>>,
    /// Errors outside of any conversation, e.g. files that could not be loaded. Of many of one kind, the first ones, and one error
    /// that has the number of the others.
    pub errors: Vec<String>,
    /// Number of errors that are only counted in one of `errors`, apart from that one.
    #[serde(skip)]
    pub counted_errors: usize,
    /// Causes of some of `errors`, by their index: the position, and the probable kind of the file.
    pub causes: BTreeMap<usize, String>,
    /// Parts of trace files that cannot be used. For each such file, one of `errors` names the position and the reason.
    pub left_out: UnusableParts,
    /// Grouping of traces into conversations; `None` if the run ended before.
    pub grouping: Option<GroupedBy>,
    /// Whether one of `errors` is about the eval set. No conversation could be compared with it.
    pub unusable_eval_set: bool,
    /// Whether one of `errors` is about the run file, because it is missing or incomplete.
    pub unsaved: bool,
    /// Number of `errors` about evaluators whose results cannot be relied on: answers that may belong to other
    /// conversations, or a worker that exited badly after its last answer.
    pub unreliable: usize,
    /// Warnings about the run as a whole, each a sentence that names what it is about.
    pub warnings: Vec<String>,
    /// Ids of the golden cases that no conversation was compared with, in the order of the eval set. Empty if the run is
    /// partial, since a conversation that was not loaded may belong to any of them.
    pub unrecorded_cases: Vec<String>,
    /// Whether a golden case without a recording fails the run.
    pub require_all_cases: bool,
    /// Whether a run in which nothing was scored may pass.
    pub allow_unevaluated: bool,
    /// Number of results that are those of an earlier run; `None` if the run did not resume one.
    pub reused: Option<usize>,
    /// Whether every evaluator has to score something.
    pub require_evaluated: bool,
    /// Share of its conversations that every evaluator has to score if [`require_evaluated`](Self::require_evaluated) is
    /// set, in 0..=1; 0 stands for one conversation.
    pub required_share: f64,
    /// Share of errors up to which they are tolerated, in 0..=1; none by default.
    pub max_error_rate: f64,
    /// Gates of evaluators. A run file has them in its header.
    #[serde(skip)]
    pub gates: Vec<Gate>,
    /// What undecided gates mean.
    #[serde(skip_serializing_if = "is_default")]
    pub inconclusive: Inconclusive,
    /// Seed by which cases were shuffled, if the run ended as soon as all gates were decided.
    /// A run file has it in its header.
    #[serde(skip)]
    pub until_decided: Option<u64>,
    /// Attributes by whose values the report is [sliced](Self::slices).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// Reason why not everything was evaluated; `None` if everything was.
    pub partial: Option<Partial>,
    /// Whether parts of the run may be missing without notice, because that was asked for.
    #[serde(skip)]
    pub is_unchecked: bool,
    /// What was noticed when parts of the run were read, and changes nothing about the results.
    #[serde(skip)]
    pub remarks: Vec<String>,
    /// Id of the eval set that was compared with, if there was one.
    pub eval_set_id: Option<String>,
    /// The suite whose cases are the conversations; `None` for a run over traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteReport>,
    /// Calls of this run to models; `None` if there were none. Results that a resumed run takes from an earlier one are not
    /// part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<JudgeUsage>,
    /// Comparison with a baseline, which is part of the result of the run; `None` if there is none.
    #[serde(skip)]
    pub comparison: Option<Comparison>,
    /// Reason why nothing was evaluated: the run cannot be compared with its baseline, a gate has too few recordings, or no
    /// conversation has an attribute that the run was asked for. It is one of `errors`.
    #[serde(skip)]
    pub refusal: Option<String>,
}

/// An evaluator that scored too few conversations.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MissingScores<'a> {
    /// Its scores.
    pub scores: &'a EvaluatorScores,
    /// Share of its conversations that it has to score; 0 stands for one conversation.
    pub share: f64,
}

/// The reason, which follows the name of the evaluator.
impl fmt::Display for MissingScores<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scores: EvaluatorScores { scored, asked, .. }, share } = self;
        match (scored, *share > 0.0) {
            (0, false) => f.write_str("scored no conversation, and every evaluator must score one"),
            _ => write!(
                f,
                "scored {scored} of {asked} conversations, and every evaluator must score a share of {share}"
            ),
        }
    }
}

impl Report {
    /// Returns the command line that repeats an evaluation; `None` if it cannot be repeated, or the run is not in one file.
    pub fn repro(
        &self,
        conversation: &ConversationReport,
        evaluation: &EvaluationReport,
    ) -> Option<String> {
        let [file] = &*self.files else { return None };
        let has_options = self.header.as_ref().is_some_and(|header| header.options.is_some());
        let is_known = conversation.trace_file.is_some() && conversation.content.is_some();
        let was_asked = evaluation.was_run()
            && evaluation.error_type != Some(CANCELLED)
            && evaluation.name != ALL_EVALUATORS;
        (has_options && is_known && was_asked).then(|| {
            let file = file.to_string_lossy();
            let words = [&*file, &*conversation.trace_id, &*evaluation.name];
            // Producers choose trace ids, which must not be taken for options.
            let delimiter = words.iter().any(|word| word.starts_with('-')).then_some("--");
            let command = ["evaluator", "repro"].into_iter().chain(delimiter).chain(words);
            shell_words::join(command)
        })
    }

    /// Returns the number of evaluations by outcome.
    pub fn tally(&self) -> Tally {
        self.conversations.tally()
    }

    /// Returns everything that decides the [`Standing`] of the run. An error outside of any conversation counts as one
    /// failed evaluator: the content of the file was not evaluated.
    pub fn balance(&self) -> Balance {
        let others = usize::from(self.unusable_eval_set) + usize::from(self.unsaved);
        let unusable = self.error_count().saturating_sub(self.unreliable).saturating_sub(others);
        // If conversations cannot be read, the run is errored.
        let gates = self.decide_gates().unwrap_or_default();
        let decided = |verdict| gates.iter().filter(|gate| gate.verdict == verdict).count() as u64;
        // No number of evaluations decides these.
        let is_hopeless =
            gates.iter().any(|gate| gate.undecided.as_ref().is_some_and(Undecided::is_hopeless));
        Balance {
            tally: self.tally(),
            unusable_files: unusable as u64,
            unusable_eval_set: self.unusable_eval_set,
            unsaved: self.unsaved,
            unreliable: self.unreliable > 0,
            missing_scores: self.missing_scores().len() as u64,
            missing_cases: self.missing_cases().len() as u64,
            gated_failures: self.gated_failures(),
            failed_gates: decided(GateVerdict::Fail),
            undecided_gates: decided(GateVerdict::Inconclusive),
            failed_claims: self.comparison.as_ref().map_or(0, Comparison::failed),
            undecided_claims: self.comparison.as_ref().map_or(0, Comparison::undecided),
            inconclusive: if is_hopeless { Inconclusive::Stays } else { self.inconclusive },
            never_worked: self.conversations.evaluators_that_never_worked().count() as u64,
            allow_unevaluated: self.allow_unevaluated,
            partial: self.partial.is_some_and(|it| it != Partial::Decided),
            decided: self.partial == Some(Partial::Decided),
            unreadable: self.conversations.unreadable().is_some(),
            max_error_rate: self.max_error_rate,
        }
    }

    /// Returns the result of the run.
    pub fn standing(&self) -> Standing {
        self.balance().standing()
    }

    /// Returns the evaluators that scored too few conversations, in the order of the configuration. Empty unless
    /// [`require_evaluated`](Self::require_evaluated) is set. Evaluators that only broke are not among them: their errors
    /// are reported, and never tolerated.
    pub fn missing_scores(&self) -> Vec<MissingScores<'_>> {
        let share = self.required_share;
        let scores = self.conversations.evaluator_scores().iter();
        let is_missing = |it: &&EvaluatorScores| {
            let has_worked = it.scored > 0 || (!it.broke && it.asked > 0);
            let is_below = it.scored == 0 || (it.scored as f64) < share * it.asked as f64;
            self.require_evaluated && has_worked && is_below
        };
        scores.filter(is_missing).map(|scores| MissingScores { scores, share }).collect()
    }

    /// Returns the ids of golden cases that have to be recorded and are not. Empty unless
    /// [`require_all_cases`](Self::require_all_cases) or [`require_evaluated`](Self::require_evaluated) is set.
    pub fn missing_cases(&self) -> &[String] {
        if self.require_all_cases || self.require_evaluated { &self.unrecorded_cases } else { &[] }
    }

    /// Returns the number of errors outside of any conversation, with those that are only counted.
    pub fn error_count(&self) -> usize {
        self.errors.len() + self.counted_errors
    }

    /// Returns the errors outside of any conversation, each with its cause if that is known.
    pub fn errors_with_causes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let causes = &self.causes;
        self.errors
            .iter()
            .enumerate()
            .map(|(index, error)| (error.as_str(), causes.get(&index).map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ConversationReport, EvaluationReport, NOT_RUN, Status};

    fn evaluation(status: Status, error: Option<&str>) -> EvaluationReport {
        EvaluationReport {
            name: "check".to_owned(),
            score: None,
            threshold: Some(0.5),
            status,
            failure_reason: None,
            per_invocation_scores: Vec::new(),
            duration: None,
            error: error.map(str::to_owned),
            headline: None,
            error_type: error.map(|_| "exited"),
            stderr: None,
            attempts: 1,
            warnings: Vec::new(),
            details: None,
            prompts: Vec::new(),
            target_proxy: None,
            containment: None,
            repeats: Vec::new(),
        }
    }

    fn report(evaluations: Vec<EvaluationReport>) -> Report {
        let conversation =
            ConversationReport { turns: 1, evaluations, ..ConversationReport::new("t".into()) };
        Report { conversations: vec![conversation].into(), ..Report::default() }
    }

    #[test]
    fn an_error_counts_as_one_whatever_status_is_next_to_it() {
        let broken = report(vec![
            evaluation(Status::Passed, None),
            evaluation(Status::NotEvaluated, None),
            evaluation(Status::Passed, Some("broke")),
        ]);
        let tally = broken.tally();
        assert_eq!((tally.passed, tally.not_evaluated, tally.errored, tally.total()), (1, 1, 1, 3));
        assert_eq!(broken.standing(), Standing::Errored);
    }

    #[test]
    fn an_unreadable_file_outweighs_what_passed_or_failed() {
        for status in Status::ALL {
            let mut report = report(vec![evaluation(status, None)]);
            report.max_error_rate = 1.0;
            assert_ne!(report.standing(), Standing::Errored);
            report.errors.push("Failed to load".to_owned());
            assert_eq!(report.standing(), Standing::Errored);
        }
    }

    #[test]
    fn where_every_evaluator_has_to_score_one_that_does_not_is_a_failure() {
        let of = |name: &str, status, error| EvaluationReport {
            name: name.to_owned(),
            ..evaluation(status, error)
        };
        let evaluations = vec![
            of("scores", Status::NotEvaluated, None),
            of("never", Status::NotEvaluated, None),
            of("scores", Status::Passed, None),
        ];
        fn missing(report: &Report) -> Vec<&str> {
            report.missing_scores().iter().map(|missing| &*missing.scores.name).collect()
        }
        let mut required = report(evaluations.clone());
        assert_eq!((missing(&required), required.standing()), (vec![], Standing::Passed));
        required.require_evaluated = true;
        assert_eq!((missing(&required), required.standing()), (vec!["never"], Standing::Failed));
        // One of two is a share of 0.5.
        required.required_share = 0.5;
        assert_eq!(missing(&required), ["never"]);
        required.required_share = 0.51;
        assert_eq!(missing(&required), ["scores", "never"]);
        assert_eq!(
            required.missing_scores()[0].to_string(),
            "scored 1 of 2 conversations, and every evaluator must score a share of 0.51"
        );
        required.required_share = 0.0;
        // Errors weigh more and are not listed twice, and an entry without a threshold belongs to no evaluator.
        let broken = of("broken", Status::NotEvaluated, Some("x"));
        required.conversations = report([evaluations, vec![broken]].concat()).conversations;
        assert_eq!(missing(&required), ["never"]);
        assert_eq!(required.standing(), Standing::Errored);
        let not_asked =
            EvaluationReport { threshold: None, ..of("(all)", Status::NotEvaluated, Some("x")) };
        let mut nothing = report(vec![not_asked]);
        nothing.require_evaluated = true;
        assert_eq!(missing(&nothing), Vec::<&str>::new());
    }

    #[test]
    fn a_tolerated_error_leaves_what_the_rest_amounts_to() {
        let passed = || evaluation(Status::Passed, None);
        let broken = || evaluation(Status::NotEvaluated, Some("broke"));
        let mut tolerant = report(vec![passed(), passed(), passed(), broken()]);
        assert_eq!(tolerant.standing(), Standing::Errored);
        tolerant.max_error_rate = 0.25;
        assert_eq!(tolerant.standing(), Standing::Passed);
        let file = Report { errors: vec!["Failed to load".to_owned()], ..tolerant.clone() };
        assert_eq!(file.standing(), Standing::Errored, "a file is not one of many evaluations");
        tolerant.unusable_eval_set = true;
        tolerant.errors.push("Failed to load".to_owned());
        assert_eq!(tolerant.standing(), Standing::Errored, "nothing was compared as it should be");
        // One evaluator that works does not make up for another one that never did.
        let of = |name: &str, evaluation| EvaluationReport { name: name.to_owned(), ..evaluation };
        let never = || of("never", broken());
        let unjudged = || of("never", evaluation(Status::NotEvaluated, None));
        for bad in [vec![never()], vec![never(), never()], vec![never(), unjudged()]] {
            let good = (0..9).map(|_| passed());
            let mut both = report(good.clone().chain(bad.clone()).collect());
            both.max_error_rate = 0.5;
            assert_eq!(both.balance().never_worked, 1);
            assert_eq!(both.standing(), Standing::Errored);
            let worked_once = of("never", evaluation(Status::Failed, None));
            let mut chance = report(good.chain(bad).chain([worked_once]).collect());
            chance.max_error_rate = 0.5;
            assert_eq!(chance.standing(), Standing::Failed);
        }
        let mut nothing_scored = report(vec![broken(), evaluation(Status::NotEvaluated, None)]);
        nothing_scored.max_error_rate = 1.0;
        assert_eq!(nothing_scored.standing(), Standing::Errored);
    }

    #[test]
    fn what_was_not_run_is_no_error_and_not_green() {
        let not_run = EvaluationReport {
            error_type: Some(NOT_RUN),
            ..evaluation(Status::NotEvaluated, Some("was not run"))
        };
        let mut stopped = report(vec![evaluation(Status::Failed, None), not_run]);
        stopped.partial = Some(Partial::FailFast);
        let tally = stopped.tally();
        assert_eq!((tally.failed, tally.errored, tally.not_run, tally.total()), (1, 0, 1, 2));
        assert_eq!(stopped.standing(), Standing::Failed);
    }

    proptest! {
        #[test]
        fn the_order_of_a_report_changes_nothing_about_what_it_amounts_to(
            (kinds, shuffled) in prop::collection::vec((0..3usize, 0..5usize), 0..12)
                .prop_flat_map(|kinds| (Just(kinds.clone()), Just(kinds).prop_shuffle())),
            require_evaluated: bool,
            max_error_rate in 0.0..=1.0f64,
        ) {
            let balance = |kinds: &[(usize, usize)]| {
                let evaluations = kinds.iter().map(|&(name, kind)| EvaluationReport {
                    name: format!("check{name}"),
                    ..match kind {
                        3 => evaluation(Status::NotEvaluated, Some("broke")),
                        4 => EvaluationReport {
                            error_type: Some(NOT_RUN),
                            ..evaluation(Status::NotEvaluated, Some("was not run"))
                        },
                        scored => evaluation(Status::ALL[scored], None),
                    }
                });
                let report = report(evaluations.collect());
                Report { require_evaluated, max_error_rate, ..report }.balance()
            };
            prop_assert_eq!(balance(&kinds), balance(&shuffled));
        }
    }
}
