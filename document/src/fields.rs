//! Reads the keys of a mapping, collecting what is wrong instead of stopping at it.

use std::{ops::RangeInclusive, time::Duration};

use super::{
    paths::Paths,
    problem::{Place, Problem},
    yaml::{Node, NodeKind, Span, object},
};
use crate::json::{Object, Value};

/// Problems found so far in a text, and what else a person may want to know of it.
pub(crate) struct Problems<'a> {
    pub(crate) text: &'a str,
    pub(crate) found: Vec<Problem>,
    /// What is no reason not to run, but probably not what was meant.
    pub(crate) warnings: Vec<Problem>,
    /// What has no effect here, and that is as it should be.
    pub(crate) notes: Vec<Problem>,
    /// Where relative paths lead.
    pub(super) paths: Paths,
}

impl<'a> Problems<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            paths: Paths::default(),
        }
    }

    pub(crate) fn add(&mut self, span: Span, message: impl Into<String>, hint: Option<String>) {
        self.found.push(self.at(span, message.into(), hint));
    }

    pub(crate) fn warn(&mut self, span: Span, message: impl Into<String>, hint: Option<String>) {
        self.warnings.push(self.at(span, message.into(), hint));
    }

    pub(crate) fn note(&mut self, span: Span, message: impl Into<String>) {
        self.notes.push(self.at(span, message.into(), None));
    }

    fn at(&self, span: Span, message: String, hint: Option<String>) -> Problem {
        Problem { message, place: Some(Place::new(self.text, span)), hint }
    }
}

/// The closest of `known`, as a hint, if one is close enough to be what was meant.
pub(crate) fn did_you_mean<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<String> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 4)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// The keys of one mapping, taken one after the other; what is left at the end is unknown.
pub(crate) struct Fields<'n> {
    /// What messages call the mapping, e.g. `evaluator`.
    noun: &'static str,
    entries: &'n [(Node, Node)],
    /// Keys to name in messages.
    known: Vec<&'static str>,
    /// Other spellings of them.
    aliases: Vec<&'static str>,
    /// Keys that are read but that nobody should be told to use.
    replaced: Vec<&'static str>,
    null_is_absent: bool,
}

impl<'n> Fields<'n> {
    pub(crate) fn new(noun: &'static str, entries: &'n [(Node, Node)]) -> Self {
        Self {
            noun,
            entries,
            known: Vec::new(),
            aliases: Vec::new(),
            replaced: Vec::new(),
            null_is_absent: false,
        }
    }

    /// From here on a key that is there without a value counts as not given, as other tools that read the file have it
    /// for keys whose default is to have no value.
    pub(crate) fn null_is_absent(&mut self) {
        self.null_is_absent = true;
    }

