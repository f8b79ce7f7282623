//! The documents that each host sends, in the form in which it sends them.
//!
//! | host | form |
//! |---|---|
//! | agentevals | one line, no line end |
//! | AgentV | two blanks for each level, no line end; `agentv pipeline grade`: one line |
//! | ADK, through the metric | one line with a line end |
//! | Agenta, custom code | one line with blanks after `,` and `:` |
//! | Agenta, webhook | one line, as it is the body of a request |

use super::{
    Case, Host, Kind,
    case::Body,
    host::Host::{
        Adk, AgentV2, AgentV4, AgentV5, AgentaCode1, AgentaCode2, AgentaCode3, AgentaWebhook,
        Agentevals,
    },
};

/// Bytes by which a large document is larger than a plain one.
const LARGE: usize = 1 << 20;

/// Characters of an answer from which on AgentV puts it into a file are 50,000; this is more in bytes and characters.
const FILE_BACKED: usize = 80_000;

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("data/", $name, ".json")).trim_ascii_end()
    };
}

/// The form of one host's plain document, on which faults are built, too.
pub(super) struct Base {
    pub(super) hosts: &'static [Host],
    pub(super) text: &'static str,
    pub(super) turns: usize,
    /// What the host writes behind it.
    pub(super) end: &'static str,
    /// A text in it that may be longer.
    pub(super) grows: &'static str,
}

/// The plain documents there are.
pub(super) const BASES: [Base; 7] = [
    Base {
        hosts: &[Agentevals],
        text: data!("agentevals-plain"),
        turns: 2,
        end: "",
        grows: "You are welcome.",
    },
    Base {
        hosts: &[AgentV2],
        text: data!("agentv2-plain"),
        turns: 1,
        end: "",
        grows: "The last train to Basel leaves at 23:38.",
    },
    Base {
        hosts: &[AgentV4, AgentV5],
        text: data!("agentv4-plain"),
        turns: 1,
        end: "",
        grows: "I will look it up.",
    },
    Base {
        hosts: &[Adk],
        text: data!("adk-plain"),
        turns: 2,
        end: "\n",
        grows: "Have a good trip!",
    },
    Base { hosts: &[AgentaCode1], text: data!("agenta1-plain"), turns: 1, end: "", grows: "Basel" },
    Base {
        hosts: &[AgentaCode2, AgentaCode3],
        text: data!("agenta2-plain"),
        turns: 1,
        end: "",
        grows: "Basel",
    },
    Base {
        hosts: &[AgentaWebhook],
        text: data!("webhook-plain"),
        turns: 1,
        end: "",
        grows: "Basel",
    },
];

/// The name of the documents that have everything in them.
pub(super) const PLAIN: &str = "plain";

