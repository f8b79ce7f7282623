//! Prompts with `{{ name }}`, as AgentV renders them.

use std::convert::Infallible;

use evaluator_judging::Pieces;
use serde::Serialize;

/// Text with variables. Unknown names are text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Template {
    text: String,
    /// Names as they are written, with white space.
    #[serde(skip)]
    names: Pieces<String>,
}

/// Variables with their meaning: the names of both generations.
const VARIABLES: &str = "\
    question input candidate_answer output reference_answer expected_output expected_outcome criteria input_messages \
    expected_messages output_messages metadata metadata_json rubrics rubrics_json file_changes tool_calls";

/// Variables of which a prompt in a file must have one: others do not show what is judged.
const ANSWERS: [&str; 5] =
    ["candidate_answer", "output", "expected_messages", "expected_output", "output_messages"];

/// Variable of prompts that combine results.
pub(crate) const RESULTS: &str = "EVALUATOR_RESULTS_JSON";

impl Template {
    /// Creates a template. Of more than two braces, the inner ones count.
    pub fn new(text: &str) -> Self {
        let names = Pieces::parse_known(text, |name| is_name(name.trim()).then(|| name.to_owned()));
        Self { text: text.to_owned(), names }
    }

    /// Returns the names in double braces.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(|name| name.trim())
    }

    /// Returns true if the text has double braces, or a variable in single ones.
    pub fn is_like_one(&self) -> bool {
        let in_braces = |name| self.text.contains(&format!("{{{name}}}"));
        self.text.contains("{{") || VARIABLES.split_whitespace().any(in_braces)
    }

    /// Returns true if there is any variable.
    pub fn has_variables(&self) -> bool {
        self.names().any(is_known)
    }

    /// Returns true if what is judged is shown.
    pub fn shows_answer(&self) -> bool {
        self.names().any(|name| ANSWERS.contains(&name))
    }

    /// Returns names in braces that are no variables.
    pub fn unknown(&self) -> Vec<&str> {
        self.names().filter(|name| !is_known(name)).collect()
    }

    /// Returns the closest variable to an unknown name.
    pub fn similar(name: &str) -> Option<String> {
        evaluator_document::did_you_mean(name, VARIABLES.split_whitespace())
    }

    /// Puts values in. A variable without a value stays as it was written. Values are not searched for variables.
    pub fn render(&self, value: &dyn Fn(&str) -> Option<String>) -> String {
        let shown = |name: &String| {
            Ok::<_, Infallible>(value(name.trim()).unwrap_or_else(|| format!("{{{{{name}}}}}")))
        };
        self.names.fill(shown).unwrap_or_else(|never| match never {})
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_known(name: &str) -> bool {
    name == RESULTS || VARIABLES.split_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_unknown_names_stay() {
        let template = Template::new("Q={{input}}|A={{ output }}|U={{ unknown }}|{{ x y }}|{{");
        assert_eq!(template.unknown(), ["unknown"]);
        assert!(template.has_variables() && template.shows_answer());
        let value = |name: &str| (name == "output").then(|| "$1 {{input}}".to_owned());
        let rendered = template.render(&value);
        assert_eq!(rendered, "Q={{input}}|A=$1 {{input}}|U={{ unknown }}|{{ x y }}|{{");
        assert!(!Template::new("Shows its work {{ nothing }}").has_variables());
        let nested = Template::new("{{{output}}} {{{{ output }}}} {{ {{output}} {{a b}}");
        assert!(nested.shows_answer() && nested.unknown().is_empty());
        assert_eq!(
            nested.render(&|name| (name == "output").then(|| "A".to_owned())),
            "{A} {{A}} {{ A {{a b}}"
        );
        for (text, expected) in
            [("is polite", false), ("{a} {}", false), ("{output}", true), ("{{ a", true)]
        {
            assert_eq!(Template::new(text).is_like_one(), expected, "{text}");
        }
    }
}
