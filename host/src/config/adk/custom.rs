//! `custom_metrics`: where metrics that are not built in are to be found.

use super::{info, numbers::members};
use crate::config::{
    MetricInfo, ProcessConfig,
    fields::{Fields, Problems, text},
    process,
    yaml::{Node, NodeKind, Span},
};

/// A custom metric.
#[derive(Debug)]
pub(super) struct Custom<'n> {
    pub(super) name: &'n str,
    /// Where its name stands.
    pub(super) place: Span,
    /// `code_config.name` and its place; `None` when it cannot be used, which has been said.
    pub(super) code: Option<(&'n str, Span)>,
    pub(super) info: Option<MetricInfo>,
    /// What its program may use and see: keys that ADK passes over.
    pub(super) process: ProcessConfig,
}

/// Reads all of them.
pub(super) fn read_all<'n>(node: &'n Node, problems: &mut Problems<'_>) -> Vec<Custom<'n>> {
    let entries = members("`custom_metrics`", node, problems).unwrap_or_default();
    entries.iter().filter_map(|(name, metric)| read(name, metric, problems)).collect()
}

fn read<'n>(key: &'n Node, metric: &'n Node, problems: &mut Problems<'_>) -> Option<Custom<'n>> {
    let name = key.as_str()?;
    let process = ProcessConfig::default();
    let mut custom = Custom { name, place: key.span, code: None, info: None, process };
    let Some(entries) = members(&format!("the custom metric `{name}`"), metric, problems) else {
        return Some(custom);
    };
    let mut fields = Fields::new("this custom metric", entries);
    match fields.take_either("code_config", "codeConfig", problems) {
        Some(node) => custom.code = code(node, problems),
        None => {
            let hint = r#"for example {"code_config": {"name": "checks/polite.rs"}}"#.to_owned();
            let message = format!("the key `code_config` is missing in the custom metric `{name}`");
            problems.add(key.span, message, Some(hint));
        }
    }
    custom.process = process::read(&mut fields, problems);
    let description =
        fields.take("description").and_then(|node| info::prose("description", node, problems));
    fields.null_is_absent();
    let stated = fields.take_either("metric_info", "metricInfo", problems);
    custom.info = stated.and_then(|node| info::read(name, node, problems));
    if let Some(description) = description.filter(|description| !description.is_empty()) {
        custom.info.get_or_insert_default().description.get_or_insert(description);
    }
    fields.finish(problems);
    Some(custom)
}

/// `{"name": ..}`, and nothing else.
fn code<'n>(node: &'n Node, problems: &mut Problems<'_>) -> Option<(&'n str, Span)> {
    let entries = members("`code_config`", node, problems)?;
    let mut fields = Fields::new("`code_config`", entries);
    let name = fields.take("name");
    let settings = fields.take_replaced("args");
    if let Some((key, _)) = settings {
        let hint = "settings stand in the criterion, and so does a `command` with arguments";
        problems.add(key.span, "`code_config` has only a `name`", Some(hint.to_owned()));
    }
    fields.finish(problems);
    let Some(name) = name else {
        let start = node.span.start;
        problems.add(
            Span { start, end: start + 1 },
            "the key `name` is missing in `code_config`",
            None,
        );
        return None;
    };
    // `text` would ask for quotes, which JSON has anyway.
    match &name.kind {
        NodeKind::Scalar(_) if name.as_str().is_none() => {
            problems.add(name.span, format!("`name` must be text, not {}", name.noun()), None);
            None
        }
        _ => text("name", name, problems).map(|text| (text, name.span)),
    }
}
