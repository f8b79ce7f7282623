"""AutoGen's AgentChat, which traces itself without any content; OpenInference adds it."""

FRAMEWORK = "autogen-agentchat"
PACKAGES = ["autogen-agentchat", "autogen-ext[openai]"]
OPENINFERENCE = "openinference-instrumentation-autogen-agentchat"
PRODUCERS = {
    "autogen": {"instrumentation": "built in"},
    "autogen-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    if context.name == "autogen-openinference":
        from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

        AutogenAgentChatInstrumentor().instrument(tracer_provider=provider)
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    weather = AssistantAgent(
        "weather",
        OpenAIChatCompletionClient(model="gpt-4o-mini"),
        tools=context.tools.functions(),
        system_message=context.system,
        max_tool_iterations=3,
    )

    async def say(user: str) -> str:
        return (await weather.run(task=user)).messages[-1].content

    return say
