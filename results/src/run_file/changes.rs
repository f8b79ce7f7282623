//! What was measured differently in two runs, by the headers of their files.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt, io,
    sync::Arc,
};

use serde_json::Value;

use super::{EvaluatorEntry, Header, foreign};
use crate::{Report, digest::Digest};

/// Settings of a run that decide what is measured.
const SETTINGS: [&str; 7] =
    ["trace_format", "group_by", "strict_matching", "case_key", "task", "task_version", "limits"];

/// Settings of a run that are no reason to refuse a comparison. Clusters change no score, and those of the new run count.
const SAID: [&str; 5] = ["repeat", "cluster", "task_args", "packages", "revision"];

/// Digits of a digest that are shown.
const SHOWN: usize = 12;

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Files, settings or the threshold of an evaluator, or the evaluator itself.
    Evaluator,
    /// The model, the parameters or the prompts of a judge, or a program that answers instead of a model.
    Judge,
    /// Golden cases.
    Golden,
    /// Settings of the run.
    Config,
    /// What may differ between machines, and what is only new. It does not prevent a comparison.
    Environment,
}

impl ChangeKind {
    /// Kinds of changes that prevent a comparison unless they are allowed.
    pub const REFUSED: [Self; 4] = [Self::Evaluator, Self::Config, Self::Golden, Self::Judge];

    /// Returns the word that allows changes of this kind, e.g. `evaluator`; `None` if they prevent nothing.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Evaluator => Some("evaluator"),
            Self::Config => Some("config"),
            Self::Golden => Some("golden"),
            Self::Judge => Some("judge"),
            Self::Environment => None,
        }
    }
}

/// A difference between what two runs measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Evaluator that it is about; `None` if it is about the run.
    pub evaluator: Option<String>,
    /// What differs, e.g. "file `rules.py`".
    pub what: String,
    /// Value in the first run, or the beginning of its digest; `None` if the run does not have it. Without a value in either run, it
    /// is not known whether they differ.
    pub base: Option<String>,
    /// Value in the second run.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(evaluator) = &self.evaluator {
            write!(f, "{evaluator}: ")?;
        }
        if (&self.base, &self.new) == (&None, &None) {
            return f.write_str(&self.what);
        }
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "missing".to_owned());
        write!(f, "{}: {} -> {}", self.what, shown(&self.base), shown(&self.new))
    }
}

/// What two runs measured differently, by what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Changes that prevent a comparison.
    pub refused: Vec<Change>,
    /// Changes that would prevent it, and are allowed.
    pub allowed: Vec<Change>,
    /// Changes that prevent nothing.
    pub said: Vec<Change>,
}

impl Differences {
    /// Compares what two runs measured. Changes of the `allowed` kinds do not prevent a comparison. Of the golden cases, those of
    /// both runs count that the base has a conversation of. A base without a header has no differences.
    ///
    /// # Errors
    ///
    /// A conversation of the base cannot be read back.
    pub fn new(base: &Report, new: &Header, allowed: &[ChangeKind]) -> io::Result<Self> {
        let mut differences = Self::default();
        let Some(header) = &base.header else { return Ok(differences) };
        let mut edited: HashSet<&str> = HashSet::new();
        if let (Some(old), Some(new)) = (&header.golden, &new.golden) {
            let is_edited = |id: &str, was| new.cases.get(id).is_some_and(|now| *now != was);
            let all = old.cases.iter().filter(|(id, was)| is_edited(id, **was));
            edited.extend(all.map(|(id, _)| &**id));
        }
        // Conversations are read only if it matters which cases they are of.
        let mut compared: HashSet<Arc<str>> = HashSet::new();
        if !edited.is_empty() {
            for conversation in base.conversations.iter().outlines() {
                let case = conversation?.eval_case_id;
                compared.extend(case.filter(|case| edited.contains(&**case)));
            }
        }
        for change in changes(header, new, |case| compared.contains(case)) {
            let list = match change.kind {
                ChangeKind::Environment => &mut differences.said,
                kind if allowed.contains(&kind) => &mut differences.allowed,
                _ => &mut differences.refused,
            };
            list.push(change);
        }
        Ok(differences)
    }

