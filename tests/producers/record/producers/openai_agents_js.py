"""OpenAI's Agents SDK for JavaScript, whose own tracing OpenInference translates to OpenTelemetry."""

FRAMEWORK = "@openai/agents"
PROGRAM = "openai_agents_js.mjs"
OPENINFERENCE = "@arizeai/openinference-instrumentation-openai-agents"
COMMON = {
    "package": OPENINFERENCE,
    "packages": ["@openai/agents@0.20", OPENINFERENCE, "@arizeai/openinference-core", "zod@4"],
    # The SDK tells the model this instead of the error.
    "error": "An error occurred while running the tool",
}
PRODUCERS = {
    "openai-agents-js": {**COMMON, "instrumentation": ", chat completions"},
    "openai-agents-js-resp": {**COMMON, "instrumentation": ", Responses API"},
}
