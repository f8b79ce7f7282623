//! A row per conversation, as columns of JSON: what tables, filters and charts need.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    sync::Arc,
};

use evaluator_json::Value;
use evaluator_results::{Contained, ConversationReport, EvaluationOutcome, EvaluationReport};
use serde::Serialize;

use super::{reason, text::rounded};

/// Columns of all conversations.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Number of conversations.
    pub(crate) count: usize,
    /// Columns, see [`KEYS`], each as the elements of an array of JSON.
    pub(crate) columns: Vec<String>,
    /// Columns of measurements, see [`MEASURED`]; empty without any.
    pub(crate) measured: Vec<String>,
    is_measured: bool,
    /// Columns of attributes, by their names.
    pub(crate) slices: BTreeMap<String, Slice>,
    /// Trace files, in the order in which they occur.
    pub(crate) files: Vec<Arc<str>>,
    /// Their places in that list.
    places: HashMap<Arc<str>, usize>,
    /// Numbers of the conversations of each case.
    pub(crate) cases: HashMap<Arc<str>, Vec<usize>>,
    /// Numbers of conversations in which an evaluator disagrees with itself, or whose case passes in some conversations only.
    pub(crate) flaky: BTreeSet<usize>,
    /// How bad each conversation is: the sum of [`EvaluationReport::shortfall`].
    pub(crate) shortfalls: Vec<f64>,
    /// Columns of the evaluators, in the order of the report.
    pub(crate) evaluators: Vec<Column>,
    /// Errors, one of each kind.
    pub(crate) errors: Vec<ErrorKind>,
}

/// Values of an attribute, by which the page filters.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Slice {
    name: String,
    /// Different values. Those of a conversation with several are one.
    pub(crate) values: Vec<String>,
    /// Place of the value of each conversation; -1 without one.
    of: Vec<i64>,
    /// The worst values: the place of each, its number of conversations, and the numbers of those that passed and that have a
    /// score of each evaluator.
    sums: Vec<(usize, u64, Vec<[u64; 2]>)>,
    #[serde(skip)]
    places: HashMap<String, i64>,
}

/// Columns of an evaluator.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// A digit per conversation, see [`digit`].
    pub(crate) outcomes: String,
    /// Elements of an array of JSON.
    pub(crate) scores: String,
    /// Numbers of scores in tenths.
    pub(crate) bins: [u64; 10],
    /// Whether a score is neither 0 nor 1.
    pub(crate) is_graded: bool,
    /// Milliseconds of the evaluations that were started; sorted at the end.
    pub(crate) durations: Vec<f64>,
    /// Number of repeats that passed, and of all, of the conversations in which they disagree.
    pub(crate) repeats: BTreeMap<usize, (usize, usize)>,
    /// Threshold of the evaluations.
    pub(crate) threshold: Threshold,
    pub(crate) containment: Option<Arc<Contained>>,
    pub(crate) usage: Usage,
}

/// Calls of an evaluator to models.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Usage {
    pub(crate) calls: u64,
    replayed: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// If the models have prices.
    cost: Option<f64>,
}

impl Usage {
    /// Adds the calls of a judge, and those of a program through its proxy.
    fn add(&mut self, evaluation: &EvaluationReport) {
        if let Some(judge) = evaluation.details.as_ref().and_then(|it| it.get("judge")) {
            let count = |value: Option<&Value>| {
                value.and_then(Value::as_i128).and_then(|it| it.try_into().ok()).unwrap_or(0)
            };
            let tokens = |key| count(judge.get("tokens").and_then(|it| it.get(key)));
            self.replayed = self.replayed.saturating_add(count(judge.get("replayed")));
            let cost = judge.get("cost").and_then(|it| match it {
                Value::Float(cost) => Some(*cost),
                other => other.as_i128().map(|it| it as f64),
            });
            self.count(count(judge.get("calls")), [tokens("input"), tokens("output")], cost);
        }
        if let Some(proxy) = &evaluation.target_proxy {
            let cost = proxy.cost.as_deref().and_then(|it| it.parse().ok());
            self.count(proxy.call_count, [proxy.tokens.input, proxy.tokens.output], cost);
        }
    }

