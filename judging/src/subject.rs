//! Subjects of questions to models.

use std::time::Duration;

/// Subject that is judged or graded.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Name of the metric, or type of the grader, which recordings contain.
    pub metric: String,
    /// Location for errors, e.g. `conversation c1`.
    pub location: String,
    /// Limit of the time in calls: for judges in all of them, where the time of calls that run at the same time counts once, for
    /// graders in each.
    pub time_limit: Option<Duration>,
    /// Number of the first sample of every request, see [`first_sample`](evaluator_models::first_sample).
    pub first_sample: u32,
}

impl Subject {
    /// Creates a subject without a limit of time.
    pub fn new(metric: impl Into<String>, location: impl Into<String>) -> Self {
        let (metric, location) = (metric.into(), location.into());
        Self { metric, location, time_limit: None, first_sample: 0 }
    }

    /// Returns the location of a turn.
    pub(crate) fn at(&self, turn: usize) -> String {
        format!("{}, turn {}", self.location, turn + 1)
    }
}
