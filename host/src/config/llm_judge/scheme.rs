//! The form of the verdict: a number, rubrics, or choices.

use evaluator_document::{
    Field, Fields, NodeKind, keys,
    schema::{list, text},
};
use serde_json::json;

use crate::{
    json::Value,
    judging::judge::scheme::{Choice, Item, Operator, Scheme, ScoreRange},
};

const OPERATORS: [(&str, Operator); 2] =
    [("correctness", Operator::Correctness), ("contradiction", Operator::Contradiction)];

/// The form of the verdict, and the field of its rubrics.
pub(super) struct Verdict<'n> {
    pub(super) scheme: Scheme,
    pub(super) rubrics: Option<Field<'n>>,
}

/// Takes the form of the verdict; `None` after a problem.
pub(super) fn read<'n>(fields: &mut Fields<'n>, threshold: f64) -> Option<Verdict<'n>> {
    let rubric = fields.schema_of(|fields| read_keys(fields, 0));
    let score = json!({"type": "number", "minimum": 0, "maximum": 1});
    let range = json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
    keys! { fields;
        /// Statements that the judge checks one by one.
        let rubrics = field(json!({"type": "array", "items": {"oneOf": [text(), rubric]}, "minItems": 1}));
        /// Words that the judge chooses from, with their scores.
        let choices = field(json!({"type": "object", "additionalProperties": score, "minProperties": 2}));
        /// Least and greatest number that the judge gives.
        let score_range = field(range) or vec![0, 1];
    }
    let given: Vec<Field<'_>> = [rubrics, choices, score_range].into_iter().flatten().collect();
    if let [first, second, ..] = given[..] {
        let message = format!("`{}` and `{}` are two forms of the verdict", second.key, first.key);
        return second.add(message).hint("keep one of them").none();
    }
    let scheme = match (rubrics, choices, score_range) {
        (Some(field), ..) => read_rubrics(field)?,
        (_, Some(field), _) => read_choices(field, threshold)?,
        (.., Some(field)) => read_range(field)?,
        _ => Scheme::Number(0.0, 1.0),
    };
    Some(Verdict { scheme, rubrics })
}

fn read_range(field: Field<'_>) -> Option<Scheme> {
    let limits: Vec<Option<f64>> = field.items()?.iter().map(Field::number).collect();
    match limits[..] {
        [Some(least), Some(greatest)] if least < greatest && (greatest - least).is_finite() => {
            Some(Scheme::Number(least, greatest))
        }
        _ => {
            let message = "`score_range` must be two numbers, the lesser one first";
            field.add(message).hint("for example [1, 5]").none()
        }
    }
}

fn read_choices(field: Field<'_>, threshold: f64) -> Option<Scheme> {
    let before = field.problems.count();
    let named = field.named();
    let choices = named.iter().filter_map(|(name, node)| {
        let score = Field { key: name, node, problems: field.problems }.fraction()?;
        Some(Choice { name: (*name).to_owned(), score })
    });
    let choices: Vec<Choice> = choices.collect();
    if field.problems.count() > before {
        return None;
    }
    let passing = choices.iter().filter(|choice| choice.score >= threshold).count();
    if passing == choices.len() || passing == 0 {
        let all = if passing == 0 { "fails" } else { "passes" };
        let message = format!("every choice {all} with the threshold {threshold}");
        field.problems.warn(field.node.span, message);
    }
    Scheme::choices(choices).map_err(|error| field.add(error.to_string())).ok()
}

fn read_rubrics(field: Field<'_>) -> Option<Scheme> {
    let before = field.problems.count();
    let items = field.items()?;
    let read = items.iter().enumerate().filter_map(|(index, item)| read_item(*item, index));
    let read: Vec<Item> = read.collect();
    if field.problems.count() > before {
        return None;
    }
    if !read.is_empty() && read.iter().all(|item| item.weight == 0.0) {
        return field.add("the weight of every rubric is 0").none();
    }
    let scheme = match Scheme::rubrics(read) {
        Ok(scheme) => scheme,
        Err(error) => {
            let place = items.get(error.index).unwrap_or(&field);
            return place.add(error.to_string()).none();
        }
    };
    let gated = scheme.items().iter().zip(&items).filter(|(item, _)| item.min_score.is_some());
    if let (Some((_, item)), false) = (gated.into_iter().next(), scheme.has_ranges()) {
        let message = "a least score has an effect on rubrics with `score_ranges` only";
        return item.add(message).hint("write `required: true`").none();
    }
    Some(scheme)
}

