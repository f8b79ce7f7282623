// The agent of the Claude Agent SDK, which runs Claude Code as a process of its own.
import * as sdk from "@anthropic-ai/claude-agent-sdk";
import { ClaudeAgentSDKInstrumentation } from "@arizeai/openinference-instrumentation-claude-agent-sdk";
import { z } from "zod";

import { DESCRIPTIONS, parameters } from "./tools.mjs";

export async function agent(context) {
  const instrumentation = new ClaudeAgentSDKInstrumentation({ tracerProvider: context.provider() });
  const { query } = instrumentation.manuallyInstrument(sdk);
  const schemas = parameters(z);
  const shown = (result) => (typeof result === "string" ? result : JSON.stringify(result));
  const tools = Object.keys(DESCRIPTIONS).map((name) =>
    sdk.tool(name, DESCRIPTIONS[name], schemas[name].shape, async (args) => ({
      content: [{ type: "text", text: shown(await context.tools[name](args)) }],
    })),
  );
  let resume;
  return async (user) => {
    const options = {
      model: "claude-sonnet-4-5",
      systemPrompt: context.system,
      mcpServers: { weather: sdk.createSdkMcpServer({ name: "weather", version: "1.0.0", tools }) },
      allowedTools: Object.keys(DESCRIPTIONS).map((name) => `mcp__weather__${name}`),
      tools: [],
      settingSources: [],
      resume,
    };
    let final;
    for await (const message of query({ prompt: user, options })) {
      resume = message.session_id ?? resume;
      if (message.type === "result") final = message.result;
    }
    return final;
  };
}