    /// Returns the message about the changes that prevent the comparison, with what allows them; `None` if there are none.
    pub fn refusal(&self) -> Option<String> {
        if self.refused.is_empty() {
            return None;
        }
        let refused: Vec<String> = self.refused.iter().map(ToString::to_string).collect();
        let kinds: BTreeSet<_> = self.refused.iter().map(|change| change.kind).collect();
        let words = kinds.into_iter().filter_map(ChangeKind::word);
        let options: Vec<String> = words.map(|word| format!("--allow-changed {word}")).collect();
        Some(format!(
            "the runs did not measure the same:\n{}\n{} compares them all the same",
            refused.join("\n"),
            options.join(" ")
        ))
    }
}

/// Returns everything that two runs measured differently, in the order of the evaluators of the first. Of the golden cases,
/// only those that are compared count.
pub fn changes(base: &Header, new: &Header, is_compared: impl Fn(&str) -> bool) -> Vec<Change> {
    let mut all = Changes(Vec::new());
    let tool = |header: &Header| Some(header.tool.clone());
    all.add(ChangeKind::Environment, None, "version", tool(base), tool(new));
    if base.format != new.format {
        let shown = |header: &Header| Some(header.format.clone());
        let what = "tool (evaluators of the same name may be different ones)";
        all.add(ChangeKind::Evaluator, None, what, shown(base), shown(new));
        return all.0;
    }
    if let Some(what) = foreign::unknown(&base.format) {
        let (what, kind) = (what.to_owned(), ChangeKind::Environment);
        all.0.push(Change { kind, evaluator: None, what, base: None, new: None });
    }
    if base.encoding != new.encoding {
        let shown = |header: &Header| Some(header.encoding.to_string());
        let what =
            "encoding of digests (written by another version, so no evaluator can be compared)";
        all.add(ChangeKind::Evaluator, None, what, shown(base), shown(new));
    } else {
        all.add_evaluators(base, new);
        let golden = [base, new].map(|header| header.golden.clone().unwrap_or_default());
        if golden.iter().any(|golden| golden.digest.is_some()) {
            let [old, new] = golden.each_ref().map(|golden| golden.digest().to_string());
            all.add(ChangeKind::Golden, None, "golden cases", Some(old), Some(new));
        }
        let [old, new] = golden.map(|golden| golden.cases);
        for id in keys(&old, &new).into_iter().filter(|id| is_compared(id)) {
            let what = format!("golden case `{id}`");
            all.add(ChangeKind::Golden, None, what, short(old.get(id)), short(new.get(id)));
        }
    }
    for name in keys(&base.settings, &new.settings) {
        let kind = match name.as_str() {
            "model_roles" => ChangeKind::Judge,
            name if SAID.contains(&name) => ChangeKind::Environment,
            name if SETTINGS.contains(&name) => ChangeKind::Config,
            _ => continue,
        };
        let shown = |header: &Header| match header.settings.get(name) {
            None if name == "repeat" => Some("1".to_owned()),
            setting => setting.map(Value::to_string),
        };
        all.add(kind, None, format!("`{name}`"), shown(base), shown(new));
    }
    all.0
}

/// Returns what two entries of an evaluator measure differently.
pub(super) fn changes_of_evaluator(base: &EvaluatorEntry, new: &EvaluatorEntry) -> Vec<Change> {
    let mut all = Changes(Vec::new());
    all.add_evaluator(base, new);
    all.0
}

struct Changes(Vec<Change>);

impl Changes {
    /// Adds a change if the values differ.
    fn add(
        &mut self,
        kind: ChangeKind,
        evaluator: Option<&str>,
        what: impl Into<String>,
        base: Option<String>,
        new: Option<String>,
    ) {
        if base != new {
            let (evaluator, what) = (evaluator.map(str::to_owned), what.into());
            self.0.push(Change { kind, evaluator, what, base, new });
        }
    }

    fn add_evaluators(&mut self, base: &Header, new: &Header) {
        for old in &base.evaluators {
            let name = Some(&*old.name);
            match new.entry(&old.name) {
                Some(new) => self.add_evaluator(old, new),
                None => {
                    let kind = Some(old.kind.clone());
                    self.add(ChangeKind::Evaluator, name, "evaluator", kind, None);
                }
            }
        }
        for added in new.evaluators.iter().filter(|it| base.entry(&it.name).is_none()) {
            let (name, kind) = (Some(&*added.name), Some(added.kind.clone()));
            self.add(ChangeKind::Environment, name, "evaluator", None, kind);
        }
    }

