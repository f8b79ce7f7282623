// The agent of Vercel's AI SDK, releases 5 to 7.
import { createOpenAI } from "@ai-sdk/openai";
import * as ai from "ai";
import { z } from "zod";

import { DESCRIPTIONS, parameters } from "./tools.mjs";

export async function agent(context) {
  const { name, conversation, system } = context;
  context.provider();
  const [, release, integration, call] = name.match(/^vercel-ai-(\d)(?:-(otel))?(?:-(stream|withheld))?$/);
  if (release === "7") {
    const otel = await import("@ai-sdk/otel");
    const enrichSpan = ({ runtimeContext }) => ({ "gen_ai.conversation.id": runtimeContext?.sessionId });
    ai.registerTelemetry(integration ? new otel.OpenTelemetry({ enrichSpan }) : new otel.LegacyOpenTelemetry());
  }
  const isWithheld = call === "withheld";
  const telemetry = {
    functionId: "weather",
    ...(isWithheld ? { recordInputs: false, recordOutputs: false } : {}),
    ...(release === "7"
      ? { includeRuntimeContext: { sessionId: true } }
      : { isEnabled: true, metadata: { sessionId: conversation } }),
  };
  const schemas = parameters(z);
  const tools = Object.fromEntries(
    Object.keys(DESCRIPTIONS).map((tool) => [
      tool,
      ai.tool({ description: DESCRIPTIONS[tool], inputSchema: schemas[tool], execute: context.tools[tool] }),
    ]),
  );
  const messages = [];
  const asked = {
    model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat(context.model),
    ...(release === "7" ? { instructions: system, telemetry } : { system, experimental_telemetry: telemetry }),
    ...(release === "7" ? { runtimeContext: { sessionId: conversation } } : {}),
    tools,
    messages,
    stopWhen: ai.stepCountIs(5),
  };
  return async (user) => {
    messages.push({ role: "user", content: user });
    const result = call === "stream" ? ai.streamText(asked) : await ai.generateText(asked);
    if (call === "stream") await result.consumeStream();
    messages.push(...((await result.responseMessages) ?? (await result.response).messages));
    return await result.text;
  };
}
