# @HEADER@
"""A Python assertion for promptfoo, around an evaluator.

promptfoo has no document of its own for programs, so the evaluator is sent one of AgentV's (the keys of 4.40 and later):

  of promptfoo                        becomes
  output                              `output`: the text, or the JSON of an output that is none
  context["prompt"]                   `input`: one message of the user
  context["config"]                   `config`: what the assertion has under `config:`, but for the two below
  context["config"]["criteria"]       `criteria`; nothing if there is none
  context["config"]["expected"]       `expected_output`: one message of the assistant
  context["vars"], ["metadata"]       `metadata.vars`, `metadata.provider`
  anything else, tool calls too       is not sent

`expected` and `criteria` may name variables of the test as "{{name}}" and nothing else; what the test does not have is not
sent. An evaluator that breaks, or does not judge this case, fails the assertion, and the reason says so.
"""

import json
import os
import signal
import subprocess

COMMAND = "@COMMAND@"
ENVIRONMENT = "@ENVIRONMENT@"
TIMEOUT = 60


def get_assert(output, context):
    answer = run_program(json.dumps(document(output, context)))
    score = checked(answer.get("score"))
    if not isinstance(answer.get("pass"), bool):
        raise BrokenEvaluator(f"{COMMAND[0]} does not say whether it passed")
    return {
        "pass": answer["pass"],
        "score": score,
        "reason": answer.get("reason") or answer.get("reasoning") or "",
        "componentResults": [
            {
                "pass": check["pass"],
                "score": check.get("score", float(check["pass"])),
                "reason": f"{check['text']}: {check['reason']}",
            }
            for check in answer.get("checks", [])
        ],
    }


def document(output, context):
    config = dict(context.get("config") or {})
    variables = context.get("vars") or {}
    criteria = resolved(config.pop("criteria", None), variables)
    expected = resolved(config.pop("expected", None), variables)
    return {
        "criteria": "" if criteria is None else text(criteria),
        "expected_output": [] if expected is None else [{"role": "assistant", "content": expected}],
        "output": text(output),
        "messages": None,
        "input": [{"role": "user", "content": text(context.get("prompt") or "")}],
        "input_files": [],
        "metadata": {"vars": variables, "provider": context.get("metadata")},
        "config": config or None,
    }


def resolved(value, variables):
    """Returns what "{{name}}" stands for."""
    if isinstance(value, str) and value.startswith("{{") and value.endswith("}}"):
        return variables.get(value[2:-2].strip())
    return value


def text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# @RUN@
