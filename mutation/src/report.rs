//! The result of trying evaluators, as data.

use std::collections::BTreeMap;

use evaluator_statistics::clopper_pearson;
use serde::Serialize;

use crate::{
    kind::{Effect, Kind},
    operator::{Mutation, Operator},
    outcome::{Observed, Outcome, differs, exceeds},
    plan::{Role, Trial},
};

/// Confidence of the intervals of kill rates.
const CONFIDENCE: f64 = 0.95;

/// The result of a command.
#[derive(Clone, Debug, Serialize)]
pub struct MutationReport {
    /// Seed of the sample.
    pub seed: u64,
    /// Maximum number of damaged conversations for each evaluator.
    pub sample: usize,
    /// Share that has to be killed.
    pub min_killed: Option<f64>,
    /// The evaluators in the order of the configuration.
    pub evaluators: Vec<EvaluatorReport>,
}

/// Numbers of damaged conversations by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Damaged conversations.
    pub mutants: usize,
    /// Those that do not pass any more.
    pub killed: usize,
    /// Those that score lower and pass.
    pub noticed: usize,
    /// Those that had to be noticed and were not.
    pub survived: usize,
    /// Those that need not be noticed, or must not be, and were not.
    pub allowed: usize,
    /// Those that must not be noticed and were.
    pub false_alarms: usize,
    /// Those with which the evaluator broke.
    pub broke: usize,
    /// Share of those that were killed, of those that have to be, also if the evaluator broke; `None` if there are none.
    pub kill_rate: Option<Rate>,
}

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Killed.
    pub killed: usize,
    /// All that count.
    pub of: usize,
    /// Share.
    pub rate: f64,
    /// Lower end of the interval (Clopper and Pearson, 95 %).
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome, has_to_fall: bool, rate: &mut (usize, usize)) {
        self.mutants += 1;
        *match outcome {
            Outcome::Killed => &mut self.killed,
            Outcome::Noticed => &mut self.noticed,
            Outcome::Survived => &mut self.survived,
            Outcome::Allowed => &mut self.allowed,
            Outcome::FalseAlarm => &mut self.false_alarms,
            Outcome::Broke => &mut self.broke,
        } += 1;
        if has_to_fall {
            rate.0 += usize::from(outcome == Outcome::Killed);
            rate.1 += 1;
        }
    }

    /// Returns the numbers of these outcomes. All count in the rate if no kind is known.
    fn of<'o>(outcomes: impl Iterator<Item = (Effect, &'o Outcome)>, has_kind: bool) -> Self {
        let (mut counts, mut rate) = (Self::default(), (0, 0));
        for (effect, outcome) in outcomes {
            counts.add(*outcome, effect == Effect::Down || !has_kind, &mut rate);
        }
        counts.kill_rate = clopper_pearson(rate.0, rate.1, CONFIDENCE).ok().map(|estimate| Rate {
            killed: rate.0,
            of: rate.1,
            rate: estimate.mean,
            lower: estimate.interval.lower,
            upper: estimate.interval.upper,
        });
        counts
    }
}

/// An operator.
#[derive(Clone, Debug, Serialize)]
pub struct OperatorCounts {
    /// Name.
    pub operator: &'static str,
    /// What it has to do to the result.
    pub expect: Effect,
    /// Conversations in which there is nothing to work on.
    pub not_applicable: usize,
    /// Its damage by outcome.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A relation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RelationCounts {
    /// Name.
    pub relation: String,
    /// Number of comparisons.
    pub checked: usize,
    /// Number of those that do not hold.
    pub violations: usize,
    /// Number of evaluations that broke, so that nothing is compared.
    pub broke: usize,
}

/// A damaged conversation that is shown.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The edit.
    pub mutant: String,
    /// Id of the case.
    pub case: String,
    /// Trace id of the conversation.
    pub trace_id: String,
    /// What was expected of it: `down`, or the relation that does not hold.
    pub expected: String,
    /// Score of the undamaged conversation, or of what it is compared with.
    pub before: f64,
    /// Score now; `None` if there is none.
    pub after: Option<f64>,
    /// Unified diff of the document.
    pub diff: String,
    /// Error of the evaluator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Command line that tries it again.
    pub again: String,
}

