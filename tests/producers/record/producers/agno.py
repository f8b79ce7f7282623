"""Agno."""

FRAMEWORK = "agno"
OPENINFERENCE = "openinference-instrumentation-agno"
TRACELOOP = "opentelemetry-instrumentation-agno"
PACKAGES = ["agno", "openai"]
PRODUCERS = {
    "agno-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    "agno-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP]},
}


def agent(context):
    provider = context.provider()
    if context.name == "agno-openinference":
        from openinference.instrumentation.agno import AgnoInstrumentor
    else:
        from opentelemetry.instrumentation.agno import AgnoInstrumentor
    AgnoInstrumentor().instrument(tracer_provider=provider)
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.models.openai import OpenAIChat

    weather = Agent(
        name="weather",
        model=OpenAIChat(id="gpt-4o-mini"),
        instructions=context.system,
        tools=context.tools.functions(),
        db=InMemoryDb(),
        add_history_to_context=True,
        telemetry=False,
    )
    return lambda user: weather.run(user, session_id=context.conversation).content
