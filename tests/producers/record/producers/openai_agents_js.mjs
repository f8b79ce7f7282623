// The agent of OpenAI's Agents SDK for JavaScript.
import { OpenAIAgentsInstrumentation } from "@arizeai/openinference-instrumentation-openai-agents";
import { setSession } from "@arizeai/openinference-core";
import * as agents from "@openai/agents";
import { context as otelContext } from "@opentelemetry/api";
import { z } from "zod";

import { DESCRIPTIONS, parameters } from "./tools.mjs";

export async function agent(context) {
  const { conversation, model, name, system: instructions } = context;
  const instrumentation = new OpenAIAgentsInstrumentation({ tracerProvider: context.provider() });
  instrumentation.manuallyInstrument(agents);
  if (name === "openai-agents-js") agents.setOpenAIAPI("chat_completions");
  const schemas = parameters(z);
  const tools = Object.keys(DESCRIPTIONS).map((tool) =>
    agents.tool({
      name: tool,
      description: DESCRIPTIONS[tool],
      parameters: schemas[tool],
      execute: context.tools[tool],
    }),
  );
  const weather = new agents.Agent({ name: "weather", instructions, model, tools });
  const session = new agents.MemorySession();
  const run = (user) => agents.run(weather, user, { session });
  return async (user) => {
    const named = setSession(otelContext.active(), { sessionId: conversation });
    return (await otelContext.with(named, () => run(user))).finalOutput;
  };
}
