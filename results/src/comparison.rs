//! Two runs compared, evaluator by evaluator, each case with itself.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::LazyLock,
};

use derive_more::Display;
use evaluator_statistics::{
    Estimate, GateVerdict, PowerOfMean, Refusal, bounded_mean, holm, mcnemar, mean_t,
    noninferiority, signflip_exact, signflip_mc,
};
use serde::Serialize;

use super::{CaseValue, CaseValues, Slices, model::has_too_few_cases, run_warnings::counted};

/// Random sign flips where there are too many differences for all of them.
const FLIPS: u64 = 9_999;

/// Number of cases that a claim names.
const NAMED: usize = 10;

/// Chance with which a difference is said to be found.
const POWER: f64 = 0.8;

/// What two runs are compared by, and what the new one has to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonSettings {
    /// Confidence of intervals, two-sided.
    pub confidence: f64,
    /// Difference of scores up to which a case with the same status is unchanged.
    pub min_change: f64,
    /// Seed of random sign flips.
    pub seed: u64,
    /// The mean may be lower by this much, in 0..1.
    pub no_worse_than: Option<f64>,
    /// No case that passed may fail.
    pub no_regressions: bool,
    /// Cases of the base that the new run does not have decide nothing.
    pub allow_missing: bool,
}

impl Default for ComparisonSettings {
    fn default() -> Self {
        Self {
            confidence: super::Gate::CONFIDENCE,
            min_change: 0.01,
            seed: 0,
            no_worse_than: None,
            no_regressions: false,
            allow_missing: false,
        }
    }
}

impl ComparisonSettings {
    /// Checks the values that an option may have.
    ///
    /// # Errors
    ///
    /// The margin is no share.
    pub(crate) fn check(&self) -> Result<(), ComparisonError> {
        match self.no_worse_than.filter(|it| !(0.0..1.0).contains(it)) {
            Some(margin) => Err(ComparisonError::Margin(margin)),
            None => Ok(()),
        }
    }
}

/// Two runs compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// File of the base, if it is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// What the runs measured differently although they are compared, each as a line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// Whether all conversations of the cases of both runs have the same content, so that what differs is the evaluator.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_recordings: bool,
    /// The evaluators of both runs, in the order of the new one.
    pub evaluators: Vec<EvaluatorComparison>,
    /// Evaluators that only the base has.
    pub only_in_base: Vec<String>,
    /// Evaluators that only the new run has.
    pub only_in_new: Vec<String>,
    /// Differences by the values of the attributes by which the new run is sliced. They decide nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slices<EvaluatorDifference>>,
    /// Whether evaluators that only the base has decide nothing.
    #[serde(skip)]
    allows_missing: bool,
}

/// An evaluator in two runs.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluatorComparison {
    /// Name of the evaluator.
    pub name: String,
    /// Mean score of the base, over the cases with a value in both runs; `None` without such a case.
    pub base: Option<f64>,
    /// Mean score of the new run over the same cases.
    pub new: Option<f64>,
    /// Mean of the differences new - base of these cases, with its interval.
    pub difference: Option<Estimate>,
    /// p-value of no difference: exact sign flips or McNemar's test, or random sign flips; adjusted for the number of
    /// evaluators (Holm). It never decides.
    pub p: Option<f64>,
    /// The smallest loss of the mean that would have been found with a chance of 80 %.
    pub detectable: Option<f64>,
    /// Cases that changed, in the order of the new run; those that are missing come last.
    pub changes: Vec<CaseChange>,
    /// Number of cases that did not change.
    pub unchanged: u64,
    /// What the new run has to show.
    pub claims: Vec<ClaimResult>,
    /// Cases with a score in both runs that fail in the new one, if there are claims.
    #[serde(skip)]
    known_failures: HashSet<String>,
}

