//! The fields of a mapping, converted to the types that are wanted.

use std::{ops::RangeInclusive, time::Duration};

use evaluator_json::{Object, Value};

use crate::{
    Node, NodeKind, Problems, Report, Span, did_you_mean, node::object, schema::Description,
};

/// Value of a key. Conversions that fail add a problem and return `None`.
#[derive(Clone, Copy, Debug)]
pub struct Field<'n> {
    /// Key as messages show it.
    pub key: &'n str,
    /// Value.
    pub node: &'n Node,
    /// List that problems are added to.
    pub problems: &'n Problems<'n>,
}

/// Keys of a mapping, taken one by one; a key that was not taken is unknown.
#[derive(Debug)]
pub struct Fields<'n> {
    /// Name of the mapping in messages, e.g. `this evaluator`.
    noun: String,
    node: &'n Node,
    problems: &'n Problems<'n>,
    taken: Vec<Taken<'n>>,
    pub(crate) null_is_absent: bool,
    /// Notes the keys that are taken, if these are fields of no mapping.
    pub(crate) description: Option<Description>,
}

#[derive(Debug)]
struct Taken<'n> {
    key: &'static str,
    alias: Option<&'static str>,
    /// Not named in messages.
    hidden: bool,
    node: Option<&'n Node>,
}

impl<'n> Fields<'n> {
    pub(crate) fn new(noun: String, node: &'n Node, problems: &'n Problems<'n>) -> Self {
        let (taken, null_is_absent, description) = (Vec::new(), false, None);
        Self { noun, node, problems, taken, null_is_absent, description }
    }

    /// Returns the list that problems are added to.
    pub fn problems(&self) -> &'n Problems<'n> {
        self.problems
    }

    /// Returns all keys and values, also those that were not taken.
    pub fn entries(&self) -> &'n [(Node, Node)] {
        match &self.node.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// Treats keys without a value as absent from now on, as agentevals and ADK do for keys whose default is `None`.
    pub fn null_is_absent(&mut self) {
        self.null_is_absent = true;
    }

    /// Takes `key`. A `null` is a value, unless [`null_is_absent`](Self::null_is_absent) was called.
    pub fn take(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.taken(key, None, false)
    }

    /// Takes a key that is not among those that messages offer: it has another name here.
    pub fn take_unlisted(&mut self, key: &'static str) -> Option<Field<'n>> {
        self.taken(key, None, true)
    }

    /// Takes `key`, or the same key in its other spelling.
    pub fn take_either(&mut self, key: &'static str, alias: &'static str) -> Option<Field<'n>> {
        if let (Some(_), Some((name, _))) = (self.find(key), self.find(alias)) {
            let message = format!("`{alias}` and `{key}` are the same key");
            self.problems.add(name.span, message).hint("keep one of them");
        }
        self.taken(key, Some(alias), false)
    }

    /// Takes `key`. Its absence is a problem at the start of the mapping.
    pub fn require(&mut self, key: &'static str) -> Option<Field<'n>> {
        let field = self.take(key);
        if field.is_none() {
            self.missing(key);
        }
        field
    }

    /// Takes `key` in either spelling. Its absence is a problem at the start of the mapping.
    pub fn require_either(&mut self, key: &'static str, alias: &'static str) -> Option<Field<'n>> {
        let field = self.take_either(key, alias);
        if field.is_none() {
            self.missing(key);
        }
        field
    }

