"""Microsoft's Semantic Kernel, which traces itself."""

import json

FRAMEWORK = "semantic-kernel"
PACKAGES = ["semantic-kernel"]
PRODUCERS = {
    "semantic-kernel": {
        "instrumentation": "built in, sensitive diagnostics on",
        "environment": {"SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE": "true"},
        # Models know functions by the names of their plugins.
        "prefix": "weather-",
    }
}
PRODUCERS["semantic-kernel-events"] = {
    **PRODUCERS["semantic-kernel"],
    "instrumentation": "built in, sensitive diagnostics on, with log records",
    "logs": "python",
}


def agent(context):
    context.provider()
    from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import kernel_function

    get_weather, get_forecast = context.tools.functions()

    class Plugin:
        @kernel_function(description="Current weather")
        def get_weather(self, city: str) -> str:
            return get_weather(city)

        @kernel_function(description="Forecast")
        def get_forecast(self, place: dict, days: int, min_confidence: float) -> str:
            return json.dumps(get_forecast(place, days, min_confidence), ensure_ascii=False)

    weather = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id="gpt-4o-mini"),
        name="weather",
        instructions=context.system,
    )
    weather.kernel.add_plugin(Plugin(), "weather")
    thread = ChatHistoryAgentThread()

    async def say(user: str) -> str:
        return str((await weather.get_response(messages=user, thread=thread)).content)

    return say


def script(turn):
    from scenarios import Step

    return [Step(it.text, [(f"weather-{name}", args) for name, args in it.calls]) for it in turn.steps]
