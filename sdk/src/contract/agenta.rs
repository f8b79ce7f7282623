//! The contract of Agenta.

use std::borrow::Cow;

use evaluator_protocol::{
    Answer, Contract as Name, Document, JsonObject, Score,
    agenta::{EvaluateInput, EvaluateResult, Form, Outputs},
};
use serde_json::{Value, json};

use super::{Contract, HasParameters, foreign, outcome::IntoOutcome, sealed};
use crate::failure::{Failure, Kind, Rejection};

/// The contract of Agenta: the parameters of its Python functions in, [`EvaluateResult`] out.
///
/// | parameter | value | if the document has none |
/// |---|---|---|
/// | `inputs` | inputs of the app: a map, [`JsonObject`](crate::JsonObject) or a type of yours | an error |
/// | `output`, `outputs` | its output: text or a value; a webhook's JSON text is parsed unless the type is text | an error |
/// | `correct_answer` | the expected answer, wherever the form has it | an error |
/// | `app_params` | parameters of the app; Agenta sends none | empty |
/// | `parameters` | parameters of the evaluator, which remote workflows get | empty |
/// | `trace`, `testcase` | objects | an error |
///
/// An `Option` of any of them is `None` where the document has none.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use evaluator_sdk::{evaluator, testing};
/// use serde_json::json;
///
/// #[evaluator(contract = agenta)]
/// fn exact_match(_app_params: BTreeMap<String, String>, _inputs: BTreeMap<String, String>, output: &str, correct_answer: &str) -> f64 {
///     if output == correct_answer { 1.0 } else { 0.0 }
/// }
///
/// assert_eq!(exact_match(BTreeMap::new(), BTreeMap::new(), "Paris", "Paris"), 1.0);
/// let webhook = json!({"inputs": {"country": "France", "correct_answer": "Paris"}, "output": "Lyon"});
/// let answer = testing::answer_json(&exact_match::EVALUATOR, webhook.to_string())?;
/// assert_eq!(answer, json!({"score": 0.0, "success": false}));
/// # Ok::<(), evaluator_sdk::Failure>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agenta {}

impl sealed::Sealed for Agenta {}

impl Contract for Agenta {
    const NAME: Name = Name::Agenta;
    type Input = EvaluateInput;
    type Output = Outputs;

    fn adopt(document: Document, _evaluator: &str) -> Result<EvaluateInput, Rejection> {
        match document {
            Document::Agenta(input) => Ok(*input),
            other => Err(foreign(&other, Self::NAME)),
        }
    }

    fn scored(score: Score) -> Outputs {
        // The threshold is the document's: `success` is added when the answer is settled.
        EvaluateResult::new(score).into()
    }

    fn answer(output: Outputs) -> Answer {
        Answer::Agenta(output)
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Agenta> for EvaluateResult {
    fn into_outcome(self) -> Result<Outputs, Failure> {
        Ok(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Agenta> for Outputs {
    fn into_outcome(self) -> Result<Outputs, Failure> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Agenta> for JsonObject {
    fn into_outcome(self) -> Result<Outputs, Failure> {
        Value::Object(self).into_outcome()
    }
}

#[diagnostic::do_not_recommend]
impl IntoOutcome<Agenta> for Value {
    fn into_outcome(self) -> Result<Outputs, Failure> {
        Outputs::try_from(self).map_err(|error| Failure::of(Kind::Answer, error.to_string()))
    }
}

impl HasParameters for Agenta {
    fn parameter<'a>(input: &'a EvaluateInput, name: &str) -> Option<Cow<'a, Value>> {
        input.parameter(name).map(Cow::Borrowed)
    }

    fn instead(input: &EvaluateInput, name: &str) -> Option<Value> {
        match name {
            "output" | "outputs" if input.form() == Form::Webhook => {
                let json = input.output_json()?;
                // Only values other than text are sent as JSON text.
                (json.is_object() || json.is_array()).then(|| json.into_owned())
            }
            // Agenta passes an empty object where a document has no parameters.
            "app_params" | "parameters" => input.parameter(name).is_none().then(|| json!({})),
            _ => None,
        }
    }
}