/// Undamaged conversations of an evaluator.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Undamaged {
    /// What they are called: `conversation` or `test`.
    #[serde(skip)]
    pub noun: &'static str,
    /// Those that pass, each time.
    pub passed: usize,
    /// Those that fail.
    pub failed: usize,
    /// Those to which the evaluator does not apply.
    pub not_evaluated: usize,
    /// Those with which the evaluator broke.
    pub errors: usize,
    /// Cases whose two evaluations differ.
    pub unstable: Vec<String>,
}

/// An evaluator.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EvaluatorReport {
    /// Name.
    pub evaluator: String,
    /// What it measures; `None` if that is not known.
    pub kind: Option<Kind>,
    /// The undamaged conversations.
    pub conversations: Undamaged,
    /// Reason why it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// All damage by outcome.
    #[serde(flatten)]
    pub counts: Counts,
    /// Violations of relations.
    pub violations: usize,
    /// Operators in the order of their table.
    pub operators: Vec<OperatorCounts>,
    /// Relations in the order of their table.
    pub relations: Vec<RelationCounts>,
    /// Damage that had to be noticed, and survived or only lowered the score, that with the smallest difference first.
    pub survivors: Vec<Shown>,
    /// False alarms and violated relations.
    pub violated: Vec<Shown>,
    /// Edits with which the evaluator broke: damage, and those of relations.
    pub broken: Vec<Shown>,
}

/// A trial with its result.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The trial.
    pub trial: Trial,
    /// Score of the undamaged conversation.
    pub before: f64,
    /// Difference between two evaluations of the undamaged conversation.
    pub noise: f64,
    /// The result.
    pub observed: Observed,
}

impl Tried {
    /// Returns the outcome of damage; `None` for other trials.
    pub fn outcome(&self) -> Option<(Effect, Outcome)> {
        match self.trial.role {
            Role::Damage(effect) => {
                Some((effect, Outcome::of(effect, self.before, self.noise, &self.observed)))
            }
            _ => None,
        }
    }
}

/// A relation that does not hold, damage that is a false alarm, or an edit with which the evaluator broke.
#[derive(Clone, Debug)]
pub struct Violation<'t> {
    /// The trial.
    pub tried: &'t Tried,
    /// Name of the relation, or what was expected.
    pub relation: String,
    /// The score that it is compared with.
    pub before: f64,
}

/// Trials of an evaluator, summed up.
#[derive(Clone, Debug)]
pub struct Sums<'t> {
    /// All damage by outcome.
    pub counts: Counts,
    /// Operators in the order of their table.
    pub operators: Vec<OperatorCounts>,
    /// Relations in the order of their table.
    pub relations: Vec<RelationCounts>,
    /// False alarms and relations that do not hold.
    pub violations: Vec<Violation<'t>>,
    /// Edits with which the evaluator broke: damage, and those of relations.
    pub broken: Vec<Violation<'t>>,
}

