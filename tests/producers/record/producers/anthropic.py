"""Anthropic's client library. Its releases write spans of their own, without content, next to an instrumentation's."""

FRAMEWORK = "anthropic"
PACKAGES = ["anthropic"]
OPENINFERENCE = "openinference-instrumentation-anthropic"
TRACELOOP = "opentelemetry-instrumentation-anthropic"
PRODUCERS = {
    "anthropic-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    "anthropic-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP]},
}


def agent(context):
    provider = context.provider()
    if context.name == "anthropic-openinference":
        from openinference.instrumentation.anthropic import AnthropicInstrumentor
    else:
        from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
    AnthropicInstrumentor().instrument(tracer_provider=provider)
    from anthropic import Anthropic

    from clients import Messages

    return Messages(Anthropic(), context.system, context.tools.run).say


def around_turn(context):
    return context.request()