/// An evaluator in two runs, over the cases of a slice.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluatorDifference {
    /// Name of the evaluator.
    pub name: String,
    /// Mean score of the base, over the cases with a value in both runs; `None` without such a case.
    pub base: Option<f64>,
    /// Mean score of the new run over the same cases.
    pub new: Option<f64>,
    /// Mean of the differences new - base of these cases, with its interval.
    pub difference: Option<Estimate>,
    /// Number of cases that passed and fail now.
    pub regressed: u64,
    /// Number of cases that had a score and are errors now.
    pub broke: u64,
    /// Number of cases that failed and pass now.
    pub fixed: u64,
    /// Whether there are too few cases to say much: the interval of the difference is wider than half of the scale of scores.
    pub too_few_cases: bool,
}

/// A case that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseChange {
    /// Id of the case.
    pub case: String,
    /// How it changed.
    pub change: CaseChangeKind,
    /// Score in the base.
    pub base: Option<f64>,
    /// Score in the new run.
    pub new: Option<f64>,
}

/// How a case changed. As text, it is the word for it, e.g. `regressed`.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[display(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum CaseChangeKind {
    /// It passed and fails now.
    Regressed,
    /// It had a score and is an error now.
    Broke,
    /// It regressed, but its conversations or their repeats disagree within a run; or all its conversations passed, and some fail now.
    Flaky,
    /// The base has it, and the new run does not.
    Missing,
    /// Its status is the same, and its score is lower.
    Worse,
    /// It failed and passes now.
    Fixed,
    /// It was an error and has a score now.
    Mended,
    /// Its status is the same, and its score is higher.
    Better,
    /// The new run has it, and the base does not.
    New,
}

impl CaseChangeKind {
    /// All changes, the worst first.
    pub const ALL: &[Self] = &[
        Self::Regressed,
        Self::Broke,
        Self::Flaky,
        Self::Missing,
        Self::Worse,
        Self::Fixed,
        Self::Mended,
        Self::Better,
        Self::New,
    ];
}

/// A claim about the new run, decided. As text, it is a line.
#[derive(Clone, Debug, PartialEq, Serialize, Display)]
#[display("{claim}: {}, {reason}", verdict.label())]
pub struct ClaimResult {
    /// The claim: `no worse than 0.02`, `no regressions`.
    pub claim: String,
    /// The verdict.
    pub verdict: GateVerdict,
    /// What it rests on.
    pub reason: String,
}

/// Reason why two runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// No case of one is in the other.
    #[error(
        "no evaluator has a result for a case that is in both runs; name the attribute that identifies a case with --case-key when you run (without it and without a \
         golden case, a case is known by its trace id, which differs between recordings)"
    )]
    NoCommonCase,
    /// No evaluator of one is in the other.
    #[error("no evaluator is in both runs; give each evaluator the name that it has in the base")]
    NoCommonEvaluator,
    /// The margin is not from 0 to 1.
    #[error("the margin of `--no-worse-than` is {0}; it has to be at least 0 and below 1")]
    Margin(f64),
    /// A conversation cannot be read back.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

impl Comparison {
    /// Compares the values of two runs, with settings that were checked.
    pub(crate) fn of(
        base: &BaseValues<'_>,
        new: &CaseValues,
        settings: &ComparisonSettings,
    ) -> Result<Self, ComparisonError> {
        let only = |all: &CaseValues, other: &CaseValues| {
            all.evaluators().filter(|it| other.named(it).is_none()).map(str::to_owned).collect()
        };
        let mut is_shared = false;
        let mut evaluators: Vec<EvaluatorComparison> = base
            .shared(new)
            .map(|(name, mut cases)| {
                is_shared |= !cases.both.is_empty();
                cases.missing = base.missing(name, &cases);
                cases.compare(name, settings)
            })
            .collect();
        if evaluators.is_empty() {
            return Err(ComparisonError::NoCommonEvaluator);
        }
        if !is_shared {
            return Err(ComparisonError::NoCommonCase);
        }
        let p: Vec<f64> = evaluators.iter().filter_map(|it| it.p).collect();
        let adjusted = holm(&p).unwrap_or(p);
        let tested = evaluators.iter_mut().filter(|it| it.p.is_some());
        tested.zip(adjusted).for_each(|(it, adjusted)| it.p = Some(adjusted));
        Ok(Self {
            base: String::new(),
            differences: Vec::new(),
            same_recordings: false,
            evaluators,
            only_in_base: only(base.values, new),
            only_in_new: only(new, base.values),
            slices: Vec::new(),
            allows_missing: settings.allow_missing,
        })
    }

