"""Records metrics that ask a model, and replays them without server, key and network.

Arguments: the `evaluator` command, and the libraries (default: all of `judged.json`). A server on the loopback interface answers at
recording, each question in the form that it asks for. The replay gets everything from the one cassette: the server is gone, no key is
set, and the proxies of the network lead nowhere. Exits with 1 if a metric has no score, if the replay differs from the recording in
anything but durations, or if it changes the cassette.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import fake
from compare import HERE, MODELS, TRACES, golden_cases

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

#: Port at which nothing listens.
NOWHERE = "http://127.0.0.1:9"


def without_durations(value):
    if isinstance(value, dict):
        return {key: without_durations(inner) for key, inner in value.items() if "duration" not in key}
    return [without_durations(inner) for inner in value] if isinstance(value, list) else value


def run(evaluator, directory, mode, metrics, environment, *more):
    """Runs the metrics; returns the report without its durations. `more` are further arguments of the command."""
    judge = {"cassette": "judged.cassette.jsonl", "mode": mode}
    entries = [{"type": "metric", "timeout": 300, "missing_turns": "ignore", **metric} for metric in metrics]
    config = {"eval_set": "set.json", "group_by": "trace", "judge": judge, "evaluators": entries}
    (directory / "c.yaml").write_text(json.dumps(config))
    traces = sorted(str(path) for path in TRACES.glob("*_S[1-5].trace.json"))[:: int(os.environ.get("EVERY", "16"))]
    report = directory / (mode + ".json")
    command = [evaluator, "run", *traces, "-c", "c.yaml", "-o", "json=%s" % report, "-o", "markdown", *more]
    ran = subprocess.run(command, cwd=directory, env=environment)
    if ran.returncode not in (0, 1):
        sys.exit("%s: the run ended with exit code %d" % (mode, ran.returncode))
    return without_durations(json.loads(report.read_text()))


def alone():
    """Returns the variables of this process without those by which a model is found."""
    return {name: value for name, value in os.environ.items() if name not in MODELS and name.upper() not in (*PROXIES, "NO_PROXY")}


def record_and_replay(evaluator, directory, metrics):
    """Returns the report of the replay, the cassette, and whether the replay is another one than the recording."""
    server, url = fake.start()
    (directory / "set.json").write_text(json.dumps(golden_cases()))
    recorded = run(evaluator, directory, "record", metrics, {**alone(), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"})
    server.shutdown()
    server.server_close()
    cassette = directory / "judged.cassette.jsonl"
    content = cassette.read_bytes()
    nowhere = {name: NOWHERE for proxy in PROXIES for name in (proxy, proxy.lower())}
    replayed = run(evaluator, directory, "replay", metrics, {**alone(), **nowhere})
    return replayed, content, replayed != recorded or cassette.read_bytes() != content


def main():
    evaluator = os.path.abspath(sys.argv[1])
    known = json.loads((HERE / "judged.json").read_text())
    metrics = [metric for library in sys.argv[2:] or known for metric in known.get(library, [])]
    if not metrics:
        sys.exit("these libraries have no metrics in judged.json")
    with tempfile.TemporaryDirectory() as directory:
        replayed, content, failed = record_and_replay(evaluator, pathlib.Path(directory), metrics)
    for metric in metrics:
        found = [it for trace in replayed["traces"] for it in trace["metrics"] if it["metric_name"] == metric["name"]]
        scores = [it["score"] for it in found if it["score"] is not None and it["eval_status"] != "NOT_EVALUATED"]
        calls = sum(it["target_proxy"]["call_count"] for it in found)
        failed = failed or not scores or calls < len(scores)
        print("%-22s %4d of %d scored, %d different scores, %d calls" % (metric["name"], len(scores), len(found), len(set(scores)), calls))
    print("%d replies in one cassette; the replay %s" % (content.count(b"\n"), "FAILED" if failed else "is the recording"))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
