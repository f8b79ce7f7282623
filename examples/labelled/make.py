#!/usr/bin/env python3
"""Makes the labelled conversations of the guide "Can you trust your judge?": invented ones, with invented labels and replies.

    python3 examples/labelled/make.py                          # writes traces.jsonl and labels.csv
    python3 examples/labelled/make.py --check                  # fails if they are not what it writes
    python3 examples/labelled/make.py --record target/debug/evaluator   # and judge.cassette.jsonl, with a judge that is a script

What happened in a conversation is its kind. People see the tool's response and label by it. The judge is made to err as judges
do: its first prompt does not show it the tool's response, so it believes what the agent claims.
"""

import csv
import http.server
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import threading

DIRECTORY = pathlib.Path(__file__).parent
SEED = 20260302

# Kind, number of conversations, label.
KINDS = [
    ("done", 20, "pass"),  # It was booked, and the answer says so.
    ("honest", 10, "pass"),  # It could not be booked, and the answer says so.
    ("claimed", 8, "fail"),  # It could not be booked, and the answer claims that it was.
    ("other", 8, "fail"),  # Something else was booked than was asked for.
    ("evasive", 8, "fail"),  # The agent tried nothing.
    ("partial", 6, "fail"),  # Booked, and the second question is not answered.
]
# Numbers of conversations, within their kind, about which the second rater has another opinion.
DISPUTED = {"honest": [3], "evasive": [5], "partial": [1, 4]}
# Numbers of conversations, within their kind, that the judge gets wrong, by prompt.
WRONG = {
    "judge_v1": {"claimed": [0, 1, 2, 4, 5, 6, 7], "honest": [7]},
    "judge_v2": {"claimed": [3], "partial": [2]},
}
TOWNS = ["Utrecht", "Hamburg", "Lund", "Basel", "Ghent", "Leipzig", "Aarhus", "Lyon", "Turin", "Graz"]
TRAINS = ["IC 141", "ICE 225", "EC 88", "IC 512", "ICE 71", "EC 319"]
DAYS = ["Tuesday", "Wednesday", "Thursday", "Friday"]
FAILURES = ["the train is full", "payment was refused", "no seats of this kind are left", "the fare has expired"]
NOTES = {
    "claimed": "nothing was booked: the tool failed",
    "other": "not what was asked for",
    "evasive": "did not even try",
    "partial": "second question ignored",
    "honest": "says that it failed",
}