    /// Returns the verdict of all claims together: they pass only if each does, and if no evaluator of the base is missing.
    pub fn verdict(&self) -> GateVerdict {
        match (self.failed(), self.undecided()) {
            (0, 0) => GateVerdict::Pass,
            (0, _) => GateVerdict::Inconclusive,
            _ => GateVerdict::Fail,
        }
    }

    /// The claims, each with the name of its evaluator.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &ClaimResult)> {
        self.evaluators.iter().flat_map(|it| it.claims.iter().map(|claim| (&*it.name, claim)))
    }

    /// Returns the number of claims that fail.
    pub fn failed(&self) -> u64 {
        self.claims().filter(|(_, it)| it.verdict == GateVerdict::Fail).count() as u64
    }

    /// Returns the number of claims that are undecided, and of evaluators of the base that are missing.
    pub fn undecided(&self) -> u64 {
        let undecided = self.claims().filter(|(_, it)| it.verdict == GateVerdict::Inconclusive);
        (undecided.count() + self.missing_evaluators().len()) as u64
    }

    /// Returns the evaluators that only the base has, and that leave the claims undecided.
    pub fn missing_evaluators(&self) -> &[String] {
        let decides = self.claims().next().is_some() && !self.allows_missing;
        if decides { &self.only_in_base } else { &[] }
    }

    /// Ids of the cases of an evaluator that fail in the new run, and that its claims judge, since the base has a score for
    /// them, too.
    pub(crate) fn known_failures(&self, evaluator: &str) -> &HashSet<String> {
        static NONE: LazyLock<HashSet<String>> = LazyLock::new(HashSet::new);
        let found = self.evaluators.iter().find(|it| it.name == evaluator);
        found.map_or(&NONE, |it| &it.known_failures)
    }
}

/// The cases of an evaluator in two runs.
#[derive(Default)]
struct Cases<'v> {
    /// Those of both runs.
    both: Vec<(CaseValue<'v>, CaseValue<'v>)>,
    /// Their numbers in the base.
    met: Vec<usize>,
    added: Vec<CaseValue<'v>>,
    missing: Vec<CaseValue<'v>>,
}

