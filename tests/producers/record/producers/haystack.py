"""Haystack's Agent component in a pipeline."""

FRAMEWORK = "haystack"
DISTRIBUTION = "haystack-ai"
OPENINFERENCE = "openinference-instrumentation-haystack"
PACKAGES = ["haystack-ai", OPENINFERENCE]
PRODUCERS = {"haystack-openinference": {"package": OPENINFERENCE}}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    from openinference.instrumentation.haystack import HaystackInstrumentor

    HaystackInstrumentor().instrument(tracer_provider=provider)
    from haystack import Pipeline
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import create_tool_from_function

    pipeline = Pipeline()
    weather = Agent(
        chat_generator=OpenAIChatGenerator(model="gpt-4o-mini", api_base_url=context.openai_url),
        tools=[create_tool_from_function(function) for function in context.tools.functions()],
        system_prompt=context.system,
    )
    pipeline.add_component("agent", weather)
    history = []

    def say(user: str) -> str:
        messages = [*history, ChatMessage.from_user(user)]
        answered = pipeline.run({"agent": {"messages": messages}})["agent"]["messages"]
        history[:] = [message for message in answered if not message.is_from("system")]
        return answered[-1].text

    return say
