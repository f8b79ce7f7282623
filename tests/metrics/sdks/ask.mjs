// Asks the models of its entry with OpenAI's SDK for Node.js, and passes on what the SDK says. `ask.py` does the same.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import OpenAI from "openai";

const document = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI();
const model = "judge";
const messages = [{ role: "user", content: "Is it good? " + document.invocations[0].user_content }];

async function all(list) {
  const found = [];
  for await (const each of await list) found.push(each);
  return found;
}

async function used() {
  const chat = await client.chat.completions.create({ model, messages, seed: 7 });
  const chunks = await all(client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } }));
  const response = await client.responses.create({ model, input: "Is it?" });
  const events = await all(client.responses.create({ model, input: "Is it so?", stream: true }));
  const embedding = (await client.embeddings.create({ model, input: ["a", "b"] })).data[1].embedding;
  const models = await all(client.models.list());
  return {
    chat: [chat.choices[0].message.content, chat.usage.total_tokens],
    stream: [chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), chunks.at(-1).usage.total_tokens],
    response: response.output_text,
    events: [events.map((event) => event.type), events.at(-1).response.output[0].content[0].text],
    embedding: embedding.map((number) => Number(number.toFixed(6))),
    models: [...models.map((each) => each.id), (await client.models.retrieve(model)).id],
  };
}

async function faults() {
  // Token of the evaluation before this one, which has ended.
  const kept = document.config.kept;
  const earlier = existsSync(kept) ? readFileSync(kept, "utf8") : undefined;
  writeFileSync(kept, client.apiKey);
  const clients = { token: new OpenAI({ apiKey: "0".repeat(64) }), ended: new OpenAI({ apiKey: earlier ?? "none" }) };
  const more = { model: { model: "gpt-9" }, refused: { temperature: 2 }, large: { user: "x".repeat(9 << 20) } };
  const found = {};
  for (const name of ["token", ...(earlier ? ["ended"] : []), "model", "large", "refused", "last", "beyond"]) {
    try {
      await (clients[name] ?? client).chat.completions.create({ model, messages, ...more[name] });
      found[name] = "answered";
    } catch (error) {
      if (!(error instanceof OpenAI.APIError) || !error.status) throw error;
      found[name] = [error.status, error.code ?? null, error.param ?? null];
    }
  }
  return found;
}

const details = await { used, faults }[document.config.part]();
console.log(JSON.stringify({ score: 1, details }));
