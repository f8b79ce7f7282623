//! The configuration as a JSON Schema, for editors.

use serde_json::{Value, json};

use super::{
    Role, TextSimilarity,
    alignment::ORDERS,
    evaluator::{ISOLATIONS, MISSING_TURNS, contracts},
    process::{MIN_MEMORY, MIN_OPEN_FILES},
    remote::DEFAULT_SOURCE,
    run::{GROUPINGS, MAX_RETRIES, OUTPUTS},
};
use crate::{metric::MatchType, trace::TraceFormats};

/// What a `ref` looks like; how many parts it may have and which extensions are known is left to the reader.
const REFERENCE: &str = r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)*$";

/// What a size in words looks like.
const SIZE: &str = "^ *[0-9]+ *([kK][bB]|[mMgGtT][bB]|[kKmMgGtT][iI][bB]|[bB])? *$";

/// The name of a variable.
const VARIABLE: &str = r"^[^=\s]([^=]*[^=\s])?$";

/// A JSON Schema (2020-12) of configuration files: completion and first complaints in editors that know YAML schemas.
///
/// It knows the keys, their types and their words. What it cannot know (whether files exist, whether names are unique) a
/// run and [`Runner::check`](crate::run::Runner::check) find out.
#[must_use]
pub fn schema(formats: &TraceFormats) -> Value {
    let threshold = json!({
        "description": "Score from which on an evaluation passes.",
        "type": "number", "minimum": 0, "maximum": 1, "default": 0.5
    });
    let name =
        json!({"description": "Name, unique in the file.", "type": "string", "minLength": 1});
    let missing_turns = json!({
        "description": "What becomes of an evaluation where golden turns are not recorded: fail, whatever the score is, or ignore them.",
        "enum": words(&MISSING_TURNS), "default": "fail"
    });
    let text = |description: &str| json!({"description": description, "type": ["string", "null"], "minLength": 1});
    let builtin = json!({
        "title": "A built-in metric",
        "properties": {
            "name": name,
            "type": {"const": "builtin"},
            "threshold": threshold,
            "missing_turns": missing_turns,
            "trajectory_match_type": {
                "description": "How tool calls are compared with the expected ones.",
                "enum": MatchType::ALL.map(MatchType::as_str)
            },
            "judge_model": text("Model that judges."),
            "judge_base_url": text("Base URL of the judge's API."),
            "credential_ref": text("Name of the credential the judge uses."),
            "rubrics": {"description": "What the judge judges by.", "type": ["array", "null"]},
            "ignore_args": {
                "description": "tool_trajectory_avg_score: compare the names of tools only.", "default": false
            },
            "max": {
                "description": "Counting metrics: the budget of a turn. Within it a turn scores 1.",
                "type": "number", "minimum": 0
            },
            "order": {"description": "tool_trajectory_alignment: whether the order of calls counts.", "enum": words(&ORDERS)},
            "args": {"description": "tool_trajectory_alignment: how arguments are compared, by name.", "type": "object"},
            "tools": {"description": "tool_trajectory_alignment: the same for single tools.", "type": "object"},
            "config": {"description": "Settings of a metric that the host registered.", "type": "object"}
        },
        "required": ["name", "type"],
        "additionalProperties": false
    });
    let code = json!({
        "title": "A program",
        "properties": {
            "name": name,
            "type": {"const": "code"},
            "path": {
                "description": "The file, relative to the working directory, and if it is not there, to this file.",
                "type": "string", "minLength": 1
            },
            "threshold": threshold,
            "missing_turns": missing_turns,
            "timeout": {
                "description": "Seconds one evaluation may take. Building is not part of it.",
                "type": "integer", "minimum": 1, "default": 30
            },
            "retries": {
                "description": "How often an evaluation is tried again that timed out, was killed from outside or could not be started; as often as the run says when absent.",
                "type": "integer", "minimum": 0, "maximum": MAX_RETRIES
            },
            "config": {"description": "Settings handed to the evaluator.", "type": "object"},
            "contract": {
                "description": "Whose documents the evaluator reads, and in whose terms it answers; agentevals if absent.",
                "enum": words(&contracts())
            },
            "function": {
                "description": "contract: adk or agenta: the function of a Python file that is called, as ADK and Agenta call it.",
                "type": "string", "minLength": 1
            },
            "executor": {"description": "Where the program lives.", "type": "string", "default": "local"},
            "limits": limits(),
            "env": {
                "description": "Variables that the program gets: names of those to pass on, or names with values (none: passed on).",
                "oneOf": [
                    {"type": "array", "uniqueItems": true, "items": {"type": "string", "pattern": VARIABLE}},
                    {
                        "type": "object", "additionalProperties": {"type": ["string", "null"]},
                        "propertyNames": {"pattern": VARIABLE}
                    }
                ]
            },
            "inherit_env": {
                "description": "true: the program gets all variables, secrets too; false: PATH, HOME, locale, time zone, temporary folder and `env` only. Not given: all but what looks like a secret; a program from a source gets as with false.",
                "type": "boolean"
            },
            "cwd": {
                "description": "Working directory of the program, relative to ours, and if it is not there, to this file. Ours by default.",
                "type": "string", "minLength": 1
            },
            "isolation": {
                "description": "process: every evaluation is a process started for it alone. auto: it may also go to a warm worker, or be forked from an interpreter that has done its imports, or find what an earlier one has compiled; results are the same.",
                "enum": words(&ISOLATIONS), "default": "auto"
            }
        },
        "required": ["name", "type", "path"],
        "dependentSchemas": {
            "function": {"properties": {"contract": {"enum": ["adk", "agenta"]}}, "required": ["contract"]}
        },
        "additionalProperties": false
    });
    let openai_eval = json!({
        "title": "A grader of OpenAI's evaluation service (can be checked, not yet run)",
        "properties": {
            "name": name,
            "type": {"const": "openai_eval"},
            "threshold": threshold,
            "missing_turns": missing_turns,
            "timeout": {
                "description": "Seconds the service may take.",
                "type": "integer", "minimum": 1, "default": 120
            },
            "grader": {"description": "What grades.", "oneOf": [text_similarity(), label_model()]}
        },
        "required": ["name", "type", "grader"],
        "additionalProperties": false
    });
    let mut remote = code.clone();
    remote["title"] = json!("A program from a source");
    remote["required"] = json!(["name", "type", "ref"]);
    if let Some(properties) = remote["properties"].as_object_mut() {
        properties.remove("path");
        properties.insert("type".to_owned(), json!({"const": "remote"}));
        properties.insert(
            "source".to_owned(),
            json!({
                "description": "Where it comes from: github, file, local, or what a host has added.",
                "type": "string", "minLength": 1, "not": {"const": "builtin"}, "default": DEFAULT_SOURCE
            }),
        );
        properties.insert(
            "ref".to_owned(),
            json!({
                "description": "Path of its file inside the source.",
                "type": "string", "minLength": 1, "maxLength": 512, "pattern": REFERENCE
            }),
        );
    }
    let mut linked = code.clone();
    linked["title"] = json!("An evaluator that is linked into the program that reads this file");
    linked["required"] = json!(["name", "type"]);
    if let Some(properties) = linked["properties"].as_object_mut() {
        properties.retain(|key, _| {
            let kept = ["name", "threshold", "missing_turns", "timeout", "config", "contract"];
            kept.contains(&key.as_str())
        });
        properties.insert("type".to_owned(), json!({"const": "linked"}));
    }
    let path =
        |description: &str| json!({"description": description, "type": "string", "minLength": 1});
    let output = json!({"description": "Form of the report.", "enum": words(&OUTPUTS)});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of an evaluator run",
        "type": "object",
        "properties": {
            "evaluators": {
                "description": "What to run, in the order of the report.",
                "type": "array", "minItems": 1,
                "items": {"type": "object", "oneOf": [builtin, code, remote, openai_eval, linked]}
            },
            "eval_set": {"description": "File with golden conversations.", "type": "string"},
            "trace_format": {
                "description": "Format of all trace files; detected from their content when absent.",
                "enum": formats.names()
            },
            "group_by": {"description": "What is evaluated as one conversation.", "enum": words(&GROUPINGS)},
            "require_evaluated": {
                "description": "Fail unless every evaluator has scored at least one conversation and every golden case has a recording.",
                "type": ["boolean", "null"], "default": false
            },
            "require_all_cases": {
                "description": "Fail unless every golden case has a recording.",
                "type": ["boolean", "null"], "default": false
            },
            "allow_unevaluated": {
                "description": "Pass although nothing was scored, instead of failing.",
                "type": ["boolean", "null"], "default": false
            },
            "strict_matching": {
                "description": "Pair the only golden case and the only conversation only if their prompts are equal.",
                "type": ["boolean", "null"], "default": false
            },
            "max_error_rate": {
                "description": "Share of evaluations that may break, and of trace files that may be unusable, without making the run one that broke.",
                "type": ["number", "null"], "minimum": 0, "maximum": 1, "default": 0
            },
            "fail_fast": {
                "description": "Begin nothing new after the first failure or error.",
                "type": ["boolean", "null"], "default": false
            },
            "retries": {
                "description": "How often an evaluation is tried again that timed out, was killed from outside or could not be started.",
                "type": ["integer", "null"], "minimum": 0, "maximum": MAX_RETRIES, "default": 0
            },
            "sources": {
                "description": "Where the sources on this machine are, relative to the working directory, and if they are not there, to this file.",
                "type": ["object", "null"],
                "properties": {
                    "file": path("Index of the source `file`, or a folder with an index.yaml."),
                    "local": path("Folder of the source `local`.")
                },
                "additionalProperties": false
            },
            "output_format": output,
            "output": output
        },
        "required": ["evaluators"],
        "additionalProperties": false
    })
}

