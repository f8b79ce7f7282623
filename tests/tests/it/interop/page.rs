//! The page with the results: `docs/explanation/interop.md`, which only this test writes.

use std::{fs, path::PathBuf};

use evaluator_tests::bench::build;

use crate::interop::{
    case::{Recorded, Verdict},
    faults::Fault,
};

/// Text before the first host.
const HEAD: &str = "\
# Under the real hosts

<!-- Written by `INTEROP=overwrite cargo test -p evaluator-tests --test it interop -- --ignored`. Do not edit. -->

What real releases of other systems record for evaluators of this toolkit, prepared by `evaluator export` or served by
`evaluator serve`. `cargo test -p evaluator-tests --test it interop -- --ignored --nocapture` installs the releases,
runs everything again, and fails if this page differs from the results.

**Evaluators** are examples of this repository. The verdict, the score, the scores of the turns and the reasons must be
those of `evaluator run` over the same conversation, as far as the host can record them.

- A host without a verdict for evaluators with nothing to judge records a failure or an error.
- AgentV passes from a score of 0.8 on, the others from 0.5.
- Agenta sends no tool calls, so evaluators of tool calls have nothing to judge. Its custom code has no settings.
- ADK does not mark tools that failed.

**Faults** are those of an evaluator that breaks on purpose. If a host has evaluators of its own kind, the next column
has one of those with the same fault. A fault must be recorded as a failure or an error, with its reason, and leave no
process behind. The first two are not faults: they must change nothing. Hosts with a timeout setting stop waiting after
3 s.

| host | evaluators, all as in `evaluator run` | faults recorded as something else | faults of its own kind recorded as something else |
|---|---|---|---|
";

/// Results of one host.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) host: String,
    /// Label and recorded result.
    pub(crate) evaluators: Vec<(String, Recorded)>,
    /// Result of our evaluator, and of one of the host's own kind where there is one.
    pub(crate) faults: Vec<(Fault, Recorded, Option<Recorded>)>,
    pub(crate) own_kind: Option<&'static str>,
}

/// The page.
#[derive(Debug)]
pub(crate) struct Page {
    /// A row of the summary for each host, and its section.
    parts: Vec<(String, String)>,
}

impl Section {
    /// Faults that the host records as something else, by verdict.
    fn misled<'a>(&self, records: impl Iterator<Item = (&'a Fault, &'a Recorded)>) -> String {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for (fault, recorded) in records {
            let as_it_should_be = match recorded.verdict {
                Verdict::Pass => fault.is_harmless,
                Verdict::Fail | Verdict::Error => true,
                _ => false,
            };
            if as_it_should_be {
                continue;
            }
            let verdict = recorded.verdict.to_string();
            match groups.iter_mut().find(|(name, _)| *name == verdict) {
                Some((_, faults)) => faults.push(fault.name),
                None => groups.push((verdict, vec![fault.name])),
            }
        }
        let groups: Vec<String> = groups
            .iter()
            .map(|(verdict, faults)| format!("**{verdict}**: {}", faults.join(", ")))
            .collect();
        if groups.is_empty() { "none".to_owned() } else { groups.join("; ") }
    }

    fn row(&self) -> String {
        let ours = self.misled(self.faults.iter().map(|(fault, ours, _)| (fault, ours)));
        let theirs = match self.own_kind {
            Some(_) => self.misled(
                self.faults.iter().filter_map(|(fault, _, theirs)| Some((fault, theirs.as_ref()?))),
            ),
            None => String::new(),
        };
        format!("| {} | {} | {ours} | {theirs} |\n", self.host, self.evaluators.len())
    }

    fn text(&self) -> String {
        let mut text = format!("\n## {}\n\n| evaluator | recorded |\n|---|---|\n", self.host);
        for (label, recorded) in &self.evaluators {
            text += &format!("| {label} | {recorded} |\n");
        }
        let kind = self.own_kind.map_or_else(String::new, |kind| format!(" {kind} |"));
        let line = self.own_kind.map_or("", |_| "---|");
        text += &format!("\n| fault | ours |{kind}\n|---|---|{line}\n");
        for (fault, ours, theirs) in &self.faults {
            text += &format!("| {} | {ours} |", fault.name);
            if self.own_kind.is_some() {
                text += &theirs.as_ref().map_or_else(|| " |".to_owned(), |it| format!(" {it} |"));
            }
            text += "\n";
        }
        text
    }
}

impl Page {
    pub(crate) fn new(sections: &[Section]) -> Self {
        Self { parts: sections.iter().map(|section| (section.row(), section.text())).collect() }
    }

    /// All of it.
    pub(crate) fn text(&self) -> String {
        let (rows, sections): (String, String) = self.parts.iter().cloned().unzip();
        format!("{HEAD}{rows}{sections}")
    }

    /// Compares the page with the one in the documentation. Returns the problem, if any.
    ///
    /// `is_whole`: no host is missing.
    pub(crate) fn complaint(&self, is_whole: bool) -> Option<String> {
        let there = fs::read_to_string(path()).unwrap_or_default();
        let is_current = if is_whole {
            there == self.text()
        } else {
            let of_host = |(row, section): &(String, String)| {
                there.contains(row.as_str()) && there.contains(section.as_str())
            };
            self.parts.iter().all(of_host)
        };
        (!is_current)
            .then(|| format!("{} is outdated; INTEROP=overwrite writes it again", path().display()))
    }

    pub(crate) fn write(&self) {
        fs::write(path(), self.text()).unwrap();
    }
}

fn path() -> PathBuf {
    build::root().join("docs/explanation/interop.md")
}
