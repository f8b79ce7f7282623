// Asks the models of its entry with the SDK of OpenAI, and reports what it made of the answers.
import OpenAI from "MODULE";
const client = new OpenAI();
for await (const _ of process.stdin) {}
const messages = [{ role: "user", content: "Is it good?" }];
const seen = {};
const reply = await client.chat.completions.create({ model: "judge", messages, logprobs: true, n: 2 });
const [first, second] = reply.choices;
seen.chat = [first.message.content, first.logprobs.content[0].logprob, second.message.tool_calls[0].function.name];
let text = "";
for await (const chunk of await client.chat.completions.create({ model: "judge", messages, stream: true })) {
  text += chunk.choices[0]?.delta.content ?? "";
}
seen.streamed = text;
const stream = client.responses.stream({ model: "judge", input: "Is it?" });
seen.response = (await stream.finalResponse()).output_text;
seen.embeddings = (await client.embeddings.create({ model: "vectors", input: "a" })).data[0].embedding;
seen.models = [];
for await (const model of client.models.list()) seen.models.push(model.id);
try {
  await client.chat.completions.create({ model: "gpt-4o", messages });
} catch (error) {
  seen.unknown = [error.constructor.name, error.status, error.code, error.param];
}
console.log(JSON.stringify({ score: 1, details: { seen } }));
