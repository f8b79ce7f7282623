"""Agno."""

FRAMEWORK = "agno"
OPENINFERENCE = "openinference-instrumentation-agno"
PACKAGES = ["agno", "openai", OPENINFERENCE]
PRODUCERS = {"agno-openinference": {"package": OPENINFERENCE}}


def agent(context):
    provider = context.provider()
    from openinference.instrumentation.agno import AgnoInstrumentor

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
