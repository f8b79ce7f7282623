//! Prompts with `{{ name }}`, as AgentV renders them.

use crate::references::replaced;

/// Text with variables. Unknown names are text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(String);

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
    /// Creates a template.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns what is in braces.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split("{{").skip(1).filter_map(|behind| Some(behind.split_once("}}")?.0.trim()))
    }

    /// Returns true if there is any variable.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        self.names().any(is_known)
    }

    /// Returns true if what is judged is shown.
    #[must_use]
    pub fn shows_answer(&self) -> bool {
        self.names().any(|name| ANSWERS.contains(&name))
    }

    /// Returns names in braces that are no variables.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = self.names().filter(|name| !name.is_empty() && name.chars().all(is_name));
        names.filter(|name| !is_known(name)).collect()
    }

    /// Returns the closest variable to an unknown name.
    #[must_use]
    pub fn similar(name: &str) -> Option<String> {
        evaluator_document::did_you_mean(name, VARIABLES.split_whitespace())
    }

    /// Puts values in. A variable without a value stays as it was written. Values are not searched for variables.
    #[must_use]
    pub fn render(&self, value: &dyn Fn(&str) -> Option<String>) -> String {
        replaced(&self.0, ("{{", "}}"), &|_, name| value(name.trim())).unwrap_or(self.0.clone())
    }
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
    }
}
