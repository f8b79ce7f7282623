//! Cases: the arguments of a run of the original host and what it printed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evaluator_host::{
    conversation::{Conversation, GroupBy, RunPerformance, extract},
    eval_set::{CaseIndex, EvalCase, EvalSet, Unmatched},
    json::{self, Value},
    metric::{MatchType, MetricInput},
    trace::{self, TraceFormats},
    verdict::Verdict,
};

use super::{
    difference::compare,
    wire::{invocations, serialized},
};

/// A directory with `goldens`, `traces` and `eval_sets`.
pub(crate) struct Corpus {
    root: PathBuf,
}

/// A run of the original host.
pub(crate) struct Case {
    pub(crate) id: String,
    args: Vec<String>,
    output: Value,
}

impl Corpus {
    pub(crate) fn open(root: &Path) -> Option<Self> {
        root.join("goldens").is_dir().then(|| Self { root: root.to_owned() })
    }

    /// The runs that printed JSON about traces, by id.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.root.join("goldens"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files.iter().filter_map(|file| Case::read(file)).collect()
    }

    /// The eval set; one that cannot be loaded counts as none.
    fn eval_set(&self, path: &str) -> Option<EvalSet> {
        EvalSet::load(&self.root.join(path)).ok()
    }
}

impl Case {
    fn read(file: &Path) -> Option<Self> {
        let golden = json::parse_python(&fs::read_to_string(file).unwrap()).unwrap();
        let output = golden.get("stdout_json").filter(|output| output.get("traces").is_some())?;
        let args = golden.get("args")?.as_array()?;
        Some(Self {
            id: file.file_stem()?.to_str()?.to_owned(),
            args: args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect(),
            output: output.clone(),
        })
    }

    fn option(&self, name: &str) -> Option<&str> {
        let position = self.args.iter().position(|arg| arg == name)?;
        self.args.get(position + 1).map(String::as_str)
    }

    /// Extracts the conversations of this case and says how they differ from those of the original.
    pub(crate) fn differences(&self, corpus: &Corpus) -> Vec<String> {
        let all = TraceFormats::default();
        let formats = all.given(self.option("-f").map(|name| all.find(name).unwrap()).as_ref());
        let files = self.args.iter().take_while(|arg| !arg.starts_with('-'));
        let paths: Vec<PathBuf> = files.map(|file| corpus.root.join(file)).collect();
        // Files that cannot be loaded have no conversations.
        let loaded = paths.iter().filter_map(|path| trace::load_file(path, &formats).ok());
        let traces: Vec<_> = loaded.flat_map(|file| file.traces).collect();
        let group_by = match self.option("--group-by") {
            Some("trace") => GroupBy::Trace,
            Some("conversation") => GroupBy::Conversation,
            _ => GroupBy::Auto,
        };
        let eval_set = self.option("-e").and_then(|path| corpus.eval_set(path));
        let multi_turn =
            eval_set.iter().flat_map(|set| &set.cases).any(|case| case.turns.len() > 1);
        let conversations = extract(&traces, group_by, multi_turn);

        let mut found = Vec::new();
        let expected = self.output.get("traces").and_then(Value::as_array).unwrap();
        if conversations.len() != expected.len() {
            found.push(format!("{} conversations, not {}", conversations.len(), expected.len()));
            return found;
        }
        let cases = CaseIndex::new(eval_set.as_ref());
        for (conversation, expected) in conversations.iter().zip(expected) {
            compare_conversation(conversation, expected, &mut found);
            let golden = cases.find(conversation, conversations.len());
            let golden = golden.as_ref().map(|matched| matched.case);
            self.compare_metrics(conversation, golden, expected, &mut found);
        }
        let performance = RunPerformance::of(
            conversations.iter().map(|conversation| conversation.performance.as_ref()),
        );
        let performance = performance.as_ref().map(serialized);
        compare(
            &performance.unwrap_or_default(),
            self.output.get("performance_metrics").unwrap_or(&Value::Null),
            "run performance",
            &mut found,
        );
        found
    }

    /// Compares what the built-in metrics say, unless their settings are in a config file.
    fn compare_metrics(
        &self,
        conversation: &Conversation,
        golden: Result<&EvalCase, &Unmatched>,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        if !matches!(self.option("-c"), None | Some("configs/full.yaml")) {
            return;
        }
        let match_type = self.option("--trajectory-match-type").unwrap_or("EXACT");
        let input = MetricInput::new(&conversation.turns, golden, 0.5);
        let metrics = evaluator_host::metric::built_in();
        for expected in expected.get("metrics").and_then(Value::as_array).unwrap_or_default() {
            let name = expected.get("metric_name").and_then(Value::as_str).unwrap();
            let has_match_type = metrics.with_setting(MatchType::KEY).any(|other| other == name);
            let settings = (MatchType::KEY.to_owned(), Value::from(match_type));
            let settings = has_match_type.then_some(settings).into_iter().collect();
            let Ok(metric) = metrics.configured(name, &settings) else { continue };
            let Verdict::Answer(answer) = metric.evaluate(&input).into() else {
                found.push(format!("{name} failed"));
                continue;
            };
            let number = |score: Option<f64>| score.map_or(Value::Null, Value::Float);
            let expect = |key: &str| expected.get(key).cloned().unwrap_or_default();
            let path = |key: &str| format!("{name}.{key}");
            compare(&number(answer.score), &expect("score"), &path("score"), found);
            let scores = answer.per_invocation_scores.into_iter().map(number).collect();
            let key = "per_invocation_scores";
            compare(&Value::Array(scores), &expect(key), &path(key), found);
            let details = answer.details.map_or(Value::Null, Value::Object);
            compare(&details, &expect("details"), &path("details"), found);
        }
    }
}

fn compare_conversation(conversation: &Conversation, expected: &Value, found: &mut Vec<String>) {
    let text = |text: &str| Value::String(text.to_owned());
    let expect = |key: &str| expected.get(key).cloned().unwrap_or_default();
    compare(&text(&conversation.trace_id), &expect("trace_id"), "trace_id", found);
    let warnings = conversation.warnings.iter().map(|warning| text(warning)).collect();
    compare(&Value::Array(warnings), &expect("conversion_warnings"), "warnings", found);
    let count = Value::Int(conversation.turns.len().try_into().unwrap());
    compare(&count, &expect("num_invocations"), "num_invocations", found);
    let performance = conversation.performance.as_ref().map(serialized);
    compare(&performance.unwrap_or_default(), &expect("performance_metrics"), "performance", found);
    let metrics = expected.get("metrics").and_then(Value::as_array).unwrap_or_default();
    let echoed = metrics.iter().find_map(|metric| {
        metric.get("details")?.get("eval_input")?.get("invocations")?.as_array()
    });
    if let Some(echoed) = echoed {
        let own = invocations(&conversation.turns);
        compare(&own, &Value::Array(echoed.to_vec()), "invocations", found);
    }
}