    /// Adds the problem that `key` is absent.
    pub fn missing(&self, key: &str) -> Report<'n> {
        if let Some(description) = &self.description {
            description.required.borrow_mut().push(key.to_owned());
        }
        let message = format!("the key `{key}` is missing in {}", self.noun);
        self.problems.add(self.node.span.start(), message)
    }

    /// Adds a problem at the start of the mapping.
    pub fn add_at_start(&self, message: &str) -> Report<'n> {
        let start = self.node.span.start;
        self.problems.add(Span { start, end: start }, message)
    }

    /// Refuses `key`: it has a reason that a general message about an unknown key would not give.
    pub fn refuse(&mut self, key: &'static str, message: impl Into<String>, hint: &str) {
        if let Some((name, _)) = self.find(key) {
            self.problems.add(name.span, message).hint(hint);
        }
        self.taken(key, None, true);
    }

    /// Returns the value of a key without taking it.
    pub fn peek(&self, key: &str) -> Option<&'n Node> {
        self.find(key).map(|(_, value)| value)
    }

    /// Allows a key that another reader takes.
    pub fn allow(&mut self, key: &'static str, alias: Option<&'static str>) {
        self.taken(key, alias, false);
    }

    fn taken(
        &mut self,
        key: &'static str,
        alias: Option<&'static str>,
        hidden: bool,
    ) -> Option<Field<'n>> {
        let found = self.find(key).or_else(|| self.find(alias?));
        let node = found.map(|(_, value)| value);
        self.taken.push(Taken { key, alias, hidden, node });
        Some(Field { key, node: node?, problems: self.problems })
    }

    fn find(&self, key: &str) -> Option<&'n (Node, Node)> {
        self.entries()
            .iter()
            .find(|(name, _)| name.as_str() == Some(key))
            .filter(|(_, value)| !(self.null_is_absent && value.is_null()))
    }

    /// Returns the number of keys that were taken, present or not.
    pub fn position(&self) -> usize {
        self.taken.len()
    }

    /// Returns true if `key` was taken.
    pub fn has_taken(&self, key: &str) -> bool {
        self.taken.iter().any(|taken| taken.key == key)
    }

    /// Returns the present keys that were taken after [`position`](Self::position) had this value, as JSON.
    pub fn taken_since(&self, position: usize) -> Object {
        let present = |taken: &Taken<'_>| {
            Some((taken.key.to_owned(), taken.node.filter(|_| !taken.hidden)?.to_json().ok()?))
        };
        self.taken[position..].iter().filter_map(present).collect()
    }

    /// Returns the keys that were not taken, and their values, in order.
    pub fn remaining(&self) -> impl Iterator<Item = &'n (Node, Node)> {
        let is_taken = |name: &str| {
            self.taken.iter().any(|taken| taken.key == name || taken.alias == Some(name))
        };
        self.entries().iter().filter(move |(key, _)| !key.as_str().is_some_and(is_taken))
    }

    /// Adds a problem for each key that was not taken.
    pub fn finish(self) {
        for (node, name) in self.not_taken() {
            let message = format!("unknown key `{name}` in {}", self.noun);
            self.problems.add(node.span, message).hint(self.known_keys(name));
        }
    }

    /// Adds a warning for each key that was not taken, for documents of systems that ignore those; a problem if the key is
    /// one of `others`, which belong to mappings of another kind.
    pub fn finish_leniently(self, others: &[&str]) {
        for (node, name) in self.not_taken() {
            if others.contains(&name) {
                let message = format!("`{name}` does not belong to {}", self.noun);
                self.problems.add(node.span, message).hint(self.known_keys(""));
            } else {
                let message = format!("unknown key `{name}` in {} is ignored", self.noun);
                self.problems.warn(node.span, message).hint(self.known_keys(name));
            }
        }
    }

    /// Returns the keys that were not taken. Keys that are not text are problems.
    fn not_taken(&self) -> Vec<(&'n Node, &'n str)> {
        let mut found = Vec::new();
        for (key, _) in self.entries() {
            let Some(name) = key.as_str() else {
                let noun = self.problems.noun(key);
                let message = format!("keys in {} must be text, not {noun}", self.noun);
                self.problems.add(key.span, message);
                continue;
            };
            if !self.taken.iter().any(|taken| taken.key == name || taken.alias == Some(name)) {
                found.push((key, name));
            }
        }
        found
    }

    /// Returns a hint about an unknown key: the key that it resembles, or all keys.
    fn known_keys(&self, name: &str) -> String {
        let known = || self.taken.iter().filter(|taken| !taken.hidden);
        let spellings = known().map(|taken| taken.key).chain(known().filter_map(|it| it.alias));
        did_you_mean(name, spellings).unwrap_or_else(|| {
            let keys: Vec<&str> = known().map(|taken| taken.key).collect();
            format!("known keys: {}", keys.join(", "))
        })
    }
}

