"""A model server on loopback that answers from a script.

It speaks as much as the frameworks need of OpenAI's chat completions and responses, Anthropic's messages and Gemini's
`generateContent`, each also streamed. The script is the list of answers of the turn that is going on: every request
takes the next one, so nothing depends on how a framework words its prompts.
"""

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from scenarios import Step

USAGE = (50, 10)


class ModelServer:
    """The server. `url` has no path."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.requests: list[tuple[str, dict]] = []
        self.unexpected = 0
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args) -> None:
                pass

            def do_GET(self) -> None:
                self.send(200, "application/json", b"{}")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                request = json.loads(body or b"{}")
                kind, content = model.answer(self.path, request)
                self.send(200 if kind else 404, kind or "text/plain", content)

            def send(self, status: int, kind: str, content: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def begin_turn(self, steps: list[Step]) -> None:
        self.steps = list(steps)

    def identifier(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers):04}{time.time_ns() % 0xFFFFFFFF:08x}"

    def answer(self, path: str, request: dict) -> tuple[str | None, bytes]:
        """The content type and the body."""
        path, _, query = path.partition("?")
        for end, reply in (
            ("/chat/completions", chat_completion),
            ("/responses", response),
            ("/messages", message),
            (":generateContent", generated),
            (":streamGenerateContent", generated),
        ):
            if not path.endswith(end):
                continue
            with self.lock:
                self.requests.append((path, request))
                self.unexpected += not self.steps
                step = self.steps.pop(0) if self.steps else Step("There is nothing to add.")
            is_stream = bool(request.get("stream")) or "stream" in end
            return reply(self.identifier, request, step, is_stream)
        return None, f"{path} is not served".encode()


def document(value: dict) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode()


def events(values: list, named: bool = False, done: bool = False) -> tuple[str, bytes]:
    text = ""
    for value in values:
        text += f"event: {value['type']}\n" if named else ""
        text += f"data: {json.dumps(value)}\n\n"
    return "text/event-stream", (text + ("data: [DONE]\n\n" if done else "")).encode()


def halves(text: str) -> list[str]:
    """A text in two pieces, as streams deliver it."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def chat_completion(identifier, request: dict, step: Step, is_stream: bool):
    calls = [
        {
            "index": index,
            "id": identifier("call_"),
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(args, ensure_ascii=False)},
        }
        for index, (name, args) in enumerate(step.calls)
    ]
    reason = "tool_calls" if calls else "stop"
    read, written = USAGE
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    head = {
        "id": identifier("chatcmpl-"),
        "created": int(time.time()),
        "model": request.get("model"),
        "object": "chat.completion.chunk" if is_stream else "chat.completion",
    }
    if not is_stream:
        for call in calls:
            del call["index"]
        said = {"role": "assistant", "content": step.text, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": said, "finish_reason": reason}
        return document({**head, "choices": [choice], "usage": usage})
    deltas: list[dict] = [{"role": "assistant", "content": None if calls else ""}]
    deltas += [{"content": half} for half in halves(step.text or "") if half]
    for call in calls:
        first, last = halves(call["function"]["arguments"])
        name = {"name": call["function"]["name"], "arguments": first}
        deltas.append({"tool_calls": [{**call, "function": name}]})
        deltas.append({"tool_calls": [{"index": call["index"], "function": {"arguments": last}}]})
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": usage})
    return events(chunks, done=True)


def response(identifier, request: dict, step: Step, is_stream: bool):
    output: list[dict] = [
        {
            "type": "function_call",
            "id": identifier("fc_"),
            "call_id": identifier("call_"),
            "name": name,
            "arguments": json.dumps(args, ensure_ascii=False),
            "status": "completed",
        }
        for name, args in step.calls
    ]
    if step.text:
        content = {"type": "output_text", "text": step.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": identifier("msg_"), "role": "assistant"}
        output.append({**message, "status": "completed", "content": [content]})
    read, written = USAGE
    whole = {
        "id": identifier("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "model": request.get("model"),
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": request.get("instructions"),
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": request.get("tools") or [],
        "output": output,
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }
    if not is_stream:
        return document(whole)
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    parts: list[dict] = [{"type": "response.created", "response": started}]
    for index, item in enumerate(output):
        place = {"item_id": item["id"], "output_index": index}
        empty = {**item, "status": "in_progress"}
        empty |= {"arguments": ""} if "arguments" in item else {"content": []}
        parts.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if "arguments" in item:
            kind, text = "response.function_call_arguments", item["arguments"]
            parts += [{"type": f"{kind}.delta", **place, "delta": half} for half in halves(text)]
            done = {"arguments": text, "name": item["name"]}
            parts.append({"type": f"{kind}.done", **place, **done})
        else:
            place |= {"content_index": 0}
            [content] = item["content"]
            part = {**content, "text": ""}
            parts.append({"type": "response.content_part.added", **place, "part": part})
            for half in halves(content["text"]):
                delta = {"type": "response.output_text.delta", "delta": half, "logprobs": []}
                parts.append({**delta, **place})
            text = {"type": "response.output_text.done", "text": content["text"], "logprobs": []}
            parts.append({**text, **place})
            parts.append({"type": "response.content_part.done", **place, "part": content})
        parts.append({"type": "response.output_item.done", "output_index": index, "item": item})
    parts.append({"type": "response.completed", "response": whole})
    return events([{**part, "sequence_number": n} for n, part in enumerate(parts)], named=True)


def message(identifier, request: dict, step: Step, is_stream: bool):
    blocks: list[dict] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [
        {"type": "tool_use", "id": identifier("toolu_"), "name": name, "input": args} for name, args in step.calls
    ]
    reason = "tool_use" if step.calls else "end_turn"
    read, written = USAGE
    whole = {
        "id": identifier("msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }
    if not is_stream:
        return document(whole)
    parts: list[dict] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(blocks):
        is_text = block["type"] == "text"
        empty = {**block, **({"text": ""} if is_text else {"input": {}})}
        parts.append({"type": "content_block_start", "index": index, "content_block": empty})
        text = block["text"] if is_text else json.dumps(block["input"], ensure_ascii=False)
        for half in halves(text):
            delta = (
                {"type": "text_delta", "text": half} if is_text else {"type": "input_json_delta", "partial_json": half}
            )
            parts.append({"type": "content_block_delta", "index": index, "delta": delta})
        parts.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    parts.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": written}})
    parts.append({"type": "message_stop"})
    return events(parts, named=True)


def generated(identifier, request: dict, step: Step, is_stream: bool):
    parts: list[dict] = [{"text": step.text}] if step.text else []
    parts += [{"functionCall": {"name": name, "args": args}} for name, args in step.calls]
    read, written = USAGE
    whole = {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}],
        "modelVersion": "gemini-2.5-flash",
        "responseId": identifier("resp"),
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": written,
            "totalTokenCount": read + written,
        },
    }
    return events([whole]) if is_stream else document(whole)
