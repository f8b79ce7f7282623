"""Runs one scenario of one producer, inside of that producer's environment. Started by `record.py`.

Usage: run.py FILE PRODUCER SCENARIO WHAT OUT, which writes OUT.trace.json and OUT.expected.json. WHAT are the first
fields of the latter, as JSON.
"""

import asyncio
import importlib
import inspect
import json
import os
import pathlib
import sys
from contextlib import contextmanager, nullcontext

from export import Recorded, conversations, neutral, otlp
from scenarios import SCENARIOS, SYSTEM, Tools
from server import ModelServer

SERVICE = "weather-agent"


class Context:
    """What a producer builds its agent with."""

    def __init__(self, name: str, settings: dict, scenario: str) -> None:
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.name, self.settings, self.scenario, self.logs = name, settings, scenario, None
        self.server, self.tools = ModelServer(), Tools(settings.get("error"), settings.get("prefix", ""))
        self.system, self.conversation = SYSTEM, f"conv-{scenario}"
        self.url, self.openai_url = self.server.url, f"{self.server.url}/v1"
        self.exporter = InMemorySpanExporter()
        self.processor = SimpleSpanProcessor(self.exporter)
        os.environ.update(
            OPENAI_API_KEY="sk-1",
            OPENAI_BASE_URL=self.openai_url,
            OPENAI_API_BASE=self.openai_url,
            ANTHROPIC_API_KEY="sk-1",
            ANTHROPIC_BASE_URL=self.url,
            GOOGLE_API_KEY="key-1",
            OTEL_SERVICE_NAME=SERVICE,
            **settings.get("environment", {}),
        )

    def provider(self, is_global: bool = True):
        """A tracer provider that records. Producers that bring a provider of their own add `processor` to it."""
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider

        provider = TracerProvider(resource=Resource({"service.name": SERVICE}))
        provider.add_span_processor(self.processor)
        if is_global:
            trace.set_tracer_provider(provider)
        if self.settings.get("logs"):
            self.record_logs()
        return provider

    def record_logs(self) -> None:
        """Records log records too, of the events API and of Python's logging."""
        import logging

        from opentelemetry._logs import set_logger_provider
        from opentelemetry.sdk._logs import LoggerProvider, export
        from opentelemetry.sdk.resources import Resource

        provider = LoggerProvider(resource=Resource({"service.name": SERVICE}))
        # The class was renamed.
        self.logs = getattr(export, "InMemoryLogRecordExporter", None) or export.InMemoryLogExporter
        self.logs = self.logs()
        provider.add_log_record_processor(export.SimpleLogRecordProcessor(self.logs))
        set_logger_provider(provider)
        try:
            from opentelemetry._events import set_event_logger_provider
            from opentelemetry.sdk._events import EventLoggerProvider
        except ModuleNotFoundError:
            # Events became log records.
            pass
        else:
            set_event_logger_provider(EventLoggerProvider(provider))
        if self.settings["logs"] == "python":
            from opentelemetry.sdk._logs import LoggingHandler

            logging.getLogger().addHandler(LoggingHandler(logger_provider=provider))
            logging.getLogger().setLevel(logging.INFO)

    def session(self):
        """OpenInference's way to name a session; nothing with any other instrumentation."""
        if not self.settings.get("package", "").startswith("openinference-"):
            return nullcontext()
        from openinference.instrumentation import using_session

        return using_session(self.conversation)

    @contextmanager
    def request(self):
        """The span of an application around a turn, and the session in it."""
        from opentelemetry import trace

        attributes = {"http.request.method": "POST", "http.route": "/chat"}
        tracer = trace.get_tracer("weather_app")
        kind = trace.SpanKind.SERVER
        with tracer.start_as_current_span("POST /chat", kind=kind, attributes=attributes), self.session():
            yield


async def converse(producer, context: Context) -> tuple[list[dict], list[set[str]]]:
    """The turns as they happened, and the traces of each."""
    say = producer.agent(context)
    say = await say if inspect.isawaitable(say) else say
    script = getattr(producer, "script", lambda turn: turn.steps)
    turns, traces = [], []
    for turn in SCENARIOS[context.scenario]:
        context.tools.begin_turn()
        context.server.begin_turn(script(turn))
        before = len(context.exporter.get_finished_spans())
        with getattr(producer, "around_turn", lambda _: nullcontext())(context):
            if inspect.iscoroutinefunction(say):
                final = await say(turn.user)
            else:
                # Some frameworks refuse to run in an event loop.
                final = await asyncio.to_thread(say, turn.user)
        spans = context.exporter.get_finished_spans()[before:]
        traces.append({f"{span.context.trace_id:032x}" for span in spans})
        happened = {"user": turn.user, "final": final, "calls": context.tools.calls}
        turns.append({**happened, "responses": context.tools.responses})
        check_turn(turn, turns[-1])
    check_requests(context.server)
    return turns, traces


def check_turn(turn, happened: dict) -> None:
    """Fails if something else happened than in the scenario."""
    final, calls = happened["final"], happened["calls"]
    if not isinstance(final, str) or final.strip() != turn.final:
        raise SystemExit(f"{final!r} was returned instead of {turn.final!r}")
    wanted = [call for step in turn.steps for call in step.calls]
    if len([c for c in calls if "get_" in c["name"]]) != len(wanted):
        raise SystemExit(f"{calls} were run instead of {wanted}")


def check_requests(server: ModelServer) -> None:
    """Fails if there were more or fewer requests than answers."""
    if server.unexpected or server.steps:
        raise SystemExit(f"{server.unexpected} more requests than answers, {len(server.steps)} answers left")


def main() -> None:
    file, name, scenario, what, out = sys.argv[1:]
    producer = importlib.import_module(f"producers.{pathlib.Path(file).stem}")
    settings = producer.PRODUCERS[name]
    context = Context(name, settings, scenario)
    turns, traces = asyncio.run(converse(producer, context))
    own = {"weather_app", "logfire"}
    if all(span.instrumentation_scope.name in own for span in context.exporter.get_finished_spans()):
        raise SystemExit("nothing was recorded: does the instrumentation support this release of the framework?")
    logs = context.logs.get_finished_logs() if context.logs else []
    document = otlp(context.exporter.get_finished_spans(), logs)
    write_recording(out, json.loads(what), scenario, settings, document, turns, traces, context.url)


def write_recording(out, what, scenario, settings, document, turns, traces, url) -> None:
    """Writes the trace, and what happened, with the parts that are nowhere in the trace."""
    document = neutral(document, int(url.rpartition(":")[2]))
    recorded = Recorded(document)
    for turn in turns:
        missing = {*recorded.missing(turn), *(settings.get("unrecorded", []) if turn["calls"] else [])}
        turn |= {"unrecorded": sorted(missing)} if missing else {}
    expected = {**what, "scenario": scenario, "conversations": conversations(traces, document), "turns": turns}
    write(f"{out}.trace.json", json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    write(f"{out}.expected.json", json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


def write(path: str, text: str) -> None:
    pathlib.Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
