"""AutoGen's AgentChat, which traces itself without any content."""

FRAMEWORK = "autogen-agentchat"
PACKAGES = ["autogen-agentchat", "autogen-ext[openai]"]
PRODUCERS = {"autogen": {"instrumentation": "built in"}}


def agent(context):
    context.provider()
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
