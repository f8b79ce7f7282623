"""Mastra, whose own tracing its exporter translates to the GenAI conventions."""

FRAMEWORK = "@mastra/core"
PROGRAM = "mastra.mjs"
PACKAGES = [
    "@mastra/core@1.71",
    "@mastra/observability@1.17",
    "@mastra/otel-exporter@1.4",
    "@opentelemetry/exporter-trace-otlp-http@0.218",
    "@ai-sdk/openai@3",
    "zod@4",
]
PRODUCERS = {"mastra": {"package": "@mastra/otel-exporter"}}
