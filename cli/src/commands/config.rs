//! `evaluator config`.

use std::{path::Path, sync::Arc, time::Duration};

use evaluator_host::{
    Registries,
    config::{Config, schema_line},
    executor::{Executor, wrap_with_defaults},
    hosts::Mismatch,
    metric::Metric,
    process::{Cancellation, CommandSpec},
    run::{Description, Runner, describe},
    runtime::{
        Entrypoint, Environment, EnvironmentFilter, Inherit, PrepareError, PrepareEvent, Runtimes,
    },
    source::{Freshness, SourceError},
};
use evaluator_publish::{
    manifest::{self, LoadedManifest},
    name_of,
};
use serde_json::Value;

use super::{clean_line, list, preparing, print, sandbox, types::TYPES, unusable};
use crate::{
    args::{ConfigArgs, SourcePlaces},
    exit, render,
    scaffold::scalar,
    signals,
};

/// Time limit for asking a program for the evaluators in it.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// Prints a configuration: entries for `evaluators:` with all settings and their defaults; an entry for each evaluator of a program.
pub(super) fn config(args: &ConfigArgs, verbose: u8, runner: &Runner) -> Result<u8, u8> {
    let executor = args.contain.then(|| sandbox(runner)).transpose()?;
    let asked = Asked { runner, executor: executor.as_deref(), verbose };
    let mut text = schema_line();
    for (index, evaluator) in args.evaluators.iter().enumerate() {
        let entries = entries(evaluator, &args.places, &asked).map_err(unusable)?;
        match entries.split_once(EVALUATORS).filter(|_| index > 0) {
            Some((comment, items)) => text.extend(["  ", comment, items]),
            None => text += &entries,
        }
    }
    Ok(print(&text, exit::OK))
}

/// Line between the comment about an evaluator and its entry.
const EVALUATORS: &str = "evaluators:\n";

/// Options of questions to programs for their descriptions.
struct Asked<'a> {
    runner: &'a Runner,
    /// The executor that contains them.
    executor: Option<&'a dyn Executor>,
    verbose: u8,
}

fn entries(evaluator: &str, places: &SourcePlaces, asked: &Asked<'_>) -> Result<String, String> {
    let (path, runner) = (Path::new(evaluator), asked.runner);
    if manifest::has_manifest(path) {
        let loaded = LoadedManifest::load(path).map_err(|error| error.to_string())?;
        return of_file(&loaded.entrypoint(), Some(&loaded.manifest.name), asked);
    }
    if path.exists() {
        return of_file(path, None, asked);
    }
    if let Ok(linked) = runner.registries.linked.get(evaluator) {
        let name = scalar(linked.name());
        let keys = format!("name: {name}\ntype: linked\n{COMMON}config: {{}}\n");
        return Ok(entry("Linked into this program.", &keys));
    }
    if let Some(described) = TYPES.iter().find(|described| described.name == evaluator) {
        return Ok(entry(described.description, described.keys));
    }
    match runner.registries.metrics.get(evaluator) {
        Ok(metric) => Ok(builtin_entry(metric.as_ref(), &runner.registries)),
        Err(_) if evaluator.contains(['/', '.']) => Err(format!("no such file: {evaluator}")),
        Err(error) => remote_entry(evaluator, places, runner).ok_or_else(|| {
            format!(
                "{error} Name one of those that `evaluator list` shows, or the file of an evaluator"
            )
        }),
    }
}

/// Returns the entry of an evaluator that a source lists. Sources that cannot be listed are warnings.
fn remote_entry(name: &str, places: &SourcePlaces, runner: &Runner) -> Option<String> {
    for (source, listed) in list::entries(None, places, Freshness::Cached, runner) {
        match listed {
            Ok(entries) => {
                let found = entries.into_iter().find(|entry| entry.name == name);
                if let Some(found) = found
                    && let Some(reference) = &found.reference
                {
                    let keys = format!(
                        "name: {}\ntype: remote\nsource: {}\nref: {}\n{COMMON}config: {{}}\n",
                        scalar(name),
                        scalar(&source),
                        scalar(reference)
                    );
                    return Some(entry(&clean_line(&found.description), &keys));
                }
            }
            Err(SourceError::NotSetUp { .. }) => {}
            Err(error) => render::warning(&format!("cannot list the source `{source}`: {error}")),
        }
    }
    None
}

