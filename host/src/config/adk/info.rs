//! `metric_info`: what the author of a metric says of it.

use super::numbers::{members, noun, number};
use crate::config::{
    Interval, MetricInfo,
    fields::{Fields, Problems},
    yaml::{Node, Span},
};

pub(super) fn read(metric: &str, node: &Node, problems: &mut Problems<'_>) -> Option<MetricInfo> {
    let mut fields = Fields::new("`metric_info`", members("`metric_info`", node, problems)?);
    match fields.take_either("metric_name", "metricName", problems) {
        Some(name) => {
            let said = prose("metric_name", name, problems);
            if said.as_deref().is_some_and(|said| said != metric) {
                problems.note(name.span, format!("`metric_name` has no effect; it is `{metric}`"));
            }
        }
        None => missing("metric_name", "metric_info", node, problems),
    }
    let values = fields.take_either("metric_value_info", "metricValueInfo", problems);
    let interval = match values {
        Some(values) => interval_of(values, problems),
        None => {
            missing("metric_value_info", "metric_info", node, problems);
            None
        }
    };
    fields.flag("requires_threshold", "requiresThreshold", problems);
    fields.null_is_absent();
    let description =
        fields.take("description").and_then(|node| prose("description", node, problems));
    fields.finish(problems);
    Some(MetricInfo { description, interval })
}

fn interval_of(node: &Node, problems: &mut Problems<'_>) -> Option<Interval> {
    let entries = members("`metric_value_info`", node, problems)?;
    let mut fields = Fields::new("`metric_value_info`", entries);
    fields.null_is_absent();
    let interval = fields.take("interval").and_then(|node| interval(node, problems));
    fields.finish(problems);
    interval
}

fn interval(node: &Node, problems: &mut Problems<'_>) -> Option<Interval> {
    let mut fields = Fields::new("`interval`", members("`interval`", node, problems)?);
    let mut end = |key: &'static str, alias: &'static str| {
        let Some(end) = fields.take_either(key, alias, problems) else {
            missing(key, "interval", node, problems);
            return None;
        };
        let number = number(end).filter(|number| !number.is_nan());
        if number.is_none() {
            let message = format!("`{key}` must be a number, not {}", noun(end));
            problems.add(end.span, message, None);
        }
        number
    };
    let (min, max) = (end("min_value", "minValue"), end("max_value", "maxValue"));
    let open_at_min = fields.flag("open_at_min", "openAtMin", problems).unwrap_or_default();
    let open_at_max = fields.flag("open_at_max", "openAtMax", problems).unwrap_or_default();
    fields.finish(problems);
    let interval = Interval { min: min?, open_at_min, max: max?, open_at_max };
    if interval.is_empty() {
        let message =
            format!("no number is in an interval from {} to {}", interval.min, interval.max);
        problems.warn(node.span, message, None);
    } else if interval.min < 0.0 || interval.max > 1.0 {
        let hint = "let the metric answer with a share of its range";
        let message = "scores outside of 0..=1 are errors here, whatever the interval says";
        problems.warn(node.span, message, Some(hint.to_owned()));
    }
    Some(interval)
}

/// Text, which may be empty.
pub(super) fn prose(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.as_str();
    if text.is_none() {
        problems.add(node.span, format!("`{key}` must be text, not {}", noun(node)), None);
    }
    text.map(str::to_owned)
}

fn missing(key: &str, owner: &str, node: &Node, problems: &mut Problems<'_>) {
    let start = node.span.start;
    let message = format!("the key `{key}` is missing in `{owner}`");
    problems.add(Span { start, end: start + 1 }, message, None);
}
