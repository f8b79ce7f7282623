//! Keys, and their removal from texts.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Key of a model server. `Debug`, `Display` and `Serialize` show the name of its variable only.
#[derive(Clone, PartialEq, Eq, derive_more::Display, derive_more::Debug)]
#[debug("{self}")]
#[display("<redacted:{name}>")]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    /// Creates a secret from the name of its variable and its value. White space around the value is removed.
    pub fn new(name: impl Into<String>, value: &str) -> Self {
        Self { name: name.into(), value: value.trim().to_owned() }
    }

    /// Name of the variable that holds the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Value, for the header of a request and for nothing else.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Replaces the values of secrets in texts by `<redacted:NAME>`.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// By value; the longest are replaced first, because one secret may contain another.
    secrets: Vec<Secret>,
}

/// Shorter values occur in texts by chance.
const SHORTEST: usize = 6;

impl Redactor {
    /// Creates a redactor for these secrets. Values of fewer than six bytes are not replaced.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let long = secrets.into_iter().filter(|secret| secret.value.len() >= SHORTEST);
        let unique: BTreeMap<String, Secret> =
            long.map(|secret| (secret.value.clone(), secret)).collect();
        let mut secrets: Vec<Secret> = unique.into_values().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.value.len()));
        Self { secrets }
    }

    /// Returns a redactor that replaces another secret as well.
    pub(crate) fn with(&self, secret: Option<Secret>) -> Self {
        Self::new(self.secrets.iter().cloned().chain(secret))
    }

    /// Returns the text without the values of the secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(&secret.value) {
                text = text.replace(&secret.value, &secret.to_string());
            }
        }
        text
    }

    /// Removes the values of the secrets from every text of a JSON value, names of members included.
    pub fn redact_json(&self, value: &mut Value) {
        match value {
            _ if self.secrets.is_empty() => {}
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(members) => {
                let redacted = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    self.redact_json(&mut value);
                    (self.redact(&name), value)
                });
                *members = redacted.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_of_a_secret_shows_its_value() {
        let secret = Secret::new("THE_KEY", " decoy-123456\n");
        assert_eq!(secret.expose(), "decoy-123456");
        let serialized = serde_json::to_string(&[&secret]).unwrap();
        for text in [format!("{secret} {secret:?} {secret:#?}"), serialized] {
            assert!(text.contains("<redacted:THE_KEY>") && !text.contains("decoy"), "{text}");
        }
    }

    #[test]
    fn the_longest_secret_is_replaced_first() {
        let redactor =
            Redactor::new([Secret::new("A", "secret"), Secret::new("B", "secret-longer")]);
        assert_eq!(redactor.redact("secret-longer, secret"), "<redacted:B>, <redacted:A>");
        assert!(!format!("{redactor:?}").contains("secret-longer"));
    }
}
