//! Google's ADK 2.13.0: `adk eval` of an agent that needs no model.

use std::{fs, path::PathBuf, process::Command};

use evaluator_tests::bench::build;
use serde_json::{Map, Value, json};

use super::{Host, agentevals};
use crate::case::{ANSWER, Case, Place, Recorded, Verdict, text};

pub(crate) struct Adk {
    pub(crate) python: PathBuf,
}

impl Host for Adk {
    fn name(&self) -> &str {
        "ADK 2.13.0"
    }

    fn target(&self) -> &'static str {
        "adk"
    }

    fn turns(&self) -> usize {
        2
    }

    fn fills_turns(&self) -> bool {
        true
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let folder = place.folder("adk");
        fs::create_dir_all(folder.join("agent")).unwrap();
        for file in ["agent/__init__.py", "agent/agent.py"] {
            fs::copy(build::root().join("tests/interop/drivers").join(file), folder.join(file))
                .unwrap();
        }
        fs::write(folder.join("answer.txt"), ANSWER).unwrap();
        fs::write(folder.join("set.evalset.json"), agentevals::eval_set().to_string()).unwrap();
        fs::write(folder.join("config.json"), config(cases).to_string()).unwrap();
        let mut command = Command::new(self.python.with_file_name("adk"));
        command
            .current_dir(&folder)
            .args(["eval", "agent", "set.evalset.json", "--config_file_path", "config.json"])
            .env("PYTHONPATH", &cases[0].exported)
            .env("ANSWER", folder.join("answer.txt"));
        let output = command.output().unwrap();
        let results = fs::read_dir(folder.join("agent/.adk/eval_history"))
            .unwrap_or_else(|error| panic!("{command:?}: {error}: {}", text(&output)));
        let file = results.map(Result::unwrap).next().unwrap().path();
        let result: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let case_result = &result["eval_case_results"][0];
        cases.iter().map(|case| recorded(case_result, &case.label())).collect()
    }
}

/// The configurations that were exported, as one.
fn config(cases: &[Case]) -> Value {
    let (mut criteria, mut metrics) = (Map::new(), Map::new());
    for case in cases {
        let mut exported: Value = serde_json::from_str(&case.read(".adk.json")).unwrap();
        let mut criterion = exported["criteria"][&case.name].take();
        if !case.fault.is_empty() {
            criterion["fault"] = json!(case.fault);
        }
        criteria.insert(case.label(), criterion);
        metrics.insert(case.label(), exported["custom_metrics"][&case.name].take());
    }
    json!({"criteria": criteria, "custom_metrics": metrics})
}

fn recorded(result: &Value, label: &str) -> Recorded {
    let of = |results: &Value| {
        let mut metrics = results.as_array().into_iter().flatten();
        metrics.find(|metric| metric["metric_name"] == label).cloned()
    };
    let Some(metric) = of(&result["overall_eval_metric_results"]) else { return Recorded::lost() };
    let verdict = match metric["eval_status"].as_u64() {
        Some(1) => Verdict::Pass,
        Some(2) => Verdict::Fail,
        _ => Verdict::Lost,
    };
    let turns = result["eval_metric_result_per_invocation"].as_array().into_iter().flatten();
    Recorded {
        verdict,
        score: metric["score"].as_f64(),
        turns: Some(
            turns.filter_map(|turn| of(&turn["eval_metric_results"])?["score"].as_f64()).collect(),
        ),
        reason: match &metric["details"]["rubric_scores"] {
            Value::Null => String::new(),
            // What is JSON inside is a text here.
            scores => scores.to_string().replace("\\\\", "\\").replace("\\\"", "\""),
        },
    }
}
