"""A server on the loopback interface that answers as models do: each question in the form that it asks for.

The same question has the same answer, whoever asks it and whatever else is in the request.
"""

import base64
import hashlib
import http.server
import json
import re
import struct
import threading


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
    text = json.dumps(body["messages"], sort_keys=True)
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


def streamed(answer):
    """Returns a reply as the events of a stream."""
    choice = answer["choices"][0]
    calls = [{"index": index, **call} for index, call in enumerate(choice["message"].get("tool_calls", []))]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    common = {key: answer[key] for key in ("id", "created", "model")}
    common["object"] = "chat.completion.chunk"
    chunks = [
        {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**common, "choices": [], "usage": answer["usage"]},
    ]
    return "".join("data: %s\n\n" % json.dumps(chunk) for chunk in chunks) + "data: [DONE]\n\n"


def embeddings(body):
    """Returns an embedding of each text."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = []
    for index, text in enumerate(texts):
        vector = [byte / 255 for byte in hashlib.sha256(str(text).encode()).digest()[:16]]
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack("<16f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}


def response(body):
    """Returns a response."""
    text = {"type": "output_text", "text": "yes", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    common = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"]}
    return {**common, "output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage}


ANSWERS = {"/v1/chat/completions": reply, "/v1/embeddings": embeddings, "/v1/responses": response}

#: What is said to a request with this temperature.
REFUSED = {"temperature": 2}
REFUSAL = {"message": "Unsupported value: 'temperature' does not support 2 with this model.", "type": "invalid_request_error"}
REFUSAL |= {"param": "temperature", "code": "unsupported_value"}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers `POST` to the paths of `ANSWERS`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        unknown = {"error": {"message": "%s is not known here" % self.path}}
        answer = ANSWERS[self.path](body) if self.path in ANSWERS else unknown
        is_refused = REFUSED.items() <= body.items()
        answer = {"error": REFUSAL} if is_refused else answer
        is_streamed = bool(body.get("stream")) and "choices" in answer
        answer = (streamed(answer) if is_streamed else json.dumps(answer)).encode()
        self.send_response(400 if is_refused else 200 if self.path in ANSWERS else 404)
        self.send_header("Content-Type", "text/event-stream" if is_streamed else "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def start():
    """Starts the server; returns it, and its address as SDKs take it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, "http://127.0.0.1:%d/v1" % server.server_port
