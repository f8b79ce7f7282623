//! What a program may meet beside the documents it was written for.

use super::{
    Case, Host, Kind,
    case::Body,
    documents::{BASES, Base},
    host::Host::Agentevals,
};

/// Bytes of a huge document: more than any buffer on the way holds.
const HUGE: usize = 20 << 20;

/// Faults of all hosts: of what is no document there is one for all, as it is the same for them.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for Base { hosts, text, turns, end, grows } in BASES {
        let mut add = |name, kind, body| cases.push(Case { name, kind, hosts, turns, body });
        let whole = format!("{text}{end}");
        add("unknown keys", Kind::Additive, Body::new(with_unknown_keys(&whole)));
        if hosts == [Agentevals] {
            let other =
                whole.replacen(r#""protocol_version":"1.1""#, r#""protocol_version":"9.0""#, 1);
            add("unknown protocol version", Kind::Odd, Body::new(other));
        }
        add("byte order mark", Kind::Odd, Body::new(format!("\u{feff}{whole}")));
        add("huge", Kind::Odd, Body::grown(&*whole, grows, HUGE));
        add("cut short", Kind::Broken, Body::new(first_half(text)));
    }
    let mut of_all = |name, body| {
        cases.push(Case { name, kind: Kind::Broken, hosts: &Host::ALL, turns: 1, body });
    };
    of_all("empty input", Body::new(""));
    of_all("not JSON", Body::new("When does the last train leave?\n"));
    let Base { text, grows, .. } = &BASES[0];
    of_all("huge and broken", Body { broken: true, ..Body::grown(*text, grows, HUGE) });
    cases
}

/// The document with a key more, as a later release of the host may write it.
fn with_unknown_keys(text: &str) -> String {
    text.replacen('{', r#"{"not_known_yet": {"nested": [1, null, "text"]}, "#, 1)
}

fn first_half(text: &str) -> &str {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    &text[..middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Object;

    #[test]
    fn only_what_is_broken_is_no_document() {
        for case in all() {
            if case.name == "huge" {
                assert!(
                    case.body.bytes(None, &Object::default()).len() > 15 << 20,
                    "{:?}",
                    case.hosts
                );
                continue;
            }
            let bytes = case.body.bytes(None, &Object::default());
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
            let parsed = serde_json::from_slice::<serde_json::Value>(bytes);
            assert_eq!(parsed.is_err(), case.kind == Kind::Broken, "{}", case.name);
        }
    }

    #[test]
    fn every_host_meets_every_kind() {
        for host in Host::ALL {
            for kind in [Kind::Additive, Kind::Odd, Kind::Broken] {
                let met = |case: &Case| case.kind == kind && case.hosts.contains(&host);
                assert!(all().iter().any(met), "{host} {kind:?}");
            }
        }
        let version = |case: &Case| case.name == "unknown protocol version";
        let case = all().into_iter().find(version).unwrap();
        assert!(
            String::from_utf8(case.body.bytes(None, &Object::default()))
                .unwrap()
                .contains("\"9.0\"")
        );
    }
}
