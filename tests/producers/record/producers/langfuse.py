"""Langfuse's SDK around a loop of tool calls with its own OpenAI client."""

FRAMEWORK = "langfuse"
PACKAGES = ["langfuse", "openai"]
PRODUCERS = {"langfuse": {"instrumentation": "built in: observe() and langfuse.openai"}}


def agent(context):
    from clients import Chat
    from langfuse import Langfuse, observe, propagate_attributes

    provider = context.provider()
    Langfuse(
        public_key="pk-lf-1",
        secret_key="sk-lf-1",
        host=context.url,
        tracer_provider=provider,
        should_export_span=lambda _: True,
    )
    from langfuse.openai import OpenAI

    def run(name, args):
        return observe(name=name, as_type="tool")(lambda **kwargs: context.tools.run(name, kwargs))(**args)

    chat = Chat(OpenAI(), context.system, run)

    @observe(name="weather", as_type="agent")
    def weather(user: str) -> str:
        return chat.say(user)

    def say(user: str) -> str:
        with propagate_attributes(session_id=context.conversation):
            return weather(user)

    return say
