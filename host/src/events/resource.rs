//! Who sends events.

use std::{
    hash::{BuildHasher, RandomState},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Variables, export::pairs};

/// The service, unless the environment names it. Whoever receives results of agentevals finds ours in the same place.
const SERVICE: &str = "agentevals";

/// The attributes of the resource: ours, those of `OTEL_RESOURCE_ATTRIBUTES` over them, and `OTEL_SERVICE_NAME` over all.
///
/// # Errors
///
/// `OTEL_RESOURCE_ATTRIBUTES` is not a list of `KEY=VALUE`; the error is the part that is none.
pub(super) fn attributes(variables: Variables<'_>) -> Result<Vec<(String, String)>, String> {
    let own = [
        ("telemetry.sdk.language", "rust".to_owned()),
        ("telemetry.sdk.name", "evaluator".to_owned()),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.name", SERVICE.to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", instance_id()),
    ];
    let mut attributes: Vec<_> = own.map(|(name, value)| (name.to_owned(), value)).into();
    let given = pairs(&variables("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default())?;
    let name = variables("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
    let name = name.map(|name| ("service.name".to_owned(), name));
    for (key, value) in given.into_iter().chain(name) {
        match attributes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => attributes.push((key, value)),
        }
    }
    Ok(attributes)
}

/// A random UUID. The standard library seeds its hashers randomly, which is random enough to tell two processes apart.
fn instance_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let half = |salt: u8| u128::from(RandomState::new().hash_one((salt, now, process::id())));
    let random = half(0) << 64 | half(1);
    let version = 0x4 << 76;
    let variant = 0x2 << 62;
    let uuid = random & !(0xf << 76) & !(0x3 << 62) | version | variant;
    let digits = format!("{uuid:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        attributes(&|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn value<'a>(attributes: &'a [(String, String)], key: &str) -> &'a str {
        let mut found = attributes.iter().filter(|(known, _)| known == key);
        let value = &found.next().unwrap().1;
        assert!(found.next().is_none(), "{key} is there twice");
        value
    }

    #[test]
    fn the_environment_overrides_what_we_say_of_ourselves() {
        assert_eq!(value(&with(&[]).unwrap(), "service.name"), "agentevals");
        let given = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a, team = x%2Cy ,service.version=9");
        let attributes = with(&[given]).unwrap();
        assert_eq!(value(&attributes, "service.name"), "a");
        assert_eq!(value(&attributes, "team"), "x,y");
        assert_eq!(value(&attributes, "service.version"), "9");
        let attributes = with(&[given, ("OTEL_SERVICE_NAME", "b")]).unwrap();
        assert_eq!(value(&attributes, "service.name"), "b");
        assert_eq!(with(&[("OTEL_RESOURCE_ATTRIBUTES", "a=1,b")]), Err("b".to_owned()));
    }

    #[test]
    fn every_process_has_its_own_instance_id() {
        let id = instance_id();
        assert_ne!(id, instance_id());
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
    }
}