/// How much a program may use.
fn limits() -> Value {
    let size = |description: &str, min: u64| {
        json!({
            "description": description,
            "anyOf": [
                {"type": "integer", "minimum": min, "maximum": i64::MAX},
                {"type": "string", "pattern": SIZE}
            ]
        })
    };
    json!({
        "description": "How much the program may use.",
        "type": "object",
        "properties": {
            "output": size("Bytes of standard output that are accepted: a number, or text like 512MiB or 64kB; 64MiB by default.", 1),
            "stderr": size("Bytes of standard error that are kept; 64KiB by default.", 0),
            "memory": size("Bytes of memory that each process of it may write to; no limit by default.", MIN_MEMORY),
            "cpu": {
                "description": "Seconds of processor time; no limit by default. With one, every conversation gets a process of its own.",
                "type": "integer", "minimum": 1
            },
            "open_files": {
                "description": "Files that each process of it may have open, with the standard streams; as for this process by default.",
                "type": "integer", "minimum": MIN_OPEN_FILES
            }
        },
        "additionalProperties": false
    })
}

fn text_similarity() -> Value {
    json!({
        "title": "Compares answers with the expected ones; needs an eval set",
        "type": "object",
        "properties": {
            "type": {"const": "text_similarity"},
            "evaluation_metric": {"enum": words(&TextSimilarity::ALL)}
        },
        "required": ["type", "evaluation_metric"],
        "additionalProperties": false
    })
}

