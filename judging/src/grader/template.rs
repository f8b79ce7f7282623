//! Templates with references such as `{{ item.actual_response }}`.

use evaluator_json::{NonFinite, Value, to_string};

use super::{
    gap::Gap,
    item::Item,
    reference::{EXAMPLE, ItemTemplateError, Reference},
};
use crate::pieces::{Piece, Pieces};

/// Text with references to values of a turn.
///
/// ```
/// use evaluator_judging::grader::ItemTemplate;
///
/// assert!(ItemTemplate::parse("Is {{ item.actual_response }} kind?").is_ok());
/// let error = ItemTemplate::parse("{{ item.actual_respons }}").unwrap_err();
/// assert_eq!(error.hint, "did you mean `actual_response`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemTemplate(Pieces<Reference>);

impl ItemTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// The first text in double braces that does not refer to a value of a turn.
    pub fn parse(text: &str) -> Result<Self, ItemTemplateError> {
        let unclosed =
            |_| ItemTemplateError::new("has a `{{` without its `}}`".to_owned(), EXAMPLE);
        let read = |inside: &str, _| Reference::parse(inside).map(Piece::Value);
        Pieces::parse(text, read, unclosed).map(Self)
    }

    /// Returns true if the template has a reference.
    pub fn has_references(&self) -> bool {
        self.0.values().next().is_some()
    }

    /// Returns true if the template refers to the expected answer.
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

#[cfg(test)]
mod tests {
    use super::*;
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
            tool_calls: vec![call],
            ..Turn::default()
        };
        let expected = ExpectedTurn {
            final_parts: Some(vec!["a".to_owned(), "b".to_owned()]),
            ..ExpectedTurn::default()
        };
        ItemTemplate::parse(template)
            .unwrap()
            .render(&Item { turn: &turn, expected: Some(&expected) })
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
            let error = ItemTemplate::parse(template).unwrap_err().to_string();
            assert!(error.contains(part), "{template}: {error}");
        }
    }
}
