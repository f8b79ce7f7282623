//! The table of known metrics.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Efficiency, Metric, ResponseMatch, ToolTrajectory, ToolTrajectoryAlignment, unavailable,
};

/// The metrics a run may use, by name. Starts with all built-in ones, those that need a judge model included.
#[derive(Clone, Debug)]
pub struct Metrics {
    by_name: BTreeMap<String, Arc<dyn Metric>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self { by_name: BTreeMap::new() };
        metrics.register(ToolTrajectory);
        metrics.register(ToolTrajectoryAlignment);
        metrics.register(ResponseMatch);
        for measure in Efficiency::ALL {
            metrics.register(measure);
        }
        for known in unavailable::KNOWN {
            metrics.register(known);
        }
        metrics
    }
}

impl Metrics {
    /// Adds a metric; one of the same name is replaced.
    pub fn register(&mut self, metric: impl Metric + 'static) {
        self.by_name.insert(metric.name().to_owned(), Arc::new(metric));
    }

    /// All metrics in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Metric>> {
        self.by_name.values()
    }

    /// The metric of that name.
    ///
    /// # Errors
    ///
    /// No metric of that name is registered; the error may know a name that was meant.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Metric>, UnknownMetric> {
        self.by_name
            .get(name)
            .map(Arc::clone)
            .ok_or_else(|| UnknownMetric { name: name.to_owned(), similar: self.similar(name) })
    }

    fn similar(&self, name: &str) -> Option<String> {
        self.by_name
            .keys()
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(similarity, _)| *similarity > 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known.clone())
    }
}

/// A metric that was asked for and does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} not found in registry.{}", .similar.as_ref().map(|similar| format!(" Did you mean {similar}?")).unwrap_or_default())]
pub struct UnknownMetric {
    /// The name asked for.
    pub name: String,
    /// A name that may have been meant.
    pub similar: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metric::MetricInput,
        verdict::{Answer, Verdict},
    };

    #[test]
    fn unknown_names_suggest_a_known_one() {
        let metrics = Metrics::default();
        let message = |name| metrics.get(name).unwrap_err().to_string();
        assert_eq!(message("no_such_metric"), "no_such_metric not found in registry.");
        assert_eq!(
            message("tool_trajectory_score"),
            "tool_trajectory_score not found in registry. Did you mean tool_trajectory_avg_score?"
        );
    }

    #[test]
    fn a_registered_metric_replaces_one_of_its_name() {
        #[derive(Debug)]
        struct Mine;
        impl Metric for Mine {
            fn name(&self) -> &str {
                "safety_v1"
            }
            fn description(&self) -> &str {
                "all is safe"
            }
            fn evaluate(&self, _: &MetricInput<'_>) -> Verdict {
                Verdict::Answer(Answer { score: Some(1.0), ..Answer::default() })
            }
        }
        let mut metrics = Metrics::default();
        let before = metrics.iter().count();
        assert!(metrics.get("safety_v1").unwrap().unavailable().is_some());
        metrics.register(Mine);
        assert_eq!(metrics.iter().count(), before);
        assert!(metrics.get("safety_v1").unwrap().unavailable().is_none());
    }
}
