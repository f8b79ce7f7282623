"""OpenAI's Agents SDK, whose own tracing is translated to OpenTelemetry by instrumentations."""

FRAMEWORK = "openai-agents"
PACKAGES = ["openai-agents"]
OPENINFERENCE = "openinference-instrumentation-openai-agents"
TRACELOOP = "opentelemetry-instrumentation-openai-agents"
V2 = "opentelemetry-instrumentation-openai-agents-v2"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
# The SDK tells the model this instead of the error.
ERROR = "An error occurred while running the tool"
PRODUCERS = {
    "openai-agents-logfire": {"package": "logfire", "packages": [*PACKAGES, "logfire"], "error": ERROR},
    "openai-agents-openinference": {
        "package": OPENINFERENCE,
        "packages": [*PACKAGES, OPENINFERENCE],
        "instrumentation": ", chat completions",
        "error": ERROR,
    },
    "openai-agents-openinference-resp": {
        "package": OPENINFERENCE,
        "packages": [*PACKAGES, OPENINFERENCE],
        "instrumentation": ", Responses API",
        "error": ERROR,
    },
    "openai-agents-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP], "error": ERROR},
    "openai-agents-v2": {
        "package": V2,
        "packages": [*PACKAGES, V2],
        "environment": {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental", CAPTURE: "SPAN_ONLY"},
        "error": ERROR,
    },
}


def agent(context):
    if context.name == "openai-agents-logfire":
        import logfire

        logfire.configure(
            send_to_logfire=False,
            console=False,
            inspect_arguments=False,
            additional_span_processors=[context.processor],
        )
        logfire.instrument_openai_agents()
    else:
        provider = context.provider()
        if "openinference" in context.name:
            from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
        else:
            from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor
        OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_default_openai_api

    if context.name == "openai-agents-openinference":
        set_default_openai_api("chat_completions")
    get_weather, get_forecast = context.tools.functions()
    tools = [function_tool(get_weather), function_tool(get_forecast, strict_mode=False)]
    weather = Agent(name="weather", instructions=context.system, model="gpt-4o-mini", tools=tools)
    session = SQLiteSession(context.conversation)
    config = RunConfig(workflow_name="Weather workflow", group_id=context.conversation)

    async def say(user: str) -> str:
        result = await Runner.run(weather, user, session=session, run_config=config)
        return result.final_output

    return say
