"""Spans of the SDK as OTLP JSON, without ports, paths and other facts about the machine."""

import base64
import json
import os
import pathlib
import pwd
import re
import socket
import sys

ID_KEYS = re.compile(r"(^|[._])(session|conversation|thread|group)(Id|[._]?id)$")
KEPT_RESOURCE = ("service.name", "telemetry.sdk.")


def otlp(spans, logs) -> dict:
    """Spans and log records in the SDK's own protobuf encoding, as the JSON mapping of OTLP."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    document = MessageToDict(encode_spans(spans))
    if logs:
        from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs

        document |= MessageToDict(encode_logs(logs))
    reduce_resources(document)
    records = [
        record
        for resource in document.get("resourceLogs", [])
        for scope in resource["scopeLogs"]
        for record in scope["logRecords"]
    ]
    spans = spans_of(document)
    for one in [*spans, *(link for span in spans for link in span.get("links", [])), *records]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in one:
                one[key] = base64.b64decode(one[key]).hex()
    return document


def reduce_resources(document: dict) -> None:
    """Keeps what resources say about the service and the SDK."""
    for resource in [*document.get("resourceSpans", []), *document.get("resourceLogs", [])]:
        attributes = resource.get("resource", {}).get("attributes", [])
        kept = [it for it in attributes if it["key"].startswith(KEPT_RESOURCE)]
        resource["resource"] = {"attributes": kept}


def neutral(document: dict, port: int) -> dict:
    """Replaces ports and paths. Fails if something that names the machine is left."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = text.replace(f"127.0.0.1:{port}", "127.0.0.1:8080").replace(f"localhost:{port}", "localhost:8080")
    text = text.replace(f'"intValue":"{port}"', '"intValue":"8080"').replace(f'"intValue":{port}', '"intValue":8080')
    text = text.replace(f'"stringValue":"{port}"', '"stringValue":"8080"')
    text = re.sub(r"/[^\s\"'\\]*/site-packages/", "site-packages/", text)
    text = re.sub(r"(?:file://)?/[^\s\"'\\(]*/node_modules/", "node_modules/", text)
    text = re.sub(r"(?:file://)?/[^\s\"'\\(]*/([a-z_]+\.mjs)", r"app/\1", text)
    text = text.replace(f"{pathlib.Path(__file__).resolve().parent}/", "app/")
    for prefix in {sys.prefix, sys.base_prefix}:
        text = text.replace(f"{prefix}/", "")
    user = pwd.getpwuid(os.getuid())
    left = [f"{user.pw_dir}/", f"{pathlib.Path.cwd()}/", str(port)]
    left += [it for it in (socket.gethostname(), user.pw_name) if len(it) > 5]
    for name in left:
        position = text.find(name)
        if position >= 0:
            raise SystemExit(f"{name!r} is left: {text[max(0, position - 200) : position + 100]}")
    return json.loads(text)


def attributes_of(span: dict) -> list:
    return [*span.get("attributes", []), *(a for e in span.get("events", []) for a in e.get("attributes", []))]


def spans_of(document: dict) -> list:
    return [
        span
        for resource in document.get("resourceSpans", [])
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def texts(value) -> list[str]:
    """Every string and number of a JSON value."""
    if isinstance(value, (str, int, float)):
        return [str(value)]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for it in inner for text in texts(it)]


def conversations(turns: list[set[str]], document: dict) -> int:
    """Number of groups of turns: those that share a trace, or the value of an attribute that is a conversation's id."""
    marks = [set(traces) for traces in turns]
    for span in spans_of(document):
        for attribute in span.get("attributes", []):
            value = attribute["value"].get("stringValue")
            if value and ID_KEYS.search(attribute["key"]):
                for traces, mark in zip(turns, marks):
                    if span["traceId"] in traces:
                        mark.add(value)
    groups: list[set] = []
    for mark in marks:
        joined = [group for group in groups if group & mark]
        groups = [group for group in groups if not group & mark] + [mark.union(*joined)]
    return len(groups)


def plain(text: str) -> str:
    """A text without quotes and backslashes, and with characters for their escapes."""
    escapes = re.compile(r"(?:\\+u[0-9a-fA-F]{4})+")
    text = escapes.sub(lambda it: json.loads('"' + re.sub(r"\\+u", r"\\u", it[0]) + '"'), text)
    return re.sub(r"[\\\"']", "", text)


class Recorded:
    """Which texts occur in a trace, however they are quoted there."""

    def __init__(self, document: dict) -> None:
        self.text = plain("\n".join(texts(document)))

    def has(self, text: str) -> bool:
        return plain(text) in self.text

    def has_argument(self, name: str, value, text: str) -> bool:
        if isinstance(value, dict):
            return all(self.has_argument(key, inner, text) for key, inner in value.items())
        return re.search(rf"{re.escape(name)}\W{{1,4}}{re.escape(plain(str(value)))}", text) is not None

    def missing(self, turn: dict) -> list[str]:
        """What of a turn does not occur in the trace."""
        found = []
        for field in ("user", "final"):
            if not self.has(turn[field].strip()):
                found.append(field)
        if not all(self.has(call["name"]) for call in turn["calls"]):
            found.append("calls")
        # "no such city: X" is not the argument `city`.
        text = self.text
        values = texts([call["args"] for call in turn["calls"]])
        for response in turn["responses"]:
            if response["text_contains"] not in values:
                text = text.replace(plain(response["text_contains"]), "")
        if not all(self.has_argument(*it, text) for call in turn["calls"] for it in call["args"].items()):
            found.append("args")
        if not all(self.has(it["text_contains"]) for it in turn["responses"]):
            found.append("responses")
        return found
