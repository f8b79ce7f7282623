//! Tests of the community's evaluators: those in the sources of the programs, here as modules, and the programs themselves.

#![expect(dead_code, reason = "the `main` of each program and what only it calls")]

mod goldens;

#[path = "../../src/bin/contains.rs"]
mod contains;
#[path = "../../src/bin/equals.rs"]
mod equals;
#[path = "../../src/bin/is_json.rs"]
mod is_json;
#[path = "../../src/bin/levenshtein_ratio.rs"]
mod levenshtein_ratio;
#[path = "../../src/bin/regex_match.rs"]
mod regex_match;
#[path = "../../src/bin/response_quality.rs"]
mod response_quality;
#[path = "../../src/bin/tool_coverage.rs"]
mod tool_coverage;
#[path = "../../src/bin/tool_sequence_match.rs"]
mod tool_sequence_match;
