//! Prompts with `{{ name }}`, as AgentV renders them.

/// Text with variables. Unknown names are text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Known name, and the reference as it was written.
    Variable(&'static str, String),
}

/// Variables with their meaning: the names of both generations.
const VARIABLES: [&str; 17] = [
    "question",
    "input",
    "candidate_answer",
    "output",
    "reference_answer",
    "expected_output",
    "expected_outcome",
    "criteria",
    "input_messages",
    "expected_messages",
    "output_messages",
    "metadata",
    "metadata_json",
    "rubrics",
    "rubrics_json",
    "file_changes",
    "tool_calls",
];

/// Variables of which a prompt in a file must have one: others do not show what is judged.
const ANSWERS: [&str; 5] =
    ["candidate_answer", "output", "expected_messages", "expected_output", "output_messages"];

/// Variable of prompts that combine results.
pub(crate) const RESULTS: &str = "EVALUATOR_RESULTS_JSON";

impl Template {
    /// Reads a template.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some((before, behind)) = rest.split_once("{{") {
            plain.push_str(before);
            let found = behind.split_once("}}").and_then(|(name, after)| {
                let name = name.trim();
                let known = VARIABLES.iter().chain([&RESULTS]).find(|known| **known == name)?;
                Some((*known, after))
            });
            match found {
                Some((name, after)) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    let length = behind.len() - after.len();
                    pieces.push(Piece::Variable(name, format!("{{{{{}", &behind[..length])));
                    rest = after;
                }
                None => {
                    plain.push_str("{{");
                    rest = behind;
                }
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        Self { pieces }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Variable(name, _) => Some(*name),
        })
    }

    /// Returns true if there is any variable.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        self.names().next().is_some()
    }

    /// Returns true if what is judged is shown.
    #[must_use]
    pub fn shows_answer(&self) -> bool {
        self.names().any(|name| ANSWERS.contains(&name))
    }

    /// Returns names in braces that are no variables.
    #[must_use]
    pub fn unknown(&self) -> Vec<String> {
        let mut names = Vec::new();
        for piece in &self.pieces {
            let Piece::Text(text) = piece else { continue };
            for behind in text.split("{{").skip(1) {
                let name = behind.split_once("}}").map(|(name, _)| name.trim()).unwrap_or_default();
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if !name.is_empty() && name.chars().all(is_name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    /// Returns the closest variable to an unknown name.
    #[must_use]
    pub fn similar(name: &str) -> Option<String> {
        evaluator_document::did_you_mean(name, VARIABLES)
    }

    /// Puts values in. A variable without a value stays as it was written. Values are not searched for variables.
    #[must_use]
    pub fn render(&self, value: &dyn Fn(&str) -> Option<String>) -> String {
        let shown = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable(name, written) => value(name).unwrap_or_else(|| written.clone()),
        };
        self.pieces.iter().map(shown).collect()
    }
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
