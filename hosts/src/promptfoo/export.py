# @HEADER@
"""A Python assertion for promptfoo, around an evaluator.

promptfoo has no document of its own for programs, so the evaluator is sent one of
AgentV's (the keys of 4.40 and later):

  of promptfoo                    becomes
  output                          `output`: the text, or the JSON of what is none
  context["prompt"]               `input`: one message of the user
  context["config"]               `config`: what the assertion has under `config:`,
                                  but for what follows
  context["config"]["criteria"]   `criteria`; nothing if there is none
  context["config"]["expected"]   `expected_output`: one message of the assistant
  context["config"]["threshold"]  nothing: with it the score decides, not the `pass`
                                  of the evaluator, which is one from 0.8 on
  context["vars"], ["metadata"]   `metadata.vars`, `metadata.provider`
  anything else, tool calls too   is not sent

`expected` and `criteria` may name variables of the test as "{{name}}" and nothing
else; what the test does not have is not sent. An evaluator that breaks, or does not
judge this case, fails the assertion, and the reason says so. Of a test with a
`threshold` of its own, promptfoo looks at the mean score alone, where that is a 0.
"""

import json
import os
import signal
import subprocess
from typing import Any

COMMAND: list[str] = "@COMMAND@"
ENVIRONMENT: dict[str, str] = "@ENVIRONMENT@"
TIMEOUT = 60
PASSES = 0.8  # From here on, as in AgentV, where an evaluator has no `pass`.


def get_assert(output: Any, context: dict[str, Any]) -> dict[str, Any]:
    answer = run_program(json.dumps(document(output, context)))
    score = checked(answer.get("score"))
    threshold = (context.get("config") or {}).get("threshold")
    passed = answer.get("pass", score >= PASSES)
    if threshold is not None:
        passed = score >= threshold
    if not isinstance(passed, bool):
        raise BrokenEvaluator(f"{COMMAND[0]} does not say whether it passed")
    # A failure without a reason is a pass for promptfoo.
    reason = answer.get("reason") or answer.get("reasoning") or f"the score is {score}"
    return {
        "pass": passed,
        "score": score,
        "reason": text(reason),
        "componentResults": list(map(component, rows(answer))),
    }


def rows(answer: dict[str, Any]) -> Any:
    return answer.get("checks") or answer.get("assertions") or []


def component(row: dict[str, Any]) -> dict[str, Any]:
    passed = row.get("pass", row.get("passed")) is True
    why = row.get("reason") or row.get("evidence")
    return {
        "pass": passed,
        "score": checked(row.get("score", float(passed))),
        "reason": f"{row.get('text')}: {why}" if why else row.get("text"),
    }


def document(output: Any, context: dict[str, Any]) -> dict[str, Any]:
    config = dict(context.get("config") or {})
    config.pop("threshold", None)
    variables = context.get("vars") or {}
    criteria = resolved(config.pop("criteria", None), variables)
    expected = resolved(config.pop("expected", None), variables)
    golden = {"role": "assistant", "content": expected}
    return {
        "criteria": "" if criteria is None else text(criteria),
        "expected_output": [] if expected is None else [golden],
        "output": text(output),
        "messages": None,
        "input": [{"role": "user", "content": text(context.get("prompt") or "")}],
        "input_files": [],
        "metadata": {"vars": variables, "provider": context.get("metadata")},
        "config": config or None,
    }


def resolved(value: Any, variables: dict[str, Any]) -> Any:
    """Returns what "{{name}}" stands for."""
    if isinstance(value, str) and value.startswith("{{") and value.endswith("}}"):
        return variables.get(value[2:-2].strip())
    return value


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# @RUN@


# @SCORE@
