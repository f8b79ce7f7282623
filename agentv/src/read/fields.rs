//! Keys of `field-accuracy`.

use evaluator_document::{Field, Fields};

use super::values::{flag, non_negative, texts};
use crate::{
    files::all,
    model::{self, Comparison, FieldAccuracy},
};

const AGGREGATIONS: [(&str, bool); 2] = [("weighted_average", false), ("all_or_nothing", true)];

pub(super) fn read(mut fields: Fields<'_>) -> Option<FieldAccuracy> {
    let list = fields.require("fields");
    let all_or_nothing = fields.take("aggregation").and_then(|field| field.choice(&AGGREGATIONS));
    fields.finish();
    let list = list?;
    let items = list.items()?;
    if items.is_empty() {
        return list.add("`fields` is empty").none();
    }
    let fields = all(items.iter().map(field))?;
    Some(FieldAccuracy { fields, all_or_nothing: all_or_nothing.unwrap_or_default() })
}

fn field(item: &Field<'_>) -> Option<model::Field> {
    let mut fields = item.fields("this field")?;
    let path = fields.require("path").and_then(|path| path.sentence());
    let matching = fields.require("match");
    let required = fields.take("required").and_then(|field| flag(&field)).unwrap_or(true);
    let mut number = |key| fields.take(key).and_then(|field| non_negative(&field));
    let (weight, tolerance) = (number("weight").unwrap_or(1.0), number("tolerance"));
    let relative = fields.take("relative").and_then(|field| flag(&field)).unwrap_or_default();
    let formats = fields.take("formats").and_then(|field| texts(&field)).unwrap_or_default();
    fields.finish();
    let tolerance = tolerance.unwrap_or_default();
    let comparison = matching?.choice(&[
        ("exact", Comparison::Exact),
        ("numeric_tolerance", Comparison::Number { tolerance, relative }),
        ("date", Comparison::Date { formats }),
    ])?;
    Some(model::Field { path: path?, comparison, required, weight })
}