/// Reads a rubric: a text, or a mapping. The id of a text is `rubric_` and its index.
fn read_item(field: Field<'_>, index: usize) -> Option<Item> {
    if !field.is_mapping() {
        let text = Field { key: "rubrics[]", ..field }.sentence()?;
        return Some(Item { required: false, ..Item::new(format!("rubric_{index}"), text) });
    }
    let mut fields = field.fields("this rubric")?;
    let item = read_keys(&mut fields, index);
    fields.finish();
    item
}

/// Takes the keys of a rubric.
fn read_keys(fields: &mut Fields<'_>, index: usize) -> Option<Item> {
    fields.describe(
        json!({"required": [], "anyOf": [{"required": ["text"]}, {"required": ["outcome"]}]}),
    );
    if fields.is_describing() {
        fields.key("outcome", "The statement.").field(text());
    }
    let range = fields.schema_of(read_score_range);
    let bounds = json!({"type": "object", "additionalProperties": text()});
    keys! { fields;
        /// Name in reports.
        let id = read(text(), |field| Some(field.sentence()));
        /// The statement.
        let text! | outcome = sentence();
        /// Weight in the score.
        let weight = read(json!({"type": "number", "minimum": 0}), |field| Some(field.non_negative())) or 1;
        /// Whether the conversation fails if the rubric is not fulfilled.
        let required = flag() or false;
        /// What the statement means for the answer.
        let operator = choice(&OPERATORS);
        /// Least score, as a share of 1.
        let min_score = fraction();
        /// What the scores from 0 to 10 mean.
        let score_ranges = read(json!({"oneOf": [list(range), bounds]}), |field| Some(read_ranges(field)));
    }
    fields.refuse(
        "required_min_score",
        "`required_min_score` is a key of AgentV's eval files",
        "write `min_score`, a share of 1: `min_score: 0.7` for 7 of 10",
    );
    let id = id.unwrap_or_else(|| Some(format!("rubric_{index}")))?;
    Some(Item {
        weight: weight.unwrap_or(Some(1.0))?,
        required: required.unwrap_or_default(),
        operator,
        min_score,
        ranges: score_ranges.unwrap_or(Some(Vec::new()))?,
        ..Item::new(id, text?)
    })
}

/// Reads a list of ranges with what they mean, or a mapping from their least scores to what they mean.
fn read_ranges(field: Field<'_>) -> Option<Vec<ScoreRange>> {
    if !field.is_mapping() {
        let range = |item: Field<'_>| {
            let mut fields = item.fields("this score range")?;
            let range = read_score_range(&mut fields);
            fields.finish();
            range
        };
        return field.items()?.into_iter().map(range).collect();
    }
    let bounds = field.entries()?.iter().map(|(from, outcome)| {
        let NodeKind::Scalar(Value::Int(from @ 0..=10)) = from.kind else {
            let message = "a key of `score_ranges` must be a whole number in 0..=10";
            return field.problems.add(from.span, message).none();
        };
        let outcome = Field { key: "score_ranges", node: outcome, problems: field.problems };
        Some((u8::try_from(from).ok()?, outcome.sentence()?))
    });
    let bounds: Option<Vec<(u8, String)>> = bounds.collect();
    bounds.map(ScoreRange::from_lower_bounds)
}

fn read_score_range(fields: &mut Fields<'_>) -> Option<ScoreRange> {
    let number = json!({"type": "integer", "minimum": 0, "maximum": 10});
    keys! { fields;
        let score_range! = field(json!({"type": "array", "items": number, "minItems": 2, "maxItems": 2}));
        let outcome! = sentence();
    }
    let range = score_range?;
    let limits = range.items()?;
    let limits: Vec<u32> = limits.iter().map(|limit| limit.whole(0..=10)).collect::<Option<_>>()?;
    let [from, to] = limits[..] else {
        return range
            .add("`score_range` must be two whole numbers")
            .hint("for example [0, 4]")
            .none();
    };
    Some(ScoreRange {
        from: u8::try_from(from).ok()?,
        to: u8::try_from(to).ok()?,
        outcome: outcome?,
    })
}
