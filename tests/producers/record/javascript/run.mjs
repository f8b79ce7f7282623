// Runs the turns of one scenario with the agent of one producer. Copied into that producer's environment and started by
// `javascript.py`.
//
// Usage: node run.mjs PRODUCER.mjs NAME CONVERSATION
//
// Every line of standard input is a turn. The answer to it is a line of standard output with the final response, the tool
// calls, and the spans that were recorded meanwhile.

import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

import { Tools } from "./tools.mjs";

// What a producer builds its agent with.
class Context {
  constructor(name, conversation) {
    Object.assign(this, { name, conversation, system: "You are a weather assistant.", tools: new Tools() });
    this.model = "gpt-4o-mini";
    this.spans = [];
    this.documents = [];
    this.flushes = [];
  }

  // A processor that records, for tracer providers of a producer's own.
  processor() {
    const spans = this.spans;
    const exporter = {
      export(batch, done) {
        spans.push(...batch);
        done({ code: 0 });
      },
      shutdown: async () => {},
      forceFlush: async () => {},
    };
    const processor = new SimpleSpanProcessor(exporter);
    this.flushes.push(() => processor.forceFlush());
    return processor;
  }

  // A tracer provider that records, registered as the global one.
  provider() {
    const resource = resourceFromAttributes({ "service.name": process.env.OTEL_SERVICE_NAME });
    const provider = new NodeTracerProvider({ resource, spanProcessors: [this.processor()] });
    provider.register();
    return provider;
  }

  // The address of a collector for OTLP in JSON over HTTP, for exporters of a producer's own. It keeps spans.
  async collector() {
    const server = createServer(async (request, response) => {
      const chunks = await Array.fromAsync(request);
      this.documents.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${server.address().port}/v1/traces`;
  }

  // Calls a function before spans are taken.
  onFlush(flush) {
    this.flushes.push(flush);
  }

  // The spans since the last time, as OTLP JSON.
  async takeSpans() {
    for (const flush of this.flushes) await flush();
    const documents = this.documents.splice(0);
    const spans = this.spans.splice(0);
    if (spans.length) documents.push(JSON.parse(Buffer.from(JsonTraceSerializer.serializeRequest(spans)).toString()));
    return { resourceSpans: documents.flatMap((document) => document.resourceSpans ?? []) };
  }
}

const [producer, name, conversation] = process.argv.slice(2);
// Standard output is for answers.
console.log = console.info = console.debug = console.error;
const context = new Context(name, conversation);
const say = await (await import(`./${producer}`)).agent(context);
for await (const line of createInterface({ input: process.stdin })) {
  const { user } = JSON.parse(line);
  const { calls, responses } = context.tools.beginTurn();
  const final = await say(user);
  const answer = { final, calls, responses, spans: await context.takeSpans() };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