impl Cases<'_> {
    fn compare(&self, name: &str, settings: &ComparisonSettings) -> EvaluatorComparison {
        let scored = Scored::of(&self.both);
        let (differences, clusters) = (&scored.differences, scored.clusters.as_deref());
        let changes: Vec<CaseChange> = self.changes(settings.min_change);
        let changed_of_both = changes
            .iter()
            .filter(|it| !matches!(it.change, CaseChangeKind::New | CaseChangeKind::Missing))
            .count();
        let mut comparison = EvaluatorComparison {
            name: name.to_owned(),
            base: scored.mean(|(was, _)| *was),
            new: scored.mean(|(_, now)| *now),
            difference: scored.difference(settings.confidence),
            p: p_value(differences, clusters, settings.seed).ok(),
            detectable: detectable(differences, settings.confidence),
            unchanged: (self.both.len() - changed_of_both) as u64,
            changes,
            claims: Vec::new(),
            known_failures: HashSet::new(),
        };
        if settings.no_regressions || settings.no_worse_than.is_some() {
            let failed = self
                .both
                .iter()
                .filter(|(was, now)| was.mean.is_some() && now.passed < now.conversations);
            comparison.known_failures = failed.map(|(_, now)| now.case.to_owned()).collect();
        }
        if let Some(margin) = settings.no_worse_than {
            let claim = no_worse(&scored.scores, clusters, margin, settings);
            let broke = comparison.changes.iter().filter(|it| it.change == CaseChangeKind::Broke);
            // They are in no mean.
            let broke = broke.count();
            let claim = claim.unless(broke > 0, || format!("{} broke", counted(broke, "case")));
            comparison.claims.push(self.unless_missing(claim, settings));
        }
        if settings.no_regressions {
            let claim = no_regressions(&comparison);
            comparison.claims.push(self.unless_missing(claim, settings));
        }
        comparison
    }

    fn changes(&self, min_change: f64) -> Vec<CaseChange> {
        let change =
            |case: &str, change, base, new| CaseChange { case: case.to_owned(), change, base, new };
        let of_both = self.both.iter().filter_map(|(was, now)| {
            Some(change(now.case, changed(was, now, min_change)?, was.mean, now.mean))
        });
        let added = self.added.iter().map(|it| change(it.case, CaseChangeKind::New, None, it.mean));
        let missing =
            self.missing.iter().map(|it| change(it.case, CaseChangeKind::Missing, it.mean, None));
        of_both.chain(added).chain(missing).collect()
    }

    /// A claim that passes is undecided if cases of the base are missing.
    fn unless_missing(&self, claim: ClaimResult, settings: &ComparisonSettings) -> ClaimResult {
        let be = if self.missing.len() == 1 { "is" } else { "are" };
        claim.unless(!settings.allow_missing && !self.missing.is_empty(), || {
            let missing = counted(self.missing.len(), "case");
            format!("{missing} of the base {be} missing (--allow-missing)")
        })
    }
}

/// The values of a base, which a new run and its slices are compared with.
pub(crate) struct BaseValues<'v> {
    values: &'v CaseValues,
    /// Numbers of the cases by their ids.
    numbers: HashMap<&'v str, usize>,
}

impl<'v> BaseValues<'v> {
    pub(crate) fn new(values: &'v CaseValues) -> Self {
        Self { values, numbers: values.cases.all().zip(0..).collect() }
    }

    /// Returns the cases of each evaluator of both runs, in the order of the new one.
    fn shared(&self, new: &'v CaseValues) -> impl Iterator<Item = (&'v str, Cases<'v>)> {
        let numbers: Vec<_> = new.cases.all().map(|id| self.numbers.get(id).copied()).collect();
        new.evaluators.iter().filter_map(move |after| {
            let before = self.values.named(&after.name)?;
            let mut cases = Cases::default();
            for (case, number) in numbers.iter().enumerate() {
                let Some(now) = new.known(after, case) else { continue };
                match number.and_then(|it| Some((it, self.values.known(before, it)?))) {
                    Some((number, was)) => {
                        cases.met.push(number);
                        cases.both.push((was, now));
                    }
                    None => cases.added.push(now),
                }
            }
            Some((&*after.name, cases))
        })
    }

    /// Returns the cases of an evaluator that are not among those of both runs.
    fn missing(&self, name: &str, cases: &Cases<'_>) -> Vec<CaseValue<'v>> {
        let mut is_missing = vec![true; self.values.cases.len()];
        cases.met.iter().for_each(|number| is_missing[*number] = false);
        let before = self.values.named(name).into_iter();
        let unmet = (0..is_missing.len()).filter(|case| is_missing[*case]);
        before.flat_map(|it| unmet.clone().filter_map(|case| self.values.known(it, case))).collect()
    }

    /// Returns the differences of the evaluators of both runs over the cases of a slice.
    pub(crate) fn differences(
        &self,
        slice: &'v CaseValues,
        settings: &ComparisonSettings,
    ) -> Vec<EvaluatorDifference> {
        let differences = self.shared(slice).map(|(name, cases)| {
            let (scored, changes) = (Scored::of(&cases.both), cases.changes(settings.min_change));
            let count = |change| changes.iter().filter(|it| it.change == change).count() as u64;
            let difference = scored.difference(settings.confidence);
            EvaluatorDifference {
                name: name.to_owned(),
                base: scored.mean(|(was, _)| *was),
                new: scored.mean(|(_, now)| *now),
                difference,
                regressed: count(CaseChangeKind::Regressed),
                broke: count(CaseChangeKind::Broke),
                fixed: count(CaseChangeKind::Fixed),
                too_few_cases: has_too_few_cases(difference.as_ref()),
            }
        });
        differences.collect()
    }
}

/// The cases with a score in both runs.
struct Scored<'v> {
    /// Scores of the base and of the new run.
    scores: Vec<(f64, f64)>,
    differences: Vec<f64>,
    /// Clusters of the new run, if it has any.
    clusters: Option<Vec<Option<&'v str>>>,
}

