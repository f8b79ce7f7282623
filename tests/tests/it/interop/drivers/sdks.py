"""Asks the models of its entry with the SDKs of OpenAI and Anthropic, and reports what they made of the answers."""
import json
import sys

import anthropic, openai

client = openai.OpenAI()
claude = anthropic.Anthropic()
document = json.load(sys.stdin)
seen = {}
question = [{"role": "user", "content": "Is it good?"}]
tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
reply = client.chat.completions.create(model="judge", messages=question, logprobs=True, n=2, seed=7, tools=[tool])
first, second = reply.choices
seen["chat"] = [first.message.content, first.logprobs.content[0].logprob, second.message.tool_calls[0].function.name]
stream = client.chat.completions.create(model="judge", messages=question, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
parts = [chunk.choices[0] for chunk in chunks if chunk.choices]
text = "".join(part.delta.content or "" for part in parts if part.index == 0)
seen["streamed"] = [text, chunks[-1].usage.total_tokens]
with client.chat.completions.stream(model="judge", messages=question) as events:
    for _ in events:
        pass
    final = events.get_final_completion()
seen["helper"] = [final.choices[0].message.content, final.choices[1].message.tool_calls[0].function.arguments]
reply = client.responses.create(model="judge", input="Is it?")
seen["response"] = [reply.output_text, reply.usage.total_tokens]
with client.responses.stream(model="judge", input="Is it?") as events:
    for _ in events:
        pass
    seen["response_streamed"] = events.get_final_response().output_text
vectors = client.embeddings.create(model="vectors", input=["a"])
seen["embeddings"] = vectors.data[0].embedding
vectors = client.embeddings.create(model="vectors", input=["a"], encoding_format="float")
seen["floats"] = vectors.data[0].embedding
names = [model.id for model in client.models.list()] + [model.id for model in claude.models.list()]
seen["models"] = names + [client.models.retrieve("openai/gpt-4o-mini").owned_by]
reply = claude.messages.create(model="claude", max_tokens=9, messages=question)
seen["message"] = [b.type for b in reply.content] + [reply.usage.output_tokens]
with claude.messages.stream(model="claude", max_tokens=9, messages=question) as events:
    for _ in events:
        pass
    final = events.get_final_message()
seen["message_streamed"] = [b.model_dump(exclude_none=True) for b in final.content]
reply = claude.messages.create(model="scripted", max_tokens=9, messages=question)
seen["translated"] = reply.content[0].text


def error(call):
    try:
        call()
        return None
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        names = [getattr(error, name, None) for name in ("code", "param")]
        return [type(error).__name__, error.status_code, *names]


def chat(model="judge", content="Is it good?", client=client, **more):
    messages = [{"role": "user", "content": content}]
    return lambda: client.chat.completions.create(model=model, messages=messages, **more)


seen["errors"] = [
    error(chat("gpt-4o")),
    error(chat(client=openai.OpenAI(api_key="x"))),
    error(chat("scripted", logprobs=True)),
    error(chat(content="x" * (9 << 20))),
    error(lambda: claude.messages.create(model="gpt-4o", max_tokens=9, messages=question)),
]
answered = 0
while not (last := error(chat())):
    answered += 1
seen["spent"] = [answered, *last]
print(json.dumps({"score": 1, "details": {"seen": seen}}))