/// The documents of all hosts.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for Base { hosts, text, turns, end, grows } in BASES {
        let document = |name, body| Case { name, kind: Kind::Document, hosts, turns, body };
        if hosts == [AgentV4, AgentV5] {
            // They differ in what they send, and put a long answer into a file.
            continue;
        }
        cases.push(document(PLAIN, Body::new(format!("{text}{end}"))));
        cases.push(document("large", Body::grown(format!("{text}{end}"), grows, LARGE)));
    }
    let mut add = |hosts, name, turns, text: &str| {
        cases.push(Case { name, kind: Kind::Document, hosts, turns, body: Body::new(text) });
    };

    add(&[Agentevals], "empty", 1, data!("agentevals-empty"));
    add(&[Agentevals], "nulls", 1, data!("agentevals-nulls"));

    add(&[AgentV2], "few keys", 1, data!("agentv2-partial"));
    add(&[AgentV2], "empty", 1, data!("agentv2-empty"));
    add(&[AgentV2], "nulls", 1, data!("agentv2-nulls"));
    add(&[AgentV2], "content blocks", 1, data!("agentv2-blocks"));

    add(&[AgentV4], PLAIN, 1, data!("agentv4-plain"));
    add(&[AgentV5], PLAIN, 1, data!("agentv5-plain"));
    add(&[AgentV4, AgentV5], "nulls", 1, data!("agentv4-nulls"));
    add(&[AgentV5], "empty", 1, data!("agentv5-empty"));
    add(&[AgentV4, AgentV5], "content blocks", 1, data!("agentv4-blocks"));
    add(&[AgentV4], "camelCase, pipeline grade", 1, data!("agentv4-pipeline"));
    add(&[AgentV4], "camelCase, eval assert", 1, data!("agentv4-assert"));

    for (name, turns, text) in [
        ("scenario", 3, data!("adk-scenario")),
        ("image, no response", 2, data!("adk-silent")),
        ("nulls", 2, data!("adk-nulls")),
        ("camelCase", 2, data!("adk-camel")),
        ("no turns", 0, data!("adk-empty")),
    ] {
        add(&[Adk], name, turns, &format!("{text}\n"));
    }

    add(&[AgentaCode1], "empty", 1, data!("agenta1-empty"));
    add(&[AgentaCode1], "object", 1, data!("agenta1-object"));
    add(&[AgentaCode1], "number", 1, data!("agenta1-number"));
    add(&[AgentaCode2, AgentaCode3], "empty", 1, data!("agenta2-empty"));
    add(&[AgentaCode2, AgentaCode3], "object", 1, data!("agenta2-object"));
    add(&[AgentaWebhook], "empty", 1, data!("webhook-empty"));
    add(&[AgentaWebhook], "object as text", 1, data!("webhook-object"));

    cases.push(Case {
        name: "large, answer in a file",
        kind: Kind::Document,
        hosts: &[AgentV4, AgentV5],
        turns: 1,
        body: Body::grown(data!("agentv4-file"), "@ANSWER@", FILE_BACKED),
    });
    cases
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::json::Object;

    #[test]
    fn every_host_has_documents_that_are_json_and_have_names_of_their_own() {
        let cases = all();
        for host in Host::ALL {
            let mine: Vec<_> = cases.iter().filter(|case| case.hosts.contains(&host)).collect();
            let names: BTreeSet<_> = mine.iter().map(|case| case.name).collect();
            assert!(mine.len() >= 3 && names.contains(PLAIN), "{host}: {names:?}");
            assert_eq!(names.len(), mine.len(), "{host}: {names:?}");
        }
        for case in cases {
            let bytes = case.body.bytes(None, &Object::default());
            let parsed = serde_json::from_slice::<serde_json::Value>(&bytes);
            assert!(parsed.is_ok_and(|value| value.is_object()), "{}", case.name);
        }
    }

    #[test]
    fn turns_are_counted() {
        for case in all().into_iter().filter(|case| case.hosts == [Adk]) {
            let document: serde_json::Value =
                serde_json::from_slice(&case.body.bytes(None, &Object::default())).unwrap();
            let turns = document.get("actual_invocations").or(document.get("actualInvocations"));
            assert_eq!(turns.unwrap().as_array().unwrap().len(), case.turns, "{}", case.name);
        }
    }

    #[test]
    fn large_documents_are_larger_than_a_pipe_holds() {
        for case in all().iter().filter(|case| case.name.starts_with("large")) {
            assert!(case.body.bytes(None, &Object::default()).len() > 70_000, "{:?}", case.hosts);
        }
    }

    #[test]
    fn documents_are_written_as_their_host_writes_them() {
        for case in all() {
            let text = String::from_utf8(case.body.bytes(None, &Object::default())).unwrap();
            let lines = text.trim_end().lines().count();
            let pretty = case.hosts[0].system() == "agentv" && !case.name.contains("pipeline");
            assert_eq!(lines > 1, pretty, "{:?} {}", case.hosts, case.name);
            assert_eq!(text.ends_with('\n'), case.hosts == [Adk], "{:?} {}", case.hosts, case.name);
        }
    }
}
