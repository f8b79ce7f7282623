"""Google's Agent Development Kit, which traces itself."""

FRAMEWORK = "google-adk"
PACKAGES = ["google-adk"]
OPENINFERENCE = "openinference-instrumentation-google-adk"
LATEST = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
}
PRODUCERS = {
    # The last minor release before spans followed the semantic conventions.
    "google-adk-1": {"instrumentation": "built in", "packages": ["google-adk==1.14.1"]},
    "google-adk": {"instrumentation": "built in"},
    "google-adk-semconv": {
        "instrumentation": "built in, gen_ai_latest_experimental with contents in spans",
        "environment": LATEST,
    },
    "google-adk-events": {
        "instrumentation": "built in, content in log records",
        "environment": {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
        "logs": "events",
    },
    "google-adk-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
}


async def agent(context):
    import os

    os.environ.update(GOOGLE_GEMINI_BASE_URL=context.url, GOOGLE_GENAI_USE_VERTEXAI="FALSE")
    provider = context.provider()
    if context.name == "google-adk-openinference":
        from openinference.instrumentation.google_adk import GoogleADKInstrumentor

        GoogleADKInstrumentor().instrument(tracer_provider=provider)
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from scenarios import NoSuchCity

    get_weather, get_forecast = context.tools.functions()

    def forecast(place: dict, days: int, min_confidence: float) -> dict:
        return get_forecast(place, days, min_confidence)

    forecast.__name__, forecast.__doc__ = get_forecast.__name__, get_forecast.__doc__

    def on_error(tool, args, tool_context, error):
        return {"error": str(error)} if isinstance(error, NoSuchCity) else None

    def weather_or_error(city: str) -> dict:
        try:
            return {"result": get_weather(city)}
        except NoSuchCity as error:
            return {"error": str(error)}

    weather_or_error.__name__, weather_or_error.__doc__ = get_weather.__name__, get_weather.__doc__
    # Releases without the callback end the run with the error.
    has_callback = "on_tool_error_callback" in LlmAgent.model_fields
    more = {"on_tool_error_callback": on_error} if has_callback else {}
    weather = LlmAgent(
        name="weather",
        model="gemini-2.5-flash",
        instruction=context.system,
        tools=[get_weather if has_callback else weather_or_error, forecast],
        **more,
    )
    runner = InMemoryRunner(weather, app_name="weather_app")
    session = await runner.session_service.create_session(app_name="weather_app", user_id="user")

    async def say(user: str) -> str:
        text = ""
        message = types.Content(role="user", parts=[types.Part(text=user)])
        async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
            if event.is_final_response() and event.content:
                text = "".join(part.text or "" for part in event.content.parts)
        return text

    return say
