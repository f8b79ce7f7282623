//! `evaluator config`.

use std::path::Path;

use evaluator_host::{metric::Metrics, runtime::Runtimes};

use super::print;
use crate::{exit, render};

/// Prints an entry for `evaluators:` with the settings it can have and their defaults.
pub(super) fn config(evaluator: &str) -> u8 {
    match entry(evaluator) {
        Ok(entry) => print(&entry, exit::OK),
        Err(problem) => {
            render::message(&problem);
            exit::USAGE
        }
    }
}

fn entry(evaluator: &str) -> Result<String, String> {
    let path = Path::new(evaluator);
    if path.exists() {
        let runtime = Runtimes::default().for_path(path).map_err(|error| error.to_string())?;
        return Ok(code_entry(path, runtime.name()));
    }
    match Metrics::default().get(evaluator) {
        Ok(metric) => Ok(builtin_entry(metric.name(), metric.description())),
        Err(_) if evaluator.contains(['/', '.']) => Err(format!("no such file: {evaluator}")),
        Err(error) => Err(format!(
            "{error} Name a built-in metric (`evaluator list`) or the file of an evaluator"
        )),
    }
}

fn builtin_entry(name: &str, description: &str) -> String {
    let mut text = format!(
        "# {description}\nevaluators:\n  - name: {name}\n    type: builtin\n    threshold: 0.5\n"
    );
    if name == "tool_trajectory_avg_score" {
        text.push_str("    trajectory_match_type: EXACT  # or IN_ORDER, ANY_ORDER\n");
    }
    text
}

fn code_entry(path: &Path, runtime: &str) -> String {
    // `checks/polite.py` is called `polite`; `polite/src/main.rs` too.
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let package = path
        .ancestors()
        .nth(2)
        .and_then(Path::file_name)
        .map(|name| name.to_string_lossy().into_owned());
    let name = if stem == "main" { package.unwrap_or(stem) } else { stem };
    format!(
        "# {runtime}\nevaluators:\n  - name: {}\n    type: code\n    path: {}\n    threshold: 0.5\n    timeout: 30\n    config: {{}}\n",
        scalar(&name),
        scalar(&path.to_string_lossy())
    )
}

/// Text as a YAML scalar: quoted when it could be read as anything else.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !["yes", "no", "on", "off", "true", "false", "null"]
            .contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_can_be_read_back() {
        for path in ["checks/polite.py", "it's here/été.js", "on", "5.py", "my_check/src/main.rs"]
        {
            let text = code_entry(Path::new(path), "x");
            let config = evaluator_host::config::Config::parse(&text, Path::new("c.yaml")).unwrap();
            let evaluator_host::config::EvaluatorKind::Code(code) = &config.evaluators[0].kind
            else {
                panic!()
            };
            assert_eq!(code.path, Path::new(path));
        }
        let text = builtin_entry("tool_trajectory_avg_score", "x");
        assert!(evaluator_host::config::Config::parse(&text, Path::new("c.yaml")).is_ok());
    }

    #[test]
    fn a_main_file_is_called_like_its_package() {
        assert!(code_entry(Path::new("my_check/src/main.rs"), "x").contains("name: my_check\n"));
    }
}
