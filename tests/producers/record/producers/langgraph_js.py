"""LangChain's agent on LangGraph for JavaScript, with a checkpointer whose thread is the conversation."""

FRAMEWORK = "@langchain/langgraph"
PROGRAM = "langgraph_js.mjs"
PACKAGES = ["@langchain/langgraph@1", "langchain@1", "@langchain/core@1", "@langchain/openai@1", "zod@4"]
OPENINFERENCE = "@arizeai/openinference-instrumentation-langchain"
PRODUCERS = {"langgraph-js": {"package": OPENINFERENCE, "packages": [*PACKAGES, OPENINFERENCE]}}
