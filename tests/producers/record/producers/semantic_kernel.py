"""Microsoft's Semantic Kernel, which traces itself."""

FRAMEWORK = "semantic-kernel"
PACKAGES = ["semantic-kernel"]
PRODUCERS = {
    "semantic-kernel": {
        "instrumentation": "built in, sensitive diagnostics on",
        "environment": {"SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE": "true"},
    }
}


def agent(context):
    context.provider()
    from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import kernel_function

    tools = [kernel_function(name=it.__name__, description=it.__doc__)(it) for it in context.tools.functions()]
    weather = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id="gpt-4o-mini"),
        name="weather",
        instructions=context.system,
        plugins=tools,
    )
    thread = ChatHistoryAgentThread()

    async def say(user: str) -> str:
        return str((await weather.get_response(messages=user, thread=thread)).content)

    return say
