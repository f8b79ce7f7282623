//! Conversations extracted from recorded traces, compared with what the original host makes of the same files.

#![expect(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod corpus;
mod difference;
mod wire;

use std::path::Path;

use corpus::Corpus;

/// Cases of the whole corpus where we differ on purpose.
const ON_PURPOSE: [(&str, &str); 15] = [
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
    ("tr_h07_adk_result_list", "the original fails at results that are lists"),
];

#[test]
fn own_cases_are_extracted_as_by_the_original() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conversations");
    let corpus = Corpus::open(&root).expect("the test data is part of the repository");
    assert_eq!(differing(&corpus), Vec::<String>::new());
}

/// The corpus the cases above are taken from is larger. It lives beside the repository, where there is one.
#[test]
fn the_whole_corpus_is_extracted_as_by_the_original() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/parity/corpus");
    let Some(corpus) = Corpus::open(&root) else {
        println!("skipped: there is no corpus at {}", root.display());
        return;
    };
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
