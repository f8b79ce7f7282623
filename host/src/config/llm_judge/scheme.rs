//! The form of the verdict: a number, rubrics, or choices.

use evaluator_document::{Field, Fields, NodeKind};

use crate::{
    json::Value,
    judging::judge::scheme::{Choice, Item, Operator, Scheme, ScoreRange},
};

/// Keys that belong to one form of verdict each.
const FORMS: [&str; 3] = ["rubrics", "choices", "score_range"];

const OPERATORS: [(&str, Operator); 2] =
    [("correctness", Operator::Correctness), ("contradiction", Operator::Contradiction)];

/// The form of the verdict, and the field of its rubrics.
pub(super) struct Verdict<'n> {
    pub(super) scheme: Scheme,
    pub(super) rubrics: Option<Field<'n>>,
}

/// Takes the form of the verdict; `None` after a problem.
pub(super) fn read<'n>(fields: &mut Fields<'n>, threshold: f64) -> Option<Verdict<'n>> {
    let [rubrics, choices, range] = FORMS.map(|key| fields.take(key));
    let given: Vec<Field<'_>> = [rubrics, choices, range].into_iter().flatten().collect();
    if let [first, second, ..] = given[..] {
        let message = format!("`{}` and `{}` are two forms of the verdict", second.key, first.key);
        return second.add(message).hint("keep one of them").none();
    }
    let scheme = match (rubrics, choices, range) {
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
    let optional = |id: String, text: String| Item { required: false, ..Item::new(id, text) };
    let id = format!("rubric_{index}");
    if !field.is_mapping() {
        return Some(optional(id, Field { key: "rubrics[]", ..field }.sentence()?));
    }
    let mut fields = field.fields("this rubric")?;
    let own = fields.take("id").map(|field| field.sentence());
    let text = fields.require_either("text", "outcome").and_then(|field| field.sentence());
    let weight = fields.take("weight").map(|field| field.non_negative());
    let required = fields.take("required").and_then(|field| field.flag());
    let operator = fields.take("operator").and_then(|field| field.choice(&OPERATORS));
    let least = fields.take("min_score").and_then(|field| field.fraction());
    fields.refuse(
        "required_min_score",
        "`required_min_score` is a key of AgentV's eval files",
        "write `min_score`, a share of 1: `min_score: 0.7` for 7 of 10",
    );
    let ranges = fields.take("score_ranges").map(read_ranges);
    fields.finish();
    Some(Item {
        weight: weight.unwrap_or(Some(1.0))?,
        required: required.unwrap_or_default(),
        operator,
        min_score: least,
        ranges: ranges.unwrap_or(Some(Vec::new()))?,
        ..optional(own.unwrap_or(Some(id))?, text?)
    })
}

/// Reads a list of ranges with what they mean, or a mapping from their least scores to what they mean.
fn read_ranges(field: Field<'_>) -> Option<Vec<ScoreRange>> {
    if !field.is_mapping() {
        return field.items()?.into_iter().map(read_score_range).collect();
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

fn read_score_range(field: Field<'_>) -> Option<ScoreRange> {
    let mut fields = field.fields("this score range")?;
    let range = fields.require("score_range");
    let outcome = fields.require("outcome").and_then(|field| field.sentence());
    fields.finish();
    let range = range?;
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
