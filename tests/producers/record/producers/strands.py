"""Strands Agents, which traces itself: events of older conventions by default, messages as attributes on request."""

FRAMEWORK = "strands-agents"
PACKAGES = ["strands-agents[openai]"]
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
PRODUCERS = {
    "strands": {"instrumentation": "built in"},
    "strands-latest": {"instrumentation": "built in, gen_ai_latest_experimental", "environment": LATEST},
}


def agent(context):
    context.provider()
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    weather = Agent(
        name="weather",
        model=OpenAIModel(model_id="gpt-4o-mini"),
        tools=[tool(function) for function in context.tools.functions()],
        callback_handler=None,
        trace_attributes={"session.id": context.conversation},
    )
    return lambda user: str(weather(user))
