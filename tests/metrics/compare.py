"""Compares the scores of `type: metric` with those of direct calls, over the recordings of `tests/producers`.

Arguments: the `evaluator` command, and the libraries (default: all of `metrics.json`). `EVERY=1` takes all recordings; the default is every
eighth, in which all scenarios occur. The packages are installed into the
usual cache of environments, or into that of `EVALUATOR_CACHE_DIR`. Metrics that ask a model get the same answers from a server on the
loopback interface, here by the models of their entry, there without. Exits with 1 if a score differs by more than 1e-9, or if a metric has
no score at all.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import fake

#: Variables by which SDKs find a model.
MODELS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL")

HERE = pathlib.Path(__file__).resolve().parent
TRACES = HERE.parent / "producers" / "traces"

#: Writes each document into a file, and scores it, so that the run has nothing else to say about it.
KEEP = """import json, os, sys
document = json.load(sys.stdin)
trace = document["invocations"][0]["trace_id"] if document["invocations"] else "none"
with open(os.path.join(os.environ["DOCUMENTS"], trace + ".json"), "w") as file:
    json.dump(document, file)
print(json.dumps({"score": 1.0}))
"""


def golden_cases():
    """Returns an eval set with a case per scenario, some of which expect another answer or other calls than were recorded."""
    cases = {}
    for path in sorted(TRACES.glob("*.expected.json")):
        expected = json.loads(path.read_text())
        cases.setdefault(expected["scenario"], expected["turns"])
    changed = {"S1": lambda text: text, "S3": lambda text: text.upper()}
    text = lambda value: {"parts": [{"text": value}]}
    eval_cases = []
    for scenario, turns in sorted(cases.items()):
        conversation = []
        for index, turn in enumerate(turns):
            calls = [{"name": call["name"], "args": call["args"]} for call in turn["calls"]]
            if scenario == "S3":
                calls = [*calls[:1], {"name": "get_time", "args": {}}]
            answer = changed.get(scenario, lambda text: text + " Really.")(turn["final"] or "")
            conversation.append(
                {
                    "invocation_id": "%s-%d" % (scenario, index),
                    "user_content": text(turn["user"]),
                    "final_response": text(answer),
                    "intermediate_data": {"tool_uses": calls},
                }
            )
        eval_cases.append({"eval_id": scenario, "conversation": conversation})
    return {"eval_set_id": "scenarios", "eval_cases": eval_cases}


def evaluated(evaluator, metrics, directory, environment):
    """Runs all metrics; returns the documents and the report."""
    (directory / "keep.py").write_text(KEEP)
    (directory / "set.json").write_text(json.dumps(golden_cases()))
    documents = directory / "documents"
    documents.mkdir()
    entries = [{"name": "keep", "type": "code", "path": "keep.py"}]
    entries += [{"type": "metric", "timeout": 300, "missing_turns": "ignore", **metric} for metric in metrics]
    # YAML contains JSON.
    config = {"eval_set": "set.json", "group_by": "trace", "evaluators": entries}
    (directory / "c.yaml").write_text(json.dumps(config))
    traces = sorted(str(path) for path in TRACES.glob("*_S[1-5].trace.json"))[:: int(os.environ.get("EVERY", "8"))]
    report = directory / "report.json"
    command = [evaluator, "run", *traces, "-c", "c.yaml", "-o", "json=%s" % report, "-o", "summary"]
    ran = subprocess.run(command, cwd=directory, env={**environment, "DOCUMENTS": str(documents)})
    if ran.returncode not in (0, 1, 3):
        sys.exit("the run ended with exit code %d" % ran.returncode)
    found = {path.stem: json.loads(path.read_text()) for path in documents.glob("*.json")}
    return found, json.loads(report.read_text())


def interpreter(library):
    """Returns the interpreter of the newest environment with a library, which the run has used or made."""
    cache = os.environ.get("EVALUATOR_CACHE_DIR") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentevals"
    found = pathlib.Path(cache).glob("venvs/*/lib/python*/site-packages/%s" % library)
    # Of several, the one that can ask models.
    newest = max(found, key=lambda directory: ((directory.parent / "openai").is_dir(), directory.stat().st_mtime))
    return str(newest.parents[3] / "bin" / "python")


def direct(python, library, metrics, documents, environment):
    """Returns the scores of direct calls: for each metric, the scores of each document."""
    # No telemetry here either, and a key that nothing uses.
    off = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "LANGSMITH_TRACING": "false", "RAGAS_DO_NOT_TRACK": "true"}
    off |= {"OPIK_TRACK_DISABLE": "true", "OPIK_ANALYTICS_ENABLE": "false", "OPIK_SENTRY_ENABLE": "false"}
    environment = {**environment, **off}
    given = json.dumps({"metrics": metrics, "documents": documents})
    command = [python, str(HERE / "direct.py"), library]
    ran = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(ran.stdout.strip().splitlines()[-1])


def differences(metric, reported, scores):
    """Yields what differs for one conversation."""
    if "error" in scores:
        if not reported["error"]:
            yield "%r instead of an error" % reported["score"]
        return
    expected = [score for score in scores if score is not None]
    if reported["eval_status"] == "NOT_EVALUATED" or reported["error"]:
        if expected or reported["error"]:
            yield "%s instead of %s" % (reported["error"] or "not evaluated", expected)
        return
    turns = reported["per_invocation_scores"] or [reported["score"]]
    pairs = [*zip(turns, scores), (reported["score"], sum(expected) / len(expected) if expected else None)]
    if len(turns) != len(scores):
        yield "%d scores instead of %d" % (len(turns), len(scores))
    for own, other in pairs:
        if (own is None) != (other is None) or own is not None and abs(own - other) > 1e-9:
            yield "%r instead of %r" % (own, other)


def main():
    evaluator = os.path.abspath(sys.argv[1])
    known = json.loads((HERE / "metrics.json").read_text())
    libraries = sys.argv[2:] or list(known)
    metrics = [metric for library in libraries for metric in known[library]]
    _, url = fake.start()
    environment = {name: value for name, value in os.environ.items() if name not in MODELS}
    # A key that nothing checks.
    environment |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        documents, report = evaluated(evaluator, metrics, directory, environment)
        traces = [trace for trace in report["traces"] if trace["trace_id"] in documents]
        failed = False
        for library in libraries:
            of_traces = [documents[trace["trace_id"]] for trace in traces]
            expected = direct(interpreter(library), library, known[library], of_traces, environment)
            for metric in known[library]:
                name, problems, scored, seen = metric["name"], [], 0, set()
                for trace, scores in zip(traces, expected[name]):
                    reported = next(it for it in trace["metrics"] if it["metric_name"] == name)
                    problems += ["%s: %s" % (trace["trace_id"], text) for text in differences(metric, reported, scores)]
                    scored += reported["score"] is not None and reported["eval_status"] != "NOT_EVALUATED"
                    seen.add(reported["score"])
                failed = failed or bool(problems) or not scored
                print("%-10s %-22s %4d of %d scored, %d different scores, %d problems" % (library, name, scored, len(traces), len(seen), len(problems)))
                print("".join("    %s\n" % problem for problem in problems[:5]), end="")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