impl<'v> Scored<'v> {
    fn of(both: &[(CaseValue<'v>, CaseValue<'v>)]) -> Self {
        let scored =
            both.iter().filter_map(|(was, now)| Some((was.mean.zip(now.mean)?, now.cluster)));
        let (scores, clusters): (Vec<(f64, f64)>, Vec<Option<&str>>) = scored.unzip();
        let differences = scores.iter().map(|(was, now)| now - was).collect();
        let clusters = clusters.iter().any(Option::is_some).then_some(clusters);
        Self { scores, differences, clusters }
    }

    fn mean(&self, value: impl Fn(&(f64, f64)) -> f64) -> Option<f64> {
        let sum: f64 = self.scores.iter().map(value).sum();
        (!self.scores.is_empty()).then(|| sum / self.scores.len() as f64)
    }

    /// Returns the mean of the differences with its interval.
    fn difference(&self, confidence: f64) -> Option<Estimate> {
        bounded_mean(&self.differences, self.clusters.as_deref(), -1.0..=1.0, confidence).ok()
    }
}

impl ClaimResult {
    /// A claim that passes is undecided for a reason.
    fn unless(self, is_open: bool, why: impl FnOnce() -> String) -> Self {
        if !is_open || self.verdict != GateVerdict::Pass {
            return self;
        }
        let reason = format!("{}; {}", why(), self.reason);
        Self { verdict: GateVerdict::Inconclusive, reason, ..self }
    }
}

/// Returns how a case changed; `None` if it did not.
fn changed(was: &CaseValue<'_>, now: &CaseValue<'_>, min_change: f64) -> Option<CaseChangeKind> {
    let (before, after) = match (was.mean, now.mean) {
        (Some(before), Some(after)) => (before, after),
        (Some(_), None) => return Some(CaseChangeKind::Broke),
        (None, Some(_)) => return Some(CaseChangeKind::Mended),
        (None, None) => return None,
    };
    if now.errors > was.errors {
        return Some(CaseChangeKind::Broke);
    }
    // More than half of the conversations of a case that passes do.
    let passes = |it: &CaseValue<'_>| 2 * it.passed > it.conversations;
    let always_passes = |it: &CaseValue<'_>| it.passed == it.conversations;
    let differ = |passed, all| passed > 0 && passed < all;
    let disagree = |it: &CaseValue<'_>| {
        differ(it.passed, it.conversations)
            || it.repeats.is_some_and(|(all, passed)| differ(passed, all))
    };
    match (passes(was), passes(now)) {
        (true, false) if disagree(was) || disagree(now) => Some(CaseChangeKind::Flaky),
        (true, false) => Some(CaseChangeKind::Regressed),
        // No conversation of it failed before, so those that fail now are no known failures.
        (true, true) if always_passes(was) && !always_passes(now) => Some(CaseChangeKind::Flaky),
        (false, true) => Some(CaseChangeKind::Fixed),
        _ if before - after > min_change => Some(CaseChangeKind::Worse),
        _ if after - before > min_change => Some(CaseChangeKind::Better),
        _ => None,
    }
}

