//! Schemes and their parts.

/// Greatest score of a rubric with score ranges.
pub(super) const HIGHEST: u8 = 10;

/// Form of a judge's verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheme {
    /// A number from the first to the second one.
    Number(f64, f64),
    /// Rubrics: a verdict about each item. If any of them has score ranges, all get a score from 0 to 10.
    Rubrics(Vec<Item>),
    /// One of several answers.
    Choices(Vec<Choice>),
}

/// A statement that a judge checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Id, unique among the items.
    pub id: String,
    /// The statement.
    pub text: String,
    /// Weight in the score, at least 0.
    pub weight: f64,
    /// Whether it must be fulfilled: a check must be satisfied, and a score be 10, unless there is a `min_score`.
    pub required: bool,
    /// Least score that it must have, as a share of 1.
    pub min_score: Option<f64>,
    /// Effect of the statement on the result.
    pub operator: Option<Operator>,
    /// Ranges of scores with their meaning; empty if there are none.
    pub ranges: Vec<ScoreRange>,
}

/// Effect of a statement on the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The answer must state it.
    Correctness,
    /// The answer must not contradict it.
    Contradiction,
}

/// Meaning of the scores from `from` to `to`, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreRange {
    /// Least score.
    pub from: u8,
    /// Greatest score.
    pub to: u8,
    /// Meaning of such a score.
    pub outcome: String,
}

/// An answer that a judge may choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The word that the judge writes.
    pub name: String,
    /// Its score, from 0 to 1.
    pub score: f64,
}

/// Reason why parts are not a scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemeError {
    /// Index of the item or choice that is wrong.
    pub index: usize,
    /// Reason.
    pub message: String,
}

impl Item {
    /// Creates a required item of weight 1.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            weight: 1.0,
            required: true,
            min_score: None,
            operator: None,
            ranges: Vec::new(),
        }
    }

    fn check(&self) -> Result<(), String> {
        let id = &self.id;
        if id.trim().is_empty() || self.text.trim().is_empty() {
            return Err("a rubric needs an id and a text".to_owned());
        }
        if !self.weight.is_finite() || self.weight < 0.0 {
            return Err(format!("the weight of `{id}` must be a number of at least 0"));
        }
        if self.min_score.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            return Err(format!("the least score of `{id}` is outside of its range"));
        }
        check_ranges(&self.ranges)
            .map_err(|problem| format!("the score ranges of `{id}` {problem}"))
    }
}

impl ScoreRange {
    /// Creates the ranges whose least scores are given. Each ends before the next one, the last one at 10.
    pub fn from_lower_bounds(mut bounds: Vec<(u8, String)>) -> Vec<Self> {
        bounds.sort_by_key(|(from, _)| *from);
        let ends: Vec<u8> = bounds.iter().skip(1).map(|(next, _)| next.saturating_sub(1)).collect();
        let ends = ends.into_iter().chain([HIGHEST]);
        bounds
            .into_iter()
            .zip(ends)
            .map(|((from, outcome), to)| Self { from, to, outcome })
            .collect()
    }
}

/// Checks that ranges cover each score once.
fn check_ranges(ranges: &[ScoreRange]) -> Result<(), String> {
    let mut ranges: Vec<&ScoreRange> = ranges.iter().collect();
    ranges.sort_by_key(|range| range.from);
    let mut next = 0;
    for range in &ranges {
        let ScoreRange { from, to, outcome } = range;
        if from > to || *to > HIGHEST {
            return Err(format!("have {from} to {to}, which is not within 0 to {HIGHEST}"));
        }
        if outcome.trim().is_empty() {
            return Err(format!("do not say what {from} to {to} means"));
        }
        if *from < next {
            return Err(format!("have the score {from} twice"));
        }
        if *from > next {
            return Err(format!("leave out the score {next}"));
        }
        next = to + 1;
    }
    if !ranges.is_empty() && next <= HIGHEST {
        return Err(format!("leave out the score {next}"));
    }
    Ok(())
}

impl Scheme {
    /// Creates a scheme of rubrics.
    ///
    /// # Errors
    ///
    /// There are none, two have the same id, or one is not usable, e.g. because its score ranges leave a score out.
    pub fn rubrics(items: Vec<Item>) -> Result<Self, SchemeError> {
        let fail = |index, message| Err(SchemeError { index, message });
        if items.is_empty() {
            return fail(0, "there are no rubrics".to_owned());
        }
        for (index, item) in items.iter().enumerate() {
            if let Err(message) = item.check() {
                return fail(index, message);
            }
            if items[..index].iter().any(|other| other.id == item.id) {
                return fail(index, format!("two rubrics have the id `{}`", item.id));
            }
        }
        Ok(Self::Rubrics(items))
    }

    /// Creates a scheme of choices.
    ///
    /// # Errors
    ///
    /// There are fewer than two, a name is blank or there twice, or a score is not within 0 and 1.
    pub fn choices(choices: Vec<Choice>) -> Result<Self, SchemeError> {
        let fail = |index, message| Err(SchemeError { index, message });
        if choices.len() < 2 {
            return fail(0, "a judge needs at least two choices".to_owned());
        }
        for (index, Choice { name, score }) in choices.iter().enumerate() {
            if name.trim() != name || name.is_empty() {
                return fail(index, format!("{name:?} cannot be the name of a choice"));
            }
            if choices[..index].iter().any(|other| other.name == *name) {
                return fail(index, format!("two choices have the name `{name}`"));
            }
            if !(0.0..=1.0).contains(score) {
                return fail(index, format!("the score of `{name}` is not within 0 and 1"));
            }
        }
        Ok(Self::Choices(choices))
    }

    /// Returns true if items get scores from 0 to 10 instead of yes or no.
    pub fn has_ranges(&self) -> bool {
        matches!(self, Self::Rubrics(items) if items.iter().any(|item| !item.ranges.is_empty()))
    }

    /// Returns the items that are judged one by one; none if the verdict is a number or a choice.
    pub fn items(&self) -> &[Item] {
        match self {
            Self::Rubrics(items) => items,
            Self::Number(..) | Self::Choices(_) => &[],
        }
    }
}
