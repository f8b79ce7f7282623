//! The page of supported frameworks, `docs/reference/frameworks.md`, which only this test writes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
};

use serde_json::Value;

use super::{
    agentevals::Agentevals,
    recording::{Recording, Seen, items, read},
};

type Results = [(Recording, Seen, Vec<String>)];

/// Text before the first table.
const HEAD: &str = "\
# Agent frameworks

<!-- Written by `PRODUCERS=overwrite cargo test -p evaluator-cli --test it producers`. Do not edit. -->

Real releases of these frameworks and instrumentations wrote traces while a scripted model answered. What evaluators see
of each trace is compared with what happened. The recordings are in
[`tests/producers`](https://github.com/evaluator-rs/evaluator/blob/main/tests/producers/README.md), with the scripts that
record new releases. `evaluator inspect TRACE` shows what is read from a trace of yours; [the
attributes](trace-attributes.md) have a page of their own.

## What is recorded

Scenarios: **S1** a call with nested arguments, **S2** two turns, **S3** two calls at once, **S4** a tool that fails,
**S5** no call. \"Read\" names those that are read as what happened, or says how many of them are. An instrumentation
records what has a **yes** and leaves out what has a **no**; with **partly** it leaves it out in some scenarios. The last
column names the attribute by which `--group-by conversation` puts the traces of one conversation together; without one,
every trace is a conversation of its own.

| framework | version | instrumentation | read | user text | final response | arguments | results | call ids | token usage | conversation |
|---|---|---|---|---|---|---|---|---|---|---|
";

const SWITCHES: &str = "
## How to record content

| instrumentation | content of messages and tools | source |
|---|---|---|
";

const OTHERS: &str = "\
In these recordings agentevals sees something else than what happened, so evaluators may give other scores there. The
difference is on purpose: this command follows what happened.

| framework | version | instrumentation | read | different | reason |
|---|---|---|---|---|---|
";

/// Attributes that name a conversation.
const IDS: [&str; 8] = [
    "gen_ai.conversation.id",
    "session.id",
    "gcp.vertex.agent.session_id",
    "group_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.thread_id",
    "ai.telemetry.metadata.sessionId",
    "ai.settings.context.sessionId",
];

/// Parts of a turn that a producer may leave out, as they are called in `unrecorded` and on the page.
const PARTS: [(&str, &str); 4] = [
    ("user", "user text"),
    ("final", "final response"),
    ("args", "arguments"),
    ("responses", "results"),
];

/// One release of one instrumentation.
#[derive(Default)]
struct Producer<'a> {
    /// Scenarios, and whether each was read correctly.
    scenarios: BTreeMap<&'a str, bool>,
    /// How often a part was there, and how often it was left out.
    parts: BTreeMap<&'static str, (usize, usize)>,
    has_ids: bool,
    has_tokens: bool,
    /// Attributes that name the conversation.
    together: BTreeSet<&'static str>,
}

/// Compares the page with the recordings, or writes it. Returns the problem, if any.
pub(super) fn complaint(results: &Results, directory: &Path) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let table = read(&directory.join("../content.json"));
    let text = text(results, &table, &Agentevals::load(directory));
    let page = root.join("docs/reference/frameworks.md");
    if env::var_os("PRODUCERS").is_some_and(|it| it == "overwrite") {
        fs::write(&page, &text).unwrap();
    }
    let there = fs::read_to_string(&page).unwrap_or_default();
    let complaint = "docs/reference/frameworks.md is outdated; PRODUCERS=overwrite writes it again";
    (there != text).then(|| complaint.to_owned())
}

fn text(results: &Results, table: &Value, agentevals: &Agentevals) -> String {
    let mut producers: BTreeMap<[&str; 3], Producer<'_>> = BTreeMap::new();
    for (recording, seen, differences) in results {
        let producer = producers.entry(header(recording)).or_insert_with(|| {
            let name = &recording.name;
            assert!(entry(table, name).is_some(), "content.json has no entry for {name}");
            Producer::default()
        });
        producer.add(recording, seen, differences.is_empty());
    }
    let rows: String = producers.iter().map(|(header, producer)| producer.row(header)).collect();
    let switches: String = items(table).iter().map(switch).collect();
    let version = agentevals.version();
    let others = of_agentevals(results, agentevals);
    format!(
        "{HEAD}{rows}{SWITCHES}{switches}\n## Read differently by agentevals {version}\n\n{OTHERS}{others}"
    )
}

