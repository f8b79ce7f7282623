"""Mistral's client library in a loop of tool calls."""

from types import SimpleNamespace

FRAMEWORK = "mistralai"
PACKAGES = ["mistralai"]
OPENINFERENCE = "openinference-instrumentation-mistralai"
TRACELOOP = "opentelemetry-instrumentation-mistralai"
PRODUCERS = {
    "mistralai-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    # It cannot be imported with later releases.
    "mistralai-traceloop": {"package": TRACELOOP, "packages": ["mistralai<2", TRACELOOP]},
}


def agent(context):
    provider = context.provider()
    if context.name == "mistralai-openinference":
        from openinference.instrumentation.mistralai import MistralAIInstrumentor as Instrumentor
    else:
        from opentelemetry.instrumentation.mistralai import MistralAiInstrumentor as Instrumentor
    Instrumentor().instrument(tracer_provider=provider)
    from clients import Chat

    try:
        from mistralai.client import Mistral
    except ImportError:
        from mistralai import Mistral

    client = Mistral(api_key="key-1", server_url=context.url)
    completions = SimpleNamespace(create=client.chat.complete)
    return Chat(SimpleNamespace(chat=SimpleNamespace(completions=completions)), context.system, context.tools.run).say


def around_turn(context):
    return context.request()
