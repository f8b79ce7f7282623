//! Gates of a configuration and of the command line.

use evaluator_document::{Field, did_you_mean};
use serde_json::{Value, json};

use crate::report::{Gate, Inconclusive, Measure};

/// An example of the key `gate`.
const EXAMPLE: &str = "e.g. `gate: {mean: 0.8}`";

/// Gates that are given in addition to those of a configuration or a saved run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GateOverrides {
    /// Gates. Each replaces one of the same evaluator and measure.
    pub gates: Vec<Gate>,
    /// Confidence of all gates; `None` leaves it.
    pub confidence: Option<f64>,
    /// What undecided gates mean; `None` leaves it.
    pub inconclusive: Option<Inconclusive>,
}

impl GateOverrides {
    /// Creates it from options.
    pub fn new(
        gates: Vec<Gate>,
        confidence: Option<f64>,
        inconclusive: Option<Inconclusive>,
    ) -> Self {
        Self { gates, confidence, inconclusive }
    }

    /// Applies them to gates of these evaluators.
    ///
    /// # Errors
    ///
    /// Returns a message if a gate names no evaluator, or if two are about the same measure of one.
    pub fn apply(
        self,
        gates: &mut Vec<Gate>,
        inconclusive: &mut Inconclusive,
        evaluators: &[&str],
    ) -> Result<(), String> {
        for (index, gate) in self.gates.iter().enumerate() {
            let name = &gate.evaluator;
            if !evaluators.contains(&name.as_str()) {
                let hint = did_you_mean(name, evaluators.iter().copied())
                    .unwrap_or_else(|| format!("evaluators: {}", evaluators.join(", ")));
                return Err(format!("the gate `{gate}` names no evaluator of the run; {hint}"));
            }
            if let Some(first) = self.gates[..index].iter().find(|it| is_about_the_same(it, gate)) {
                return Err(format!(
                    "the gates `{first}` and `{gate}` are about the same measure; keep one of them"
                ));
            }
        }
        for gate in self.gates {
            match gates.iter_mut().find(|other| is_about_the_same(other, &gate)) {
                // Another limit is no reason to trust the evaluator more.
                Some(other) => *other = Gate { certified: other.certified, ..gate },
                None => gates.push(gate),
            }
        }
        for gate in gates {
            gate.confidence = self.confidence.unwrap_or(gate.confidence);
        }
        *inconclusive = self.inconclusive.unwrap_or(*inconclusive);
        Ok(())
    }
}

/// Reads the key `gate` of an entry: limits by their measures, a confidence, and whether the evaluator has to be certified.
pub(super) fn read(field: Field<'_>, evaluator: &str) -> Vec<Gate> {
    if !field.is_mapping() {
        field.expected("a mapping").hint(EXAMPLE);
        return Vec::new();
    }
    let number = |field: &Field<'_>| {
        let number = field.number().filter(|number| *number > 0.0 && number.is_finite());
        number.or_else(|| field.expected("a number between 0 and 1, both excluded").none())
    };
    let mut values: Vec<Field<'_>> =
        field.named().into_iter().map(|(key, node)| node.field(key, field.problems)).collect();
    let confidence = values.iter().position(|value| value.key == "confidence");
    let confidence = confidence.and_then(|position| number(&values.remove(position)));
    let confidence = confidence.unwrap_or(Gate::CONFIDENCE);
    let certified = values.iter().position(|value| value.key == "certified");
    let certified = certified.and_then(|position| values.remove(position).flag());
    if values.is_empty() {
        field.add("`gate` has no measure").hint(EXAMPLE);
    }
    let gates = values.into_iter().filter_map(|value| {
        let measure: Result<Measure, _> = value.key.parse();
        let limit = if measure.is_ok() { number(&value)? } else { 0.5 };
        let gate = measure.and_then(|it| Gate::new(evaluator, it, limit, confidence));
        let gate = gate.map_err(|error| value.add(error.to_string())).ok()?;
        Some(Gate { certified: certified.unwrap_or_default(), ..gate })
    });
    gates.collect()
}

/// Returns the schema of the key `gate`.
pub(super) fn schema() -> Value {
    let number = |description: &str| {
        json!({
            "description": description, "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1
        })
    };
    json!({
        "type": "object",
        "properties": {
            "confidence": number("Two-sided confidence; default: 0.95."),
            "certified": {
                "description": "Whether the evaluator has to have a certificate that holds; without one the gate is undecided. \
                                `pass_rate` is the corrected one then.",
                "type": "boolean",
                "default": false,
            },
            "mean": number("Least mean score."),
            "pass_rate": number("Least share of evaluations that pass."),
        },
        "patternProperties": {
            r"^pass\^[1-9][0-9]{0,2}$": number("Least chance that so many conversations of a case all pass."),
        },
        "additionalProperties": false,
        // There is a measure.
        "not": {"propertyNames": {"enum": ["certified", "confidence"]}},
    })
}

fn is_about_the_same(one: &Gate, other: &Gate) -> bool {
    (&one.evaluator, one.measure) == (&other.evaluator, other.measure)
}
