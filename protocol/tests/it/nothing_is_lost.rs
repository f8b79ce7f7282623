//! Nothing of a document is lost in silence: an evaluator of the default contract sees it, or it is listed as dropped.

use std::{fs, path::Path};

use evaluator_protocol::{Contract, Converted, Document};
use serde_json::{Value, json};

/// A text that no sample has.
const MARK: &str = "zz mark zz";

/// A place in a document: how to get there, and its path in the terms of the contract, which are in snake_case.
#[derive(Clone)]
struct Place {
    pointer: String,
    path: String,
}

/// The document itself, and all places in it.
fn places(document: &Value) -> Vec<Place> {
    let mut found = vec![Place { pointer: String::new(), path: String::new() }];
    let mut next = 0;
    while let Some(Place { pointer, path }) = found.get(next).cloned() {
        next += 1;
        match document.pointer(&pointer).unwrap() {
            Value::Object(object) => found.extend(object.keys().map(|key| Place {
                pointer: format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                path: format!("{path}.{}", snake(key)).trim_start_matches('.').to_owned(),
            })),
            Value::Array(items) => found.extend((0..items.len()).map(|index| Place {
                pointer: format!("{pointer}/{index}"),
                path: format!("{path}[{index}]"),
            })),
            _ => {}
        }
    }
    found
}

fn snake(key: &str) -> String {
    let letters = key.chars().map(|letter| match letter.is_ascii_uppercase() {
        true => format!("_{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    });
    letters.collect::<String>().trim_start_matches('_').to_owned()
}

/// What the hosts whose documents are converted have sent, by file.
fn samples() -> Vec<(String, Value)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let directories = [Contract::AgentV, Contract::Adk, Contract::Agenta];
    let files =
        directories.iter().flat_map(|contract| fs::read_dir(data.join(contract.name())).unwrap());
    let mut samples: Vec<(String, Value)> = Vec::new();
    for file in files {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let body = text.split_once("\r\n\r\n").map_or(text.as_str(), |(_, body)| body);
        if !matches!(Document::read(body.as_bytes()), Err(_) | Ok(Document::Agentevals(_))) {
            samples.push((path.display().to_string(), serde_json::from_str(body).unwrap()));
        }
    }
    assert!(samples.len() >= 20, "{}", samples.len());
    // Documents of AgentV that have the keys of two generations.
    for (one, other) in
        [("v2.5.1-stdin", "v4.42.4-stdin"), ("constructed-v2.9-stdin", "constructed-v3.6-stdin")]
    {
        let object = |name: &str| {
            let sample = samples.iter().find(|(path, _)| path.ends_with(&format!("{name}.json")));
            sample.unwrap().1.as_object().unwrap().clone()
        };
        let mut both = object(one);
        both.extend(object(other));
        samples.push((format!("{one} and {other}"), both.into()));
    }
    samples
}

/// `None` when the document is refused.
fn converted(document: &Value) -> Option<Converted> {
    Document::read(document.to_string().as_bytes()).ok()?.to_eval_input("m").ok()
}

impl Place {
    /// Whether it is listed, or something around it is.
    fn is_listed(&self, converted: &Converted) -> bool {
        converted.dropped.iter().any(|dropped| {
            let rest = self.path.strip_prefix(dropped.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Whether it is one of the few that only say how to read others.
    fn says_nothing_itself(&self) -> bool {
        // Where the answer was, which is read; what a block is, which the blocks that are listed are listed by.
        self.path == "output_path" || self.path.ends_with("].type")
    }
}

#[test]
fn whatever_is_changed_is_seen_or_listed() {
    let (mut seen, mut listed) = (0, 0);
    for (name, document) in samples() {
        let before = converted(&document).unwrap().input;
        for place in places(&document) {
            let mut changed = document.clone();
            let value = changed.pointer_mut(&place.pointer).unwrap();
            *value = match &*value {
                Value::String(_) => json!(MARK),
                Value::Number(_) => json!(987_654),
                Value::Bool(flag) => json!(!flag),
                _ => continue,
            };
            let is_text = value.is_string();
            let Some(converted) = converted(&changed) else { continue };
            let shows = match is_text {
                true => serde_json::to_string(&converted.input).unwrap().contains(MARK),
                false => converted.input != before,
            };
            assert!(
                shows || place.is_listed(&converted) || place.says_nothing_itself(),
                "{} of {name} is neither seen nor listed",
                place.path
            );
            if shows { seen += 1 } else { listed += 1 }
        }
    }
    assert!(seen > 100 && listed > 100, "{seen} seen, {listed} listed");
}

#[test]
fn whatever_is_added_is_seen_or_listed() {
    for (name, document) in samples() {
        for place in places(&document) {
            let mut changed = document.clone();
            let Some(Value::Object(object)) = changed.pointer_mut(&place.pointer) else { continue };
            object.insert("brand_new".to_owned(), json!(MARK));
            let Some(converted) = converted(&changed) else { continue };
            let path = format!("{}.brand_new", place.path).trim_start_matches('.').to_owned();
            let added = Place { path, ..place };
            let shows = serde_json::to_string(&converted.input).unwrap().contains(MARK);
            assert!(shows || added.is_listed(&converted), "{} of {name}", added.path);
        }
    }
}
