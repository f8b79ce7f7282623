"""Vercel's AI SDK: its own attributes in releases 5 and 6 and with the older integration of release 7, those of the GenAI
conventions with the newer one."""

FRAMEWORK = "Vercel AI SDK"
DISTRIBUTION = "ai"
PROGRAM = "vercel_ai.mjs"
LEGACY = ", LegacyOpenTelemetry"
WITHHELD = ", recordInputs and recordOutputs off"
FIVE = {"packages": ["ai@5", "@ai-sdk/openai@2", "zod@4"], "instrumentation": "built in"}
SIX = {**FIVE, "packages": ["ai@6", "@ai-sdk/openai@3", "zod@4"]}
SEVEN = {"package": "@ai-sdk/otel", "packages": ["ai@7", "@ai-sdk/openai@4", "@ai-sdk/otel@1", "zod@4"]}
PRODUCERS = {
    "vercel-ai-5": FIVE,
    "vercel-ai-5-stream": {**FIVE, "instrumentation": "built in, streamText"},
    "vercel-ai-5-withheld": {**FIVE, "instrumentation": f"built in{WITHHELD}"},
    "vercel-ai-6": SIX,
    "vercel-ai-7": {**SEVEN, "instrumentation": LEGACY},
    "vercel-ai-7-stream": {**SEVEN, "instrumentation": f"{LEGACY}, streamText"},
    "vercel-ai-7-otel": {**SEVEN, "instrumentation": ", OpenTelemetry"},
    "vercel-ai-7-otel-stream": {**SEVEN, "instrumentation": ", OpenTelemetry, streamText"},
    "vercel-ai-7-otel-withheld": {**SEVEN, "instrumentation": f", OpenTelemetry{WITHHELD}"},
}