/// Returns the p-value of no difference. Differences of one cluster have one sign.
fn p_value(
    differences: &[f64],
    clusters: Option<&[Option<&str>]>,
    seed: u64,
) -> Result<f64, Refusal> {
    let is_sign = |it: &f64| [-1.0, 0.0, 1.0].contains(it);
    if clusters.is_none() && !differences.is_empty() && differences.iter().all(is_sign) {
        let count = |sign| differences.iter().filter(|it| **it == sign).count() as u64;
        return Ok(mcnemar(count(1.0), count(-1.0)));
    }
    let mut units = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (at, difference) in differences.iter().enumerate() {
        let cluster = clusters.and_then(|clusters| clusters[at]);
        let unit = cluster.map_or(units.len(), |it| *numbers.entry(it).or_insert(units.len()));
        units.resize(units.len().max(unit + 1), 0.0);
        units[unit] += difference;
    }
    match signflip_exact(&units) {
        Err(Refusal::TooMany) => signflip_mc(&units, seed, FLIPS).map(|it| it.p),
        exact => exact.map(|it| it.p),
    }
}

/// Returns the smallest difference that would have been found.
fn detectable(differences: &[f64], confidence: f64) -> Option<f64> {
    let sd = mean_t(differences, confidence).ok()?.sd.filter(|sd| *sd > 0.0)?;
    let power = PowerOfMean::new(sd, 1.0, confidence, POWER).ok()?;
    power.detectable(differences.len()).ok().filter(|it| *it < 1.0)
}

/// Decides whether the mean is no worse than by a margin.
fn no_worse(
    scored: &[(f64, f64)],
    clusters: Option<&[Option<&str>]>,
    margin: f64,
    settings: &ComparisonSettings,
) -> ClaimResult {
    let claim = format!("no worse than {margin}");
    let (base, new): (Vec<f64>, Vec<f64>) = scored.iter().copied().unzip();
    let decided = noninferiority(&base, &new, clusters, margin, settings.confidence);
    let Ok(decision) = decided else {
        let reason = "no case has a score in both runs".to_owned();
        return ClaimResult { claim, verdict: GateVerdict::Inconclusive, reason };
    };
    let Estimate { n, mean, interval, .. } = decision.estimate;
    let mut reason = format!(
        "{mean:+.4} ({:+.4} to {:+.4}) over {}",
        interval.lower,
        interval.upper,
        counted(n, "case")
    );
    if decision.verdict == GateVerdict::Inconclusive {
        match decision.needed {
            Some(needed) => {
                reason.push_str(&format!(
                    "; about {needed} cases that differ like these would decide"
                ));
            }
            None => reason.push_str("; more cases are needed"),
        }
        reason.push_str(", and --no-regressions suits small suites");
    }
    ClaimResult { claim, verdict: decision.verdict, reason }
}

/// Decides whether no case regressed.
fn no_regressions(comparison: &EvaluatorComparison) -> ClaimResult {
    use CaseChangeKind::{Broke, Flaky, Regressed};
    let cases = |change| -> Vec<&str> {
        let changes = comparison.changes.iter().filter(|it| it.change == change);
        changes.map(|it| &*it.case).collect()
    };
    let [regressed, flaky, broke] = [Regressed, Flaky, Broke].map(cases);
    let verdict = match (regressed.len(), flaky.len() + broke.len()) {
        (0, 0) => GateVerdict::Pass,
        (0, _) => GateVerdict::Inconclusive,
        _ => GateVerdict::Fail,
    };
    let counted = |(cases, change): (Vec<&str>, CaseChangeKind)| {
        let count = format!("{} {change}", cases.len());
        let named = cases.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        match cases.len() {
            0 if change != Regressed => None,
            0 => Some(count),
            1..=NAMED => Some(format!("{count} ({named})")),
            _ => Some(format!("{count} ({named}, ..)")),
        }
    };
    let all = [(regressed, Regressed), (flaky, Flaky), (broke, Broke)];
    let reason = all.into_iter().filter_map(counted).collect::<Vec<_>>().join(", ");
    ClaimResult { claim: "no regressions".to_owned(), verdict, reason }
}

#[cfg(test)]
mod tests;
