//! Keys of `field-accuracy`.

use evaluator_document::{Field, Fields};

use super::values::{flag, non_negative, texts};
use crate::model::{self, Comparison, FieldAccuracy};

#[derive(Clone, Copy)]
enum Match {
    Exact,
    Number,
    Date,
}

const MATCHES: [(&str, Match); 3] =
    [("exact", Match::Exact), ("numeric_tolerance", Match::Number), ("date", Match::Date)];

const AGGREGATIONS: [(&str, bool); 2] = [("weighted_average", false), ("all_or_nothing", true)];

pub(super) fn read(mut fields: Fields<'_>) -> Option<FieldAccuracy> {
    let list = fields.require("fields");
    let all_or_nothing = fields.take("aggregation").map(|field| field.choice(&AGGREGATIONS));
    fields.finish();
    let list = list?;
    let items = list.items()?;
    if items.is_empty() {
        return list.add("`fields` is empty").none();
    }
    let read: Vec<_> = items.iter().map(field).collect();
    Some(FieldAccuracy {
        fields: read.into_iter().collect::<Option<_>>()?,
        all_or_nothing: all_or_nothing.unwrap_or(Some(false))?,
    })
}

fn field(item: &Field<'_>) -> Option<model::Field> {
    let mut fields = item.fields("this field")?;
    let path = fields.require("path").and_then(|path| path.sentence());
    let matching = fields.require("match").and_then(|field| field.choice(&MATCHES));
    let required = fields.take("required").map_or(Some(true), |field| flag(&field));
    let weight = fields.take("weight").map_or(Some(1.0), |field| non_negative(&field));
    let tolerance = fields.take("tolerance").map_or(Some(0.0), |field| non_negative(&field));
    let relative = fields.take("relative").map_or(Some(false), |field| flag(&field));
    let formats = fields.take("formats").map_or(Some(Vec::new()), |field| texts(&field));
    fields.finish();
    let (tolerance, relative, formats) = (tolerance?, relative?, formats?);
    let comparison = match matching? {
        Match::Exact => Comparison::Exact,
        Match::Number => Comparison::Number { tolerance, relative },
        Match::Date => Comparison::Date { formats },
    };
    Some(model::Field { path: path?, comparison, required: required?, weight: weight? })
}
