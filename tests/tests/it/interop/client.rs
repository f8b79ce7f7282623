//! AgentV's own client of the target proxy, from its package for evaluators, under our proxy.

use std::{env, fs, path::PathBuf};

use evaluator_test_support::server::{Server, response};
use evaluator_tests::bench::{build, peers};
use serde_json::{Value, json};

use super::place::{self, Place, program};

/// Asks with whatever clients the module has: that of targets, and in later versions that of providers.
const EVALUATOR: &str = r#"
import * as agentv from "MODULE";

for await (const _ of process.stdin) {}
const clients = {};
for (const [name, key] of [["createTargetClient", "target"], ["createProviderClient", "provider"]]) {
  if (!agentv[name]) continue;
  const client = agentv[name]();
  const seen = { before: await client.getInfo() };
  seen.one = await client.invoke({ question: "one", systemPrompt: "short", evalCaseId: "c", attempt: 1 });
  seen.named = await client.invoke({ question: "two", [key]: "judge" });
  seen.batch = await client.invokeBatch([{ question: "three" }, { question: " " }, { question: "four", [key]: "nope" }]);
  try {
    await client.invoke({ question: "five", [key]: "nope" });
  } catch (error) {
    seen.unknown = [error.statusCode, error.message];
  }
  seen.after = await client.getInfo();
  clients[key] = seen;
}
console.log(JSON.stringify({ score: 1, details: { clients } }));
"#;

/// The client module: the one that `AGENTV_CLIENT` names, or that of the package.
fn module() -> Option<PathBuf> {
    let named = env::var_os("AGENTV_CLIENT").map(PathBuf::from);
    named.or_else(|| Some(peers::agentv_client()?.join("dist/index.js")))
}

#[test]
#[ignore = "installs AgentV's package for evaluators"]
fn agentvs_own_client_asks_our_proxy() {
    let Some(module) = module() else { return };
    place::build();
    let model = Server::start(|request, stream| {
        let request: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let texts: Vec<&str> = messages.iter().filter_map(|it| it["content"].as_str()).collect();
        let message = json!({"role": "assistant", "content": texts.join("|")});
        let body = json!({
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        });
        std::io::Write::write_all(stream, &response("200 OK", &[], body.to_string()))
    });
    let place = Place::new("agentv-client");
    let directory = place.directory("run");
    let source = EVALUATOR.replace("MODULE", &module.display().to_string());
    fs::write(directory.join("asks.mjs"), source).unwrap();
    let config = format!(
        "evaluators:\n- name: asks\n  type: code\n  path: asks.mjs\n  models:\n    max_calls: 20\n    \
         judge: {{model: openai_like/echo, base_url: \"{}\"}}\n",
        model.url()
    );
    fs::write(directory.join("c.yaml"), config).unwrap();
    let trace = build::root().join("examples/traces/expenses.jsonl");
    let mut command = place.command(&program("evaluator"));
    command.current_dir(&directory).arg("run").arg(trace).args(["-c", "c.yaml", "-o", "json"]);
    let said = place.run(&mut command);
    let report: Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.end()));
    let metric = &report["traces"][0]["metrics"][0];
    let clients = metric["details"]["clients"].as_object().unwrap_or_else(|| panic!("{metric}"));
    assert!(!clients.is_empty(), "the module has no client");
    // In the order in which they asked.
    let keys = ["target", "provider"].into_iter().filter(|key| clients.contains_key(*key));
    for (number, key) in keys.enumerate() {
        let seen = &clients[key];
        let (name, names) = match key {
            "target" => ("targetName", "availableTargets"),
            _ => ("providerLabel", "availableProviderLabels"),
        };
        let before = &seen["before"];
        assert_eq!((&before[name], &before[names]), (&json!("judge"), &json!(["judge"])), "{key}");
        assert_eq!((&before["maxCalls"], &before["callCount"]), (&json!(20), &json!(number * 3)));
        assert_eq!(seen["one"]["rawText"], "short|one", "{key}");
        assert_eq!(seen["one"]["output"][0]["content"], "short|one");
        assert_eq!(seen["one"]["tokenUsage"], json!({"input": 9, "output": 1}));
        assert_eq!(seen["named"]["rawText"], "two");
        let batch: Vec<_> =
            (0..3).map(|at| seen["batch"][at]["rawText"].as_str().unwrap()).collect();
        let unknown = format!("Unknown {key} 'nope'. Available: judge");
        let missing = "Error: Missing required field: question";
        assert_eq!(batch, ["three", missing, &format!("Error: {unknown}")]);
        assert_eq!(seen["unknown"], json!([400, unknown]));
        assert_eq!(seen["after"]["callCount"], number * 3 + 3);
    }
    assert_eq!(metric["target_proxy"]["call_count"], clients.len() * 3);
}
