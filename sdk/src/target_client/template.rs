//! Texts with names in double braces.

use std::collections::BTreeMap;

use evaluator_protocol::agentv::CodeJudgeInput;
use serde::Serialize;

/// A text with names in double braces, such as `{{question}}` or `{{ question }}`.
///
/// ```
/// use evaluator_sdk::target::{Template, Variables};
///
/// let variables = Variables::new().text("question", " Capital of France? ");
/// let template = Template::new("Q: {{ question }}\nHint: {{hint}}");
/// assert_eq!(template.render(&variables), "Q: Capital of France?\nHint: {{hint}}");
/// assert_eq!(template.unknown(&variables), ["hint"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

/// What the names in a [`Template`] stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Variables(BTreeMap<String, String>);

impl Template {
    /// A template.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, with values in place of names. A name that has no value stays as it is written. Values are put in as they are: a
    /// name in braces inside of one stays, too.
    #[must_use]
    pub fn render(&self, variables: &Variables) -> String {
        let mut text = String::with_capacity(self.0.len());
        self.walk(|part| match part {
            Part::Text(part) => text.push_str(part),
            Part::Name { name, written } => {
                text.push_str(variables.get(name).unwrap_or(written));
            }
        });
        text
    }

    /// The names that have no value, in their order, each once.
    #[must_use]
    pub fn unknown(&self, variables: &Variables) -> Vec<&str> {
        let mut unknown = Vec::new();
        self.walk(|part| match part {
            Part::Name { name, .. }
                if variables.get(name).is_none() && !unknown.contains(&name) =>
            {
                unknown.push(name);
            }
            _ => {}
        });
        unknown
    }

    fn walk<'a>(&'a self, mut each: impl FnMut(Part<'a>)) {
        let mut rest = self.0.as_str();
        while let Some(start) = rest.find("{{") {
            let (before, braces) = rest.split_at(start);
            each(Part::Text(before));
            // Where braces hold no name, the second of them may begin others that do.
            let length = match name(braces) {
                Some((name, length)) => {
                    each(Part::Name { name, written: &braces[..length] });
                    length
                }
                None => {
                    each(Part::Text(&braces[..1]));
                    1
                }
            };
            rest = &braces[length..];
        }
        each(Part::Text(rest));
    }
}

enum Part<'a> {
    Text(&'a str),
    Name { name: &'a str, written: &'a str },
}

/// The name in the braces that the text begins with, and the length of all of it.
fn name(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix("{{")?;
    let (inside, _) = inside.split_once("}}")?;
    let name = inside.trim();
    let valid = |character: char| character.is_ascii_alphanumeric() || character == '_';
    (!name.is_empty() && name.chars().all(valid)).then_some((name, inside.len() + 4))
}

impl<T: Into<String>> From<T> for Template {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl Variables {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text, without the blanks around it.
    pub fn text(mut self, name: impl Into<String>, value: impl AsRef<str>) -> Self {
        self.0.insert(name.into(), value.as_ref().trim().to_owned());
        self
    }

    /// Adds any value, as JSON with indentation. One that is no JSON, such as a map whose keys are lists, has no value.
    pub fn json(mut self, name: impl Into<String>, value: &impl Serialize) -> Self {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.0.insert(name.into(), text);
        }
        self
    }

    /// The value of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The names that AgentV gives to what a judge is told.
///
/// | name | value |
/// |---|---|
/// | `question`, `candidate_answer` | the text |
/// | `expected_outcome`, `criteria` | the text, one under the names of two versions |
/// | `reference_answer` | the text; empty where there is none |
/// | `input_messages`, `expected_messages` | the messages as JSON; `[]` for none |
/// | `output_messages` | the transcript as JSON |
///
/// What the document does not have has no value, so that [`Template::unknown`] lists it, but for `reference_answer`: a case may do without.
impl From<&CodeJudgeInput> for Variables {
    fn from(input: &CodeJudgeInput) -> Self {
        let texts = [
            ("question", input.question()),
            ("candidate_answer", input.candidate_answer()),
            ("expected_outcome", input.expected_outcome()),
            ("criteria", input.expected_outcome()),
            ("reference_answer", Some(input.reference_answer().unwrap_or_default())),
        ];
        let variables = Self::new()
            .json("input_messages", &input.input_messages())
            .json("expected_messages", &input.expected_messages());
        let variables = match input.output_messages() {
            Some(messages) => variables.json("output_messages", &messages),
            None => variables,
        };
        texts.into_iter().fold(variables, |variables, (name, value)| match value {
            Some(value) => variables.text(name, value),
            None => variables,
        })
    }
}

#[cfg(test)]
mod tests {
    use evaluator_protocol::agentv::Message;

    use super::*;

    fn render(template: &str) -> String {
        let variables = Variables::new().text("a", " A\n").text("b_2", "{{a}}").text("empty", "");
        Template::new(template).render(&variables)
    }

    #[test]
    fn names_are_replaced_with_blanks_around_them_or_without() {
        assert_eq!(render("{{a}} {{ a }} {{\n\ta}}{{empty}}."), "A A A.");
        assert_eq!(render(""), "");
        assert_eq!(render("{{a}}"), "A");
    }

    #[test]
    fn values_are_not_looked_through() {
        assert_eq!(render("{{b_2}}"), "{{a}}");
    }

    #[test]
    fn what_is_no_name_stays() {
        for text in [
            "{{x}}", "{{ x }}", "{{A}}", "{{a b}}", "{{}}", "{{", "{{a", "{{a}", "}}", "{{a.b}}",
            "{{ä}}",
        ] {
            assert_eq!(render(text), text);
        }
        assert_eq!(render("{{{a}}}"), "{A}");
        assert_eq!(render("{{x {{a}}"), "{{x A");
        assert_eq!(render("ä{{{{a}}}}ö"), "ä{{A}}ö");
        let json = r#"{"a":{"b":{}}}"#;
        assert_eq!(render(json), json);
    }

    #[test]
    fn other_values_are_json() {
        let variables = Variables::new().json("list", &[1]);
        assert_eq!(Template::new("{{list}}").render(&variables), "[\n  1\n]");
    }

    #[test]
    fn documents_of_agentv_have_names_for_their_parts() {
        let input = CodeJudgeInput::new("Q", "A")
            .with_expected_outcome(" O ")
            .with_output_message(Message::assistant("A"));
        let template = Template::new(
            "{{question}} {{expected_outcome}}{{criteria}} {{candidate_answer}}{{reference_answer}}",
        );
        assert_eq!(template.render(&Variables::from(&input)), "Q OO A");
        let messages = Template::new("{{expected_messages}} {{output_messages}}");
        let expected = "[] [\n  {\n    \"role\": \"assistant\",\n    \"content\": \"A\"\n  }\n]";
        assert_eq!(messages.render(&Variables::from(&input)), expected);
        let nothing = Variables::from(&CodeJudgeInput::default());
        let unknown = ["question", "expected_outcome", "criteria", "candidate_answer"];
        assert_eq!(template.unknown(&nothing), unknown);
    }
}
