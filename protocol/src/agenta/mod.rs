//! Agenta's evaluators: custom code, webhooks and remote workflows.
//!
//! Agenta has an output of an app judged in four ways, which send the same things under different names:
//!
//! | argument | [custom code v1](Form::CodeV1) | [custom code v2, v3](Form::Code) | [webhook](Form::Webhook) | [remote](Form::Remote) |
//! |---|---|---|---|---|
//! | `inputs` of the app | object | object | object | object |
//! | `output`, or `outputs` | `output`: text or object | `outputs`: text or object | `output`: text, maybe of JSON | `outputs`: any JSON, or missing |
//! | `correct_answer` | `correct_answer` | `inputs.correct_answer` | `inputs.correct_answer` | `inputs.correct_answer` |
//! | `app_params` | object, so far empty | - | - | - |
//! | `parameters` of the evaluator | - | - | - | object |
//! | `trace` | - | object or `null` | - | object, or missing |
//! | `testcase` | - | - | - | any JSON, or missing |
//!
//! [`EvaluateInput`] reads all of them, and takes either of `output` and `outputs` for the other. Which form a document has
//! is told by its keys: `app_params` or `correct_answer` make it one of v1, else `output` one for a webhook, else
//! `parameters` one for a remote workflow.
//!
//! Where the correct answer is another input than `correct_answer`, `parameters.correct_answer_key` names it. Agenta sends
//! parameters to remote workflows only; a script that passes on the arguments of custom code v2 or v3, or a server that
//! takes webhooks, adds `"parameters": {"correct_answer_key": ".."}` to the document. The same holds for
//! `parameters.threshold`, which decides what is a success.
//!
//! # As a document of agentevals
//!
//! | in Agenta's document | in that of agentevals |
//! |---|---|
//! | `inputs` without the correct answer | `invocations[0].user_content`: the only input, if it is text; otherwise all as JSON text |
//! | `output`, `outputs` | `invocations[0].final_response`: text as it is, other values as JSON text; none when `null`. A remote workflow that is sent no `outputs` has no turns: nothing is known of the app |
//! | the correct answer | `expected_invocations[0].final_response`, likewise; without one there are no golden turns |
//! | `parameters` | `config`, without the following two |
//! | `parameters.threshold` | `threshold` |
//! | `parameters.correct_answer_key` | says which input is the correct answer |
//! | `app_params.*` | dropped: settings of the app, not of the evaluator |
//! | `trace` | dropped |
//! | `testcase` | dropped |
//! | anything else | dropped |
//!
//! `metric_name` is the evaluator's own name. The golden turn has the same `user_content`. An output that came as JSON text
//! is written anew if the correct answer is an object or a list, so that equal ones have the same text.
//!
//! # As an answer of Agenta
//!
//! | in an [`EvalResult`](crate::EvalResult) | in the answer |
//! |---|---|
//! | `score` | `score` |
//! | `status`: passed, failed | `success` |
//! | no `status` | `success`: whether the score reaches the threshold |
//! | `status`: not evaluated | there is no answer, but an error: Agenta has no word for it |
//! | `per_invocation_scores`, `details` | left out: `score` and `success` are all that Agenta declares |

mod convert;
mod form;
mod input;
mod result;
mod threshold;

pub mod http;

pub use form::Form;
pub use input::{DEFAULT_CORRECT_ANSWER_KEY, EvaluateInput};
pub use result::{EvaluateResult, Outputs, OutputsError, Unfit};
pub use threshold::{DEFAULT_THRESHOLD, ThresholdError, threshold};
