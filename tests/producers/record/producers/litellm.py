"""LiteLLM in a loop of tool calls."""

from contextlib import contextmanager
from types import SimpleNamespace

FRAMEWORK = "litellm"
# It imports mcp, which only its proxy requires.
PACKAGES = ["litellm", "mcp"]
OPENINFERENCE = "openinference-instrumentation-litellm"
PRODUCERS = {
    "litellm-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    # Otherwise, every call writes to the span of the application.
    "litellm": {
        "instrumentation": "built in: callback otel, with request spans",
        "environment": {"USE_OTEL_LITELLM_REQUEST_SPAN": "true"},
    },
}


def agent(context):
    provider = context.provider()
    import litellm

    if context.name == "litellm-openinference":
        from openinference.instrumentation.litellm import LiteLLMInstrumentor

        LiteLLMInstrumentor().instrument(tracer_provider=provider)
    else:
        litellm.callbacks = ["otel"]
    from clients import Chat

    def create(**asked):
        return litellm.completion(**asked, api_base=context.openai_url, api_key="sk-1")

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    return Chat(client, context.system, context.tools.run).say


@contextmanager
def around_turn(context):
    with context.request():
        yield
        if context.name == "litellm":
            # The callback runs on a thread of its own.
            import time

            time.sleep(2)
