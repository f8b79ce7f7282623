//! Graders of OpenAI's API: checks of strings, measures of similarity, models, Python functions, and formulas over them.
//!
//! A [`Grader`] that needs nothing from outside is a [`LocalGrader`], a [`Metric`](evaluator_metrics::Metric). The others are graded in
//! two steps: [`Grader::plan`] computes what can be computed and lists its [`Needs`], the caller asks models and runs Python, and
//! [`Plan::finish`] combines the answers. [`ask()`] asks models what a grader needs.

mod ask;
mod evaluate;
mod formula;
mod gap;
mod grade;
mod item;
mod model;
mod plan;
mod question;
mod reference;
mod template;

pub use ask::{Answers, Endpoint, ask, settings};
pub use evaluate::LocalGrader;
pub use formula::{Formula, FormulaError};
pub use model::{Grader, LabelModel, MessageTemplate, Operation, Part, ScoreModel};
pub use plan::{CallResults, Calls, Needs, Plan, Texts};
pub use question::GraderQuestion;
pub use reference::ItemTemplateError;
pub use template::ItemTemplate;
