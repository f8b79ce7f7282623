"""Langfuse's SDK around a loop of tool calls with its own OpenAI client."""

import inspect

FRAMEWORK = "langfuse"
PACKAGES = ["langfuse", "openai"]
PRODUCERS = {"langfuse": {"instrumentation": "built in: observe() and langfuse.openai"}}


def agent(context):
    import langfuse
    from langfuse import Langfuse, observe

    from clients import Chat

    options = {"tracer_provider": context.provider(), "should_export_span": lambda _: True}
    known = inspect.signature(Langfuse).parameters
    options = {name: value for name, value in options.items() if name in known}
    client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", host=context.url, **options)
    from langfuse.openai import OpenAI

    def run(name, args):
        return observe(name=name, as_type="tool")(lambda **kwargs: context.tools.run(name, kwargs))(**args)

    chat = Chat(OpenAI(), context.system, run)

    is_old = not hasattr(langfuse, "propagate_attributes")

    @observe(name="weather", as_type="agent")
    def weather(user: str) -> str:
        if is_old:
            client.update_current_trace(session_id=context.conversation)
        return chat.say(user)

    def say(user: str) -> str:
        if is_old:
            return weather(user)
        with langfuse.propagate_attributes(session_id=context.conversation):
            return weather(user)

    return say
