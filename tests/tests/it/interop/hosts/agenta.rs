//! Agenta: custom code of each interface in its local runner, and webhooks and remote workflows that `evaluator serve`
//! answers, all through its SDK.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Host, server::Server, version_in};
use crate::interop::{
    case::{Case, LIMIT, Recorded, Verdict},
    conversation::Conversation,
    faults::{self, Fault},
    place::{Place, driver},
};

/// Seconds that Agenta gives custom code.
const USUAL_LIMIT: u32 = 45;

pub(super) struct Agenta {
    python: PathBuf,
    form: Form,
    name: String,
}

/// How evaluators are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The interface of custom code.
    Code(&'static str),
    Webhook,
    Remote,
}

/// Every form.
pub(super) fn all(python: &Path) -> impl Iterator<Item = Box<dyn Host>> {
    let release = version_in(python, "agenta");
    let python = python.to_owned();
    [Form::Code("1"), Form::Code("2"), Form::Code("3"), Form::Webhook, Form::Remote]
        .into_iter()
        .map(move |form| {
            let form_name = match form {
                Form::Code(version) => format!("custom code v{version}"),
                Form::Webhook => "webhook".to_owned(),
                Form::Remote => "remote workflow".to_owned(),
            };
            let name = format!("Agenta {release}, {form_name}");
            Box::new(Agenta { python: python.clone(), form, name }) as Box<dyn Host>
        })
}

impl Agenta {
    /// Runs evaluators, each given as the arguments of Agenta's `evaluator`, and a fault. An error: how the host ended.
    fn run(
        &self,
        evaluators: &[(Value, &str)],
        directory: &Path,
        place: &Place,
        limit: u32,
    ) -> Result<Vec<Recorded>, Recorded> {
        let conversation = self.conversation();
        let turn = &conversation.turns[0];
        let inputs = json!({"question": turn.question, "correct_answer": turn.expected});
        let jobs: Vec<Value> = evaluators
            .iter()
            .map(|(evaluator, fault)| {
                json!({
                    "evaluator": evaluator,
                    "fault": fault,
                    "data": {"inputs": inputs, "outputs": turn.answer},
                })
            })
            .collect();
        let (given, got) = (directory.join("jobs.json"), directory.join("results.json"));
        fs::write(&given, Value::from(jobs).to_string()).unwrap();
        let mut command = place.command(&self.python);
        command
            .arg(driver("agenta_jobs.py"))
            .args([&given, &got])
            .env("PYTHONPATH", driver("theirs"))
            .env("AGENTA_INSECURE_EGRESS_ALLOWED", "true")
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "true")
            .env("AGENTA_SERVICES_CODE_SANDBOX_TIMEOUT", limit.to_string());
        let said = place.run(&mut command);
        let Ok(results) = fs::read_to_string(&got) else {
            return Err(Recorded { reason: said.end(), ..Recorded::only(Verdict::HostDied) });
        };
        let results: Vec<Value> = serde_json::from_str(&results).unwrap();
        Ok(results.iter().map(recorded).collect())
    }

    /// The arguments of Agenta's `evaluator` for something that was exported.
    fn evaluator(&self, case: &Case, server: Option<&Server>) -> Value {
        // A name that needs no escapes in paths.
        let url = || format!("{}/evaluators/{}", server.unwrap().url, slug(&case.label));
        match self.form {
            Form::Code(version) => {
                let mut code = case.read(&format!("_agenta_v{version}.py"));
                if case.hangs {
                    code = code.replace("TIMEOUT = 40", &format!("TIMEOUT = {LIMIT}"));
                }
                custom_code(version, &code)
            }
            Form::Webhook => {
                let exported = case.read(".agenta-webhook.yaml");
                assert!(exported.contains(&format!("/evaluators/{}\"", case.name)), "{exported}");
                json!({
                    "uri": "agenta:builtin:auto_webhook_test:v0",
                    "parameters": {"webhook_url": url()},
                })
            }
            Form::Remote => json!({
                "uri": "agenta:custom:hook:v0",
                "url": url(),
                "remote": true,
                "parameters": case.config,
            }),
        }
    }
}

impl Host for Agenta {
    fn name(&self) -> &str {
        &self.name
    }

    fn target(&self) -> &'static str {
        "agenta"
    }

    fn conversation(&self) -> Conversation {
        Conversation::words()
    }

    fn has_config(&self) -> bool {
        // That of webhooks is in the configuration of the server.
        !matches!(self.form, Form::Code(_))
    }

    fn not_evaluated(&self) -> Verdict {
        Verdict::Error
    }

    fn tells_tools(&self) -> bool {
        false
    }

    fn explains(&self) -> bool {
        false
    }

    fn judge(&self, cases: &[Case], place: &Place) -> Vec<Recorded> {
        let directory = place.directory("agenta");
        let server = (!matches!(self.form, Form::Code(_))).then(|| {
            let entry = |case: &Case| {
                // A remote workflow brings its own.
                let config = match self.form {
                    Form::Webhook => case.config.clone(),
                    _ => json!({}),
                };
                json!({
                    "name": slug(&case.label),
                    "type": "code",
                    "path": case.program,
                    "timeout": if case.hangs { LIMIT } else { 30 },
                    "config": config,
                })
            };
            let entries: Vec<Value> = cases.iter().map(entry).collect();
            let config = directory.join("serve.yaml");
            fs::write(&config, json!({"evaluators": entries}).to_string()).unwrap();
            Server::start(&config, place)
        });
        let evaluators: Vec<(Value, &str)> = cases
            .iter()
            .map(|case| (self.evaluator(case, server.as_ref()), case.fault()))
            .collect();
        match self.run(&evaluators, &directory, place, USUAL_LIMIT) {
            Ok(recorded) => recorded,
            Err(ended) => vec![ended; cases.len()],
        }
    }

    fn own_kind(&self) -> Option<&'static str> {
        (self.form == Form::Code("3")).then_some("Python, custom code in the host's process")
    }

    fn judge_own_kind(&self, faults: &[Fault], place: &Place) -> Vec<Recorded> {
        let code = fs::read_to_string(driver("theirs/agenta_code.py")).unwrap();
        faults::apart(faults, |some| {
            let directory = place.directory(&format!("own-kind/{}", slug(some[0].name)));
            let evaluators: Vec<(Value, &str)> =
                some.iter().map(|fault| (custom_code("3", &code), fault.name)).collect();
            let limit = if some[0].hangs { LIMIT } else { USUAL_LIMIT };
            self.run(&evaluators, &directory, place, limit)
        })
    }
}

fn custom_code(version: &str, code: &str) -> Value {
    json!({
        "uri": "agenta:builtin:auto_custom_code_run:v0",
        "parameters": {"code": code, "version": version, "threshold": 0.5},
    })
}

fn slug(label: &str) -> String {
    label.replace(' ', "-")
}

fn recorded(response: &Value) -> Recorded {
    let outputs = &response["data"]["outputs"];
    let is_error = response["status"]["code"].as_u64().is_some_and(|code| code >= 400);
    let verdict = match outputs["success"].as_bool() {
        _ if is_error => Verdict::Error,
        Some(true) => Verdict::Pass,
        Some(false) => Verdict::Fail,
        None => Verdict::Lost,
    };
    Recorded {
        verdict,
        score: outputs["score"].as_f64(),
        turns: None,
        details: None,
        reason: response["status"]["message"].as_str().unwrap_or_default().to_owned(),
    }
}
