//! Reads YAML.
//!
//! The parser gives events with positions; this module builds a tree of them and gives plain scalars the meaning that
//! YAML 1.1 as Python reads it gives them (`yes` and `on` are booleans, `0755` is octal, `1:30` is ninety), because the
//! files are shared with tools written in Python.

use std::collections::HashMap;

use evaluator_json::Value;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::{Node, NodeKind, Span, scalar};

/// Maximum nesting, and maximum number of values with aliases expanded.
const MAX_DEPTH: usize = 100;
const MAX_NODES: usize = 200_000;

/// Text that is not YAML, or not YAML that a configuration may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct YamlError {
    /// Message.
    pub message: String,
    /// Position.
    pub span: Span,
}

impl YamlError {
    fn new<T>(message: impl Into<String>, span: Span) -> Result<T, Self> {
        Err(Self { message: message.into(), span })
    }
}

/// Reads the only document of `text`; `None` if the text has none.
///
/// # Errors
///
/// The text is not YAML, has more than one document, a repeated key, a tag without a meaning, or is nested too deeply.
pub fn read_yaml(text: &str) -> Result<Option<Node>, YamlError> {
    read(text, scalar::resolve)
}

/// Reads the only document of `text` with the scalars of YAML 1.2, as tools written in JavaScript do: `yes` and `1:30` are text,
/// `1e3` is a number.
///
/// # Errors
///
/// See [`read_yaml`].
pub fn read_yaml_core(text: &str) -> Result<Option<Node>, YamlError> {
    read(text, scalar::resolve_core)
}

fn read(text: &str, resolve: fn(&str) -> Value) -> Result<Option<Node>, YamlError> {
    let mut builder = Builder {
        resolve,
        offsets: offsets(text),
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            message: error.info().to_owned(),
            span: builder.span(error.marker().index(), error.marker().index()),
        })?;
        let span = builder.span(span.start.index(), span.end.index());
        builder.event(event, span)?;
    }
    Ok(builder.root)
}

/// Returns the byte offset of every character and of the end. The parser counts characters.
fn offsets(text: &str) -> Vec<usize> {
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect()
}

struct Builder {
    /// Returns the value of a plain scalar.
    resolve: fn(&str) -> Value,
    offsets: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

struct Open {
    start: Span,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<(Node, Node)>, merged: Vec<(Node, Node)>, key: Option<Node> },
}

impl Builder {
    fn span(&self, start: usize, end: usize) -> Span {
        let at = |index: usize| {
            self.offsets.get(index).or(self.offsets.last()).copied().unwrap_or_default()
        };
        Span { start: at(start), end: at(end.max(start)) }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                YamlError::new("a second YAML document; a configuration has only one", span)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let kind = NodeKind::Scalar(scalar_value(
                    &text,
                    style,
                    tag.as_deref(),
                    span,
                    self.resolve,
                )?);
                self.complete(Node { span, kind }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq", span)?;
                self.push(Open { start: span, anchor, kind: OpenKind::Sequence(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map", span)?;
                let kind = OpenKind::Mapping { entries: Vec::new(), merged: Vec::new(), key: None };
                self.push(Open { start: span, anchor, kind })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.count(size(&node), span)?;
                    self.complete(Node { span, ..node }, 0)
                }
                None => YamlError::new("an alias of something that contains it", span),
            },
            _ => Ok(()),
        }
    }

    fn push(&mut self, open: Open) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return YamlError::new(format!("nested deeper than {MAX_DEPTH} levels"), open.start);
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let span = Span { start: open.start.start, end: end.end.max(open.start.end) };
        let kind = match open.kind {
            OpenKind::Sequence(items) => NodeKind::Sequence(items),
            OpenKind::Mapping { mut entries, merged, .. } => {
                // The mapping's own entries precede merged ones, and earlier merged ones precede later ones.
                for (key, value) in merged {
                    let is_text = key.as_str().is_some();
                    if !is_text || entries.iter().all(|(own, _)| own.as_str() != key.as_str()) {
                        entries.push((key, value));
                    }
                }
                NodeKind::Mapping(entries)
            }
        };
        self.complete(Node { span, kind }, open.anchor)
    }

    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        self.count(1, node.span)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::Sequence(items)) => items.push(node),
            Some(OpenKind::Mapping { key: key @ None, .. }) => *key = Some(node),
            Some(OpenKind::Mapping { entries, merged, key }) => {
                let Some(name) = key.take() else { return Ok(()) };
                if name.as_str() == Some("<<") {
                    return merge(merged, node);
                }
                if let Some((first, _)) = entries.iter().find(|(other, _)| same_key(other, &name)) {
                    let (shown, at) = (name.as_str().unwrap_or("this key"), first.span.start);
                    let message = format!("`{shown}` is given twice (first at byte {at})");
                    return YamlError::new(message, name.span);
                }
                entries.push((name, node));
            }
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return YamlError::new(format!("more than {MAX_NODES} values, aliases expanded"), span);
        }
        Ok(())
    }
}

