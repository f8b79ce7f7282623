//! Grades by the answers to a plan.

use evaluator_json::{Object, Value, count};
use evaluator_metrics::{Outcome, TurnScore, TurnScores, cosine};
use evaluator_models::{ModelError, Reply};

use super::{
    CallResults, Formula, Grader, LabelModel, Plan, ScoreModel,
    plan::{Grade, Planned, PlannedTurn},
    question::Reading,
};

impl Grader {
    /// Returns true if the score depends on the part at this index.
    pub(super) fn uses_part(&self, index: usize) -> bool {
        match self {
            Self::Multi { formula, .. } => formula.uses(index),
            _ => true,
        }
    }

    /// Reads the replies of a model.
    fn read(&self, replies: &[Result<Reply, ModelError>], threshold: f64) -> Result<Grade, String> {
        match self {
            Self::LabelModel(model) => model.grade(&readings(replies, |text| model.read(text))?),
            Self::ScoreModel(model) => {
                model.grade(&readings(replies, ScoreModel::read)?, threshold)
            }
            _ => Err(format!("a {} grader asks no model", self.kind())),
        }
    }
}

/// Reads replies. A call that failed is an error, and so are too few replies that can be read.
fn readings<T>(
    replies: &[Result<Reply, ModelError>],
    read: impl Fn(&str) -> Result<Reading<T>, String>,
) -> Result<Vec<Reading<T>>, String> {
    let (mut read_replies, mut unreadable) = (Vec::new(), None);
    for reply in replies {
        let text = reply.as_ref().map_err(ToString::to_string)?.readable();
        let text = text.map_err(|reason| format!("unreadable reply: {reason}"));
        let reading = text.and_then(&read);
        match reading {
            Ok(reading) => read_replies.push(reading),
            Err(reason) => {
                unreadable.get_or_insert(reason);
            }
        }
    }
    match unreadable {
        None if read_replies.is_empty() => Err("the model was not asked".to_owned()),
        Some(reason) if replies.len() == 1 => Err(reason),
        Some(reason) if read_replies.len() * 2 <= replies.len() => {
            let (readable, samples) = (read_replies.len(), replies.len());
            Err(format!("too few readable replies ({readable} of {samples}): {reason}"))
        }
        _ => Ok(read_replies),
    }
}

impl LabelModel {
    /// Decides by the majority of the labels; equal numbers do not pass.
    fn grade(&self, readings: &[Reading<String>]) -> Result<Grade, String> {
        let passes = |reading: &&Reading<String>| self.passing_labels.contains(&reading.result);
        let positive = readings.iter().filter(passes).count();
        let passed = positive * 2 > readings.len();
        let first = readings.iter().find(|reading| passes(reading) == passed);
        let first = first.ok_or("the model was not asked")?;
        let mut details = vec![("label", Value::from(first.result.as_str()))];
        details.extend(first.conclusion.as_deref().map(|it| ("conclusion", Value::from(it))));
        if readings.len() > 1 {
            let labels = readings.iter().map(|reading| Value::from(reading.result.as_str()));
            details.push(("labels", Value::Array(labels.collect())));
        }
        let score = f64::from(u8::from(passed));
        Ok(Grade { passed, details, ..Grade::new(score, 1.0) })
    }
}

impl ScoreModel {
    /// Returns the grade of the mean of the numbers. A number outside of the range counts as its nearest end.
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 samples")]
    fn grade(&self, readings: &[Reading<f64>], threshold: f64) -> Result<Grade, String> {
        let (least, greatest) = self.range;
        let clamped = readings.iter().map(|reading| reading.result.clamp(least, greatest));
        let value = clamped.sum::<f64>() / readings.len() as f64;
        let score = ((value - least) / (greatest - least)).clamp(0.0, 1.0);
        let outside = readings.iter().find(|it| !(least..=greatest).contains(&it.result));
        let notes = outside.map(|reading| {
            let end = reading.result.clamp(least, greatest);
            format!("{} is not in {least}..={greatest}; {end} counts", reading.result)
        });
        let first = readings.first().ok_or("the model was not asked")?;
        let mut details = vec![("value", Value::Float(first.result))];
        details.extend(first.conclusion.as_deref().map(|it| ("conclusion", Value::from(it))));
        if readings.len() > 1 {
            let values = readings.iter().map(|reading| Value::Float(reading.result));
            details.push(("values", Value::Array(values.collect())));
        }
        let passed = match self.pass_threshold {
            Some(least) => value >= least,
            None => score >= threshold,
        };
        Ok(Grade { value, score, passed, notes: notes.into_iter().collect(), details })
    }
}

