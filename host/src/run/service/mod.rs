//! Evaluators that are kept ready for documents of any contract, which come one by one from outside.
//!
//! | file | what |
//! |---|---|
//! | `offer` | [`Service`]: evaluators made ready, and what is known of each |
//! | `paths` | evaluators that are named by their file or folder, without a configuration |
//! | `screen` | what no evaluator gets to see, whatever its contract |
//! | `question` | from the body of a request to the document that the evaluator is given |
//! | `answer` | from what came of it to an answer in the terms of whoever asked, or to a refusal |
//!
//! # What becomes of a document
//!
//! | the evaluator's contract | it is given | what it answers |
//! |---|---|---|
//! | agentevals, or not known | the document as one of agentevals | is put in the terms of the document |
//! | any other | the document as it came | is passed on as it is |
//!
//! What the document does not say of `config` and `threshold`, the entry of the configuration says. In documents of Agenta both
//! are `parameters` (`correct_answer_key` among them, which says where webhooks have the correct answer), in those of ADK
//! they are the criterion.

mod answer;
mod offer;
mod paths;
mod question;
mod screen;

pub use answer::{Answered, Refusal};
pub use offer::{Offered, Service, Unservable};
pub use paths::name_of;
