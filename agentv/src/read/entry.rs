//! An entry of a list of evaluators: its type, and the keys that every type has.

use evaluator_document::{Field, Fields, did_you_mean};

use super::{
    Reader, composite, fields as field_accuracy, judge, list,
    place::Place,
    program, simple, trajectory,
    values::{first, flag, minimum, non_negative},
};
use crate::model::{Check, Evaluator, Gate, TextCheck};

/// Types in the spelling of AgentV 4.
const TYPES: &str = "\
    contains icontains contains-any contains-all icontains-any icontains-all starts-with ends-with equals regex is-json \
    latency cost token-usage execution-metrics tool-trajectory field-accuracy llm-grader rubrics code-grader composite";

/// Other names of types.
const OTHER_TYPES: [(&str, &str); 5] = [
    ("llm-judge", "llm-grader"),
    ("rubric", "llm-grader"),
    ("llm-rubric", "llm-grader"),
    ("code-judge", "code-grader"),
    ("script", "code-grader"),
];

/// Types that need a running agent or code of AgentV.
const OUT_OF_SCOPE: [(&str, &str); 3] = [
    ("skill-trigger", "it needs the events of a coding agent"),
    ("agent-judge", "it starts a coding agent"),
    ("agentic", "it starts a coding agent"),
];

/// Reads an entry. `None` after a problem.
pub(super) fn read(reader: &Reader<'_>, field: &Field<'_>, place: Place<'_>) -> Option<Evaluator> {
    let mut fields = field.fields("this evaluator")?;
    let kind_field = fields.require("type")?;
    let written = kind_field.text()?;
    let kind = kind(&kind_field, written)?;
    let name = name(reader, &mut fields, place);
    let (weight, gate, negate) = common(&mut fields, place);
    if kind != "code-grader" && kind != "composite" {
        fields.refuse(
            "preprocessors",
            "`preprocessors` are not supported",
            "remove it, or use a program",
        );
    }
    let check = match kind {
        "tool-trajectory" => {
            trajectory::read(reader, fields, written, place).map(Check::Trajectory)
        }
        "field-accuracy" => field_accuracy::read(fields).map(Check::Fields),
        "llm-grader" | "rubrics" => judge::read(reader, fields, kind).map(Check::Judge),
        "code-grader" => program::read(reader, fields).map(Check::Program),
        "composite" => {
            let list = composite::members(&mut fields);
            let members = list.as_ref().map(|list| list::read(reader, list, place.of_members()));
            composite::read(reader, fields, list.zip(members), place).map(Check::Composite)
        }
        _ => simple::read(fields, kind),
    };
    let check = check?;
    Some(Evaluator {
        name: name.unwrap_or_else(|| derived_name(kind, &check)),
        kind: kind.to_owned(),
        position: place.opened.position(field.node),
        weight,
        gate,
        negate,
        check,
    })
}

/// Returns the type in the spelling of AgentV 4.
fn kind(field: &Field<'_>, written: &str) -> Option<&'static str> {
    let normal = written.replace('_', "-");
    let types = || TYPES.split_whitespace();
    let other = OTHER_TYPES.iter().find(|(other, _)| *other == normal).map(|(_, name)| *name);
    if let Some(name) = other.or_else(|| types().find(|name| *name == normal)) {
        return Some(name);
    }
    if let Some((name, reason)) = OUT_OF_SCOPE.iter().find(|(name, _)| *name == normal) {
        return field
            .add(format!("evaluators of type `{name}` are not supported: {reason}"))
            .none();
    }
    let known = types().chain(OTHER_TYPES.map(|(other, _)| other));
    let hint = did_you_mean(&normal, known).unwrap_or_else(|| {
        let known: Vec<_> = types().collect();
        format!(
            "custom assertions of AgentV are not read, use `code-grader`; known types: {}",
            known.join(", ")
        )
    });
    field.add(format!("there is no type `{written}`")).hint(hint).none()
}

/// Reads the name. `None`: it follows from the type.
fn name(reader: &Reader<'_>, fields: &mut Fields<'_>, place: Place<'_>) -> Option<String> {
    if let Some(name) = fields.take("name") {
        return name.sentence();
    }
    if place.is_member {
        fields.missing("name").hint("the aggregator names the members of a composite");
    } else if reader.is_v2() {
        fields.missing("name").hint("AgentV 2 leaves out evaluators without a name");
    }
    None
}

fn common(fields: &mut Fields<'_>, place: Place<'_>) -> (f64, Gate, bool) {
    if place.is_member {
        for key in ["weight", "required", "min_score", "negate"] {
            let message = format!("`{key}` has no effect on a member of a composite");
            let hint =
                if key == "weight" { "use `weights` of the aggregator" } else { "remove it" };
            fields.refuse(key, message, hint);
        }
        return (1.0, Gate::Open, false);
    }
    let weight = fields.take("weight").and_then(|field| non_negative(&field)).unwrap_or(1.0);
    let negate = fields.take("negate").and_then(|field| flag(&field)).unwrap_or_default();
    let gate = fields.take("required").and_then(|field| required(&field)).unwrap_or(Gate::Open);
    let min_score = first(fields, &["min_score", "minScore"]);
    let minimum = min_score.as_ref().and_then(minimum);
    let gate = match (gate, &min_score) {
        (Gate::Open, Some(field)) => {
            let message = "`min_score` has no effect without `required: true`";
            field.problems.warn(field.node.span, message);
            gate
        }
        _ => minimum.map_or(gate, Gate::Minimum),
    };
    (weight, gate, negate)
}

/// Reads `required`: a boolean, or the minimum as a number.
fn required(field: &Field<'_>) -> Option<Gate> {
    use evaluator_document::NodeKind::Scalar;
    use evaluator_json::Value::{Bool, Float, Int};
    match &field.node.kind {
        Scalar(Bool(true)) => Some(Gate::Threshold),
        Scalar(Bool(false)) => Some(Gate::Open),
        Scalar(Int(_) | Float(_)) => minimum(field).map(Gate::Minimum),
        _ => field.expected("true, false or a number from 0 to 1").none(),
    }
}

/// Returns the name of an entry without one.
fn derived_name(kind: &str, check: &Check) -> String {
    match check {
        Check::Text(TextCheck::Contains { values, .. }) => match kind {
            "contains" | "icontains" => format!("{kind}-{}", values.concat()),
            _ => format!("{kind}-{}", values.len()),
        },
        Check::Text(
            TextCheck::StartsWith(text) | TextCheck::EndsWith(text) | TextCheck::Equals(text),
        ) => {
            format!("{kind}-{text}")
        }
        Check::Text(TextCheck::Matches(pattern)) => {
            let start: String = pattern.source().chars().take(30).collect();
            format!("{kind}-{start}")
        }
        _ => kind.to_owned(),
    }
}
