//! Detection of contracts: every document has exactly one, found by its shape.

mod ambiguous;
mod mutations;
mod shapes;

use std::{collections::BTreeSet, fs, path::Path, sync::LazyLock};

use evaluator_protocol::{Contract, Document, JsonObject, ReadError, detect};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

/// What a host has sent, with its contract and the name of its file.
type Sample = (Contract, String, Vec<u8>);

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(read_samples);

fn samples() -> Vec<Sample> {
    SAMPLES.clone()
}

fn read_samples() -> Vec<Sample> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut samples = Vec::new();
    for &contract in Contract::ALL {
        let mut files: Vec<_> = fs::read_dir(data.join(contract.name())).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().file_name());
        for file in files {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            // Next to documents for evaluators there are answers, and mutated documents.
            let is_document = match contract {
                Contract::AgentV => name.contains("stdin"),
                Contract::Adk => name.starts_with("envelope"),
                Contract::Agenta => name.contains("request") || name.contains("arguments"),
                _ => true,
            };
            if !is_document || name.contains("converted") {
                continue;
            }
            let text = fs::read_to_string(file.path()).unwrap();
            let body = text.split_once("\r\n\r\n").map_or(text.as_str(), |(_, body)| body);
            samples.push((contract, name, body.as_bytes().to_vec()));
        }
    }
    samples
}

fn object(document: &[u8]) -> JsonObject {
    serde_json::from_slice(document).unwrap()
}

/// The text of an object with its keys in this order, which a map does not keep.
fn text<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Vec<u8> {
    let entries: Vec<String> =
        entries.into_iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", entries.join(",")).into_bytes()
}

fn undetected(document: &[u8]) -> (Vec<Contract>, String) {
    match detect(document).unwrap_err() {
        ReadError::Undetected(error) => (error.candidates.clone(), error.to_string()),
        other => panic!("{other}"),
    }
}

/// The fast path, which reads documents of the default contract without telling them apart first, makes no difference.
#[track_caller]
fn assert_reads_as_detected(document: &[u8]) {
    let slowly = detect(document)
        .and_then(|contract| Document::read_as(contract, document).map_err(ReadError::Decode));
    assert_eq!(Document::read(document), slowly, "{}", String::from_utf8_lossy(document));
}
