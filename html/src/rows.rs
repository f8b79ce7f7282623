//! A row per conversation, as columns of JSON: what tables, filters and charts need.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    io,
    sync::Arc,
};

use evaluator_results::{Contained, ConversationReport, EvaluationOutcome, EvaluationReport};
use serde::Serialize;

use super::reason;

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
    pub(crate) durations: String,
    /// Number of repeats that passed, and of all, of the conversations in which they disagree.
    pub(crate) repeats: BTreeMap<usize, (usize, usize)>,
    /// Threshold of the evaluations.
    pub(crate) threshold: Threshold,
    pub(crate) containment: Option<Arc<Contained>>,
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
        self.evaluators.iter_mut().for_each(|column| column.fill(self.count));
        self.slices.values_mut().for_each(|slice| slice.of.resize(self.count, -1));
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
        let duration = evaluation.duration.map(|it| it.as_secs_f64() * 1000.0);
        push(&mut self.durations, &duration.map_or_else(null, |it| rounded(it, 2)));
        let mut repeats = evaluation.repeats.iter();
        if repeats.any(|it| it.outcome() == EvaluationOutcome::Failed) {
            let repeats = evaluation.passed_repeats().filter(|(passed, _)| *passed > 0);
            self.repeats.extend(repeats.map(|it| (row, it)));
        }
        self.threshold.add(evaluation.threshold);
        if self.containment.is_none() {
            self.containment.clone_from(&evaluation.containment);
        }
    }

    /// Adds that there is nothing for all conversations before this row.
    fn fill(&mut self, row: usize) {
        while self.outcomes.len() < row {
            self.outcomes.push('-');
            push(&mut self.scores, "null");
            push(&mut self.durations, "null");
        }
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

/// Returns a number with at most this number of decimals.
pub(crate) fn rounded(number: f64, decimals: usize) -> String {
    let mut text = String::new();
    // Writing text to a string cannot fail.
    let _ = write!(text, "{number:.decimals$}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() || short == "-0" { "0".to_owned() } else { short.to_owned() }
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
