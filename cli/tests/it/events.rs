//! Results as log records of OpenTelemetry.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{fs, path::Path, time::Duration};

use crate::support::{
    self, Directory, Ran,
    collector::{collector, decoded},
    finish, has, trace,
};
use evaluator_test_support::server::{Server, response};
use serde_json::{Value, json};

/// `evaluator run ARGS` with these variables, and no others of OpenTelemetry.
fn run(directory: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let own = Directory::new();
    let mut all = vec!["run"];
    all.extend(args);
    if !args.contains(&"-c") {
        all.push("--no-config");
    }
    let mut command = own.command(&all);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command.current_dir(directory).envs(variables.iter().copied());
    finish(command.spawn().unwrap())
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// What agentevals calls an error by the class of its exception, we call by what happened.
const ERROR_TYPES: [(&str, &str); 1] = [("RuntimeError", "exited")];

/// Puts records in an order of their own and takes out what differs on purpose.
fn comparable(export: &Value) -> Value {
    let mut records = export["records"].as_array().cloned().unwrap_or_default();
    for record in &mut records {
        // Those of this project.
        let attributes = record["attributes"].as_object_mut().unwrap();
        attributes.retain(|name, _| !name.starts_with("evaluator."));
        let error = record["attributes"]["error.type"].as_str();
        if let Some((_, own)) = ERROR_TYPES.iter().find(|(known, _)| Some(*known) == error) {
            record["attributes"]["error.type"] = json!(own);
        }
    }
    records.sort_by_key(|record| {
        (record["attributes"]["gen_ai.evaluation.name"].to_string(), record["trace_id"].to_string())
    });
    let mut resource = export["resource"].clone();
    for (key, value) in resource.as_object_mut().into_iter().flatten() {
        if key.starts_with("telemetry.sdk.") || key == "service.version" {
            *value = json!("differs");
        }
        if key == "service.instance.id" && value != "<uuid>" {
            assert_eq!(value.as_str().map(str::len), Some(36));
            *value = json!("<uuid>");
        }
    }
    json!({"scope": export["scope"]["name"], "resource": resource, "records": records})
}

#[test]
fn events_are_those_that_agentevals_exports() {
    if !has("python3") {
        return;
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/events");
    let mut compared = 0;
    for entry in fs::read_dir(directory.join("captures")).unwrap() {
        let path = entry.unwrap().path();
        let capture: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let args: Vec<&str> =
            capture["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let collector = collector("200 OK");
        let explanation = capture["explanation"].to_string();
        let variables = [
            (ENDPOINT, &*collector.url()),
            ("AGENTEVALS_EVALUATION_EVENTS", "true"),
            ("AGENTEVALS_EVALUATION_EVENTS_EXPLANATION", &explanation),
        ];
        let ran = run(&directory, &args, &variables);
        // A run in which nothing was scored fails here.
        let fails = capture["exit_code"] != 0 || ran.stderr.contains("NOTHING EVALUATED");
        assert_eq!(ran.code != Some(0), fails, "{}: {}", path.display(), ran.stderr);
        assert!(!ran.stderr.contains("not sent"), "{}", ran.stderr);
        let requests = collector.requests();
        let summary: Vec<Value> = requests
            .iter()
            .map(|request| json!([request.path, request.headers["content-type"]]))
            .collect();
        assert_eq!(json!(summary), capture["requests"], "{}", path.display());
        if let Some(request) = requests.first() {
            let (ours, theirs) = (comparable(&decoded(&request.body)), comparable(&capture));
            assert_eq!(ours, theirs, "{}", path.display());
        }
        compared += 1;
    }
    assert_eq!(compared, 10);
}

#[test]
fn the_report_is_the_same_whatever_becomes_of_the_events() {
    let directory = Directory::new();
    let trace = trace("k02_traj_extra");
    let goldens = support::eval_set("library");
    let args = [&*trace, "-e", &goldens, "-o", "summary"];
    let without_time = |ran: &Ran| ran.stdout.split(" [").next().unwrap().to_owned();
    let plain = run(directory.path(), &args, &[]).exits(1);
    let broken = collector("400 Bad Request");
    let moved = collector("307 Temporary Redirect");
    let login = Server::always(response("200 OK", &[], "<html>Log in</html>"));
    // The port belonged to a socket that is closed, so nothing listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let timeout = ("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
    let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let with = [&args[..], &["--emit-otel"]].concat();
    for (variables, reason) in [
        (&[(ENDPOINT, &*broken.url())][..], "HTTP status 400 Bad Request: nope"),
        (&[(ENDPOINT, &*moved.url())], "HTTP status 307"),
        (&[(ENDPOINT, &*login.url())], "the answer is not that of an OTLP collector: <html>Log in"),
        (&[(ENDPOINT, &*format!("http://{gone}"))], "refused"),
        (&[(ENDPOINT, &*format!("http://{gone}")), grpc], "refused"),
        (&[(ENDPOINT, &*silent_url), timeout], "no answer within 300 ms"),
        (&[(ENDPOINT, &*silent_url), timeout, grpc], "no answer within 300 ms"),
        (&[(ENDPOINT, "nonsense")], "OTEL_EXPORTER_OTLP_ENDPOINT: `nonsense` is not a URL"),
        (
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", "tcp")],
            "OTEL_EXPORTER_OTLP_PROTOCOL: `tcp` is not known",
        ),
    ] {
        let ran = run(directory.path(), &with, variables).exits(1).says(reason);
        assert_eq!(without_time(&ran), without_time(&plain));
        let last = ran.stderr.lines().last().unwrap();
        assert!(last.starts_with("FAILED: 0 passed, 1 failed"), "{last}");
        if !reason.starts_with("OTEL_") {
            assert!(
                ran.stderr.contains("1 evaluation event was not sent to http://"),
                "{}",
                ran.stderr
            );
        }
    }
    assert_eq!((broken.requests().len(), moved.requests().len()), (1, 1));
}

#[test]
fn nothing_is_sent_unless_it_is_asked_for() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    let collector = collector("200 OK");
    let url = collector.url();
    for (args, variables) in [
        (&[][..], &[][..]),
        (&["--emit-otel"], &[("OTEL_SDK_DISABLED", "true")]),
        (&["--emit-otel"], &[("OTEL_LOGS_EXPORTER", "none")]),
        (&[], &[("AGENTEVALS_EVALUATION_EVENTS", "off")]),
    ] {
        let args = [&[&*trace, "--allow-unevaluated"][..], args].concat();
        run(directory.path(), &args, &[variables, &[(ENDPOINT, &*url)]].concat()).exits(0);
    }
    assert_eq!(collector.requests().len(), 0);
    let args = [&*trace, "--allow-unevaluated", "--emit-otel"];
    run(directory.path(), &args, &[(ENDPOINT, &url)]).exits(0);
    assert_eq!(collector.requests().len(), 1);
}

#[test]
fn a_switch_that_is_neither_on_nor_off_runs_nothing() {
    let directory = Directory::new();
    for name in ["AGENTEVALS_EVALUATION_EVENTS", "AGENTEVALS_EVALUATION_EVENTS_EXPLANATION"] {
        run(directory.path(), &[&trace("a01_otlp_basic_parts")], &[(name, "maybe")])
            .exits(2)
            .says(&format!("{name} must be one of true/false/1/0/yes/no/on/off (got: \"maybe\")"))
            .reports_nothing();
    }
}

#[test]
fn a_collector_that_never_answers_does_not_keep_the_report() {
    use std::io::{BufRead, BufReader};
    let own = Directory::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = own.command(&[
        "run",
        &trace("a01_otlp_basic_parts"),
        "--no-config",
        "--emit-otel",
        "-o",
        "summary",
    ]);
    command.env(ENDPOINT, format!("http://{}", silent.local_addr().unwrap()));
    command.env("OTEL_EXPORTER_OTLP_TIMEOUT", Duration::from_secs(200).as_millis().to_string());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    // The report is there while the collector is still waited for.
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Trace "), "{line}");
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn events_name_the_run_the_evaluator_its_repeats_and_the_gates() {
    let directory = Directory::new();
    let digits =
        crate::gates::recording(1).replace(r#""t0""#, r#""a0""#).replace(r#""s""#, r#""b0""#);
    directory.file("t.json", digits);
    directory.script("check", r#"cat >/dev/null; echo '{"score": 0.75}'"#);
    let collector = collector("200 OK");
    let url = collector.url();
    let gate = ["--gate", "check: mean >= 0.5", "--repeat", "2", "--save-run", "r.evalrun"];
    let args = [&["t.json", "--evaluator", "check", "--emit-otel"][..], &gate].concat();
    run(directory.path(), &args, &[(ENDPOINT, &url)]).exits(4);
    let header = directory.read("r.evalrun");
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    let id = &header["id"];
    let fingerprint = &header["evaluators"][0]["fingerprint"].as_str().unwrap()[..12];
    let decoded = decoded(&collector.requests()[0].body);
    let records = decoded["records"].as_array().unwrap();
    let names: Vec<&str> = records.iter().map(|it| it["event_name"].as_str().unwrap()).collect();
    let result = "gen_ai.evaluation.result";
    assert_eq!(names, [result, result, result, "evaluator.gate.result"]);
    let repeats = [json!(null), json!(1.0), json!(2.0)];
    for (record, repeat) in records.iter().zip(repeats) {
        let attributes = &record["attributes"];
        assert_eq!(attributes["evaluator.repeat"], repeat, "{attributes}");
        assert_eq!(attributes["evaluator.threshold"], 0.5);
        assert_eq!(attributes["evaluator.fingerprint"], fingerprint);
        assert_eq!(&attributes["evaluator.run.id"], id);
    }
    let gate = &records[3];
    assert_eq!((&gate["trace_id"], &gate["severity_text"]), (&json!(""), &json!("INFO")));
    let mut attributes = gate["attributes"].clone();
    for (name, least, most) in [("lower", 0.0, 0.5), ("upper", 0.75, 1.0)] {
        let value = attributes.as_object_mut().unwrap().remove(&format!("evaluator.gate.{name}"));
        let value = value.unwrap().as_f64().unwrap();
        assert!((least..=most).contains(&value), "{name}: {value}");
    }
    assert_eq!(
        attributes,
        json!({
            "evaluator.gate.name": "check", "evaluator.gate.measure": "mean",
            "evaluator.gate.limit": 0.5, "evaluator.gate.confidence": 0.95,
            "evaluator.gate.verdict": "inconclusive", "evaluator.gate.mean": 0.75,
            "evaluator.gate.n": 1.0, "evaluator.run.id": id,
        })
    );
    // Without a file, the evaluator is named, too, and reports have no id of the run.
    let args = ["t.json", "--evaluator", "check", "--emit-otel", "-o", "json"];
    let ran = run(directory.path(), &args, &[(ENDPOINT, &url)]).exits(0);
    let second = collector.requests().pop().unwrap();
    let record = &self::decoded(&second.body)["records"][0]["attributes"];
    assert_eq!(record["evaluator.fingerprint"], fingerprint);
    let other = record["evaluator.run.id"].as_str().unwrap();
    assert!(id != other && !ran.stdout.contains(other), "{other}");
}
