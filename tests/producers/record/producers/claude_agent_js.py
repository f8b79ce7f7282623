"""The Claude Agent SDK for JavaScript, which OpenInference traces from outside of Claude Code."""

from dataclasses import replace

FRAMEWORK = "@anthropic-ai/claude-agent-sdk"
PROGRAM = "claude_agent_js.mjs"
OPENINFERENCE = "@arizeai/openinference-instrumentation-claude-agent-sdk"
# Tools of a server have its name.
PREFIX = "mcp__weather__"
PRODUCERS = {
    "claude-agent-js": {
        "package": OPENINFERENCE,
        "packages": [FRAMEWORK, OPENINFERENCE, "zod@4"],
        "prefix": PREFIX,
        "environment": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
    },
}


def script(turn):
    return [replace(step, calls=[(f"{PREFIX}{name}", args) for name, args in step.calls]) for step in turn.steps]