    fn count(&mut self, calls: u64, [input, output]: [u64; 2], cost: Option<f64>) {
        self.calls = self.calls.saturating_add(calls);
        self.input_tokens = self.input_tokens.saturating_add(input);
        self.output_tokens = self.output_tokens.saturating_add(output);
        if let Some(cost) = cost {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }
}

/// Threshold of the evaluations of an evaluator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Threshold {
    /// No evaluation has one.
    #[default]
    Unknown,
    One(f64),
    /// Tests of an eval file can have thresholds of their own.
    Several,
}

impl Threshold {
    fn add(&mut self, threshold: Option<f64>) {
        *self = match (*self, threshold) {
            (known, None) => known,
            (Self::Unknown, Some(threshold)) => Self::One(threshold),
            (Self::One(known), Some(threshold)) if known == threshold => Self::One(known),
            (_, Some(_)) => Self::Several,
        };
    }
}

/// Errors of one evaluator and type.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorKind {
    evaluator: usize,
    error_type: &'static str,
    /// Of the first one.
    headline: String,
    count: u64,
    /// Number of the first conversation with it.
    row: usize,
}

/// Keys of the columns.
pub(crate) const KEYS: [&str; 8] =
    ["names", "trace_id", "eval_case_id", "case", "prompt", "turns", "file", "why"];

/// Place of the column of files in them.
const FILE: usize = 6;

/// Number of values of an attribute with sums.
const WORST: usize = 20;

/// Keys of the columns of measurements.
pub(crate) const MEASURED: [&str; 3] = ["latency_ms", "tokens", "tool_calls"];

/// Maximum number of characters of the reason of a failure.
const WHY: usize = 200;

/// Maximum number of characters of an error.
const HEADLINE: usize = 500;

impl Rows {
    /// Adds the next conversation.
    pub(crate) fn add(&mut self, conversation: &ConversationReport, name: &str) -> io::Result<()> {
        let file = conversation.trace_file.as_ref().map(|file| {
            *self.places.entry(Arc::clone(file)).or_insert_with(|| {
                self.files.push(Arc::clone(file));
                self.files.len() - 1
            })
        });
        let why = conversation.evaluations.iter().find_map(reason::of);
        let why = why.map(|why| why.chars().take(WHY).collect::<String>());
        let values = [
            serde_json::to_string(name)?,
            serde_json::to_string(&conversation.trace_id)?,
            serde_json::to_string(&conversation.eval_case_id)?,
            serde_json::to_string(&conversation.case)?,
            serde_json::to_string(&conversation.prompt)?,
            conversation.turns.to_string(),
            file.map_or_else(|| "-1".to_owned(), |file| file.to_string()),
            serde_json::to_string(&why)?,
        ];
        self.columns.resize(values.len(), String::new());
        self.columns.iter_mut().zip(values).for_each(|(column, value)| push(column, &value));
        let performance = conversation.performance.as_ref();
        self.is_measured |= performance.is_some();
        let measured = performance.map(|it| {
            let latency = rounded(it.latency.overall.max, 1);
            [latency, it.tokens.total.to_string(), it.counts.tool_calls.to_string()]
        });
        self.measured.resize(MEASURED.len(), String::new());
        let measured = measured.unwrap_or_else(|| [(); 3].map(|()| null()));
        self.measured.iter_mut().zip(measured).for_each(|(column, value)| push(column, &value));
        for (place, evaluation) in conversation.evaluations.iter().enumerate() {
            let evaluator = self.column(place, &evaluation.name);
            self.evaluators[evaluator].add(self.count, evaluation);
            if evaluation.outcome() == EvaluationOutcome::Error {
                self.add_error(evaluator, evaluation);
            }
        }
        for (name, values) in &conversation.labels {
            let new = || Slice { name: name.clone(), ..Slice::default() };
            let slice = self.slices.entry(name.clone()).or_insert_with(new);
            slice.add(self.count, values.join(", "));
        }
        self.shortfalls.push(shortfall(conversation));
        self.cases.entry(Arc::clone(conversation.case())).or_default().push(self.count);
        self.count += 1;
        Ok(())
    }

