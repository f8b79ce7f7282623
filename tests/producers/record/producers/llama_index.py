"""LlamaIndex's FunctionAgent."""

FRAMEWORK = "llama-index"
DISTRIBUTION = "llama-index-core"
OPENINFERENCE = "openinference-instrumentation-llama-index"
TRACELOOP = "opentelemetry-instrumentation-llamaindex"
PACKAGES = ["llama-index-core", "llama-index-llms-openai-like"]
PRODUCERS = {
    "llama-index-openinference": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]},
    "llama-index-traceloop": {"package": TRACELOOP, "packages": [*PACKAGES, TRACELOOP]},
}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    if context.name == "llama-index-openinference":
        from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
    else:
        from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor
    LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import Context
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(
        model="gpt-4o-mini",
        api_base=context.openai_url,
        api_key="sk-1",
        is_chat_model=True,
        is_function_calling_model=True,
    )
    tools = [FunctionTool.from_defaults(function) for function in context.tools.functions()]
    weather = FunctionAgent(tools=tools, llm=model, system_prompt=context.system, streaming=False)
    memory = Context(weather)

    async def say(user: str) -> str:
        return str(await weather.run(user_msg=user, ctx=memory))

    return say