    fn add_evaluator(&mut self, old: &EvaluatorEntry, new: &EvaluatorEntry) {
        let name = Some(&*old.name);
        // One that cannot run measures nothing.
        if [old, new].iter().any(|entry| entry.kind == "broken") {
            return;
        }
        let [one, two] = [old, new].map(|entry| Some(entry.threshold.to_string()));
        self.add(ChangeKind::Evaluator, name, "threshold", one, two);
        if old.fingerprint.is_none() || new.fingerprint.is_none() {
            self.0.push(Change {
                kind: ChangeKind::Evaluator,
                evaluator: name.map(str::to_owned),
                what: "fingerprint (changes of the evaluator would not be noticed)".to_owned(),
                base: short(old.fingerprint.as_ref()),
                new: short(new.fingerprint.as_ref()),
            });
            return;
        }
        for (part, one, two) in [
            ("file", &old.parts.code, &new.parts.code),
            ("setting", &old.parts.settings, &new.parts.settings),
            ("environment", &old.parts.environment, &new.parts.environment),
        ] {
            let is_of_suite = part == "setting" && old.kind == "suite";
            let is_compared = |key: &&String| match part {
                // They are cases, by their ids: one that only one run has is not compared.
                "setting" if is_of_suite => one.contains_key(*key) && two.contains_key(*key),
                // It is shown with its values.
                "setting" => *key != "threshold",
                _ => true,
            };
            for key in keys(one, two).into_iter().filter(is_compared) {
                let kind = kind_of(&old.kind, part, key);
                let what = format!("{part} `{key}`");
                self.add(kind, name, what, short(one.get(key)), short(two.get(key)));
            }
        }
    }
}

/// Returns the kind of a change of a part of the fingerprint of an evaluator of this kind.
fn kind_of(evaluator: &str, part: &str, key: &str) -> ChangeKind {
    let is_of_model = |key: &str| ["judge.", "models."].iter().any(|it| key.starts_with(it));
    match (part, key) {
        ("environment", _) => ChangeKind::Environment,
        ("setting", _) if evaluator == "suite" => ChangeKind::Evaluator,
        ("setting", "missing_turns") => ChangeKind::Config,
        ("setting", key) if evaluator == "judge" || is_of_model(key) => ChangeKind::Judge,
        ("file", key) if key.starts_with("command:") => ChangeKind::Judge,
        _ => ChangeKind::Evaluator,
    }
}

fn keys<'m, V>(one: &'m BTreeMap<String, V>, two: &'m BTreeMap<String, V>) -> BTreeSet<&'m String> {
    one.keys().chain(two.keys()).collect()
}

