//! References to values of a turn, such as `item.actual_response`.

use evaluator_document::did_you_mean;
use evaluator_json::Value;

use super::gap::Gap;

/// Names of the values of each namespace.
pub(super) const NAMES: [(&str, &[&str]); 2] = [
    (
        "item",
        &["actual_response", "expected_response", "user_content", "invocation_id", "tool_calls"],
    ),
    ("sample", &["output_text", "output_tools", "output_json"]),
];

/// Hint for references that are not paths.
pub(super) const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// Path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
enum Step {
    #[display(".{_0}")]
    Key(String),
    #[display("[{_0}]")]
    Index(usize),
}

/// Text in braces that is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({hint})")]
pub struct ItemTemplateError {
    /// Reason, to be read after the name of the text.
    pub message: String,
    /// Correct form.
    pub hint: String,
}

impl ItemTemplateError {
    pub(super) fn new(message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: hint.into() }
    }
}

impl Reference {
    pub(super) fn parse(inside: &str) -> Result<Self, ItemTemplateError> {
        let written = format!("{{{{{inside}}}}}");
        let path = inside.trim();
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let Some((namespace, names)) = NAMES.into_iter().find(|(name, _)| *name == &path[..end])
        else {
            let message =
                format!("refers to `{written}`, which is not a value of `item` or `sample`");
            let namespaces = NAMES.map(|(name, _)| name);
            let hint = did_you_mean(&path[..end], namespaces);
            return Err(ItemTemplateError::new(
                message,
                hint.unwrap_or_else(|| EXAMPLE.to_owned()),
            ));
        };
        let Some(mut steps) = steps(&path[end..]).filter(|steps| !steps.is_empty()) else {
            let message = format!("refers to `{written}`, which is not a path");
            return Err(ItemTemplateError::new(message, EXAMPLE));
        };
        let first = match steps.remove(0) {
            Step::Key(key) => key,
            Step::Index(index) => index.to_string(),
        };
        let Some(name) = names.iter().copied().find(|name| *name == first) else {
            let message = format!("refers to `{written}`, but `{namespace}` has no `{first}`");
            let hint = did_you_mean(&first, names.iter().copied())
                .unwrap_or_else(|| format!("it has {}", names.join(", ")));
            return Err(ItemTemplateError::new(message, hint));
        };
        Ok(Self { namespace, name, steps })
    }

    /// Follows the rest of the path into a value.
    pub(super) fn find(&self, value: Value) -> Result<Value, Gap> {
        let mut found = &value;
        for step in &self.steps {
            let next = match step {
                Step::Key(key) => found.get(key),
                Step::Index(index) => found.as_array().and_then(|items| items.get(*index)),
            };
            found = next.unwrap_or(&Value::Null);
        }
        if found.is_null() {
            let Self { namespace, name, .. } = self;
            let path: String = self.steps.iter().map(ToString::to_string).collect();
            return Err(Gap::Missing(format!("`{namespace}.{name}{path}` has no value")));
        }
        Ok(found.clone())
    }
}

/// Reads `.name`, `[integer]` and `['key']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let end = name.find(|c| !is_part(c)).unwrap_or(name.len());
            let (key, after) = name.split_at(end);
            if key.is_empty() {
                return None;
            }
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix("['") {
            let (key, after) = quoted.split_once("']")?;
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}
