//! The key `mutate` of an entry: what the evaluator has to notice when conversations are damaged.

use evaluator_document::{
    Field, Fields, did_you_mean, keys,
    schema::{list, one_of},
};
use evaluator_mutation::{Effect, Expectations, GOLDEN, Kind, OPERATORS, RELATIONS};
use serde_json::{Value, json};

/// Takes the key `mutate`.
pub(super) fn read(fields: &mut Fields<'_>) -> Expectations {
    let expect = json!({
        "type": "object",
        "propertyNames": {"enum": names()},
        "additionalProperties": one_of(&Effect::ALL),
    });
    keys! { fields;
        /// For `evaluator mutate`: what the evaluator has to notice when conversations are damaged.
        let mutate = mapping("", |fields| {
            let mut read = Expectations::default();
            keys! { fields;
                /// What it measures: tool calls or answers against golden ones, answers without golden ones, the form of answers,
                /// or a budget. Without it, nothing has to be noticed.
                read.kind = choice(&Kind::ALL);
                /// What single operators do to the result, in place of what follows from the kind: `down` (it must not pass any
                /// more), `same` (the score must not change), `pass` (it must still pass), `any`.
                let expect = field(expect);
                /// Operators and relations that are left out.
                let skip = field(list(json!({"enum": names()})));
            }
            for (name, node) in expect.map(|field| field.named()).unwrap_or_default() {
                let field = Field { key: "expect", node, problems: fields.problems() };
                if let (Some(name), Some(effect)) = (known(field, name), field.choice(&Effect::ALL)) {
                    read.effects.push((name, effect));
                }
            }
            let skipped = skip.and_then(|field| field.items()).unwrap_or_default();
            read.skip = skipped.into_iter().filter_map(|field| known(field, field.text()?)).collect();
            read
        });
    }
    mutate.unwrap_or_default()
}

/// Returns the names of all operators and relations.
fn names() -> Vec<Value> {
    all().map(Value::from).collect()
}

fn all() -> impl Iterator<Item = &'static str> {
    let named = OPERATORS.iter().chain(RELATIONS).chain([&GOLDEN]).map(|operator| operator.name);
    named.chain(["raised_threshold"])
}

/// Returns the name of an operator or relation, if there is one.
fn known(field: Field<'_>, name: &str) -> Option<String> {
    if all().any(|known| known == name) {
        return Some(name.to_owned());
    }
    let hint = did_you_mean(name, all())
        .unwrap_or_else(|| "the page about `evaluator mutate` lists them".to_owned());
    field.add(format!("there is no operator or relation `{name}`")).hint(hint).none()
}