fn label_model() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let texts = json!({"type": "array", "minItems": 1, "uniqueItems": true, "items": text});
    let part = json!({
        "type": "object",
        "properties": {"type": {"enum": ["input_text", "output_text"]}, "text": text},
        "required": ["type", "text"],
        "additionalProperties": false
    });
    let message = json!({
        "type": "object",
        "properties": {
            "type": {"const": "message"},
            "role": {"enum": words(&Role::ALL)},
            "content": {
                "description": "Text in which {{ item.actual_response }} stands for what is graded.",
                "oneOf": [text, part]
            }
        },
        "required": ["role", "content"],
        "additionalProperties": false
    });
    json!({
        "title": "Has a model put a label on every answer",
        "type": "object",
        "properties": {
            "type": {"const": "label_model"},
            "model": text,
            "input": {"type": "array", "minItems": 1, "items": message},
            "labels": texts,
            "passing_labels": texts
        },
        "required": ["type", "model", "input", "labels", "passing_labels"],
        "additionalProperties": false
    })
}

fn words<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(word, _)| *word).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::{
        config::{Config, yaml},
        json,
    };

    /// What the reader itself names as known when it meets a key that it does not know.
    fn known_keys(text: &str) -> BTreeSet<String> {
        let error = Config::parse(text, Path::new("c.yaml")).unwrap_err().to_string();
        let (_, keys) = error.split_once("(known keys: ").unwrap();
        keys.trim_end_matches(')').split(", ").map(str::to_owned).collect()
    }

    fn properties(schema: &Value) -> BTreeSet<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_knows() {
        let schema = schema(&TraceFormats::default());
        let entries = &schema["properties"]["evaluators"]["items"]["oneOf"];
        let entry = |more: &str| format!("evaluators: [{{{more}, qqqqqqqqqqqq: 1}}]");
        // Some settings belong to single metrics.
        let metrics =
            ["tool_trajectory_avg_score", "tool_call_count_v1", "tool_trajectory_alignment"];
        let builtin: BTreeSet<String> = metrics
            .iter()
            .flat_map(|name| known_keys(&entry(&format!("name: {name}, type: builtin"))))
            .collect();
        assert_eq!(properties(&entries[0]), builtin);
        assert_eq!(properties(&entries[1]), known_keys(&entry("name: a, type: code, path: a.py")));
        assert_eq!(properties(&entries[2]), known_keys(&entry("name: a, type: remote, ref: a.py")));
        assert_eq!(
            properties(&schema["properties"]["sources"]),
            known_keys("sources: {qqqqqqqqqqqq: 1}\nevaluators: [{name: a, type: builtin}]")
        );
        for entry in [&entries[1], &entries[2]] {
            assert_eq!(
                properties(&entry["properties"]["limits"]),
                known_keys(
                    "evaluators: [{name: a, type: code, path: a.py, limits: {qqqqqqqqqqqq: 1}}]"
                )
            );
        }
        assert_eq!(properties(&entries[4]), known_keys(&entry("name: a, type: linked")));
        let grader = "grader: {type: text_similarity, evaluation_metric: bleu}";
        let openai = entry(&format!("name: a, type: openai_eval, {grader}"));
        assert_eq!(properties(&entries[3]), known_keys(&openai));
        let graders = &entries[3]["properties"]["grader"]["oneOf"];
        let grader = |more: &str| {
            let grader = format!("grader: {{{more}, qqqqqqqqqqqq: 1}}");
            format!("evaluators: [{{name: a, type: openai_eval, {grader}}}]")
        };
        assert_eq!(
            properties(&graders[0]),
            known_keys(&grader("type: text_similarity, evaluation_metric: bleu"))
        );
        let labels = "type: label_model, model: m, input: [{role: user, content: '{{ item.x }}'}], labels: [a, b], \
                      passing_labels: [a]";
        assert_eq!(properties(&graders[1]), known_keys(&grader(labels)));
        let mut top = known_keys("qqqqqqqqqqqq: 1\nevaluators: [{name: a, type: builtin}]");
        // The other spelling of `output_format`.
        top.insert("output".to_owned());
        assert_eq!(properties(&schema), top);
    }

    /// What the schema says of a text.
    fn accepts(text: &str) -> bool {
        let mut compiler = boon::Compiler::new();
        let mut schemas = boon::Schemas::new();
        compiler.add_resource("schema.json", schema(&TraceFormats::default())).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        let value = yaml::read(text).unwrap().unwrap().to_json().unwrap();
        let value = serde_json::from_str(&json::to_string(&value, json::NonFinite::Null)).unwrap();
        schemas.validate(&value, index).is_ok()
    }

    #[test]
    fn the_schema_accepts_what_the_reader_accepts_and_nothing_else() {
        let openai = |more: &str| format!("evaluators: [{{name: a, type: openai_eval, {more}}}]");
        let labels = |more: &str| {
            openai(&format!(
                "grader: {{type: label_model, model: m, input: [{{role: user, content: 'Is {{{{ item.actual_response }}}} kind?'}}], {more}}}"
            ))
        };
        let code =
            |more: &str| format!("evaluators: [{{name: a, type: code, path: a.py, {more}}}]");
        let similarity = "grader: {type: text_similarity, evaluation_metric: rouge_l}";
        for (text, expected) in [
            (include_str!("../../../examples/eval_config.yaml").to_owned(), true),
            (openai(similarity), true),
            (openai(&format!("threshold: 0.8, timeout: 60, {similarity}")), true),
            (labels("labels: [good, bad], passing_labels: [good]"), true),
            ("evaluators: [{name: a, type: builtin}]\nrequire_evaluated: true".to_owned(), true),
            ("evaluators: [{name: a, type: builtin}]\nrequire_evaluated: often".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nrequire_all_cases: true\nstrict_matching: true\nallow_unevaluated: true".to_owned(), true),
            ("evaluators: [{name: a, type: builtin}]\nrequire_all_cases: 7".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nstrict_matching: very".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nallow_unevaluated: often".to_owned(), false),
            ("evaluators: [{name: a, type: builtin, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: a, type: builtin, missing_turns: warn}]".to_owned(), false),
            (code("missing_turns: fail"), true),
            (code("missing_turns: true"), false),
            ("evaluators: [{name: a, type: remote, ref: a.py, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: a, type: linked, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: a, type: builtin}]\nmax_error_rate: 0.25\nfail_fast: true\nretries: 2".to_owned(), true),
            ("evaluators: [{name: a, type: builtin}]\nmax_error_rate: 1.5".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nfail_fast: soon".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nretries: 101".to_owned(), false),
            ("evaluators: [{name: a, type: builtin}]\nretries: 1.5".to_owned(), false),
            ("evaluators: [{name: a, type: code, path: a.py, retries: 100}]".to_owned(), true),
            ("evaluators: [{name: a, type: code, path: a.py, retries: -1}]".to_owned(), false),
            ("evaluators: [{name: a, type: builtin, retries: 1}]".to_owned(), false),
            (
                "evaluators: [{name: a, type: linked, threshold: 1, config: {b: 1}}]".to_owned(),
                true,
            ),
            ("evaluators: [{name: a, type: linked, path: a.py}]".to_owned(), false),
            ("evaluators: [{name: a, type: linked, contract: adk}]".to_owned(), true),
            (code("contract: agentv"), true),
            (code("contract: agenta, function: evaluate"), true),
            (code("contract: promptfoo"), false),
            (code("contract: null"), false),
            (code("contract: adk, function: 1"), false),
            (code("function: evaluate"), false),
            (code("contract: agentv, function: evaluate"), false),
            ("evaluators: [{name: a, type: builtin, contract: adk}]".to_owned(), false),
            (
                "evaluators: [{name: a, type: code, path: a.py, isolation: process}]".to_owned(),
                true,
            ),
            ("evaluators: [{name: a, type: remote, ref: a.py, isolation: auto}]".to_owned(), true),
            ("evaluators: [{name: a, type: code, path: a.py, isolation: none}]".to_owned(), false),
            ("evaluators: [{name: a, type: linked, isolation: process}]".to_owned(), false),
            (openai("threshold: 0.8"), false),
            (openai(&format!("threshold: 1.8, {similarity}")), false),
            (openai(&format!("timeout: 0, {similarity}")), false),
            (openai(&format!("path: a.py, {similarity}")), false),
            (openai("grader: {type: text_similarity}"), false),
            (openai("grader: {type: text_similarity, evaluation_metric: rouge_6}"), false),
            (openai("grader: {type: score_model}"), false),
            (labels("labels: [], passing_labels: [good]"), false),
            (labels("labels: [good, good], passing_labels: [good]"), false),
            (labels("labels: [good]"), false),
            ("evaluators: [{name: a, type: code}]".to_owned(), false),
            (
                code("limits: {memory: 512MiB, output: 64 kb, stderr: 0, cpu: 2, open_files: 64}"),
                true,
            ),
            (code("limits: {memory: 512M}"), false),
            (code("limits: {memory: 512}"), false),
            (code("limits: {cpu: 0}"), false),
            (code("limits: {open_files: 2}"), false),
            (code("limits: [cpu]"), false),
            (code("env: [A, B_C], inherit_env: false, cwd: data"), true),
            (code("env: {A: x, B: null}"), true),
            (code("env: {A: 1}"), false),
            (code("env: [A=1]"), false),
            (code("env: [A, A]"), false),
            (code("inherit_env: often"), false),
            (code("cwd: ''"), false),
            ("evaluators: []".to_owned(), false),
        ] {
            let read = Config::parse(&text, Path::new("c.yaml"));
            assert_eq!(read.is_ok(), expected, "{text}: {read:?}");
            assert_eq!(accepts(&text), expected, "{text}");
        }
    }
}
