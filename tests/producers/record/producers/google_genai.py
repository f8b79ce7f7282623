"""Google's Gen AI client library in a loop of tool calls."""

FRAMEWORK = "google-genai"
PACKAGES = ["google-genai"]
OPENINFERENCE = "openinference-instrumentation-google-genai"
TRACELOOP = "opentelemetry-instrumentation-google-generativeai"
SEMCONV = "opentelemetry-instrumentation-google-genai"
LATEST = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}
PRODUCERS = {
    "google-genai-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    "google-genai-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP]},
    # It refuses later releases.
    "google-genai-semconv": {"package": SEMCONV, "packages": ["google-genai<3", SEMCONV], "environment": LATEST},
}


def agent(context):
    provider = context.provider()
    if context.name == "google-genai-openinference":
        from openinference.instrumentation.google_genai import GoogleGenAIInstrumentor as Instrumentor
    elif context.name == "google-genai-traceloop":
        from opentelemetry.instrumentation.google_generativeai import GoogleGenerativeAiInstrumentor as Instrumentor
    else:
        from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor as Instrumentor
    Instrumentor().instrument(tracer_provider=provider)
    from google import genai

    from clients import Contents

    client = genai.Client(api_key="key-1", http_options={"base_url": context.url})
    return Contents(client, context.system, context.tools.run).say


def around_turn(context):
    return context.request()
