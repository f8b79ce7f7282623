//! Reference pages that are generated from the program: `DOCS=overwrite cargo test -p evaluator-cli --test docs generated::`.
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::{fs, process::Command};

use evaluator_host::config::OutputFormat;
use evaluator_test_support::run;
use serde_json::{Value, json};
use snapbox::{Assert, Data, data::DataFormat};

use crate::root;

/// Columns of a line of help.
const WIDTH: usize = 120;

const NOTE: &str = "<!-- Written by `DOCS=overwrite cargo test -p evaluator-cli --test docs generated::`. Do not edit. -->";

const COMMANDS: &str = "\
Every command prints this text with `--help`, and a shorter one with `-h`. `evaluator man` prints manual pages, and
`evaluator completions SHELL` prints a script that completes commands and options.
";

const CONFIGURATION: &str = "\
The keys of `eval_config.yaml`. Unknown keys are errors with their position. `evaluator schema` prints the JSON Schema
from which this page is generated; editors use it to complete keys and to mark mistakes:

```yaml
# yaml-language-server: $schema=eval_config.schema.json
evaluators:
  - name: tool_trajectory_avg_score
    type: builtin
    threshold: 0.8
```

Relative paths are relative to the [directory of the configuration](paths.md). The `EvalConfig` JSON of Google's Agent
Development Kit is accepted, too: see [Coming from ADK](../start/from-adk.md). A dot in the first column leads to a key
inside of an object, `[]` to the items of a list.

";

/// Compares a page with the program, or writes it.
#[track_caller]
fn compare(page: &str, text: String) {
    let path = root().join("docs/reference").join(page);
    let there = Data::read_from(&path, Some(DataFormat::Text));
    Assert::new().action_env("DOCS").eq(text, there.raw());
}

fn evaluator(args: &[&str]) -> String {
    run(Command::new(env!("CARGO_BIN_EXE_evaluator")).args(args)).exits(0).stdout
}

/// Breaks a line of help between words. All its parts have the indentation of the first one.
fn wrapped(line: &str) -> String {
    let indentation = &line[..line.len() - line.trim_start().len()];
    let (mut text, mut length) = (indentation.to_owned(), indentation.len());
    for (index, word) in line[indentation.len()..].split(' ').enumerate() {
        let size = word.chars().count();
        if length + size >= WIDTH {
            text = format!("{}\n{indentation}", text.trim_end());
            length = indentation.len();
        } else if index > 0 {
            text.push(' ');
            length += 1;
        }
        text += word;
        length += size;
    }
    text.trim_end().to_owned()
}

/// Appends the help of a command and of its subcommands.
fn describe(command: &[&str], page: &mut String) {
    let help = evaluator(&[command, &["--help"]].concat());
    let name = [&["evaluator"], command].concat().join(" ");
    let lines: Vec<String> = help.trim_end().lines().map(wrapped).collect();
    *page += &format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    let rest = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let rows = rest.lines().take_while(|line| !line.is_empty());
    for inner in rows.filter_map(|line| line.split_whitespace().next()) {
        if inner != "help" {
            describe(&[command, &[inner]].concat(), page);
        }
    }
}

#[test]
fn the_page_of_the_command_line_is_that_of_the_program() {
    let mut page = format!("# Command line\n\n{NOTE}\n\n{COMMANDS}");
    describe(&[], &mut page);
    compare("command-line.md", page);
}

/// Returns the members of an object, if there are any.
fn members<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flatten()
}