/// Returns the entries of the evaluators in a file or package; `name` is the one in its manifest.
fn of_file(path: &Path, name: Option<&str>, asked: &Asked<'_>) -> Result<String, String> {
    let runtimes = &asked.runner.registries.runtimes;
    let runtime = runtimes.for_path(path).map_err(|error| error.to_string())?;
    let described = description(path, asked);
    let contained = match asked.executor {
        Some(executor) => format!("executor: {}\n", executor.name()),
        None => String::new(),
    };
    let evaluators = described.map(|description| description.evaluators).unwrap_or_default();
    let mut text = format!("# {}\n{EVALUATORS}", runtime.name());
    for one in &evaluators {
        // A program with several evaluators selects one by the name of the entry, which it receives.
        let name = name.filter(|_| evaluators.len() == 1).unwrap_or(&one.name);
        let keys = contained.clone() + &keys_of(&one.contract);
        let schema = one.config_schema.as_ref();
        text += &code_entry(name, path, &one.description, &keys, schema);
    }
    if evaluators.is_empty() {
        let name = name.map_or_else(|| name_of(path), str::to_owned);
        let keys = Mismatch::of(path, None).map(|mismatch| {
            let function = mismatch.function().map(|it| format!("function: {it}\n"));
            keys_of(mismatch.contract().name()) + &function.unwrap_or_default()
        });
        let keys = contained + &keys.unwrap_or_default();
        text += &code_entry(&name, path, "", &keys, None);
    }
    Ok(text)
}

/// Builds a program and asks it for its description.
fn description(path: &Path, asked: &Asked<'_>) -> Option<Description> {
    let Runner { registries: Registries { runtimes, .. }, cancellation, .. } = asked.runner;
    signals::watch(cancellation.clone());
    let prepared = preparing(asked.verbose, async |on_event| {
        let programs = (runtimes, asked.executor);
        prepare_and_describe(path, programs, cancellation, on_event).await
    });
    match prepared.ok()? {
        Ok((_, description)) => description,
        Err(error) => {
            let path = path.display();
            render::warning(&format!("{path}: {error}; the entry has the file's own name"));
            None
        }
    }
}

/// Builds a program, and asks it in this executor, if there is one. Returns its command and its description, which interpreted
/// programs are not asked for: they would run.
pub(super) async fn prepare_and_describe(
    path: &Path,
    (runtimes, executor): (&Runtimes, Option<&dyn Executor>),
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<(CommandSpec, Option<Description>), PrepareError> {
    let contained = executor.map(|_| Arc::default());
    let entrypoint = Entrypoint { contained, ..path.to_owned().into() };
    let launch = runtimes.prepare(&entrypoint, cancellation, on_event)?;
    if launch.worker.is_none() {
        return Ok((launch.one_shot, None));
    }
    let visible = EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]);
    let mut asked = launch.clone().seeing(&visible).one_shot;
    if let Some(executor) = executor {
        let wrapped = wrap_with_defaults(executor, asked, &launch.visible);
        asked = wrapped.map_err(PrepareError::unusable)?;
    }
    Ok((launch.one_shot, describe(&asked, DESCRIBE_LIMIT, cancellation).await))
}

/// Keys with their defaults that all evaluators with a document have.
const COMMON: &str = "threshold: 0.5\ntimeout: 30\n";

/// Formats a configuration with one entry.
fn entry(comment: &str, keys: &str) -> String {
    format!("# {comment}\n{EVALUATORS}{}", item(keys))
}

/// Formats an item of `evaluators:`; `keys` is YAML that starts with the name.
fn item(keys: &str) -> String {
    format!("  - {}\n", keys.trim_end().replace('\n', "\n    "))
}

fn builtin_entry(metric: &dyn Metric, known: &Registries) -> String {
    let examples = metric.settings().iter().map(|setting| setting.example).collect::<String>();
    let entry = |threshold: &str| {
        let name = scalar(metric.name());
        entry(metric.description(), &format!("name: {name}\ntype: builtin\n{threshold}{examples}"))
    };
    // The default threshold depends on the settings.
    let config = Config::parse_for(&entry(""), Path::new(""), known);
    let threshold = config.map_or(0.5, |config| config.evaluators[0].threshold());
    entry(&format!("threshold: {threshold:?}\n"))
}

/// Returns the line with the key `contract`, empty for the default contract.
fn keys_of(contract: &str) -> String {
    match contract {
        "agentevals" => String::new(),
        contract => format!("contract: {}\n", scalar(contract)),
    }
}

fn code_entry(
    name: &str,
    path: &Path,
    description: &str,
    keys: &str,
    schema: Option<&Value>,
) -> String {
    let comment = match description.lines().next().map(clean_line) {
        Some(first) if !first.is_empty() => format!("  # {first}\n"),
        _ => String::new(),
    };
    let (name, path) = (scalar(name), scalar(&path.to_string_lossy()));
    let settings = settings_of(schema);
    comment + &item(&format!("name: {name}\ntype: code\npath: {path}\n{keys}{COMMON}{settings}"))
}

