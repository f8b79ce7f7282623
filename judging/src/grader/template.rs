//! Templates with references such as `{{ item.actual_response }}`.

use std::fmt;

use evaluator_document::did_you_mean;
use evaluator_json::{NonFinite, Value, to_string};

use super::item::{Gap, Item};
use crate::pieces::{Piece, Pieces};

/// Names of the values of each namespace.
pub(super) const NAMES: [(&str, &[&str]); 2] = [
    (
        "item",
        &["actual_response", "expected_response", "user_content", "invocation_id", "tool_calls"],
    ),
    ("sample", &["output_text", "output_tools", "output_json"]),
];

/// Hint for references that are not paths.
const EXAMPLE: &str = "for example {{ item.actual_response }}";

/// Text with references to values of a turn.
///
/// ```
/// use evaluator_judging::grader::Template;
///
/// assert!(Template::parse("Is {{ item.actual_response }} kind?").is_ok());
/// let error = Template::parse("{{ item.actual_respons }}").unwrap_err();
/// assert_eq!(error.hint, "did you mean `actual_response`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Pieces<Reference>);

/// Path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Text in braces that is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({hint})")]
pub struct TemplateError {
    /// Reason, to be read after the name of the text.
    pub message: String,
    /// Correct form.
    pub hint: String,
}

impl TemplateError {
    fn new(message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: hint.into() }
    }
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// The first text in double braces that does not refer to a value of a turn.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let unclosed = |_| TemplateError::new("has a `{{` without its `}}`".to_owned(), EXAMPLE);
        let read = |inside: &str, _| Reference::parse(inside).map(Piece::Value);
        Pieces::parse(text, read, unclosed).map(Self)
    }

    /// Returns the text of a template without references.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        self.0.literal()
    }

    /// Returns true if the template has a reference.
    #[must_use]
    pub fn has_references(&self) -> bool {
        self.0.values().next().is_some()
    }

    /// Returns true if the template refers to the expected answer.
    #[must_use]
    pub fn refers_to_expected(&self) -> bool {
        self.0.values().any(|reference| reference.name == "expected_response")
    }

    /// Replaces the references.
    pub(super) fn render(&self, item: &Item<'_>) -> Result<String, Gap> {
        self.0.fill(|reference| match reference.find(item.value(reference)?)? {
            Value::String(value) => Ok(value),
            value => Ok(to_string(&value, NonFinite::Null)),
        })
    }
}

impl Reference {
    fn parse(inside: &str) -> Result<Self, TemplateError> {
        let written = format!("{{{{{inside}}}}}");
        let path = inside.trim();
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let Some((namespace, names)) = NAMES.into_iter().find(|(name, _)| *name == &path[..end])
        else {
            let message =
                format!("refers to `{written}`, which is not a value of `item` or `sample`");
            let namespaces = NAMES.map(|(name, _)| name);
            let hint = did_you_mean(&path[..end], namespaces);
            return Err(TemplateError::new(message, hint.unwrap_or_else(|| EXAMPLE.to_owned())));
        };
        let Some(mut steps) = steps(&path[end..]).filter(|steps| !steps.is_empty()) else {
            let message = format!("refers to `{written}`, which is not a path");
            return Err(TemplateError::new(message, EXAMPLE));
        };
        let first = match steps.remove(0) {
            Step::Key(key) => key,
            Step::Index(index) => index.to_string(),
        };
        let Some(name) = names.iter().copied().find(|name| *name == first) else {
            let message = format!("refers to `{written}`, but `{namespace}` has no `{first}`");
            let hint = did_you_mean(&first, names.iter().copied())
                .unwrap_or_else(|| format!("it has {}", names.join(", ")));
            return Err(TemplateError::new(message, hint));
        };
        Ok(Self { namespace, name, steps })
    }

    /// Follows the rest of the path into a value.
    fn find(&self, value: Value) -> Result<Value, Gap> {
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

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::turn;
    use evaluator_traces::{
        conversation::{ToolCall, Turn},
        eval_set::ExpectedTurn,
    };

    fn rendered(template: &str) -> Result<String, Gap> {
        let arguments = evaluator_json::parse_python(r#"{"k": [true, null], "n": 2}"#).unwrap();
        let call = ToolCall { name: "find".to_owned(), arguments, ..ToolCall::default() };
        let turn = Turn {
            final_text: Some("{{item.user_content}}".to_owned()),
            user_text: Some("Why?".to_owned()),
            ..turn(vec![call])
        };
        let expected = ExpectedTurn {
            final_parts: Some(vec!["a".to_owned(), "b".to_owned()]),
            ..ExpectedTurn::default()
        };
        Template::parse(template).unwrap().render(&Item { turn: &turn, expected: Some(&expected) })
    }

    #[test]
    fn references_are_replaced_once() {
        for (template, text) in [
            ("", ""),
            ("{ {item.a}} {item.a} }}", "{ {item.a}} {item.a} }}"),
            ("{{item.user_content}}-{{  item.user_content }}", "Why?-Why?"),
            ("{{ item.actual_response }}!", "{{item.user_content}}!"),
            ("{{ sample.output_text }}", "{{item.user_content}}"),
            ("{{ item.expected_response }}", "a b"),
            ("{{ item.tool_calls[0].name }}", "find"),
            ("{{ item.tool_calls[0]['args'].k }}", "[true,null]"),
            ("{{ item['tool_calls'] }}", r#"[{"name":"find","args":{"k":[true,null],"n":2}}]"#),
            ("{{ sample.output_tools[0].function.arguments }}", r#"{"k":[true,null],"n":2}"#),
        ] {
            assert_eq!(rendered(template).unwrap(), text, "{template}");
        }
    }

    #[test]
    fn what_a_turn_does_not_have_is_never_an_empty_text() {
        for (template, part) in [
            ("{{ item.tool_calls[1].name }}", "`item.tool_calls[1].name` has no value"),
            ("{{ item.tool_calls[0].args.k[1] }}", "has no value"),
            ("{{ sample.output_json.a }}", "not a JSON object or list"),
        ] {
            let Err(Gap::Missing(message)) = rendered(template) else { panic!("{template}") };
            assert!(message.contains(part), "{template}: {message}");
        }
    }

    #[test]
    fn what_is_not_a_reference_is_an_error() {
        for (template, part) in [
            ("{{ item.x", "without its `}}`"),
            ("{{item}}", "`{{item}}`, which is not a path"),
            ("{{}}", "not a value of `item` or `sample`"),
            ("{{ itme.actual_response }}", "(did you mean `item`?)"),
            ("{{ item. }}", "not a path"),
            ("{{ item.actual_response | upper }}", "not a path"),
            ("{{ item.actual_respnse }}", "(did you mean `actual_response`?)"),
            ("{{ item.colour }}", "(it has actual_response, "),
            ("{{ item[0] }}", "`item` has no `0`"),
            ("{{ sample.actual_response }}", "`sample` has no `actual_response`"),
        ] {
            let error = Template::parse(template).unwrap_err().to_string();
            assert!(error.contains(part), "{template}: {error}");
        }
    }
}