/// The entry of a list for a producer: the one with the longest name that begins the recording's.
pub(super) fn entry<'a>(list: &'a Value, recording: &str) -> Option<&'a Value> {
    let (name, _) = recording.rsplit_once('_').unwrap();
    let is_of = |entry: &str| {
        name.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let names = items(list).iter().flat_map(|entry| {
        items(&entry["producers"]).iter().map(move |name| (name.as_str().unwrap(), entry))
    });
    let found = names.filter(|(name, _)| is_of(name)).max_by_key(|(name, _)| name.len());
    found.map(|(_, entry)| entry)
}

/// Rows for the instrumentations that agentevals reads differently.
fn of_agentevals(results: &Results, agentevals: &Agentevals) -> String {
    let mut groups: BTreeMap<[&str; 3], (&str, Vec<&[Value]>)> = BTreeMap::new();
    for (recording, ..) in results {
        if let Some(differences) = agentevals.differences(&recording.name) {
            let group = groups.entry(header(recording)).or_insert((&recording.name, Vec::new()));
            group.1.push(differences);
        }
    }
    let mut text = String::new();
    for ([framework, version, instrumentation], (name, found)) in groups {
        let mut parts: Vec<&str> = Vec::new();
        for part in found.iter().copied().flatten().filter_map(Value::as_str) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if !parts.is_empty() {
            let right = found.iter().filter(|it| it.is_empty()).count();
            text += &format!(
                "| {framework} | {version} | {instrumentation} | {right} of {} | {} | {} |\n",
                found.len(),
                parts.join(", "),
                agentevals.reason(name)
            );
        }
    }
    text
}

fn header(recording: &Recording) -> [&str; 3] {
    ["framework", "version", "instrumentation"].map(|key| recording.expected[key].as_str().unwrap())
}

impl<'a> Producer<'a> {
    fn add(&mut self, recording: &'a Recording, seen: &Seen, is_right: bool) {
        self.scenarios.insert(recording.expected["scenario"].as_str().unwrap(), is_right);
        for turn in items(&recording.expected["turns"]) {
            let has_calls = !items(&turn["calls"]).is_empty();
            for (part, _) in PARTS {
                let is_unrecorded = items(&turn["unrecorded"]).iter().any(|it| it == part);
                let (there, missing) = self.parts.entry(part).or_default();
                if is_unrecorded {
                    *missing += 1;
                } else if has_calls || matches!(part, "user" | "final") {
                    *there += 1;
                }
            }
        }
        for turn in seen.conversations.iter().flatten() {
            let calls = items(&turn["intermediate_steps"]["tool_calls"]);
            self.has_ids |= calls.iter().any(|call| call["id"].is_string());
            self.has_tokens |=
                turn["performance_metrics"]["tokens"]["total"].as_u64().is_some_and(|it| it > 0);
        }
        let trace = fs::read_to_string(&recording.trace).unwrap_or_default();
        let has = |key: &&str| trace.contains(&format!("\"key\":\"{key}\""));
        self.together.extend(IDS.into_iter().filter(has));
    }

    fn row(&self, [framework, version, instrumentation]: &[&str; 3]) -> String {
        let right = self.scenarios.values().filter(|right| **right).count();
        let names: Vec<&str> = self.scenarios.keys().copied().collect();
        let read = if right == names.len() {
            names.join(" ")
        } else {
            format!("{right} of {} ({})", names.len(), names.join(" "))
        };
        let parts = PARTS.map(|(part, _)| match self.parts.get(part) {
            Some((_, 0)) | None => "yes",
            Some((0, _)) => "no",
            Some(_) => "partly",
        });
        let yes = |is| if is { "yes" } else { "no" };
        let together: Vec<String> = self.together.iter().map(|key| format!("`{key}`")).collect();
        format!(
            "| {framework} | {version} | {instrumentation} | {read} | {} | {} | {} | {} |\n",
            parts.join(" | "),
            yes(self.has_ids),
            yes(self.has_tokens),
            together.join(", ")
        )
    }
}

/// Row of an entry of `content.json`.
fn switch(entry: &Value) -> String {
    let cells = ["name", "content", "source"].map(|key| entry[key].as_str().unwrap());
    format!("| {} |\n", cells.join(" | "))
}
