//! Evaluators in languages that are run as they are, where this machine has them.

use std::path::Path;

use crate::support::{Directory, Ran, has, has_typescript, trace};

const PYTHON: &str = r#"
import json, sys
document = json.load(sys.stdin)
print("noise belongs here", file=sys.stderr)
turns = document["invocations"]
print(json.dumps({"score": document["config"]["score"], "per_invocation_scores": [1.0] * len(turns)}))
"#;

const JAVASCRIPT: &str = r#"
const document = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ score: document.config.score, details: { name: document.metric_name } }));
"#;

fn run(directory: &Directory, file: &str) -> Ran {
    directory.file(
        "c.yaml",
        format!(
            "evaluators:\n  - {{name: good, type: code, path: {file}, config: {{score: 0.75}}}}\n  \
             - {{name: bad, type: code, path: {file}}}\n"
        ),
    );
    directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "c.yaml", "-o", "json"]).exits(3)
}

#[test]
fn python() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", PYTHON);
    let ran = run(&directory, "check.py");
    assert_eq!(ran.evaluations(0), ["good PASSED", "bad ERROR exited"]);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.75);
    let error = ran.error_of("bad");
    assert!(error.starts_with("Custom evaluator 'bad' exited with code 1: "), "{error}");
    assert!(error.ends_with("KeyError: 'score'"), "{error}");

    directory.file("check.py", "def broken(:\n");
    let ran = run(&directory, "check.py");
    assert!(ran.error_of("good").contains("SyntaxError"), "{}", ran.error_of("good"));
}

#[test]
fn javascript_and_typescript() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    // Without a single type it is TypeScript for every version of Node.js.
    for file in ["check.js", "check.CJS", "check.ts"] {
        directory.file(file, JAVASCRIPT);
        let ran = run(&directory, file);
        // Without a score it prints none.
        assert_eq!(ran.evaluations(0), ["good PASSED", "bad ERROR bad_answer"], "{file}");
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["details"]["name"], "good");
        assert_eq!(
            ran.error_of("bad"),
            "Custom evaluator 'bad' produced invalid JSON: score: a number from 0 to 1 is required, but the field is \
             missing; the object has `details`"
        );
    }
}

#[test]
fn a_promise_that_never_resolves_is_named() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.mjs", "await new Promise(() => {});\n");
    let ran = run(&directory, "check.mjs");
    let error = ran.error_of("good");
    assert!(error.contains("exited with code 13"), "{error}");
    assert!(
        error.contains("a promise that it waits for with a top-level `await` never resolved"),
        "{error}"
    );
    directory.file("check.js", "process.stderr.write('mine'); process.exit(13);\n");
    assert!(!run(&directory, "check.js").error_of("good").contains("promise"));
}

#[test]
fn typescript_with_types() {
    if !has_typescript() {
        return;
    }
    let directory = Directory::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let example = |name: &str| examples.join(name).display().to_string();
    let (trace, config) = (example("traces/booking.json"), example("eval_config.typescript.yaml"));
    let ran = directory.run(&[&trace, "-c", &config, "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["claims_need_tools PASSED"]);

    directory.evaluator(&["init", "typed", "--runtime", "ts"]).exits(0);
    directory.evaluator(&["test", "typed"]).exits(0).says("3 tests passed");
    directory.file("typed/typed.test.ts", "const nothing: number = 0;\n");
    directory.evaluator(&["test", "typed"]).exits(2).says("no test ran");
}
