//! `env` and `inherit_env`: which variables an evaluator sees.

use super::{
    fields::{Fields, Problems},
    yaml::{Node, NodeKind},
};

/// Which variables of the environment a program sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvConfig {
    /// Whether it gets all variables of this process (`true`), or only those without which nothing starts (`false`). When
    /// nothing is said, it gets all but [secrets](crate::runtime::secrets); one that was fetched gets as with `false`.
    pub inherit: Option<bool>,
    /// Variables by name: with the value they have here (`None`), or another one. They are seen whatever else is said.
    pub variables: Vec<(String, Option<String>)>,
}

/// Reads both keys.
pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> EnvConfig {
    let variables = fields.take("env").map(|node| variables(node, problems));
    let inherit = fields.flag("inherit_env", "inheritEnv", problems);
    EnvConfig { inherit, variables: variables.unwrap_or_default() }
}

/// A list of names, or a mapping with values.
fn variables(node: &Node, problems: &mut Problems<'_>) -> Vec<(String, Option<String>)> {
    let given: Vec<(&Node, Option<&Node>)> = match &node.kind {
        NodeKind::Sequence(names) => names.iter().map(|name| (name, None)).collect(),
        NodeKind::Mapping(entries) => {
            entries.iter().map(|(name, value)| (name, Some(value))).collect()
        }
        NodeKind::Scalar(_) => {
            let message =
                format!("`env` must be a list of names or a mapping, not {}", node.noun());
            problems.add(node.span, message, Some("for example [OPENAI_API_KEY]".to_owned()));
            return Vec::new();
        }
    };
    let mut variables: Vec<(String, Option<String>)> = Vec::with_capacity(given.len());
    for (name_node, value) in given {
        let name = name(name_node, problems);
        let value = match value {
            Some(node) if !node.is_null() => Some(text(name.unwrap_or_default(), node, problems)),
            _ => None,
        };
        let Some(name) = name else { continue };
        if variables.iter().any(|(known, _)| known == name) {
            problems.add(name_node.span, format!("`{name}` is in `env` twice"), None);
            continue;
        }
        variables.push((name.to_owned(), value.map(Option::unwrap_or_default)));
    }
    variables
}

fn name<'n>(node: &'n Node, problems: &mut Problems<'_>) -> Option<&'n str> {
    let Some(name) = node.as_str() else {
        let message = format!("`env` must have names of variables, not {}", node.noun());
        let hint = match node.kind {
            NodeKind::Mapping(_) => "write `env:` as a mapping, without the dashes".to_owned(),
            _ => "for example OPENAI_API_KEY".to_owned(),
        };
        problems.add(node.span, message, Some(hint));
        return None;
    };
    if let Some((before, _)) = name.split_once('=') {
        let hint = format!("write `env:` as a mapping, with `{before}: VALUE`");
        problems.add(node.span, format!("`{name}` is no name of a variable"), Some(hint));
        return None;
    }
    if name.is_empty() || name.contains('\0') || name.trim() != name {
        problems.add(node.span, format!("{name:?} is no name of a variable"), None);
        return None;
    }
    Some(name)
}

/// A value; numbers and truth values would not arrive as they are written (`010`, `on`).
fn text(name: &str, node: &Node, problems: &mut Problems<'_>) -> Option<String> {
    let text = node.as_str();
    match text {
        None => {
            let hint = matches!(node.kind, NodeKind::Scalar(_))
                .then(|| "put it in quotes, and it arrives as it is written".to_owned());
            let message = format!("`{name}` in `env` must be text, not {}", node.noun());
            problems.add(node.span, message, hint);
        }
        Some(text) if text.contains('\0') => {
            problems.add(node.span, format!("`{name}` in `env` has a NUL character"), None);
        }
        Some(_) => {}
    }
    text.filter(|text| !text.contains('\0')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{Config, EnvConfig, EvaluatorKind};

    fn read(keys: &str) -> Result<EnvConfig, String> {
        let text = format!("evaluators:\n- {{name: a, type: code, path: a.py, {keys}}}");
        let config =
            Config::parse(&text, Path::new("c.yaml")).map_err(|error| error.to_string())?;
        let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!("{config:?}") };
        Ok(code.process.env.clone())
    }

    fn variables(keys: &str) -> Vec<(String, Option<String>)> {
        read(keys).unwrap().variables
    }

    #[test]
    fn names_are_passed_on_and_values_are_set() {
        let passed = |name: &str| (name.to_owned(), None);
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(variables("env: [A, B_KEY]"), [passed("A"), passed("B_KEY")]);
        assert_eq!(
            variables("env: {A: , B: null, C: '', D: '010', E: x y}"),
            [passed("A"), passed("B"), set("C", ""), set("D", "010"), set("E", "x y")]
        );
        assert_eq!(variables("env: []"), []);
        assert_eq!(read("timeout: 3"), Ok(EnvConfig::default()));
        for (word, inherit) in [("true", true), ("no", false)] {
            assert_eq!(read(&format!("inherit_env: {word}")).unwrap().inherit, Some(inherit));
        }
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        for (keys, message) in [
            ("env: A", "`env` must be a list of names or a mapping, not text"),
            ("env: ", "`env` must be a list of names or a mapping, not nothing"),
            ("env: [1]", "`env` must have names of variables, not"),
            ("env: [A: 1]", "write `env:` as a mapping, without the dashes"),
            ("env: [A=1]", "write `env:` as a mapping, with `A: VALUE`"),
            ("env: ['']", r#""" is no name of a variable"#),
            ("env: ['A ']", r#""A " is no name of a variable"#),
            ("env: [\"A\\0\"]", "is no name of a variable"),
            ("env: [A, A]", "`A` is in `env` twice"),
            ("env: {A: 8080}", "`A` in `env` must be text, not"),
            ("env: {A: on}", "put it in quotes, and it arrives as it is written"),
            ("env: {A: [x]}", "`A` in `env` must be text, not"),
            ("env: {A: \"x\\0\"}", "`A` in `env` has a NUL character"),
            ("inherit_env: sometimes", "`inherit_env` must be true or false, not text"),
            ("inherit_en: true", "did you mean `inherit_env`?"),
        ] {
            let error = read(keys).unwrap_err();
            assert!(error.contains(message), "{keys}: {error}");
        }
    }
}