    /// The value of `key`; `null` counts as given, unless [`null_is_absent`](Self::null_is_absent) was said.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        self.find(key).map(|(_, value)| value)
    }

    /// Key and value of something that is read but not to be suggested.
    pub(crate) fn take_replaced(&mut self, key: &'static str) -> Option<&'n (Node, Node)> {
        self.replaced.push(key);
        self.find(key)
    }

    /// The value of a key, without saying that it is known.
    pub(crate) fn peek(&self, key: &str) -> Option<&'n Node> {
        self.find(key).map(|(_, value)| value)
    }

    fn find(&self, key: &str) -> Option<&'n (Node, Node)> {
        self.entries
            .iter()
            .find(|(name, _)| name.as_str() == Some(key))
            .filter(|(_, value)| !(self.null_is_absent && value.is_null()))
    }

    /// The value of `key` or of its other spelling.
    pub(crate) fn take_either(
        &mut self,
        key: &'static str,
        alias: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<&'n Node> {
        let first = self.take(key);
        self.aliases.push(alias);
        let second = self.find(alias);
        if let (Some(_), Some((name, _))) = (first, second) {
            problems.add(
                name.span,
                format!("`{alias}` and `{key}` are the same key"),
                Some("keep one of them".to_owned()),
            );
        }
        first.or(second.map(|(_, value)| value))
    }

    pub(crate) fn text(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<&'n str> {
        let node = self.take(key)?;
        text(key, node, problems)
    }

    /// A number in `0..=1`; numeric text counts, as in the tools this file is shared with.
    pub(crate) fn fraction(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<f64> {
        let node = self.take(key)?;
        let Some(number) = number(node) else {
            problems.add(
                node.span,
                format!("`{key}` must be a number in 0..=1, not {}", node.noun()),
                None,
            );
            return None;
        };
        if !(0.0..=1.0).contains(&number) {
            problems.add(node.span, format!("`{key}` must be in 0..=1, not {number}"), None);
            return None;
        }
        Some(number)
    }

    /// A truth value, in any of the ways Python's readers take one.
    pub(crate) fn flag(
        &mut self,
        key: &'static str,
        alias: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<bool> {
        let node = self.take_either(key, alias, problems)?;
        truth(key, node, problems)
    }

    /// A whole, positive number of seconds.
    pub(crate) fn seconds(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<Duration> {
        let node = self.take(key)?;
        let seconds =
            number(node).filter(|number| number.fract() == 0.0 && (1.0..=1e9).contains(number));
        if seconds.is_none() {
            let message = format!("`{key}` must be a whole number of seconds, at least 1");
            problems.add(node.span, message, Some("for example 30".to_owned()));
        }
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    /// A whole number in a range.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u32>,
        problems: &mut Problems<'_>,
    ) -> Option<u32> {
        let node = self.take(key)?;
        let (least, most) = (range.start(), range.end());
        let Some(number) = number(node) else {
            let message =
                format!("`{key}` must be a whole number in {least}..={most}, not {}", node.noun());
            problems.add(node.span, message, None);
            return None;
        };
        let whole = (number.fract() == 0.0
            && (f64::from(*least)..=f64::from(*most)).contains(&number))
        .then_some(number as u32);
        if whole.is_none() {
            let message =
                format!("`{key}` must be a whole number in {least}..={most}, not {number}");
            problems.add(node.span, message, None);
        }
        whole
    }

    /// One of a few words, compared as written.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let node = self.take(key)?;
        choice(key, node, choices, problems)
    }

    /// A mapping with text keys.
    pub(crate) fn object(
        &mut self,
        key: &'static str,
        problems: &mut Problems<'_>,
    ) -> Option<Object> {
        let node = self.take(key)?;
        let NodeKind::Mapping(entries) = &node.kind else {
            problems.add(
                node.span,
                format!("`{key}` must be a mapping, not {}", node.noun()),
                None,
            );
            return None;
        };
        object(entries)
            .map_err(|span| {
                let hint = Some("put it in quotes".to_owned());
                problems.add(span, format!("keys in `{key}` must be text, as in JSON"), hint);
            })
            .ok()
    }

    /// Reports what nothing has taken.
    pub(crate) fn finish(self, problems: &mut Problems<'_>) {
        let accepted = [&*self.known, &*self.aliases, &*self.replaced].concat();
        for (key, _) in self.entries {
            match key.as_str() {
                Some(name) if accepted.contains(&name) => {}
                Some(name) => {
                    let hint = did_you_mean(name, self.known.iter().chain(&self.aliases).copied())
                        .or_else(|| Some(format!("known keys: {}", self.known.join(", "))));
                    problems.add(key.span, format!("unknown key `{name}` in {}", self.noun), hint);
                }
                None => problems.add(
                    key.span,
                    format!("keys in {} must be text, not {}", self.noun, key.noun()),
                    None,
                ),
            }
        }
    }
}

pub(crate) fn text<'n>(key: &str, node: &'n Node, problems: &mut Problems<'_>) -> Option<&'n str> {
    let text = node.as_str();
    match text {
        None => {
            let hint = matches!(node.kind, NodeKind::Scalar(_))
                .then(|| "put it in quotes if it is meant as text".to_owned());
            problems.add(node.span, format!("`{key}` must be text, not {}", node.noun()), hint);
        }
        Some("") => problems.add(node.span, format!("`{key}` is empty"), None),
        Some(_) => {}
    }
    text.filter(|text| !text.is_empty())
}

pub(crate) fn choice<T: Copy>(
    key: &str,
    node: &Node,
    choices: &[(&'static str, T)],
    problems: &mut Problems<'_>,
) -> Option<T> {
    let word = text(key, node, problems)?;
    let found = choices.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let hint = did_you_mean(word, names.iter().copied());
        problems.add(
            node.span,
            format!("`{key}` must be one of {}, not `{word}`", names.join(", ")),
            hint,
        );
    }
    found
}

/// A finite number that is not negative.
pub(crate) fn non_negative(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<f64> {
    let Some(number) = number(node) else {
        let message = format!("`{key}` must be a number, not {}", node.noun());
        problems.add(node.span, message, None);
        return None;
    };
    if !number.is_finite() || number < 0.0 {
        let message = format!("`{key}` must be at least 0, and finite, not {number}");
        problems.add(node.span, message, None);
        return None;
    }
    Some(number)
}

/// A truth value.
pub(crate) fn truth(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<bool> {
    let flag = flag(node);
    if flag.is_none() {
        let message = format!("`{key}` must be true or false, not {}", node.noun());
        problems.add(node.span, message, None);
    }
    flag
}

fn flag(node: &Node) -> Option<bool> {
    let NodeKind::Scalar(scalar) = &node.kind else { return None };
    match scalar {
        Value::Bool(flag) => Some(*flag),
        Value::Int(0) => Some(false),
        Value::Int(1) => Some(true),
        Value::Float(number) if *number == 0.0 => Some(false),
        Value::Float(number) if *number == 1.0 => Some(true),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A number; numeric text counts.
pub(crate) fn number(node: &Node) -> Option<f64> {
    match &node.kind {
        NodeKind::Scalar(Value::Int(value)) => Some(*value as f64),
        NodeKind::Scalar(Value::Float(value)) => Some(*value),
        NodeKind::Scalar(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    }
}
