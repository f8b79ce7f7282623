//! Metrics that are computed here, without an evaluator program.
//!
//! A metric looks at the turns of one conversation and, if it needs one, at the golden case they are compared with.
//! Add your own by implementing [`Metric`] and [`Metrics::register`]ing it.

mod align;
mod alignment;
mod call;
mod efficiency;
mod model;
mod registry;
mod response_match;
mod rouge;
mod trajectory;
mod unavailable;

/// The revision of the metrics here: they change with this crate only.
const REVISION: &str = env!("CARGO_PKG_VERSION");

pub use alignment::{
    AlignmentSettings, BadPattern, Comparator, Comparators, Order, Pattern, Tolerance,
    ToolTrajectoryAlignment,
};
pub use efficiency::Efficiency;
pub use model::{MatchType, Metric, MetricInput, MetricSettings, UnknownMatchType};
pub use registry::{Metrics, UnknownMetric};
pub use response_match::ResponseMatch;
pub use rouge::rouge_1;
pub use trajectory::ToolTrajectory;
pub use unavailable::Unavailable;
