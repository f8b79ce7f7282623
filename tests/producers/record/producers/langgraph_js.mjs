// LangChain's agent on LangGraph, with a checkpointer whose thread is the conversation.
import { LangChainInstrumentation } from "@arizeai/openinference-instrumentation-langchain";
import { MemorySaver } from "@langchain/langgraph";
import * as callbacks from "@langchain/core/callbacks/manager";
import { ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, createMiddleware, tool } from "langchain";
import { z } from "zod";

import { DESCRIPTIONS, parameters } from "./tools.mjs";

export async function agent(context) {
  const { conversation, system: systemPrompt } = context;
  new LangChainInstrumentation({ tracerProvider: context.provider() }).manuallyInstrument(callbacks);
  const schemas = parameters(z);
  const tools = Object.keys(DESCRIPTIONS).map((it) =>
    tool(context.tools[it], { name: it, description: DESCRIPTIONS[it], schema: schemas[it] }),
  );
  const errors = createMiddleware({
    name: "errors",
    wrapToolCall: async (request, handler) => {
      try {
        return await handler(request);
      } catch (error) {
        const { id: tool_call_id, name } = request.toolCall;
        return new ToolMessage({ content: `Error: ${error.message}`, tool_call_id, name, status: "error" });
      }
    },
  });
  const weather = createAgent({
    name: "weather",
    model: new ChatOpenAI({ model: context.model, configuration: { baseURL: process.env.OPENAI_BASE_URL } }),
    tools,
    systemPrompt,
    middleware: [errors],
    checkpointer: new MemorySaver(),
  });
  const config = { configurable: { thread_id: conversation }, metadata: { session_id: conversation } };
  return async (user) => {
    const result = await weather.invoke({ messages: [{ role: "user", content: user }] }, config);
    return result.messages.at(-1).text;
  };
}
