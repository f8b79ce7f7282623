"""Records metrics that ask a model, and replays them without server, key and network.

Arguments: the `evaluator` command, and the libraries (default: all of `judged.json`). A server on the loopback interface answers at
recording, each question in the form that it asks for. The replay gets everything from the one cassette: the server is gone, no key is
set, and the proxies of the network lead nowhere. Exits with 1 if a metric has no score, if the replay differs from the recording in
anything but durations, or if it changes the cassette.
"""

import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from compare import HERE, TRACES, golden_cases

MODELS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

#: Port at which nothing listens.
NOWHERE = "http://127.0.0.1:9"


def example(schema, choose, definitions=None):
    """Returns a value that a JSON Schema accepts. `choose` returns the same choice for the same question."""
    definitions = definitions or schema.get("$defs") or {}
    if "$ref" in schema:
        return example(definitions[schema["$ref"].rsplit("/", 1)[-1]], choose, definitions)
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return example(schema[name][0], choose, definitions)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][choose(len(schema["enum"]))]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example(inner, choose, definitions) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [example(schema.get("items", {}), choose, definitions)]
    if kind in ("number", "integer"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 1)
        return low + choose(high - low + 1)
    return {"boolean": choose(2) == 1, "null": None}.get(kind, "because it is so")


#: What questions ask for in words, and the schema of that.
IN_WORDS = [
    (r'"steps"', {"type": "object", "properties": {"steps": {"type": "array"}}}),
    (r'"score"', {"type": "object", "properties": {"score": {"type": "integer", "maximum": 10}, "reason": {}}}),
]


def in_prompt(messages):
    """Returns the schema that the text of a question contains."""
    text = "\n".join(str(message["content"]) for message in messages)
    return json.JSONDecoder().raw_decode(text[text.index("{", text.index("json_schema:")) :])[0]


def reply(body):
    """Returns the reply to a question of a chat."""
    text = json.dumps(body, sort_keys=True)
    choose = lambda number: int(hashlib.sha256(text.encode()).hexdigest(), 16) % number
    message = {"role": "assistant", "content": None}
    form = body.get("response_format") or {}
    schema = in_prompt(body["messages"]) if form.get("type") == "json_object" else (form.get("json_schema") or {}).get("schema")
    if body.get("tools"):
        function = body["tools"][0]["function"]
        arguments = json.dumps(example(function["parameters"], choose))
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": {"name": function["name"], "arguments": arguments}}]
    elif schema:
        message["content"] = json.dumps(example(schema, choose))
    else:
        asked = str(body["messages"][-1]["content"])
        schema = next((schema for pattern, schema in IN_WORDS if re.search(pattern, asked)), None)
        message["content"] = json.dumps(example(schema, choose)) if schema else "yes"
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `POST /v1/chat/completions`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = self.path == "/v1/chat/completions"
        answer = json.dumps(reply(body) if known else {"error": {"message": "%s is not known here" % self.path}}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def without_durations(value):
    if isinstance(value, dict):
        return {key: without_durations(inner) for key, inner in value.items() if "duration" not in key}
    return [without_durations(inner) for inner in value] if isinstance(value, list) else value


def run(evaluator, directory, mode, metrics, environment):
    """Runs the metrics; returns the report without its durations."""
    judge = {"cassette": "judged.cassette.jsonl", "mode": mode}
    entries = [{"type": "metric", "timeout": 300, "missing_turns": "ignore", **metric} for metric in metrics]
    config = {"eval_set": "set.json", "group_by": "trace", "judge": judge, "evaluators": entries}
    (directory / "c.yaml").write_text(json.dumps(config))
    traces = sorted(str(path) for path in TRACES.glob("*_S[1-5].trace.json"))[:: int(os.environ.get("EVERY", "16"))]
    report = directory / (mode + ".json")
    command = [evaluator, "run", *traces, "-c", "c.yaml", "-o", "json=%s" % report, "-o", "markdown"]
    ran = subprocess.run(command, cwd=directory, env=environment)
    if ran.returncode not in (0, 1):
        sys.exit("%s: the run ended with exit code %d" % (mode, ran.returncode))
    return without_durations(json.loads(report.read_text()))


def main():
    evaluator = os.path.abspath(sys.argv[1])
    known = json.loads((HERE / "judged.json").read_text())
    metrics = [metric for library in sys.argv[2:] or known for metric in known.get(library, [])]
    if not metrics:
        sys.exit("these libraries have no metrics in judged.json")
    alone = {name: value for name, value in os.environ.items() if name not in MODELS and name.upper() not in (*PROXIES, "NO_PROXY")}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        (directory / "set.json").write_text(json.dumps(golden_cases()))
        url = "http://127.0.0.1:%d/v1" % server.server_port
        recorded = run(evaluator, directory, "record", metrics, {**alone, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"})
        server.shutdown()
        server.server_close()
        cassette = directory / "judged.cassette.jsonl"
        content = cassette.read_bytes()
        nowhere = {name: NOWHERE for proxy in PROXIES for name in (proxy, proxy.lower())}
        replayed = run(evaluator, directory, "replay", metrics, {**alone, **nowhere})
        failed = replayed != recorded or cassette.read_bytes() != content
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