fn same_key(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::Scalar(Value::String(a)), NodeKind::Scalar(Value::String(b))) => a == b,
        (NodeKind::Scalar(Value::Int(a)), NodeKind::Scalar(Value::Int(b))) => a == b,
        _ => false,
    }
}

const MERGE: &str = "`<<` merges mappings only";

/// Adds the entries of `<<: *anchor` or `<<: [*a, *b]`.
fn merge(merged: &mut Vec<(Node, Node)>, node: Node) -> Result<(), YamlError> {
    match node.kind {
        NodeKind::Mapping(entries) => merged.extend(entries),
        NodeKind::Sequence(items) => {
            for item in items {
                let NodeKind::Mapping(entries) = item.kind else {
                    return YamlError::new(MERGE, item.span);
                };
                merged.extend(entries);
            }
        }
        NodeKind::Scalar(_) => return YamlError::new(MERGE, node.span),
    }
    Ok(())
}

/// Counts the values of a tree.
fn size(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Scalar(_) => 1,
        NodeKind::Sequence(items) => 1 + items.iter().map(size).sum::<usize>(),
        NodeKind::Mapping(entries) => {
            1 + entries.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>()
        }
    }
}

fn scalar_value(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: Span,
    resolve: fn(&str) -> Value,
) -> Result<Value, YamlError> {
    let core = match tag {
        None if style == ScalarStyle::Plain => return Ok(resolve(text)),
        None => return Ok(Value::String(text.to_owned())),
        // `!` alone means "not plain".
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => "str",
        Some(tag) if tag.is_yaml_core_schema() => tag.suffix.as_str(),
        Some(tag) => return unknown_tag(tag, span),
    };
    match (core, resolve(text)) {
        ("str", _) => Ok(Value::String(text.to_owned())),
        ("float", Value::Int(number)) => Ok(Value::Float(number as f64)),
        ("null", value @ Value::Null)
        | ("bool", value @ Value::Bool(_))
        | ("float", value @ Value::Float(_))
        | ("int", value @ (Value::Int(_) | Value::BigInt(_)))
        | ("timestamp", value @ Value::String(_)) => Ok(value),
        _ => YamlError::new(format!("`{text}` is not a value of `!!{core}`"), span),
    }
}

fn check_tag(tag: Option<&Tag>, expected: &str, span: Span) -> Result<(), YamlError> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == expected) => {
            unknown_tag(tag, span)
        }
        _ => Ok(()),
    }
}

fn unknown_tag<T>(tag: &Tag, span: Span) -> Result<T, YamlError> {
    YamlError::new(format!("the tag `{}{}` has no meaning here", tag.handle, tag.suffix), span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaluator_json::Object;

    fn json(text: &str) -> Value {
        read_yaml(text).unwrap().unwrap().to_json().unwrap()
    }

    fn entry<'a>(object: &'a Object, key: &str) -> &'a Value {
        &object[key]
    }

    #[test]
    fn places_are_byte_ranges() {
        let text = "é: [1, deux]\n";
        let node = read_yaml(text).unwrap().unwrap();
        let NodeKind::Mapping(entries) = &node.kind else { panic!("{node:?}") };
        let NodeKind::Sequence(items) = &entries[0].1.kind else { panic!("{node:?}") };
        let span = items[1].span;
        assert_eq!(&text[span.start..span.end], "deux");
    }

    #[test]
    fn anchors_and_merge_keys_expand() {
        let Value::Object(object) =
            json("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {<<: [*x, {r: 4}]}\n")
        else {
            panic!()
        };
        let Value::Object(c) = entry(&object, "c") else { panic!() };
        assert!(matches!(entry(c, "p"), Value::Int(1)) && matches!(entry(c, "q"), Value::Int(3)));
        let Value::Object(d) = entry(&object, "d") else { panic!() };
        assert!(matches!(entry(d, "r"), Value::Int(4)));
    }

    #[test]
    fn what_a_configuration_cannot_mean_is_an_error_at_its_place() {
        for (text, message, place) in [
            ("a: [", "", 4),
            ("a: 1\na: 2\n", "`a` is given twice (first at byte 0)", 5),
            ("a: !env HOME\n", "the tag `!env` has no meaning here", 3),
            ("a: 1\n---\nb: 2\n", "a second YAML document; a configuration has only one", 5),
            ("a: {<<: 5}\n", "`<<` merges mappings only", 8),
            ("a: !!int x\n", "`x` is not a value of `!!int`", 3),
        ] {
            let error = read_yaml(text).unwrap_err();
            assert!(error.message.contains(message), "{text:?}: {error:?}");
            assert!(error.span.start.abs_diff(place) <= 6, "{text:?}: {error:?}");
        }
    }

    #[test]
    fn expansion_and_nesting_are_bounded() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let previous = level - 1;
            let items = vec![format!("*a{previous}"); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        assert!(read_yaml(&bomb).unwrap_err().message.starts_with("more than"));
        let deep = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(read_yaml(&deep).is_err());
    }

    #[test]
    fn no_document_is_none() {
        assert!(read_yaml("").unwrap().is_none());
        assert!(read_yaml("# only a comment\n").unwrap().is_none());
    }
}
