"""CrewAI: a crew of one agent with one task per turn."""

FRAMEWORK = "crewai"
OPENINFERENCE = "openinference-instrumentation-crewai"
TRACELOOP = "opentelemetry-instrumentation-crewai"
PACKAGES = ["crewai"]
PRODUCERS = {
    "crewai-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    # Calls are only in the repr of the crew's result.
    "crewai-traceloop": {
        "package": TRACELOOP,
        "packages": [*PACKAGES, TRACELOOP],
        "unrecorded": ["args", "calls", "responses"],
    },
}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    if context.name == "crewai-openinference":
        from openinference.instrumentation.crewai import CrewAIInstrumentor
    else:
        from opentelemetry.instrumentation.crewai import CrewAIInstrumentor
    CrewAIInstrumentor().instrument(tracer_provider=provider, skip_dep_check=True)
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    weather = Agent(
        role="Weather assistant",
        goal="Answer questions about weather",
        backstory="You know weather.",
        llm=LLM(model="openai/gpt-4o-mini", base_url=context.openai_url, api_key="sk-1"),
        tools=[tool(function.__name__)(function) for function in context.tools.functions()],
        verbose=False,
    )

    def say(user: str) -> str:
        task = Task(description=user, expected_output="A sentence.", agent=weather)
        return Crew(agents=[weather], tasks=[task]).kickoff().raw

    return say
