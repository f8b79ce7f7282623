//! Reads JSON into the same tree with positions as YAML.
//!
//! The YAML reader would misread JSON silently where the two differ: `1e5` is text in YAML, and syntax errors are
//! described in terms of blocks and indentation.

use std::collections::{HashMap, hash_map::Entry};

use evaluator_json::{self as json, ParseError, ParseOptions, ScanError, Scanner, Value};

use crate::{Node, NodeKind, Span};

/// Maximum nesting; the tree is walked by recursion.
const MAX_DEPTH: usize = 100;

/// A JSON text as a tree.
#[derive(Debug)]
#[non_exhaustive]
pub struct JsonDocument {
    /// Value of the text. Objects have the first value of each repeated key.
    pub root: Node,
    /// Further occurrences of keys.
    pub repeated: Vec<RepeatedKey>,
}

/// A key that occurs again in its object.
#[derive(Debug)]
#[non_exhaustive]
pub struct RepeatedKey {
    /// Key.
    pub key: String,
    /// Position of the first occurrence.
    pub first: Span,
    /// Position of this occurrence.
    pub again: Span,
}

/// Reads one JSON value.
///
/// # Errors
///
/// The text is not JSON, or is nested deeper than 100 levels.
pub fn read_json(text: &str) -> Result<JsonDocument, ParseError> {
    let options = ParseOptions { max_depth: MAX_DEPTH, ..ParseOptions::default() };
    json::parse(text, &options)?;
    let mut reader = Reader { scanner: Scanner::of_text(text), repeated: Vec::new() };
    let root = reader.scanner.begin().and_then(|()| reader.node());
    // The scanner accepts every text that the parser accepts.
    let root = root.unwrap_or_else(|_| Node::from(&Value::Null));
    Ok(JsonDocument { root, repeated: reader.repeated })
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    repeated: Vec<RepeatedKey>,
}

impl Reader<'_> {
    fn node(&mut self) -> Result<Node, ScanError> {
        let start = self.scanner.offset();
        let kind = match self.scanner.peek()? {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            _ => NodeKind::Scalar(self.scanner.value()?),
        };
        Ok(Node { span: Span { start, end: self.scanner.offset() }, kind })
    }

    fn object(&mut self) -> Result<NodeKind, ScanError> {
        let mut entries = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        let mut has_next = self.scanner.open_object()?;
        while has_next {
            let key = self.node()?;
            self.scanner.colon()?;
            let value = self.node()?;
            match seen.entry(key.as_str().unwrap_or_default().to_owned()) {
                Entry::Occupied(seen) => {
                    let (key, first, again) = (seen.key().clone(), *seen.get(), key.span);
                    self.repeated.push(RepeatedKey { key, first, again });
                }
                Entry::Vacant(unseen) => {
                    unseen.insert(key.span);
                    entries.push((key, value));
                }
            }
            has_next = self.scanner.next_member()?;
        }
        Ok(NodeKind::Mapping(entries))
    }

    fn array(&mut self) -> Result<NodeKind, ScanError> {
        let mut items = Vec::new();
        let mut has_next = self.scanner.open_array()?;
        while has_next {
            items.push(self.node()?);
            has_next = self.scanner.next_item()?;
        }
        Ok(NodeKind::Sequence(items))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json_values() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".*".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_tree_is_what_the_parser_reads(value in json_values(), pretty: bool) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let expected = json::parse(&text, &ParseOptions::default()).unwrap().value;
            let document = read_json(&text).unwrap();
            prop_assert!(document.repeated.is_empty());
            let found = document.root.to_json().unwrap();
            prop_assert_eq!(json::to_string(&found, json::NonFinite::Null), json::to_string(&expected, json::NonFinite::Null));
            prop_assert_eq!((document.root.span.start, document.root.span.end), (0, text.len()));
        }

        #[test]
        fn no_text_is_a_panic(text in r#"[\[\]{}:,"\\ \n0-9a-eu.é-]{0,40}"#) {
            let _ = read_json(&text);
        }
    }

    #[test]
    fn places_are_those_of_the_tokens() {
        let text = "{\"a\" :\t[1e5, \"q\\\"\\u00e9\", {}],\n \"a\": null}";
        let document = read_json(text).unwrap();
        let NodeKind::Mapping(entries) = &document.root.kind else { panic!("{document:?}") };
        let NodeKind::Sequence(items) = &entries[0].1.kind else { panic!("{document:?}") };
        let shown: Vec<&str> =
            items.iter().map(|item| &text[item.span.start..item.span.end]).collect();
        assert_eq!(shown, ["1e5", "\"q\\\"\\u00e9\"", "{}"]);
        assert_eq!(items[1].as_str(), Some("q\"é"));
        assert!(matches!(items[0].kind, NodeKind::Scalar(Value::Float(1e5))));
        let [repeated] = &document.repeated[..] else { panic!("{document:?}") };
        assert_eq!((repeated.key.as_str(), repeated.first.start), ("a", 1));
        assert_eq!(&text[repeated.again.start..], "\"a\": null}");
    }

    #[test]
    fn what_is_not_json_has_its_place() {
        let error = read_json("{\"a\": [1,\n  2,]}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 4));
        assert!(read_json(&"[".repeat(5000)).is_err());
    }
}
