"""Microsoft's Agent Framework, which traces itself."""

FRAMEWORK = "agent-framework"
DISTRIBUTION = "agent-framework-core"
PACKAGES = ["agent-framework-core", "agent-framework-openai"]
PRODUCERS = {"agent-framework": {"instrumentation": "built in, sensitive data on"}}


def agent(context):
    context.provider()
    import agent_framework
    from agent_framework import observability

    observability.enable_instrumentation(enable_sensitive_data=True)
    from agent_framework.openai import OpenAIChatCompletionClient

    weather = agent_framework.Agent(
        OpenAIChatCompletionClient(model="gpt-4o-mini"),
        context.system,
        name="weather",
        tools=[agent_framework.tool(function) for function in context.tools.functions()],
    )
    session = weather.create_session()

    async def say(user: str) -> str:
        return (await weather.run(user, session=session)).text

    return say