    /// Fills the columns of evaluators that were not called for the last conversations, and drops empty ones. To be called once, at the end.
    pub(crate) fn finish(&mut self) {
        for column in &mut self.evaluators {
            column.fill(self.count);
            column.durations.sort_unstable_by(f64::total_cmp);
            self.flaky.extend(column.repeats.keys());
            let of = |row: &usize| column.outcomes.as_bytes().get(*row).copied();
            for rows in self.cases.values().filter(|rows| rows.len() > 1) {
                let has = |digit| rows.iter().any(|row| of(row) == Some(digit));
                if has(b'0') && has(b'1') {
                    self.flaky.extend(rows);
                }
            }
        }
        if self.files.len() > 1 {
            let values = self.files.iter().map(ToString::to_string).collect();
            let of = self.columns[FILE].split(',').map(|it| it.parse().unwrap_or(-1)).collect();
            let slice = Slice { name: "file".to_owned(), values, of, ..Slice::default() };
            self.slices.entry(slice.name.clone()).or_insert(slice);
        }
        for slice in self.slices.values_mut() {
            slice.of.resize(self.count, -1);
            slice.sum_up(&self.evaluators);
        }
        if !self.is_measured {
            self.measured.clear();
        }
    }

    /// Returns the number of the column of an evaluator; it is most often the place of its evaluation.
    fn column(&mut self, place: usize, name: &str) -> usize {
        let is_it = |column: &Column| column.name == name;
        if self.evaluators.get(place).is_some_and(is_it) {
            return place;
        }
        self.evaluators.iter().position(is_it).unwrap_or_else(|| {
            self.evaluators.push(Column { name: name.to_owned(), ..Column::default() });
            self.evaluators.len() - 1
        })
    }

    fn add_error(&mut self, evaluator: usize, evaluation: &EvaluationReport) {
        let error_type = evaluation.error_type.unwrap_or("error");
        let mut known = self.errors.iter_mut();
        if let Some(kind) =
            known.find(|it| (it.evaluator, it.error_type) == (evaluator, error_type))
        {
            kind.count += 1;
            return;
        }
        let headline = reason::of(evaluation).map(|text| text.chars().take(HEADLINE).collect());
        self.errors.push(ErrorKind {
            evaluator,
            error_type,
            headline: headline.unwrap_or_default(),
            count: 1,
            row: self.count,
        });
    }
}

impl Slice {
    /// Sums up the outcomes of each value, and keeps the worst ones.
    fn sum_up(&mut self, evaluators: &[Column]) {
        let new = |place| (place, 0, vec![[0; 2]; evaluators.len()]);
        let mut sums: Vec<(usize, u64, Vec<[u64; 2]>)> = (0..self.values.len()).map(new).collect();
        for (row, place) in self.of.iter().enumerate() {
            let place = usize::try_from(*place).ok();
            let Some((_, size, of)) = place.and_then(|place| sums.get_mut(place)) else { continue };
            *size += 1;
            for (sum, column) in of.iter_mut().zip(evaluators) {
                let outcome = column.outcomes.as_bytes().get(row);
                sum[0] += u64::from(outcome == Some(&b'0'));
                sum[1] += u64::from(matches!(outcome, Some(b'0' | b'1')));
            }
        }
        let worst = |(_, _, of): &(usize, u64, Vec<[u64; 2]>)| {
            let scored = of.iter().filter(|[_, scored]| *scored > 0);
            scored.map(|[passed, scored]| *passed as f64 / *scored as f64).fold(1.0, f64::min)
        };
        sums.sort_by(|one, other| worst(one).total_cmp(&worst(other)));
        sums.truncate(WORST);
        self.sums = sums;
    }

    fn add(&mut self, row: usize, value: String) {
        self.of.resize(row, -1);
        let next = self.values.len() as i64;
        let place = *self.places.entry(value.clone()).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        self.of.push(place);
    }
}