class Pick:
    """Choices from `random()` alone, which is the same in every version of Python."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def one(self, items):
        return items[int(self.random() * len(items))]

    def number(self, low, high):
        return low + int(self.random() * (high - low + 1))


def conversation(pick, number, kind, index):
    start = pick.one(TOWNS)
    end = pick.one([town for town in TOWNS if town != start])
    train, day, seat = pick.one(TRAINS), pick.one(DAYS), pick.one(["window", "aisle"])
    price, coach, place = pick.number(29, 129), pick.number(1, 12), pick.number(11, 96)
    code = f"TD-{4000 + number * 7}"
    arguments = {"date": day, "from": start, "seat": seat, "to": end, "train": train}
    booked = {"booking": code, "coach": coach, "place": place, "price_eur": price, "seat": seat}
    user = f"Please book {train} from {start} to {end} on {day}, {seat} seat."
    answer = f"Booked: {train} on {day}, coach {coach}, {seat} seat {place}, {price} euros. Your booking is {code}."
    result = booked
    if kind in ("honest", "claimed"):
        reason = pick.one(FAILURES)
        result = {"error": reason, "status": "failed"}
        if kind == "honest":
            answer = f"I could not book {train} on {day}: {reason}. Shall I look for another train?"
    elif kind == "other":
        other = {"window": "aisle", "aisle": "window"}[seat]
        result = dict(booked, seat=other)
        arguments = dict(arguments, seat=other)
        answer = answer.replace(f"{seat} seat", f"{other} seat")
    elif kind == "evasive":
        result = None
        answer = f"Trains from {start} to {end} can be booked on the website of the railway."
    elif kind == "partial":
        user += " And until when can I cancel it?"
    return {
        "case": f"desk-{number:02}", "kind": kind, "index": index, "user": user, "answer": answer,
        "arguments": arguments, "result": result,
    }


def conversations():
    pick = Pick(SEED)
    kinds = [(kind, index) for kind, count, _ in KINDS for index in range(count)]
    # The order says nothing about the kind.
    for last in range(len(kinds) - 1, 0, -1):
        other = pick.number(0, last)
        kinds[last], kinds[other] = kinds[other], kinds[last]
    return [conversation(pick, number, kind, index) for number, (kind, index) in enumerate(kinds, 1)]


def attribute(key, value):
    return {"key": key, "value": {"stringValue": value}}


def messages(role, text):
    return json.dumps([{"parts": [{"content": text, "type": "text"}], "role": role}])


def trace(number, made):
    trace_id, start = f"{number * 0x9E3779B97F4A7C15 % (1 << 128):032x}", 1_772_442_000 + number * 60

    def span(position, name, first, last, attributes, more):
        return {
            "traceId": trace_id, "spanId": f"{number:08x}{position:08x}", "name": name,
            "startTimeUnixNano": str(start * 10**9 + first * 10**6),
            "endTimeUnixNano": str(start * 10**9 + last * 10**6),
            "attributes": [attribute(*pair) for pair in attributes], **more,
        }

    spans = [
        span(1, "invoke_agent travel_desk", 0, 1900, [
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.agent.name", "travel_desk"),
            ("gen_ai.conversation.id", made["case"]),
            ("gen_ai.input.messages", messages("user", made["user"])),
            ("gen_ai.output.messages", messages("assistant", made["answer"])),
        ], {})
    ]
    if made["result"] is not None:
        spans.append(span(2, "execute_tool book_seat", 700, 900, [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "book_seat"),
            ("gen_ai.tool.call.arguments", json.dumps(made["arguments"])),
            ("gen_ai.tool.call.result", json.dumps(made["result"])),
        ], {"parentSpanId": spans[0]["spanId"]}))
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def labels(all_made):
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["case", "rater", "label", "comment", "split"])
    label_of = {kind: label for kind, _, label in KINDS}
    for made in all_made:
        # One in four of each kind is for work on the prompt; the others are looked at once, at the end.
        split = "dev" if made["index"] % 4 == 0 else "test"
        for rater in ("anna", "ben"):
            label = label_of[made["kind"]]
            if rater == "ben" and made["index"] in DISPUTED.get(made["kind"], []):
                label = {"pass": "fail", "fail": "pass"}[label]
            comment = NOTES.get(made["kind"], "") if rater == "anna" else ""
            rows.writerow([made["case"], rater, label, comment, split])
    return text.getvalue()


def files():
    all_made = conversations()
    traces = "".join(json.dumps(trace(*pair)) + "\n" for pair in enumerate(all_made, 1))
    return {"traces.jsonl": traces, "labels.csv": labels(all_made)}


# Reasons of the judge for what it says about a kind: where it passes, and where it does not.
REASONS = {
    "done": ("The answer confirms the booking with all its data.", "The answer leaves open whether the ticket was sent."),
    "honest": ("Nothing was booked, and the answer says so and why.", "The user asked for a booking and did not get one."),
    "claimed": ("The answer confirms the booking with all its data.", "The tool reported an error, and the answer claims a booking."),
    "other": ("The answer confirms a booking.", "The user asked for another kind of seat."),
    "evasive": ("The answer says where to book.", "The agent was asked to book, and sends the user to a website."),
    "partial": ("The booking is confirmed.", "The question about cancelling is not answered."),
}


def reply(prompt, system, all_made):
    """The reply of the judge: what its reader is shown decides which of its faults it has."""
    [made] = [made for made in all_made if made["user"] + "\n" in prompt and made["answer"] in prompt]
    version = "judge_v2" if "tool_steps" in prompt else "judge_v1"
    label = {kind: label for kind, _, label in KINDS}[made["kind"]]
    if made["index"] in WRONG[version].get(made["kind"], []):
        label = {"pass": "fail", "fail": "pass"}[label]
    reasons = REASONS[made["kind"]][label == "fail"]
    key = re.search(r'"(choice[^"]*)"', system).group(1)
    return json.dumps({"reasoning": reasons, key: label})


def record(evaluator):
    all_made = conversations()

    class Judge(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            system, user = (message["content"] for message in body["messages"])
            message = {"role": "assistant", "content": reply(user, system, all_made)}
            choices = [{"finish_reason": "stop", "index": 0, "message": message}]
            usage = {"completion_tokens": 40, "prompt_tokens": 300, "total_tokens": 340}
            answer = json.dumps({"choices": choices, "model": body["model"], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (DIRECTORY / "judge.cassette.jsonl").unlink(missing_ok=True)
    for config in ("judge_v1.yaml", "judge_v2.yaml"):
        command = [evaluator, "run", DIRECTORY / "traces.jsonl", "-c", DIRECTORY / config, "--judge-mode", "record", "-o", "overview"]
        if subprocess.run(command).returncode not in (0, 1):
            sys.exit(f"{config} could not be recorded")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        for name, text in files().items():
            if (DIRECTORY / name).read_text() != text:
                sys.exit(f"{name} is not what make.py writes")
    else:
        for name, text in files().items():
            (DIRECTORY / name).write_text(text)
        if sys.argv[1:2] == ["--record"]:
            record(*sys.argv[2:])
