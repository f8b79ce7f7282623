"""Pydantic AI, which traces itself. The format of its spans has a version of its own."""

import inspect

FRAMEWORK = "pydantic-ai"
DISTRIBUTION = "pydantic-ai-slim"
PACKAGES = ["pydantic-ai-slim[openai]"]
# The last release with format 1, and what it can be imported with.
FIRST = ["pydantic-ai-slim[openai]==1.9.1", "openai<2.9", "opentelemetry-api<1.38", "opentelemetry-sdk<1.38"]
PRODUCERS = {
    **{
        f"pydantic-ai-1-v{format}": {
            "instrumentation": f"built in, format version {format}",
            "packages": FIRST,
            "format": format,
        }
        for format in (1, 2, 3)
    },
    **{
        f"pydantic-ai-v{format}": {"instrumentation": f"built in, format version {format}", "format": format}
        for format in (2, 3, 4, 5)
    },
}


def agent(context):
    provider = context.provider()
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel

    from scenarios import NoSuchCity

    settings = InstrumentationSettings(tracer_provider=provider, version=context.settings["format"])
    if "instrument" in inspect.signature(Agent).parameters:
        instrument = {"instrument": settings}
    else:
        from pydantic_ai.capabilities import Instrumentation

        instrument = {"capabilities": [Instrumentation(settings=settings)]}
    model = OpenAIChatModel("gpt-4o-mini")
    weather = Agent(model, name="weather", instructions=context.system, **instrument)

    get_weather, get_forecast = context.tools.functions()

    @weather.tool_plain(name="get_weather")
    def weather_tool(city: str) -> str:
        """Current weather of a city."""
        try:
            return get_weather(city)
        except NoSuchCity as error:
            raise ModelRetry(str(error)) from error

    weather.tool_plain(get_forecast)
    history = []

    async def say(user: str) -> str:
        result = await weather.run(user, message_history=list(history))
        history[:] = result.all_messages()
        return result.output

    return say
