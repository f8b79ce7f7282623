//! Registry of metrics.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use evaluator_document::{Fields, Node, Problems, Syntax};
use evaluator_json::{Object, Value};

use super::{
    Efficiency, Metric, ResponseMatch, Similarity, ToolTrajectory, ToolTrajectoryAlignment,
};

/// Metrics by name. The default has the built-in metrics of this crate, which ask no model.
#[derive(Clone, Debug)]
pub struct Metrics {
    by_name: BTreeMap<String, Arc<dyn Metric>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self { by_name: BTreeMap::new() };
        metrics.register(ToolTrajectory::default());
        metrics.register(ToolTrajectoryAlignment::default());
        metrics.register(ResponseMatch);
        Similarity::all().for_each(|metric| metrics.register(metric));
        Efficiency::all().for_each(|metric| metrics.register(metric));
        metrics
    }
}

impl Metrics {
    /// Adds a metric. Replaces a metric of the same name.
    pub fn register(&mut self, metric: impl Metric + 'static) {
        self.by_name.insert(metric.name().to_owned(), Arc::new(metric));
    }

    /// Returns all metrics in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Metric>> {
        self.by_name.values()
    }

    /// Returns the metric of that name with its default settings.
    ///
    /// # Errors
    ///
    /// No metric of that name is registered; the error has a similar name, if there is one.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Metric>, UnknownMetric> {
        self.by_name
            .get(name)
            .map(Arc::clone)
            .ok_or_else(|| UnknownMetric { name: name.to_owned(), similar: self.similar(name) })
    }

    /// Returns the metric of that name with these settings.
    ///
    /// # Errors
    ///
    /// Message that says which metric does not exist, or which setting is wrong.
    pub fn configured(&self, name: &str, settings: &Object) -> Result<Arc<dyn Metric>, String> {
        let problems = Problems::new("", Syntax::Yaml);
        let node = Node::from(&Value::Object(settings.clone()));
        let metric = self.get(name).map_err(|error| error.to_string())?;
        let Some(mut fields) = node.field("settings", &problems).fields("the settings") else {
            return Ok(metric);
        };
        let configured = metric.configure(&mut fields).unwrap_or(metric);
        fields.finish();
        match problems.error(Path::new("")) {
            None => Ok(configured),
            Some(error) => {
                let messages = error.problems.into_iter().map(|problem| match problem.hint {
                    Some(hint) => format!("{} ({hint})", problem.message),
                    None => problem.message,
                });
                Err(format!("{name}: {}", messages.collect::<Vec<_>>().join("; ")))
            }
        }
    }

    /// Takes the settings of `metric` from its entry and returns the metric with these settings. Settings that only other
    /// metrics have are problems.
    pub fn configure(&self, metric: &Arc<dyn Metric>, fields: &mut Fields<'_>) -> Arc<dyn Metric> {
        let configured = metric.configure(fields).unwrap_or_else(|| Arc::clone(metric));
        for setting in self.iter().flat_map(|metric| metric.settings()) {
            if fields.has_taken(setting.key) {
                continue;
            }
            let owners: Vec<&str> = self.with_setting(setting.key).collect();
            let hint = format!("it belongs to {}", owners.join(", "));
            for key in [Some(setting.key), setting.alias].into_iter().flatten() {
                let message = format!("`{}` has no setting `{key}`", metric.name());
                fields.refuse(key, message, &hint);
            }
        }
        configured
    }

    /// Returns the names of the metrics that have a setting.
    pub fn with_setting<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let has = move |setting: &super::Setting| setting.key == key || setting.alias == Some(key);
        let having = self.iter().filter(move |metric| metric.settings().iter().any(has));
        having.map(|metric| metric.name())
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

/// A name that no metric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} not found in registry.{}", .similar.as_ref().map(|similar| format!(" Did you mean {similar}?")).unwrap_or_default())]
pub struct UnknownMetric {
    /// Name that was looked up.
    pub name: String,
    /// Similar name of a metric.
    pub similar: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MetricInput, Outcome, Scored};

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
                "response_match_score"
            }
            fn description(&self) -> &str {
                "all match"
            }
            fn evaluate(&self, _: &MetricInput<'_>) -> Outcome {
                Outcome::Scored(Scored::new(1.0))
            }
        }
        let mut metrics = Metrics::default();
        let before = metrics.iter().count();
        metrics.register(Mine);
        assert_eq!(metrics.iter().count(), before);
        assert_eq!(metrics.get("response_match_score").unwrap().description(), "all match");
    }
}
