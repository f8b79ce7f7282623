//! Schemes: in what form a judge states its verdict, how such a reply is read, and which score follows from it.
//!
//! A [`Scheme`] is a number, rubrics, or choices. It writes the part of the prompt that describes the reply, reads replies
//! strictly, and computes scores. It knows neither conversations nor models.
//!
//! ```
//! use evaluator_judging::judge::scheme::{Item, Scheme};
//!
//! let short = Item::new("short", "The answer has one sentence.");
//! let polite = Item { weight: 3.0, required: false, ..Item::new("polite", "The answer is polite.") };
//! let scheme = Scheme::rubrics(vec![short, polite])?;
//! let reply = r#"{"checks": [
//!     {"id": "short", "reasoning": "It has two.", "satisfied": false},
//!     {"id": "polite", "reasoning": "It says please.", "satisfied": true}
//! ], "overall_reasoning": "Kind, but long."}"#;
//! let grade = scheme.read(reply, None)?;
//! assert_eq!(scheme.score(&grade), 0.75);
//! assert_eq!(scheme.missed(&grade).next().map(|item| item.id.as_str()), Some("short"));
//!
//! let incomplete = scheme.read(r#"{"checks": [], "overall_reasoning": "All is fine."}"#, None);
//! assert_eq!(incomplete.unwrap_err().to_string(), "no check has the id `short`");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod format;
mod grade;
mod model;
pub(super) mod schema;
mod score;

pub use format::{DATA_NOTICE, Generation, Material};
pub use grade::{Assertion, Check, Grade, Unreadable};
pub use model::{Choice, Item, Operator, Scheme, SchemeError, ScoreRange};
