"""OpenAI's client library in a loop of tool calls: chat completions, the same streamed, and responses."""

FRAMEWORK = "openai"
PACKAGES = ["openai"]
OPENINFERENCE = "openinference-instrumentation-openai"
TRACELOOP = "opentelemetry-instrumentation-openai"
V2 = "opentelemetry-instrumentation-openai-v2"
# Names of loops in `clients.py`.
WAYS = {
    "": ("Chat", ""),
    "-stream": ("StreamedChat", ", streamed"),
    "-resp": ("Responses", ", Responses API"),
}
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", CAPTURE: "SPAN_ONLY"}
# Modules that V2 imports, but does not require, or only in other versions.
GENAI = ("httpx", "opentelemetry-util-genai<1.2")


def producer(package: str, way: str = "", extra: tuple = (), text: str = "", **more) -> dict:
    loop, of_way = WAYS[way]
    packages = [*PACKAGES, package, *extra]
    return {"package": package, "packages": packages, "loop": loop, "instrumentation": of_way + text, **more}


PRODUCERS = {
    **{f"openai-openinference{way}": producer(OPENINFERENCE, way) for way in WAYS},
    **{f"openai-traceloop{way}": producer(TRACELOOP, way) for way in WAYS},
    "openai-v2": producer(V2, environment=LATEST, extra=GENAI),
    "openai-v2-events": producer(
        V2, text=", content in log records", environment={**LATEST, CAPTURE: "EVENT_ONLY"}, extra=GENAI, logs="events"
    ),
    # The last release whose messages are events of their own.
    "openai-v2-messages": producer(
        V2,
        text=", content in log records",
        environment={CAPTURE: "true"},
        extra=(
            "httpx",
            f"{V2}==2.1b0",
            "opentelemetry-util-genai<0.4",
            "opentelemetry-api<1.38",
            "opentelemetry-sdk<1.38",
            "opentelemetry-exporter-otlp-proto-common<1.38",
        ),
        logs="events",
    ),
    "openai-logfire": producer("logfire"),
    "openai-logfire-resp": producer("logfire", "-resp"),
}


def agent(context):
    if context.settings["package"] == "logfire":
        import logfire

        logfire.configure(
            send_to_logfire=False,
            console=False,
            inspect_arguments=False,
            additional_span_processors=[context.processor],
        )
        logfire.instrument_openai()
    else:
        provider = context.provider()
        instrumentor(context.settings["package"]).instrument(tracer_provider=provider)
    from openai import OpenAI

    import clients

    return getattr(clients, context.settings["loop"])(OpenAI(), context.system, context.tools.run).say


def instrumentor(package: str):
    if package == OPENINFERENCE:
        from openinference.instrumentation.openai import OpenAIInstrumentor
    elif package == TRACELOOP:
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor
    else:
        from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    return OpenAIInstrumentor()


def around_turn(context):
    if context.settings["package"] == "logfire":
        import logfire

        return logfire.span("POST /chat")
    return context.request()
