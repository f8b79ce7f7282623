"""Sends spans with OpenTelemetry's SDK for Python to `evaluator receive`, also those of an instrumented agent: full disks,
kills and repeated requests lose and double nothing.

Usage: python check.py EVALUATOR, with the packages of requirements.txt.
"""

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

CONFIG = "evaluators: [{name: counts, type: code, path: ./counts}]\n"
# Counts its conversations in a file. One that was started in advance gets none.
COUNTS = "#!/bin/sh\ndocument=$(cat); [ -z \"$document\" ] || echo asked >>asked; echo '{\"score\": 1}'\n"
ARGUMENTS = ["-c", "c.yaml", "--group-by", "trace", "--save-run", "r.evalrun"]
LIMIT = 60


class Receiver:
    def __init__(self, program, directory, file_size=None):
        def limit():
            if file_size:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))

        arguments = ["receive", *ARGUMENTS, "--traces", "t.jsonl", "--addr", "127.0.0.1:0", "--quiet-for", "500ms"]
        self.process = subprocess.Popen(
            [program, *arguments], cwd=directory, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, preexec_fn=limit
        )
        self.said, self.address = [], None
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait("a receiver that listens", lambda: self.address)

    def read(self):
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"listening on (http://\S+)", line):
                self.address = found[1]

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


def wait(what, is_true):
    end = time.monotonic() + LIMIT
    while not is_true():
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.02)


def attributes(text):
    def message(role):
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": message("user"),
        "gen_ai.output.messages": message("assistant"),
    }


def send(address, conversations):
    """Sends conversations of three spans each. Returns their trace ids."""
    exporter = OTLPSpanExporter(f"{address}/v1/traces", compression=Compression.Gzip, timeout=LIMIT)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=64))
    tracer, ids = provider.get_tracer("check"), []
    for number in range(conversations):
        with tracer.start_as_current_span("root") as root:
            ids.append(format(root.get_span_context().trace_id, "032x"))
            with tracer.start_as_current_span("chat", attributes=attributes(f"question {number}, ä, \u2028")):
                with tracer.start_as_current_span("http"):
                    pass
    assert provider.force_flush(LIMIT * 1000)
    provider.shutdown()
    return ids


def converse(address):
    """Has a conversation with an instrumented agent of `tests/producers`, whose model is scripted. Returns its trace ids."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "producers/record"))
    import run
    from producers import openai

    exporter = OTLPSpanExporter(f"{address}/v1/traces")

    class Context(run.Context):
        def provider(self, is_global=True):
            provider = super().provider(is_global)
            provider.add_span_processor(BatchSpanProcessor(exporter))
            self.flush = provider.force_flush
            return provider

    name = "openai-openinference"
    context = Context(name, openai.PRODUCERS[name], "S1")
    turns, traces = asyncio.run(run.converse(openai, context))
    assert context.flush() and len(turns) == 1 and turns[0]["calls"]
    return sorted(traces[0])


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "c.yaml").write_text(CONFIG)
        (place / "counts").write_text(COUNTS)
        (place / "counts").chmod(0o755)
        # The disk is full until a request has been refused; the SDK sends it again.
        receiver = Receiver(program, place, file_size=4096)

        def grow():
            wait("refused request", lambda: any("a request was refused (503)" in line for line in receiver.said))
            limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, limits)

        growing = threading.Thread(target=grow)
        growing.start()
        ids = send(receiver.address, 20)
        growing.join()
        # Some are judged, others are not when it is killed.
        ids += send(receiver.address, 300)
        receiver.end(signal.SIGKILL)
        receiver = Receiver(program, place)
        ids += send(receiver.address, 100)
        ids += converse(receiver.address)
        assert receiver.end(signal.SIGTERM) == 0, receiver.said
        resumed = subprocess.run([program, "run", "t.jsonl", *ARGUMENTS, "--resume"], cwd=place, capture_output=True, text=True)
        assert resumed.returncode == 0, resumed.stderr
        report = subprocess.run([program, "report", "r.evalrun", "-o", "json"], cwd=place, capture_output=True, text=True)
        judged = sorted(it["trace_id"] for it in json.loads(report.stdout)["traces"])
        assert judged == sorted(ids), f"{len(judged)} of {len(ids)} conversations were judged"
        asked = len((place / "asked").read_text().splitlines())
        # Those that were in progress when it was killed are asked again.
        jobs = os.cpu_count()
        assert len(ids) <= asked <= len(ids) + 2 * jobs, f"asked {asked} times about {len(ids)} conversations"
        print(f"{len(ids)} conversations were judged, once each")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