/// Returns the types of a value in words.
fn kind(schema: &Value) -> String {
    let listed = |values: &Value| -> String {
        let values = values.as_array().into_iter().flatten();
        let named = values.filter(|value| !value.is_null()).map(|value| format!("`{value}`"));
        named.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    if let Some(values) = schema.get("enum") {
        return listed(values);
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`").replace('"', "");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(forms)) = schema.get(key) {
            let mut kinds: Vec<String> = forms.iter().map(kind).filter(|it| it != "any").collect();
            kinds.dedup();
            if !kinds.is_empty() {
                return kinds.join(" or ");
            }
        }
    }
    let name = |value: &Value| match value.as_str() {
        Some("array") => match schema.get("items") {
            Some(items) if kind(items) != "any" => format!("list of {}", kind(items)),
            _ => "list".to_owned(),
        },
        Some("null") | None => String::new(),
        Some(name) => name.to_owned(),
    };
    let kinds = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().map(name).filter(|it| !it.is_empty()).collect(),
        Some(kind) => vec![name(kind)],
        None => vec!["any".to_owned()],
    };
    let bound = |(key, word): &(&str, &str)| {
        // The largest number that fits is not worth a word.
        let value = schema.get(*key).filter(|value| value.as_i64() != Some(i64::MAX))?;
        Some(format!(" {word} {value}"))
    };
    let bounds = [("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to")];
    kinds.join(" or ") + &bounds.iter().filter_map(bound).collect::<String>()
}

/// Appends a row for each key of an object, the required ones first, and for the keys of objects in it.
fn rows(schema: &Value, prefix: &str, page: &mut String) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|it| it == key));
    let mut properties: Vec<_> = members(schema, "properties").collect();
    properties.sort_by_key(|(key, _)| !is_required(key));
    for (key, value) in properties {
        let default = match value.get("default") {
            _ if is_required(key) => "required".to_owned(),
            Some(value) => format!("`{value}`").replace('"', ""),
            None => String::new(),
        };
        let text = value.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(key == "type" || !text.is_empty(), "`{prefix}{key}` has no description");
        let cells = [format!("`{prefix}{key}`"), kind(value), default, text.replace('\n', " ")];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        *page += &format!("| {} |\n", cells.join(" | "));
        rows(value, &format!("{prefix}{key}."), page);
        if let Some(items) = value.get("items") {
            rows(items, &format!("{prefix}{key}[]."), page);
        }
    }
}

/// Objects that several parts of a configuration have: their keys are listed once, in a section with this text.
const SHARED: [(&str, &str); 3] = [
    (
        "sandbox",
        "In `defaults`, and in entries with `executor: sandbox`. [Containment](../guides/containment.md) explains the keys.",
    ),
    (
        "docker",
        "In `defaults`, and in entries with `executor: docker`. [Containers](../guides/docker.md) explains the keys.",
    ),
    (
        "judge",
        "At the top level and in entries that ask a model. [Judges](judges.md) explains the keys.",
    ),
];

const TABLE: &str = "| key | value | default | meaning |\n|---|---|---|---|\n";

#[test]
fn the_page_of_the_configuration_is_that_of_the_schema() {
    let mut schema: Value = serde_json::from_str(&evaluator(&["schema"])).unwrap();
    let mut shared = [const { Value::Null }; SHARED.len()];
    let mut entries = schema["properties"]["evaluators"]["items"].take();
    let entries = entries["oneOf"].as_array_mut().unwrap();
    let mut defaults = schema["properties"]["defaults"].take();
    for object in entries.iter_mut().chain([&mut schema, &mut defaults]) {
        for ((name, _), keys) in SHARED.iter().zip(&mut shared) {
            let Some(found) = object["properties"].get_mut(name) else { continue };
            let link = format!("See [{name}](#{name}).");
            let found = std::mem::replace(found, json!({"type": "object", "description": link}));
            let has_same = keys["properties"] == found["properties"];
            assert!(keys.is_null() || has_same, "`{name}` has different keys");
            *keys = found;
        }
    }
    schema["properties"]["defaults"] = defaults;
    let mut page = format!("# Configuration\n\n{NOTE}\n\n{CONFIGURATION}## The run\n\n{TABLE}");
    rows(&schema, "", &mut page);
    for entry in entries {
        let kind = entry["properties"]["type"]["const"].as_str().unwrap();
        page += &format!("\n## An evaluator of `type: {kind}`\n\n{TABLE}");
        rows(entry, "", &mut page);
    }
    for ((name, text), keys) in SHARED.iter().zip(&shared) {
        page += &format!("\n## `{name}`\n\n{text}\n\n{TABLE}");
        rows(keys, "", &mut page);
    }
    compare("configuration.md", page);
}

#[test]
fn the_page_of_reports_lists_all_forms() {
    let page = fs::read_to_string(root().join("docs/reference/reports.md")).unwrap();
    let (before, rest) = page.split_once("<!-- forms: ").unwrap();
    let (mark, _) = rest.split_once('\n').unwrap();
    let (_, behind) = rest.split_once("<!-- end of forms").unwrap();
    let row = |form: &OutputFormat| format!("| `{}` | {} |\n", form.name(), form.description());
    let rows: String = OutputFormat::ALL.iter().map(row).collect();
    let table = format!("\n| form | contents |\n|---|---|\n{rows}\n");
    compare("reports.md", format!("{before}<!-- forms: {mark}\n{table}<!-- end of forms{behind}"));
}

#[test]
fn the_page_of_errors_lists_all_error_types() {
    let mut types = evaluator_host::report::ERROR_TYPES;
    let page = fs::read_to_string(root().join("docs/reference/errors.md")).unwrap();
    // Further sections are about other errors.
    let (page, _) = page.split_once("\n## ").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<&str> = rows.filter(|name| *name != "error_type").collect();
    types.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, types, "docs/reference/errors.md must have a row for each");
}
