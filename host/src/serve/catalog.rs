//! What is offered.

use serde_json::{Value, json};

use crate::run::{Offered, Service};

/// All evaluators, in their order.
pub(super) fn all(service: &Service) -> String {
    let evaluators: Vec<Value> = service.offered().map(entry).collect();
    json!({"evaluators": evaluators}).to_string() + "\n"
}

/// One of them.
pub(super) fn one(service: &Service, name: &str) -> Option<String> {
    let offered = service.offered().find(|offered| offered.name == name)?;
    Some(entry(offered).to_string() + "\n")
}

fn entry(offered: &Offered) -> Value {
    json!({
        "name": offered.name,
        "description": offered.description,
        "contract": offered.contract,
        "threshold": offered.threshold,
        "config_schema": offered.config_schema,
        "path": path(&offered.name),
    })
}

/// Where documents for it are sent.
pub(super) fn path(name: &str) -> String {
    let mut path = "/evaluators/".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn names_in_paths_are_escaped() {
        assert_eq!(path("is_polite-2.0"), "/evaluators/is_polite-2.0");
        assert_eq!(path("a b/é"), "/evaluators/a%20b%2F%C3%A9");
    }
}
