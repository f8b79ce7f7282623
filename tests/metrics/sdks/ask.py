# /// script
# dependencies = ["openai==3.57.0"]
# ///
"""Asks the models of its entry with OpenAI's SDK for Python, and passes on what the SDK says. `ask.mjs` does the same."""

import json
import pathlib
import sys

import openai

document = json.load(sys.stdin)
client = openai.OpenAI()
question = [{"role": "user", "content": "Is it good? " + str(document["invocations"][0]["user_content"])}]


def used():
    chat = client.chat.completions.create(model="judge", messages=question, seed=7)
    chunks = list(client.chat.completions.create(model="judge", messages=question, stream=True, stream_options={"include_usage": True}))
    response = client.responses.create(model="judge", input="Is it?")
    events = list(client.responses.create(model="judge", input="Is it so?", stream=True))
    embedding = client.embeddings.create(model="judge", input=["a", "b"]).data[1].embedding
    return {
        "chat": [chat.choices[0].message.content, chat.usage.total_tokens],
        "stream": ["".join(it.choices[0].delta.content or "" for it in chunks if it.choices), chunks[-1].usage.total_tokens],
        "response": response.output_text,
        "events": [[event.type for event in events], events[-1].response.output_text],
        "embedding": [round(number, 6) for number in embedding],
        "models": [model.id for model in client.models.list()] + [client.models.retrieve("judge").id],
    }


def faults():
    # Token of the evaluation before this one, which has ended.
    kept = pathlib.Path(document["config"]["kept"])
    earlier = kept.read_text() if kept.exists() else None
    kept.write_text(client.api_key)
    clients = {"token": client.with_options(api_key="0" * 64), "ended": client.with_options(api_key=earlier or "none")}
    more = {"model": {"model": "gpt-9"}, "refused": {"temperature": 2}, "large": {"user": "x" * (9 << 20)}}
    found = {}
    for name in ("token", *(["ended"] if earlier else []), "model", "large", "refused", "last", "beyond"):
        asked = {"model": "judge", "messages": question, **more.get(name, {})}
        try:
            clients.get(name, client).chat.completions.create(**asked)
            found[name] = "answered"
        except openai.APIStatusError as error:
            found[name] = [error.status_code, error.code, error.param]
    return found


print(json.dumps({"score": 1, "details": {"used": used, "faults": faults}[document["config"]["part"]]()}))