fn short(digest: Option<&Digest>) -> Option<String> {
    digest.map(|digest| digest.to_string().chars().take(SHOWN).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        ConversationReport,
        digest::Digester,
        run_file::{FingerprintParts, Golden},
    };

    fn digest(text: &str) -> Digest {
        Digester::new(text).finish()
    }

    fn entry(name: &str, kind: &str) -> EvaluatorEntry {
        let parts = FingerprintParts {
            code: [("rules.py".to_owned(), digest("1"))].into(),
            settings: [("judge.models".to_owned(), digest("1")), ("args".to_owned(), digest("1"))]
                .into(),
            environment: [("interpreter".to_owned(), digest("1"))].into(),
        };
        EvaluatorEntry {
            name: name.to_owned(),
            kind: kind.to_owned(),
            contract: None,
            threshold: 0.5,
            repeat: 1,
            fingerprint: Some(parts.fingerprint()),
            parts,
            certificate: None,
        }
    }

    fn header() -> Header {
        let case = |id: &str| (id.to_owned(), digest("1"));
        Header {
            tool: "evaluator 1.0.0".to_owned(),
            settings: [("group_by".to_owned(), json!("trace")), ("retries".to_owned(), json!(0))]
                .into(),
            golden: Some(Golden {
                id: "g".to_owned(),
                cases: [case("a"), case("b")].into(),
                ..Golden::default()
            }),
            evaluators: vec![entry("check", "code"), entry("asks", "judge")],
            ..Header::default()
        }
    }

    /// Returns the changes by an edit; the golden case `a` is compared.
    fn by(edit: impl Fn(&mut Header)) -> Vec<(ChangeKind, String)> {
        let (base, mut new) = (header(), header());
        edit(&mut new);
        let changes = changes(&base, &new, |case| case == "a");
        changes.into_iter().map(|change| (change.kind, change.to_string())).collect()
    }

    #[test]
    fn each_change_is_named_with_both_values() {
        use ChangeKind::*;
        let shown = |text: &str| short(Some(&digest(text))).unwrap();
        let digests = format!("{} -> {}", shown("1"), shown("2"));
        let gone = format!("{} -> missing", shown("1"));
        assert_eq!(by(|_| ()), []);
        type Row<'r> = (&'r dyn Fn(&mut Header), ChangeKind, String);
        let rows: [Row<'_>; 16] = [
            (
                &|it| {
                    it.evaluators[0].parts.code.insert("rules.py".to_owned(), digest("2"));
                },
                Evaluator,
                format!("check: file `rules.py`: {digests}"),
            ),
            (
                &|it| {
                    it.evaluators[0].parts.code.remove("rules.py");
                },
                Evaluator,
                format!("check: file `rules.py`: {gone}"),
            ),
            (
                &|it| {
                    it.evaluators[0].parts.settings.insert("args".to_owned(), digest("2"));
                },
                Evaluator,
                format!("check: setting `args`: {digests}"),
            ),
            (
                &|it| {
                    let settings = &mut it.evaluators[0].parts.settings;
                    settings.insert("threshold".to_owned(), digest("2"));
                    it.evaluators[0].threshold = 0.75;
                },
                Evaluator,
                "check: threshold: 0.5 -> 0.75".to_owned(),
            ),
            (
                &|it| {
                    let settings = &mut it.evaluators[1].parts.settings;
                    settings.insert("judge.models".to_owned(), digest("2"));
                },
                Judge,
                format!("asks: setting `judge.models`: {digests}"),
            ),
            (
                &|it| {
                    let code = &mut it.evaluators[0].parts.code;
                    code.insert("command:j".to_owned(), digest("2"));
                },
                Judge,
                format!("check: file `command:j`: missing -> {}", shown("2")),
            ),
            (
                &|it| {
                    let settings = &mut it.evaluators[0].parts.settings;
                    settings.insert("missing_turns".to_owned(), digest("2"));
                },
                Config,
                format!("check: setting `missing_turns`: missing -> {}", shown("2")),
            ),
            (
                &|it| {
                    let environment = &mut it.evaluators[0].parts.environment;
                    environment.insert("interpreter".to_owned(), digest("2"));
                },
                Environment,
                format!("check: environment `interpreter`: {digests}"),
            ),
            (
                &|it| it.evaluators[0].fingerprint = None,
                Evaluator,
                format!(
                    "check: fingerprint (changes of the evaluator would not be noticed): {} -> missing",
                    short(header().evaluators[0].fingerprint.as_ref()).unwrap()
                ),
            ),
            (
                &|it| drop(it.evaluators.remove(1)),
                Evaluator,
                "asks: evaluator: judge -> missing".to_owned(),
            ),
            (
                &|it| it.evaluators.push(entry("more", "code")),
                Environment,
                "more: evaluator: missing -> code".to_owned(),
            ),
            (
                &|it| {
                    let cases = &mut it.golden.as_mut().unwrap().cases;
                    cases.insert("a".to_owned(), digest("2"));
                    cases.insert("b".to_owned(), digest("2"));
                },
                Golden,
                format!("golden case `a`: {digests}"),
            ),
            (
                &|it| {
                    it.settings.insert("group_by".to_owned(), json!("session"));
                    it.settings.insert("retries".to_owned(), json!(1));
                },
                Config,
                "`group_by`: \"trace\" -> \"session\"".to_owned(),
            ),
            (
                &|it| {
                    it.settings.insert("cluster".to_owned(), json!("session"));
                },
                Environment,
                "`cluster`: missing -> \"session\"".to_owned(),
            ),
            (
                &|it| {
                    it.settings.insert("case_key".to_owned(), json!("item"));
                },
                Config,
                "`case_key`: missing -> \"item\"".to_owned(),
            ),
            (
                &|it| it.tool = "evaluator 1.1.0".to_owned(),
                Environment,
                "version: evaluator 1.0.0 -> evaluator 1.1.0".to_owned(),
            ),
        ];
        for (edit, kind, text) in rows {
            assert_eq!(by(edit), [(kind, text)]);
        }
    }

    #[test]
    fn files_and_cases_are_not_settings_whatever_their_names() {
        let names = ["threshold", "missing_turns", "judge.py", "models.py", "command:a"];
        let digests = |text: &str| names.map(|name| (name.to_owned(), digest(text))).into();
        let of_case = |text: &str| {
            let parts = FingerprintParts { settings: digests(text), ..FingerprintParts::default() };
            let entry = entry("cases", "suite");
            Header { evaluators: vec![EvaluatorEntry { parts, ..entry }], ..Header::default() }
        };
        let cases = changes(&of_case("1"), &of_case("2"), |_| true);
        let files = by(|it| it.evaluators[0].parts.code = digests("2"));
        let cases: Vec<_> = cases.iter().map(|it| (it.what.clone(), it.kind)).collect();
        let case = |name: &str| (format!("setting `{name}`"), ChangeKind::Evaluator);
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(cases, sorted.map(case));
        let kinds = |name: &str| {
            let of = |text: &str| text.contains(&format!("file `{name}`"));
            files.iter().find(|(_, text)| of(text)).map(|(kind, _)| *kind)
        };
        let code = Some(ChangeKind::Evaluator);
        assert_eq!(names.map(kinds), [code, code, code, code, Some(ChangeKind::Judge)]);
    }

    #[test]
    fn a_case_of_a_suite_that_one_run_has_is_not_compared() {
        let suite = |cases: &[(&str, &str)]| {
            let settings = cases.iter().map(|(id, text)| ((*id).to_owned(), digest(text)));
            let parts =
                FingerprintParts { settings: settings.collect(), ..FingerprintParts::default() };
            let entry = EvaluatorEntry { parts, ..entry("cases", "suite") };
            Header { evaluators: vec![entry], ..Header::default() }
        };
        let (base, new) =
            (suite(&[("a", "1"), ("b", "1")]), suite(&[("a", "1"), ("b", "2"), ("c", "1")]));
        let found = changes(&base, &new, |_| true);
        let found: Vec<&str> = found.iter().map(|it| &*it.what).collect();
        assert_eq!(found, ["setting `b`"]);
    }

    fn base(header: Header) -> Report {
        Report { header: Some(Arc::new(header)), ..Report::default() }
    }

    #[test]
    fn golden_cases_without_a_conversation_in_the_base_may_change() {
        let (mut base, mut new) = (base(header()), header());
        new.golden.as_mut().unwrap().cases.values_mut().for_each(|it| *it = digest("2"));
        let of = |case: &str| ConversationReport {
            eval_case_id: Some(case.into()),
            ..ConversationReport::default()
        };
        base.conversations = vec![of("a"), of("c")].into();
        let found = Differences::new(&base, &new, &[]).unwrap().refused;
        let found: Vec<&str> = found.iter().map(|it| &*it.what).collect();
        assert_eq!(found, ["golden case `a`"]);
    }

    #[test]
    fn a_change_prevents_a_comparison_unless_its_kind_is_allowed() {
        let (base, mut new) = (base(header()), header());
        new.evaluators[0].threshold = 0.75;
        new.settings.insert("group_by".to_owned(), json!("session"));
        new.tool = "evaluator 1.1.0".to_owned();
        let counts = |allowed: &[ChangeKind]| {
            let found = Differences::new(&base, &new, allowed).unwrap();
            let lists = [&found.refused, &found.allowed, &found.said];
            (lists.map(Vec::len), found.refusal())
        };
        let (lists, refusal) = counts(&[]);
        assert_eq!(lists, [2, 0, 1]);
        let refusal = refusal.unwrap();
        assert!(refusal.contains("\ncheck: threshold: 0.5 -> 0.75\n"), "{refusal}");
        let hint = "\n--allow-changed evaluator --allow-changed config compares them all the same";
        assert!(refusal.ends_with(hint), "{refusal}");
        assert_eq!(counts(&[ChangeKind::Golden, ChangeKind::Config]).0, [1, 1, 1]);
        assert_eq!(counts(&ChangeKind::REFUSED), ([0, 2, 1], None));
    }

    #[test]
    fn what_cannot_run_and_other_digests_are_not_compared() {
        let broken = |it: &mut Header| {
            it.evaluators[0] = EvaluatorEntry {
                name: "check".to_owned(),
                kind: "broken".to_owned(),
                ..EvaluatorEntry::default()
            };
        };
        assert_eq!(by(broken), []);
        let other = by(|it| {
            it.encoding = 3;
            it.evaluators[0].parts.code.clear();
        });
        let [(ChangeKind::Evaluator, text)] = &other[..] else { panic!("{other:?}") };
        assert!(text.starts_with("encoding of digests (") && text.ends_with("0 -> 3"), "{text}");
    }
}
