"""Loops of tool calls around client libraries, as an application without a framework writes them."""

import json

from scenarios import SCHEMAS, NoSuchCity


def shown(run, name: str, args: dict) -> str:
    """The result of a tool as the model gets it."""
    try:
        result = run(name, args)
    except NoSuchCity as error:
        return f"Error: {error}"
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


class Chat:
    """OpenAI's chat completions."""

    TOOLS = [
        {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}
        for name, text, schema in SCHEMAS
    ]

    def __init__(self, client, system: str, run) -> None:
        self.client, self.run = client, run
        self.messages: list = [{"role": "system", "content": system}]

    def answer(self) -> dict:
        asked = {"model": "gpt-4o-mini", "messages": list(self.messages), "tools": self.TOOLS}
        message = self.client.chat.completions.create(**asked).choices[0].message
        calls = [
            {
                "id": it.id,
                "type": "function",
                "function": {"name": it.function.name, "arguments": it.function.arguments},
            }
            for it in message.tool_calls or []
        ]
        return {"role": "assistant", "content": message.content, **({"tool_calls": calls} if calls else {})}

    def say(self, user: str) -> str:
        self.messages.append({"role": "user", "content": user})
        while True:
            message = self.answer()
            self.messages.append(message)
            if "tool_calls" not in message:
                return message["content"]
            for call in message["tool_calls"]:
                function = call["function"]
                content = shown(self.run, function["name"], json.loads(function["arguments"]))
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


class StreamedChat(Chat):
    """The same, streamed."""

    def answer(self) -> dict:
        asked = {"model": "gpt-4o-mini", "messages": list(self.messages), "tools": self.TOOLS}
        text, calls = "", {}
        options = {"stream": True, "stream_options": {"include_usage": True}}
        for chunk in self.client.chat.completions.create(**asked, **options):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(
                        part.index, {"id": part.id, "type": "function", "function": {"arguments": ""}}
                    )
                    if part.function.name:
                        call["function"]["name"] = part.function.name
                    call["function"]["arguments"] += part.function.arguments or ""
        more = {"tool_calls": list(calls.values())} if calls else {}
        return {"role": "assistant", "content": text or None, **more}


class Responses:
    """OpenAI's responses."""

    TOOLS = [
        {"type": "function", "name": name, "description": text, "parameters": schema, "strict": False}
        for name, text, schema in SCHEMAS
    ]

    def __init__(self, client, system: str, run) -> None:
        self.client, self.system, self.run, self.items = client, system, run, []

    def say(self, user: str) -> str:
        self.items.append({"role": "user", "content": user})
        while True:
            asked = {"model": "gpt-4o-mini", "instructions": self.system, "tools": self.TOOLS}
            response = self.client.responses.create(**asked, input=list(self.items))
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                self.items.append({"role": "assistant", "content": response.output_text})
                return response.output_text
            for call in calls:
                kept = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
                self.items.append({"type": "function_call", **kept})
            for call in calls:
                output = shown(self.run, call.name, json.loads(call.arguments))
                self.items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


class Messages:
    """Anthropic's messages."""

    TOOLS = [{"name": name, "description": text, "input_schema": schema} for name, text, schema in SCHEMAS]

    def __init__(self, client, system: str, run) -> None:
        self.client, self.system, self.run, self.messages = client, system, run, []

    def say(self, user: str) -> str:
        self.messages.append({"role": "user", "content": user})
        while True:
            asked = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "system": self.system, "tools": self.TOOLS}
            message = self.client.messages.create(**asked, messages=list(self.messages))
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                text = "".join(block.text for block in message.content)
                self.messages.append({"role": "assistant", "content": text})
                return text
            kept = [{"type": "tool_use", "id": it.id, "name": it.name, "input": it.input} for it in calls]
            self.messages.append({"role": "assistant", "content": kept})
            results = [
                {"type": "tool_result", "tool_use_id": it.id, "content": shown(self.run, it.name, it.input)}
                for it in calls
            ]
            self.messages.append({"role": "user", "content": results})


class Contents:
    """Gemini's `generateContent`."""

    def __init__(self, client, system: str, run) -> None:
        from google.genai import types

        self.client, self.run, self.types, self.contents = client, run, types, []
        declared = [
            types.FunctionDeclaration(name=name, description=text, parameters_json_schema=schema)
            for name, text, schema in SCHEMAS
        ]
        self.config = types.GenerateContentConfig(
            system_instruction=system,
            tools=[types.Tool(function_declarations=declared)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def say(self, user: str) -> str:
        types = self.types
        self.contents.append(types.Content(role="user", parts=[types.Part.from_text(text=user)]))
        while True:
            asked = {"model": "gemini-2.5-flash", "contents": list(self.contents), "config": self.config}
            response = self.client.models.generate_content(**asked)
            self.contents.append(response.candidates[0].content)
            if not response.function_calls:
                return response.text
            results = [
                types.Part.from_function_response(
                    name=call.name, response={"result": shown(self.run, call.name, dict(call.args))}
                )
                for call in response.function_calls
            ]
            self.contents.append(types.Content(role="user", parts=results))
