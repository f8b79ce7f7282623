// Mastra's agent, whose spans its own exporter sends to a collector.
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { Observability } from "@mastra/observability";
import { OtelExporter } from "@mastra/otel-exporter";
import { z } from "zod";

import { DESCRIPTIONS, parameters } from "./tools.mjs";

export async function agent(context) {
  const { conversation, model, system: instructions } = context;
  const endpoint = await context.collector();
  const exporter = new OtelExporter({ provider: { custom: { endpoint, protocol: "http/json" } }, batchSize: 1 });
  context.onFlush(() => exporter.flush());
  const schemas = parameters(z);
  const tools = Object.fromEntries(
    Object.keys(DESCRIPTIONS).map((id) => [
      id,
      createTool({ id, description: DESCRIPTIONS[id], inputSchema: schemas[id], execute: context.tools[id] }),
    ]),
  );
  const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
  const weather = new Agent({ id: "weather", name: "weather", instructions, model: openai.chat(model), tools });
  const serviceName = process.env.OTEL_SERVICE_NAME;
  const observability = new Observability({ configs: { otel: { serviceName, exporters: [exporter] } } });
  const mastra = new Mastra({ agents: { weather }, observability });
  const messages = [];
  return async (user) => {
    messages.push({ role: "user", content: user });
    const options = { tracingOptions: { metadata: { threadId: conversation } } };
    const result = await mastra.getAgent("weather").generate(messages, options);
    messages.push(...result.response.messages);
    return result.text;
  };
}
