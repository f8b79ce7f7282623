//! Graders of OpenAI's API that need no model: checks of strings, measures of similarity, and formulas over both.

mod evaluate;
mod formula;
mod item;
mod model;
mod template;

pub use evaluate::LocalGrader;
pub use formula::{Formula, FormulaError};
pub use model::{Grader, Operation};
pub use template::{Template, TemplateError};
