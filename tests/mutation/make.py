#!/usr/bin/env python3
"""Makes the conversations with which the evaluators of this repository are tested by `evaluator mutate`. They are invented.

    python3 tests/mutation/make.py            # writes traces.jsonl and eval_set.json
    python3 tests/mutation/make.py --check    # fails if they are not what it writes

Each evaluator passes at least five of them: five ask for trains and get one booked, five ask for JSON, five get the same answer.
"""

import json
import pathlib
import sys

DIRECTORY = pathlib.Path(__file__).parent
TRIPS = [
    ("Utrecht", "Hamburg", "2026-03-06", "IC 141", "06:02", "10:55", 64),
    ("Lund", "Aarhus", "2026-03-09", "EC 88", "07:14", "12:31", 51),
    ("Basel", "Lyon", "2026-03-10", "ICE 225", "08:38", "12:47", 79),
    ("Ghent", "Leipzig", "2026-03-11", "ICE 71", "09:26", "17:58", 118),
    ("Graz", "Turin", "2026-03-12", "EC 319", "05:44", "15:09", 93),
]


def booking(number, trip):
    start, end, date, train, departs, arrives, price = trip
    code, seat = f"TD-{4821 + number}", 11 + 7 * number
    calls = [
        ("search_trains", {"date": date, "from": start, "to": end},
         {"trains": [{"arrives": arrives, "departs": departs, "price_eur": price, "train": train}]}),
        ("book_seat", {"date": date, "seat": "window", "train": train}, {"booking": code, "coach": 7, "seat": seat}),
        ("send_ticket", {"booking": code, "channel": "email"}, {"sent": True}),
    ]
    answer = (
        f"Your train {train} is booked: it leaves {start} at {departs} and is in {end} at {arrives}, for {price} euros. "
        f"The booking is {code}, window seat {seat}."
    )
    return f"I want to go from {start} to {end} on {date}. Please book a window seat.", calls, answer


def expense(number, trip):
    start, end, date, train, _, _, price = trip
    code = f"TD-{4821 + number}"
    calls = [("get_booking", {"booking": code}, {"amount": price, "booking": code, "currency": "EUR", "train": train})]
    answer = json.dumps({"amount": price, "currency": "EUR", "reference": code})
    return f"Give me the expense of booking {code} as JSON, please.", calls, answer


def paper(number, trip):
    start, end, date, train, departs, arrives, price = trip
    calls = [("search_policy", {"query": f"paper tickets on {train}"}, {"text": "The ticket on the phone is enough."})]
    return f"Do I have to print my ticket for {train} to {end}?", calls, "No, your phone is enough."


def conversations():
    return [kind(number, trip) for kind in (booking, expense, paper) for number, trip in enumerate(TRIPS)]


def attribute(key, value):
    return {"key": key, "value": {"stringValue": value}}


def messages(role, text):
    return json.dumps([{"parts": [{"content": text, "type": "text"}], "role": role}])


def trace(number, user, calls, answer):
    start = 1_772_442_000_000 + number * 60_000

    def span(position, name, first, last, attributes, more):
        return {
            "traceId": f"{number:032x}", "spanId": f"{number:08x}{position:08x}", "name": name,
            "startTimeUnixNano": f"{start + first}000000", "endTimeUnixNano": f"{start + last}000000",
            "attributes": [attribute(*pair) for pair in attributes], **more,
        }

    root = span(1, "invoke_agent travel_desk", 0, 1900, [
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "travel_desk"),
        ("gen_ai.conversation.id", f"desk-{number:02}"),
        ("gen_ai.input.messages", messages("user", user)),
        ("gen_ai.output.messages", messages("assistant", answer)),
    ], {})
    tools = [
        span(place + 2, f"execute_tool {name}", 300 + 400 * place, 500 + 400 * place, [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", name),
            ("gen_ai.tool.call.arguments", json.dumps(arguments)),
            ("gen_ai.tool.call.result", json.dumps(result)),
        ], {"parentSpanId": root["spanId"]})
        for place, (name, arguments, result) in enumerate(calls)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": [root] + tools}]}]}


def case(number, user, calls, answer):
    content = lambda role, text: {"parts": [{"text": text}], "role": role}
    uses = [{"args": arguments, "name": name} for name, arguments, _ in calls]
    return {"eval_id": f"desk-{number:02}", "conversation": [{
        "final_response": content("model", answer),
        "intermediate_data": {"tool_uses": uses},
        "user_content": content("user", user),
    }]}


def files():
    made = list(enumerate(conversations(), 1))
    cases = [case(number, *conversation) for number, conversation in made]
    return {
        "traces.jsonl": "".join(json.dumps(trace(number, *conversation)) + "\n" for number, conversation in made),
        "eval_set.json": json.dumps({"eval_set_id": "mutation", "eval_cases": cases}, indent=1) + "\n",
    }


if __name__ == "__main__":
    for name, text in files().items():
        if sys.argv[1:] != ["--check"]:
            (DIRECTORY / name).write_text(text)
        elif (DIRECTORY / name).read_text() != text:
            sys.exit(f"{name} is not what make.py writes")