/// Formats the key `config` by a schema: required settings as keys, other ones as comments.
fn settings_of(schema: Option<&Value>) -> String {
    let member = |key: &str| schema.and_then(|schema| schema.get(key));
    let required: Vec<&str> = member("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let (mut keys, mut comments) = (String::new(), Vec::new());
    // A type of its own is a reference to its definition.
    let definition = |property: &Value| {
        let pointer = property.get("$ref")?.as_str()?.strip_prefix('#')?;
        schema?.pointer(pointer)
    };
    for (name, property) in member("properties").and_then(Value::as_object).into_iter().flatten() {
        let kind = match definition(property).unwrap_or(property).get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => "any".to_owned(),
        };
        let description = property.get("description").and_then(Value::as_str).map(clean_line);
        let more = description.map(|text| format!(": {text}")).unwrap_or_default();
        let is_required = required.contains(&name.as_str());
        let name = scalar(name);
        if is_required {
            keys += &format!("  {name}:  # required, {kind}{more}\n");
        } else {
            let default = property.get("default").map(Value::to_string).unwrap_or_default();
            comments.push(format!("{name}: {default}  # {kind}{more}\n"));
        }
    }
    let commented =
        |mark: &str| comments.iter().map(|line| format!("{mark}{line}")).collect::<String>();
    match (keys.is_empty(), comments.is_empty()) {
        (true, true) => "config: {}\n".to_owned(),
        // Without `# `, these lines are a mapping.
        (true, false) => format!("# config:\n{}", commented("#   ")),
        (false, _) => format!("config:\n{keys}{}", commented("  # ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_listed_and_required_ones_are_keys() {
        let schema = serde_json::json!({
            "required": ["max"],
            "properties": {
                "max": {"type": "integer", "description": "The most\nthere may be."},
                "least": {"$ref": "#/$defs/Count", "default": 1, "description": "The least."},
                "word": {"type": ["string", "null"], "default": null},
            },
            "$defs": {"Count": {"type": "integer", "minimum": 1}},
        });
        assert_eq!(
            settings_of(Some(&schema)),
            "config:\n  max:  # required, integer: The most there may be.\n  # least: 1  # integer: The least.\n  # word: null  # any\n"
        );
        assert_eq!(settings_of(None), "config: {}\n");
        let quoted = serde_json::json!({"required": ["on"], "properties": {"on": {}}});
        assert_eq!(settings_of(Some(&quoted)), "config:\n  'on':  # required, any\n");
    }

    #[test]
    fn settings_that_are_comments_are_a_mapping_without_their_mark() {
        let schema = serde_json::json!({"properties": {
            "words": {"type": "array", "default": [], "description": "Any      # of them."},
            "least": {"type": "integer", "default": 1},
        }});
        let text = settings_of(Some(&schema));
        assert!(text.starts_with("# config:\n"), "{text}");
        let text: String = text.lines().map(|line| format!("    {}\n", &line[2..])).collect();
        let text = format!("evaluators:\n  - name: a\n    type: code\n    path: a\n{text}");
        let config = Config::parse(&text, Path::new("c.yaml")).unwrap();
        let evaluator_host::config::EvaluatorKind::Code(code) = &config.evaluators[0].kind else {
            panic!()
        };
        assert_eq!(code.config.len(), 2, "{text}");
    }

    #[test]
    fn entries_can_be_read_back() {
        for path in ["checks/polite.py", "it's here/été.js", "on", "5.py", "my_check/src/main.rs"]
        {
            let path = Path::new(path);
            let text =
                format!("evaluators:\n{}", code_entry(&name_of(path), path, "x: y # z", "", None));
            let config = Config::parse(&text, Path::new("c.yaml")).unwrap();
            let evaluator_host::config::EvaluatorKind::Code(code) = &config.evaluators[0].kind
            else {
                panic!()
            };
            assert_eq!(code.path, path);
        }
        let known = Registries::default();
        let available = known.metrics.iter().filter(|metric| metric.unavailable().is_none());
        let built_in = available.map(|metric| builtin_entry(metric.as_ref(), &known));
        let types = TYPES.iter().flat_map(|described| {
            let alternative = described.keys.replace("criteria: ", "# ");
            let alternative = alternative.replace("# rubrics: ", "rubrics: ");
            let alternative = alternative.replace("# judge: ", "judge: ");
            [entry("", described.keys), entry("", &alternative)]
        });
        for text in built_in.chain(types) {
            let config = Config::parse(&text, Path::new("c.yaml"));
            assert!(config.as_ref().is_ok_and(|it| it.warnings.is_empty()), "{text}{config:?}");
        }
    }
}