impl<'n> Field<'n> {
    /// Adds a problem with the value.
    pub fn add(&self, message: impl Into<String>) -> Report<'n> {
        self.problems.add(self.node.span, message)
    }

    /// Adds the problem that the value has another type than `what`.
    pub fn expected(&self, what: &str) -> Report<'n> {
        self.add(format!("`{}` must be {what}, not {}", self.key, self.noun()))
    }

    /// Returns the name of the value's type, with its article.
    pub fn noun(&self) -> &'static str {
        self.problems.noun(self.node)
    }

    /// Returns true if the value is a mapping.
    pub fn is_mapping(&self) -> bool {
        matches!(self.node.kind, NodeKind::Mapping(_))
    }

    /// Returns the keys of a mapping; `noun` is its name in messages, e.g. `this rubric`.
    pub fn fields(&self, noun: &'static str) -> Option<Fields<'n>> {
        self.entries()?;
        Some(Fields::new(noun.to_owned(), self.node, self.problems))
    }

    /// Returns the keys and values of a mapping.
    pub fn entries(&self) -> Option<&'n [(Node, Node)]> {
        match &self.node.kind {
            NodeKind::Mapping(entries) => Some(entries),
            _ if self.problems.is_json() => self.expected("an object").none(),
            _ => self.expected("a mapping").none(),
        }
    }

    /// Returns the keys and values of a mapping whose keys are names.
    pub fn named(&self) -> Vec<(&'n str, &'n Node)> {
        let mut named = Vec::new();
        for (name, value) in self.entries().unwrap_or_default() {
            match name.as_str() {
                Some(name) => named.push((name, value)),
                // `on` and `no` are booleans, and `1` is a number.
                None => {
                    let (key, noun) = (self.key, self.problems.noun(name));
                    let message = format!("keys in `{key}` must be text, not {noun}");
                    self.problems.add(name.span, message).hint("put it in quotes");
                }
            }
        }
        named
    }

    /// Returns the items of a list, each as a field of the same name.
    pub fn items(&self) -> Option<Vec<Self>> {
        match &self.node.kind {
            NodeKind::Sequence(items) => {
                Some(items.iter().map(|node| Self { node, ..*self }).collect())
            }
            _ if self.problems.is_json() => self.expected("an array").none(),
            _ => self.expected("a list").none(),
        }
    }

    /// Returns the items of a list that has some.
    pub fn non_empty_items(&self) -> Option<Vec<Self>> {
        let items = self.items()?;
        if items.is_empty() {
            return self.add(format!("`{}` is empty", self.key)).none();
        }
        Some(items)
    }

    /// Returns text that is not empty.
    pub fn text(&self) -> Option<&'n str> {
        match self.node.as_str() {
            None => {
                let quotes =
                    matches!(self.node.kind, NodeKind::Scalar(_)) && !self.problems.is_json();
                let hint = quotes.then(|| "put it in quotes if it is meant as text".to_owned());
                self.expected("text").maybe_hint(hint).none()
            }
            Some("") => self.add(format!("`{}` is empty", self.key)).none(),
            text => text,
        }
    }

    /// Returns text that has more than whitespace.
    pub fn sentence(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return self.add(format!("`{}` is blank", self.key)).none();
        }
        Some(text.to_owned())
    }

    /// Returns the value of the word that stands here.
    pub fn choice<T: Clone>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let word = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == word).map(|(_, value)| value.clone());
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let message =
                format!("`{}` must be one of {}, not `{word}`", self.key, names.join(", "));
            self.add(message).maybe_hint(did_you_mean(word, names));
        }
        found
    }

    /// Returns a number in `0..=1`.
    pub fn fraction(&self) -> Option<f64> {
        let Some(number) = self.number() else {
            return self.expected("a number in 0..=1").none();
        };
        if !(0.0..=1.0).contains(&number) {
            return self.add(format!("`{}` must be in 0..=1, not {number}", self.key)).none();
        }
        Some(number)
    }

    /// Returns a finite number that is at least 0.
    pub fn non_negative(&self) -> Option<f64> {
        let Some(number) = self.number() else { return self.expected("a number").none() };
        if !number.is_finite() || number < 0.0 {
            let message = format!("`{}` must be at least 0, and finite, not {number}", self.key);
            return self.add(message).none();
        }
        Some(number)
    }

    /// Returns a whole number in a range.
    pub fn whole(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let what = format!("a whole number in {}..={}", range.start(), range.end());
        let Some(number) = self.number() else { return self.expected(&what).none() };
        let allowed = f64::from(*range.start())..=f64::from(*range.end());
        if number.fract() != 0.0 || !allowed.contains(&number) {
            return self.add(format!("`{}` must be {what}, not {number}", self.key)).none();
        }
        Some(number as u32)
    }

    /// Returns a whole, positive number of seconds.
    pub fn seconds(&self) -> Option<Duration> {
        self.at_least(1, "a whole number of seconds, at least 1", "30").map(Duration::from_secs)
    }

    /// Returns a whole number from `least` to 10^9; `what` describes it, and `example` is one.
    pub fn at_least(&self, least: u32, what: &str, example: &str) -> Option<u64> {
        let range = f64::from(least)..=1e9;
        let number = self.number().filter(|n| n.fract() == 0.0 && range.contains(n));
        if number.is_none() {
            let message = format!("`{}` must be {what}", self.key);
            self.add(message).hint(format!("for example {example}"));
        }
        number.map(|number| number as u64)
    }

    /// Returns a number; numeric text counts, as in the tools that this file is shared with. Adds no problem.
    pub fn number(&self) -> Option<f64> {
        match &self.node.kind {
            NodeKind::Scalar(Value::Int(value)) => Some(*value as f64),
            NodeKind::Scalar(Value::BigInt(digits)) => digits.parse().ok(),
            NodeKind::Scalar(Value::Float(value)) => Some(*value),
            NodeKind::Scalar(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns a truth value in any of the spellings that pydantic accepts.
    pub fn flag(&self) -> Option<bool> {
        let flag = match &self.node.kind {
            NodeKind::Scalar(Value::Bool(flag)) => Some(*flag),
            NodeKind::Scalar(Value::Int(0)) => Some(false),
            NodeKind::Scalar(Value::Int(1)) => Some(true),
            NodeKind::Scalar(Value::Float(number)) if *number == 0.0 => Some(false),
            NodeKind::Scalar(Value::Float(number)) if *number == 1.0 => Some(true),
            NodeKind::Scalar(Value::String(word)) => match word.to_ascii_lowercase().as_str() {
                "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
                "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        if flag.is_none() {
            self.expected("true or false");
        }
        flag
    }

    /// Returns a mapping with text keys.
    pub fn object(&self) -> Option<Object> {
        let refuse = |span| {
            let message = format!("keys in `{}` must be text, as in JSON", self.key);
            self.problems.add(span, message).hint("put it in quotes");
        };
        object(self.entries()?).map_err(refuse).ok()
    }
}

impl Node {
    /// Returns the value as the value of `key`, to be converted and checked.
    pub fn field<'n>(&'n self, key: &'n str, problems: &'n Problems<'n>) -> Field<'n> {
        Field { key, node: self, problems }
    }
}

impl Problems<'_> {
    /// Returns the name of the value's type in this syntax, with its article.
    pub(crate) fn noun(&self, node: &Node) -> &'static str {
        match (self.is_json(), &node.kind) {
            (true, NodeKind::Sequence(_)) => "an array",
            (true, NodeKind::Mapping(_)) => "an object",
            (true, _) if node.is_null() => "null",
            _ => node.noun(),
        }
    }
}
