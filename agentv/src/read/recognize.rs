//! Whether a file is an eval file.

use std::path::Path;

use evaluator_document::{Node, read_json, read_yaml_core};

use super::values::{TESTS, has_any};

/// Keys that a row of a JSONL eval file has, and no line of a trace file.
const ROW_KEYS: &str = "\
    input input_messages criteria expected_outcome outcome expected_output expected_messages assertions assert rubrics";

/// Keys of traces.
const TRACE_KEYS: [&str; 5] =
    ["resourceSpans", "resourceLogs", "resourceMetrics", "traceID", "spans"];

/// Key of ADK's eval sets, which have `eval_cases`, too.
const EVAL_SET: &str = "eval_set_id";

/// Keys that only an eval file has beside its tests; they identify one whose tests were forgotten.
const SUITE_KEYS: [&str; 4] = ["execution", "assertions", "assert", "dataset"];

/// Returns true if a file is an eval file, by its extension and its keys.
///
/// YAML and JSON files have `tests`, `evalcases` or `eval_cases` at the top, or at least another key of a suite and no
/// `evaluators`. Lines of JSONL files are objects with a key of a test and none of a trace.
pub fn is_eval_file(file: &Path, text: &str) -> bool {
    let extension = file.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("yaml" | "yml") => {
            if file.to_string_lossy().to_ascii_lowercase().contains(".eval.y") {
                return true;
            }
            match read_yaml_core(text) {
                Ok(root) => root.is_some_and(|root| is_suite(&root)),
                // It has no keys. The words are enough to report its error as one of an eval file.
                Err(_) => TESTS
                    .iter()
                    .any(|key| text.lines().any(|line| line.starts_with(&format!("{key}:")))),
            }
        }
        Some("json") if may_have_any(text, &TESTS) => read_json(text).is_ok_and(|document| {
            has_any(&document.root, &TESTS) && !has_any(&document.root, &[EVAL_SET])
        }),
        Some("jsonl") => {
            let rows = text.lines().filter(|line| !line.trim().is_empty());
            let mut rows = rows.take_while(|row| !is_span_data(row));
            let first = rows.find_map(|row| read_json(row).ok());
            first.is_some_and(|row| {
                has_any(&row.root, &ROW_KEYS.split(' ').collect::<Vec<_>>())
                    && !has_any(&row.root, &TRACE_KEYS)
            })
        }
        _ => false,
    }
}

/// Returns true if a JSON text starts like the common traces: as an object with one of their keys first. Traces may be large,
/// so they are recognized without being parsed.
pub fn is_span_data(text: &str) -> bool {
    let first = text.trim_start().trim_start_matches(['{', '[', ' ', '\n']);
    ["\"resourceSpans\"", "\"traceID\"", "\"data\""].iter().any(|key| first.starts_with(key))
}

/// Returns true if the text of a JSON document may have one of the keys. Most documents need not be parsed.
fn may_have_any(text: &str, keys: &[&str]) -> bool {
    !is_span_data(text) && keys.iter().any(|key| text.contains(&format!("\"{key}\"")))
}

fn is_suite(root: &Node) -> bool {
    has_any(root, &TESTS)
        || (has_any(root, &SUITE_KEYS) && !has_any(root, &["evaluators", "metrics"]))
}
