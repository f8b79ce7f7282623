"""LangChain's agent on LangGraph, with a checkpointer whose thread is the conversation."""

FRAMEWORK = "langgraph"
PACKAGES = ["langgraph", "langchain", "langchain-openai"]
OPENINFERENCE = "openinference-instrumentation-langchain"
TRACELOOP = "opentelemetry-instrumentation-langchain"
PRODUCERS = {
    "langgraph-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    "langgraph-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP]},
    "langgraph-langsmith": {
        "package": "langsmith",
        "packages": [*PACKAGES, "langsmith[otel]"],
        "environment": {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_OTEL_ENABLED": "true",
            "LANGSMITH_OTEL_ONLY": "true",
            "LANGSMITH_API_KEY": "key-1",
            "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
        },
    },
}


def agent(context):
    provider = context.provider()
    if context.name == "langgraph-openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    elif context.name == "langgraph-traceloop":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)
    from langchain.agents import create_agent
    from langchain.agents.middleware import wrap_tool_call
    from langchain.messages import ToolMessage
    from langchain.tools import tool
    from langchain_core.tracers.langchain import wait_for_all_tracers
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver
    from langsmith.run_trees import get_cached_client

    from scenarios import NoSuchCity

    @wrap_tool_call
    def handle(request, handler):
        try:
            return handler(request)
        except NoSuchCity as error:
            call = request.tool_call["id"]
            return ToolMessage(content=f"Error: {error}", tool_call_id=call, status="error")

    weather = create_agent(
        ChatOpenAI(model="gpt-4o-mini", base_url=context.openai_url),
        tools=[tool(function) for function in context.tools.functions()],
        system_prompt=context.system,
        middleware=[handle],
        checkpointer=InMemorySaver(),
        name="weather",
    )
    config = {"configurable": {"thread_id": f"thread-{context.scenario}"}}

    def say(user: str) -> str:
        result = weather.invoke({"messages": [{"role": "user", "content": user}]}, config)
        if context.name == "langgraph-langsmith":
            # It exports on a thread of its own.
            wait_for_all_tracers()
            get_cached_client().flush()
        return result["messages"][-1].text

    return say
