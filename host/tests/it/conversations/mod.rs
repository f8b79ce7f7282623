//! Conversations extracted from recorded traces, compared with what the original host makes of the same files.

#![expect(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod corpus;
mod difference;
mod wire;

use std::path::{Path, PathBuf};

use corpus::Corpus;

/// Cases in which the results differ on purpose.
const ON_PURPOSE: [(&str, &str); 17] = [
    ("cf_executor_docker", "the original loses the trace when an evaluator cannot be started"),
    ("cf_remote_bad_source", "the original loses the trace when an evaluator cannot be found"),
    ("cf_trace_format_bad", "the format is given in a config file, which is not read here"),
    ("tr_a04_jaeger_tag_types", "the original gives bytes as `b'..'` in the text of a result"),
    ("tr_a11_jaeger_bad_starttime", "the original refuses the file"),
    ("tr_c22_dup_keys", "we refuse a document with a repeated key"),
    ("tr_e06_duplicates_and_cycles", "spans with one id and different content are an error here"),
    ("tr_c26_surrogate", "we say that characters were replaced"),
    (
        "tr_e04_odd_any_values",
        "the original takes the text `false` for true, and gives bytes as `b'..'`",
    ),
    ("tr_e08_time_infinity", "the original refuses the file"),
    ("tr_e11_bigint", "we ignore token counts beyond 64 bits, and say so"),
    ("tr_f23_dict_response_id", "the original fails at ids that are objects"),
    ("tr_f36_unhashable_tool_name", "the original fails at tool names that are lists"),
    ("tr_f37_unhashable_system", "the original fails at provider names that are lists"),
    ("es_no_user_single_onegroup", "content that was not recorded is unknown and not evaluated"),
    ("ld_force_otlp_mixed_list", "an agent that ran is a turn, whatever else was recorded"),
    ("tr_h07_adk_result_list", "the original fails at results that are lists"),
];

/// Every case of the corpus in the directory `EVALUATOR_PARITY_DIR`, by default `tests/parity`.
#[test]
fn conversations_are_extracted_as_by_the_original() {
    let root = match std::env::var_os("EVALUATOR_PARITY_DIR") {
        Some(chosen) => PathBuf::from(chosen),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/parity"),
    };
    let corpus = Corpus::open(&root)
        .unwrap_or_else(|| panic!("there are no recorded runs in {}", root.display()));
    let mut differing = differing(&corpus);
    differing.retain(|difference| {
        !ON_PURPOSE.iter().any(|(case, _)| difference.starts_with(&format!("{case}: ")))
    });
    assert_eq!(differing, Vec::<String>::new());
}

fn differing(corpus: &Corpus) -> Vec<String> {
    let cases = corpus.cases();
    assert!(!cases.is_empty(), "there is a corpus without cases");
    cases
        .iter()
        .flat_map(|case| {
            case.differences(corpus)
                .into_iter()
                .map(|difference| format!("{}: {difference}", case.id))
        })
        .collect()
}