impl Plan<'_> {
    /// Combines the answers to [`needs`](Self::needs) into the outcome. A turn without an answer that it needs is an error of
    /// the whole evaluation, never a score.
    pub fn finish(self, results: &CallResults) -> Outcome {
        let (mut scores, mut grades, mut failed) = (TurnScores::default(), Vec::new(), Vec::new());
        let mut known = Vec::new();
        for (index, turn) in self.turns.iter().enumerate() {
            let parts = match turn {
                PlannedTurn::NotEvaluated(reason) => {
                    scores.add(TurnScore::NotEvaluated(reason.clone()));
                    continue;
                }
                PlannedTurn::Parts(parts) => parts,
            };
            match self.grade(index, parts, results, &mut grades) {
                Ok(grade) => {
                    known.push(format!("turn {} {:.3}", index + 1, grade.score));
                    let Grade { score, passed, notes, .. } = grade;
                    let note = (!notes.is_empty()).then(|| notes.join("; "));
                    scores.add(TurnScore::Scored { score, passed, note });
                }
                Err(reason) => failed.push(format!("turn {}: {reason}", index + 1)),
            }
        }
        if let Some(first) = failed.first() {
            let more = match failed.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            let known = match known.is_empty() {
                true => String::new(),
                false => format!("; without an error: {}", known.join(", ")),
            };
            return Outcome::Failed { reason: format!("{first}{more}{known}") };
        }
        let mut details = self.grader.details();
        if !grades.is_empty() {
            details.insert("grades".to_owned(), Value::Array(grades));
        }
        scores.outcome(self.recorded, self.golden, details)
    }

    /// Grades a turn, and adds what the report shows about it.
    fn grade(
        &self,
        turn: usize,
        planned: &[Result<Planned, String>],
        results: &CallResults,
        shown: &mut Vec<Value>,
    ) -> Result<Grade, String> {
        let (mut graded, mut notes) = (Vec::new(), Vec::new());
        for (index, (planned, (name, grader))) in
            planned.iter().zip(self.grader.parts()).enumerate()
        {
            let grade = match planned {
                Ok(planned) => self.part(grader, planned, results),
                Err(reason) => Err(reason.clone()),
            };
            match grade {
                Ok(grade) => {
                    shown.extend(show(turn, name, &grade));
                    graded.push((name.unwrap_or_default(), grade));
                }
                Err(reason) => {
                    let reason = name.map_or(reason.clone(), |name| format!("{name}: {reason}"));
                    if self.grader.uses_part(index) {
                        return Err(reason);
                    }
                    notes.push(reason);
                    graded.push((
                        name.unwrap_or_default(),
                        Grade { value: f64::NAN, ..Grade::default() },
                    ));
                }
            }
        }
        match self.grader {
            Grader::Multi { formula, .. } => combine(formula, &graded, notes, self.threshold),
            _ => graded.pop().map(|(_, grade)| grade).ok_or_else(|| "it has no grade".to_owned()),
        }
    }

    /// Grades a turn by one grader that is not a `Multi`.
    fn part(
        &self,
        grader: &Grader,
        planned: &Planned,
        results: &CallResults,
    ) -> Result<Grade, String> {
        const MISSING: &str = "there is no answer";
        match planned {
            Planned::Graded(grade) => Ok(grade.clone()),
            Planned::Reply(index) => {
                grader.read(results.replies.get(*index).ok_or(MISSING)?, self.threshold)
            }
            Planned::Embeddings(batch, places) => {
                let vectors = results.embeddings.get(*batch).ok_or(MISSING)?.as_ref()?;
                let [u, v] = places.map(|place| vectors.get(place).ok_or(MISSING));
                let raw = cosine(u?, v?).map_err(|error| format!("no cosine: {error}"))?;
                let details = vec![("cosine", Value::Float(raw))];
                // Opposite vectors have a negative cosine.
                Ok(Grade { details, ..Grade::new(raw.clamp(0.0, 1.0), self.threshold) })
            }
            Planned::Call(batch, place) => {
                let numbers = results.numbers.get(*batch).ok_or(MISSING)?.as_ref()?;
                let value = *numbers.get(*place).ok_or(MISSING)?.as_ref()?;
                if !value.is_finite() {
                    return Err(format!("`grade` returned {value}, which is not a finite number"));
                }
                Ok(Grade::clamped(value, self.threshold))
            }
        }
    }
}

/// Calculates a formula over the grades.
fn combine(
    formula: &Formula,
    graded: &[(&str, Grade)],
    notes: Vec<String>,
    threshold: f64,
) -> Result<Grade, String> {
    let values: Vec<f64> = graded.iter().map(|(_, grade)| grade.value).collect();
    let value = formula.value(&values).map_err(|reason| format!("`calculate_output`: {reason}"))?;
    let known = graded.iter().filter(|(_, grade)| grade.value.is_finite());
    let parts: Vec<String> = known.map(|(name, it)| format!("{name} {:.3}", it.value)).collect();
    let of_parts = graded
        .iter()
        .flat_map(|(name, grade)| grade.notes.iter().map(move |note| format!("{name}: {note}")));
    let combined = Grade::clamped(value, threshold);
    let own = combined.notes.clone();
    let notes = [parts.join(", ")].into_iter().chain(of_parts).chain(notes).chain(own).collect();
    Ok(Grade { notes, ..combined })
}

/// Returns what the report shows about a grade apart from its score. Turns are numbered from 0, as those of judges.
fn show(turn: usize, name: Option<&str>, grade: &Grade) -> Option<Value> {
    if grade.details.is_empty() {
        return None;
    }
    let mut shown = Object::from_iter([("turn".to_owned(), count(turn))]);
    shown.extend(name.map(|name| ("grader".to_owned(), Value::from(name))));
    shown.extend(grade.details.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    Some(Value::Object(shown))
}
