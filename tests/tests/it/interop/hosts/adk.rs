//! Google's ADK: `adk eval` of an agent that needs no model.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Map, Value, json};

use super::{Host, version_in};
use crate::interop::{
    case::{Case, LIMIT, Recorded, Verdict},
    conversation::Conversation,
    faults::{self, Fault},
    place::{Place, Said, driver},
};

/// Time after which a command counts as hanging.
const TIME_LIMIT: Duration = Duration::from_secs(45);

pub(super) struct Adk {
    python: PathBuf,
    name: String,
}

impl Adk {
    pub(super) fn new(python: PathBuf) -> Self {
        let name = format!("ADK {}", version_in(&python, "google-adk"));
        Self { python, name }
    }

    /// The results of the case, if there are any.
    fn run(
        &self,
        place: &Place,
        directory: &Path,
        config: &Value,
        modules: &str,
        limit: Option<Duration>,
    ) -> Result<Value, Said> {
        fs::create_dir_all(directory.join("agent")).unwrap();
        for file in ["agent/__init__.py", "agent/agent.py"] {
            fs::copy(driver(file), directory.join(file)).unwrap();
        }
        let conversation = self.conversation();
        fs::write(directory.join("turns.json"), turns(&conversation).to_string()).unwrap();
        fs::write(directory.join("set.evalset.json"), conversation.eval_set().to_string()).unwrap();
        fs::write(directory.join("config.json"), config.to_string()).unwrap();
        let mut command = place.command(self.python.with_file_name("adk"));
        command
            .current_dir(directory)
            .args(["eval", "agent", "set.evalset.json", "--config_file_path", "config.json"])
            .env("PYTHONPATH", modules)
            .env("TURNS", directory.join("turns.json"));
        let said = match limit {
            Some(limit) => place.run_for(&mut command, limit),
            None => place.run(&mut command),
        };
        let file = fs::read_dir(directory.join("agent/.adk/eval_history"))
            .ok()
            .and_then(|mut files| Some(files.next()?.unwrap().path()));
        let Some(file) = file else { return Err(said) };
        let result: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        Ok(result["eval_case_results"][0].clone())
    }
}

impl Host for Adk {
    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> &'static str {
        "adk"
    }

    /// It has no mark for calls that failed.
    fn conversation(&self) -> Conversation {
        Conversation::two_turns().without_failures()
    }

    fn not_evaluated(&self) -> Verdict {
        Verdict::NotEvaluated
    }

    fn fills_turns(&self) -> bool {
        true
    }

    fn explains(&self) -> bool {
        true
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let (mut criteria, mut metrics) = (Map::new(), Map::new());
        for case in cases {
            let mut exported: Value = serde_json::from_str(&case.read(".adk.json")).unwrap();
            let mut criterion = exported["criteria"][&case.name].take();
            for (key, value) in case.config.as_object().into_iter().flatten() {
                criterion[key] = value.clone();
            }
            if case.hangs {
                criterion["timeout"] = json!(LIMIT);
            }
            criteria.insert(case.label.clone(), criterion);
            metrics.insert(case.label.clone(), exported["custom_metrics"][&case.name].take());
        }
        let config = json!({"criteria": criteria, "custom_metrics": metrics});
        let mut modules: Vec<&str> =
            cases.iter().map(|case| case.exported.to_str().unwrap()).collect();
        modules.dedup();
        match self.run(place, &place.directory("adk"), &config, &modules.join(":"), None) {
            Ok(result) => cases.iter().map(|case| recorded(&result, &case.label)).collect(),
            Err(said) => panic!("there is no result: {said:?}"),
        }
    }

    fn own_kind(&self) -> Option<&'static str> {
        Some("Python, a function in the host's process")
    }

    fn judge_own_kind(&self, faults: &[Fault], place: &Place) -> Vec<Recorded> {
        let modules = driver("theirs");
        faults::apart(faults, |some| {
            let directory =
                place.directory(&format!("own-kind/{}", some[0].name.replace(' ', "-")));
            let (mut criteria, mut metrics) = (Map::new(), Map::new());
            for fault in some {
                let criterion = json!({"threshold": 0.5, "fault": fault.name});
                criteria.insert(fault.name.to_owned(), criterion);
                let metric = json!({"code_config": {"name": "adk_metric.evaluate"}});
                metrics.insert(fault.name.to_owned(), metric);
            }
            let config = json!({"criteria": criteria, "custom_metrics": metrics});
            let limit = some[0].hangs.then_some(TIME_LIMIT);
            match self.run(place, &directory, &config, modules.to_str().unwrap(), limit) {
                Ok(result) => Ok(some.iter().map(|fault| recorded(&result, fault.name)).collect()),
                Err(Said { status: None, .. }) => Err(Recorded::only(Verdict::HostHung)),
                Err(_) => Err(Recorded::only(Verdict::HostDied)),
            }
        })
    }
}

/// Response of the agent to one of the questions.
fn turns(conversation: &Conversation) -> Value {
    let turns = conversation.turns.iter().map(|turn| {
        let calls: Vec<Value> = turn
            .calls
            .iter()
            .map(|call| json!({"name": call.name, "args": call.arguments, "response": call.result}))
            .collect();
        (turn.question.to_owned(), json!({"calls": calls, "answer": turn.answer}))
    });
    Value::Object(turns.collect())
}

fn recorded(result: &Value, label: &str) -> Recorded {
    let of = |results: &Value| {
        let mut metrics = results.as_array().into_iter().flatten();
        metrics.find(|metric| metric["metric_name"] == label).cloned()
    };
    let Some(metric) = of(&result["overall_eval_metric_results"]) else {
        return Recorded::only(Verdict::Lost);
    };
    let verdict = match metric["eval_status"].as_u64() {
        Some(1) => Verdict::Pass,
        Some(2) => Verdict::Fail,
        Some(3) => Verdict::NotEvaluated,
        _ => Verdict::Lost,
    };
    let turns = result["eval_metric_result_per_invocation"].as_array().into_iter().flatten();
    let turns = turns.filter_map(|turn| Some(of(&turn["eval_metric_results"])?["score"].as_f64()));
    Recorded {
        verdict,
        score: metric["score"].as_f64(),
        turns: Some(turns.collect()),
        details: None,
        reason: match &metric["details"]["rubric_scores"] {
            Value::Null => String::new(),
            scores => scores.to_string(),
        },
    }
}