impl<'t> Sums<'t> {
    /// Sums up trials. `operators` are those that were used, with the number of conversations without a place for them.
    pub fn new(
        tried: &'t [Tried],
        operators: &[(&'static Operator, Effect, usize)],
        has_kind: bool,
    ) -> Self {
        let outcomes: Vec<(&Mutation, Effect, Outcome)> = tried
            .iter()
            .filter_map(|it| {
                it.outcome().map(|(effect, outcome)| (&it.trial.mutation, effect, outcome))
            })
            .collect();
        let counts = Counts::of(outcomes.iter().map(|(_, effect, it)| (*effect, it)), has_kind);
        let of_operator = |&(operator, expect, not_applicable): &(&'static Operator, _, _)| {
            let own = outcomes.iter().filter(|(mutation, ..)| mutation.operator == operator);
            let counts = Counts::of(own.map(|(_, effect, it)| (*effect, it)), has_kind);
            OperatorCounts { operator: operator.name, expect, not_applicable, counts }
        };
        let operators = operators.iter().map(of_operator).collect();
        let (mut relations, mut violations) = relations(tried);
        let broken = broken(tried, &mut relations);
        let alarms = tried.iter().filter_map(|it| match it.outcome()? {
            (effect, Outcome::FalseAlarm) => {
                Some(Violation { tried: it, relation: effect.to_string(), before: it.before })
            }
            _ => None,
        });
        violations.splice(0..0, alarms);
        Self { counts, operators, relations, violations, broken }
    }
}

/// Returns the numbers of a relation.
fn counted<'c>(counts: &'c mut Vec<RelationCounts>, name: &str) -> &'c mut RelationCounts {
    let found = counts.iter().position(|counts| counts.relation == name);
    let index = found.unwrap_or_else(|| {
        counts.push(RelationCounts { relation: name.to_owned(), ..Default::default() });
        counts.len() - 1
    });
    &mut counts[index]
}

/// Returns the edits with which the evaluator broke, and counts those of relations.
fn broken<'t>(tried: &'t [Tried], counts: &mut Vec<RelationCounts>) -> Vec<Violation<'t>> {
    let mut broken = Vec::new();
    for (index, it) in tried.iter().enumerate() {
        if !matches!(it.observed, Observed::Error { .. }) {
            continue;
        }
        let is_first_of_pair =
            |other: &Tried| other.trial.control == Some(index) && other.trial.role == Role::Pair;
        let relation = match it.trial.role {
            Role::Damage(_) => None,
            Role::Relation => Some(it.trial.mutation.operator.name),
            Role::Golden => Some("golden"),
            Role::Pair => Some("two_edits"),
            Role::Control if tried.iter().any(is_first_of_pair) => Some("two_edits"),
            Role::Control => Some("injection"),
        };
        if let Some(name) = relation {
            counted(counts, name).broke += 1;
        }
        let relation = relation.unwrap_or("no error").to_owned();
        broken.push(Violation { tried: it, relation, before: it.before });
    }
    broken
}

/// Compares what relations compare.
fn relations(tried: &[Tried]) -> (Vec<RelationCounts>, Vec<Violation<'_>>) {
    let mut counts: Vec<RelationCounts> = Vec::new();
    let mut violations = Vec::new();
    let mut compare = |name: &str, holds: bool| {
        let counts = counted(&mut counts, name);
        counts.checked += 1;
        counts.violations += usize::from(!holds);
        !holds
    };
    let mut golden: BTreeMap<usize, f64> = BTreeMap::new();
    for it in tried.iter().filter(|it| it.trial.role == Role::Golden) {
        golden.extend(it.observed.score().map(|score| (it.trial.conversation, score)));
    }
    for it in tried {
        let score = it.observed.score();
        let (name, before) = (it.trial.mutation.operator.name, it.before);
        match it.trial.role {
            Role::Relation if !matches!(it.observed, Observed::Error { .. }) => {
                let holds = !differs(before, score, it.noise);
                if compare(name, holds) {
                    violations.push(Violation { tried: it, relation: name.to_owned(), before });
                }
            }
            Role::Damage(_) => {
                let golden = golden.get(&it.trial.conversation).copied();
                if let Some((score, golden)) = score.zip(golden)
                    && compare("golden", !exceeds(score, golden, it.noise))
                {
                    let relation = "golden".to_owned();
                    violations.push(Violation { tried: it, relation, before: golden });
                }
            }
            _ => {}
        }
        let control = it.trial.control.and_then(|control| tried.get(control));
        let limit = control.and_then(|control| control.observed.score());
        if let Some((score, limit)) = score.zip(limit) {
            let name = if it.trial.role == Role::Pair { "two_edits" } else { "injection" };
            if compare(name, !exceeds(score, limit, it.noise)) {
                let relation = name.to_owned();
                violations.push(Violation { tried: it, relation, before: limit });
            }
        }
    }
    (counts, violations)
}