impl Column {
    fn add(&mut self, row: usize, evaluation: &EvaluationReport) {
        self.fill(row);
        self.outcomes.push(digit(evaluation.outcome()));
        push(&mut self.scores, &evaluation.score.map_or_else(null, |it| rounded(it, 4)));
        let is_scored =
            matches!(evaluation.outcome(), EvaluationOutcome::Passed | EvaluationOutcome::Failed);
        if let Some(score) = evaluation.score.filter(|_| is_scored) {
            // A score of 0.3 is in the bin that begins there.
            self.bins[((score * 10.0 + 1e-9) as usize).min(9)] += 1;
            self.is_graded |= score != 0.0 && score != 1.0;
        }
        self.durations.extend(evaluation.duration.map(|it| it.as_secs_f64() * 1000.0));
        let mut repeats = evaluation.repeats.iter();
        if repeats.any(|it| it.outcome() == EvaluationOutcome::Failed) {
            let repeats = evaluation.passed_repeats().filter(|(passed, _)| *passed > 0);
            self.repeats.extend(repeats.map(|it| (row, it)));
        }
        self.threshold.add(evaluation.threshold);
        evaluation.each_repeat().for_each(|it| self.usage.add(it));
        if self.containment.is_none() {
            self.containment.clone_from(&evaluation.containment);
        }
    }

    /// Adds that there is nothing for all conversations before this row.
    fn fill(&mut self, row: usize) {
        while self.outcomes.len() < row {
            self.outcomes.push('-');
            push(&mut self.scores, "null");
        }
    }

    /// Returns the number of bins below the threshold; without one, scores that are all 0 or 1 fail if they are 0.
    pub(crate) fn low(&self, threshold: Option<f64>) -> usize {
        let threshold = threshold.unwrap_or(if self.is_graded { 0.0 } else { 0.5 });
        ((threshold * 10.0 + 1e-8) as usize).min(self.bins.len() - 1)
    }

    /// Returns the sum, the median, the 95th percentile and the maximum of the durations in milliseconds; `None` without any.
    pub(crate) fn times(&self) -> Option<[f64; 4]> {
        let all = &self.durations;
        let rank = |share: f64| {
            all.get((share * all.len() as f64).ceil() as usize - 1).copied().unwrap_or_default()
        };
        (!all.is_empty()).then(|| [all.iter().sum(), rank(0.5), rank(0.95), rank(1.0)])
    }
}

/// Returns the digit of an outcome.
fn digit(outcome: EvaluationOutcome) -> char {
    match outcome {
        EvaluationOutcome::Passed => '0',
        EvaluationOutcome::Failed => '1',
        EvaluationOutcome::Error => '2',
        EvaluationOutcome::NotRun => '4',
        _ => '3',
    }
}

/// Returns how bad a conversation is: the sum of its shortfalls.
pub(crate) fn shortfall(conversation: &ConversationReport) -> f64 {
    // A sum of nothing is -0.
    0.0 + conversation.evaluations.iter().filter_map(EvaluationReport::shortfall).sum::<f64>()
}

/// Appends an element to those of an array.
pub(crate) fn push(column: &mut String, value: &str) {
    if !column.is_empty() {
        column.push(',');
    }
    column.push_str(value);
}

fn null() -> String {
    "null".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_known_if_all_evaluations_have_the_same() {
        let of = |thresholds: &[Option<f64>]| {
            let mut all = Threshold::default();
            thresholds.iter().for_each(|it| all.add(*it));
            all
        };
        assert_eq!(of(&[None, None]), Threshold::Unknown);
        assert_eq!(of(&[None, Some(0.8), Some(0.8), None]), Threshold::One(0.8));
        assert_eq!(of(&[Some(0.8), Some(0.9), Some(0.9)]), Threshold::Several);
    }

    #[test]
    fn attributes_are_columns_of_places_in_lists_of_their_values() {
        let mut rows = Rows::default();
        for models in [&["small"][..], &[], &["large", "small"], &["small"]] {
            let mut conversation = ConversationReport::new("t".into());
            let models: Vec<String> = models.iter().map(|model| (*model).to_owned()).collect();
            if !models.is_empty() {
                conversation.labels.insert("model".to_owned(), models);
            }
            rows.add(&conversation, "t").expect("it is text");
        }
        rows.finish();
        let slice = &rows.slices["model"];
        assert_eq!(slice.values, ["small", "large, small"]);
        assert_eq!(slice.of, [0, -1, 1, 0]);
    }
}
