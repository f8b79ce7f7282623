//! `evaluator config`.

use std::path::Path;

use evaluator_host::{
    metric::Metrics,
    runtime::Runtimes,
    source::{Freshness, SourceError},
};

use super::{list::entries, print};
use crate::{
    args::{ConfigArgs, SourcePlaces},
    exit, render,
};

/// Prints an entry for `evaluators:` with the settings it can have and their defaults.
pub(super) fn config(args: &ConfigArgs) -> u8 {
    match entry(&args.evaluator, &args.places) {
        Ok(entry) => print(&entry, exit::OK),
        Err(problem) => {
            render::message(&problem);
            exit::USAGE
        }
    }
}

fn entry(evaluator: &str, places: &SourcePlaces) -> Result<String, String> {
    let path = Path::new(evaluator);
    if path.exists() {
        let runtime = Runtimes::default().for_path(path).map_err(|error| error.to_string())?;
        return Ok(code_entry(path, runtime.name()));
    }
    match Metrics::default().get(evaluator) {
        Ok(metric) => Ok(builtin_entry(metric.name(), metric.description())),
        Err(_) if evaluator.contains(['/', '.']) => Err(format!("no such file: {evaluator}")),
        Err(error) => remote_entry(evaluator, places).ok_or_else(|| {
            format!(
                "{error} Name one of those that `evaluator list` shows, or the file of an evaluator"
            )
        }),
    }
}

/// The entry of an evaluator that a source lists. What keeps a source from listing is told.
fn remote_entry(name: &str, places: &SourcePlaces) -> Option<String> {
    for (source, listed) in entries(None, places, Freshness::Cached) {
        match listed {
            Ok(entries) => {
                let found = entries.into_iter().find(|entry| entry.name == name);
                let reference = found.as_ref().and_then(|entry| entry.reference.clone());
                if let (Some(entry), Some(reference)) = (found, reference) {
                    return Some(format!(
                        "# {}\nevaluators:\n  - name: {}\n    type: remote\n    source: {}\n    ref: {}\n    threshold: 0.5\n    timeout: 30\n    config: {{}}\n",
                        comment(&entry.description),
                        scalar(name),
                        scalar(&source),
                        scalar(&reference)
                    ));
                }
            }
            Err(SourceError::NotSetUp { .. }) => {}
            Err(error) => render::message(&format!("cannot list the source `{source}`: {error}")),
        }
    }
    None
}

/// A description as a comment: others wrote it, and it must not become a part of the entry.
fn comment(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn builtin_entry(name: &str, description: &str) -> String {
    let (threshold, settings) = settings(name);
    format!(
        "# {description}\nevaluators:\n  - name: {name}\n    type: builtin\n    threshold: {threshold}\n{settings}"
    )
}

/// The threshold and the other settings of a built-in metric.
fn settings(name: &str) -> (&'static str, &'static str) {
    match name {
        "tool_trajectory_avg_score" => (
            "0.5",
            "    trajectory_match_type: EXACT  # or IN_ORDER, ANY_ORDER\n    \
             ignore_args: false  # true: only the names of the tools count\n",
        ),
        "tool_trajectory_alignment" => ("0.5", ALIGNMENT),
        "tool_call_count_v1" => {
            ("1.0", "    max: 10  # calls per turn; without it nothing is scored\n")
        }
        "inference_call_count_v1" => {
            ("1.0", "    max: 5  # calls per turn; without it nothing is scored\n")
        }
        "token_usage_v1" => {
            ("1.0", "    max: 20000  # tokens per turn; without it nothing is scored\n")
        }
        "invocation_duration_v1" => {
            ("1.0", "    max: 10  # seconds per turn; without it nothing is scored\n")
        }
        _ => ("0.5", ""),
    }
}

const ALIGNMENT: &str = r"    order: ordered  # or unordered: calls may come in any order
    # How arguments are compared, by name; `exact` where nothing is said.
    args:
      request_id: ignore
      tags: set  # the same items in any order
      filter: subset  # the expected members are there, maybe more
      price: {compare: numeric, tolerance: 0.01}  # or relative_tolerance: 0.05
      date: {compare: regex, pattern: '\d{4}-\d{2}-\d{2}'}  # without a pattern: the expected text is one
    # The same for the arguments of one tool; it goes before `args`. `*` is every argument that is not named.
    tools:
      search: {query: ignore}
";

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
        for metric in Metrics::default().iter().filter(|metric| metric.unavailable().is_none()) {
            let text = builtin_entry(metric.name(), metric.description());
            let config = evaluator_host::config::Config::parse(&text, Path::new("c.yaml"));
            assert!(config.is_ok(), "{text}{config:?}");
        }
    }

    #[test]
    fn a_main_file_is_called_like_its_package() {
        assert!(code_entry(Path::new("my_check/src/main.rs"), "x").contains("name: my_check\n"));
    }
}
