# @HEADER@
"""A custom metric for Google's ADK: runs an evaluator.

That is a program that reads one JSON document and answers with one. `evaluate` is
asynchronous, so that several cases are judged at a time; `evaluate_sync` is not.
Both take from the metric's criterion in the EvalConfig:

  command   the program and its arguments, as a list or as for a shell
            (default: COMMAND)
  timeout   seconds after which it is killed, with all that it has started
            (default: TIMEOUT)
  on_error  "fail": an evaluator that breaks fails the case, with the reason as a
            rubric score "error" (default);
            "raise": ADK logs the exception and takes the metric for not evaluated,
            which does NOT fail a case
"""

import asyncio
import json
import math
import os
import shlex
import signal
import subprocess
from typing import Any

from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import (
    EvalStatus,
    EvaluationResult,
    PerInvocationResult,
)

COMMAND: list[str] = "@COMMAND@"
ENVIRONMENT: dict[str, str] = "@ENVIRONMENT@"
TIMEOUT = 60
OPTIONS = {"command", "timeout", "on_error"}


async def evaluate(
    eval_metric: Any,
    actual_invocations: Any,
    expected_invocations: Any,
    conversation_scenario: Any = None,
) -> EvaluationResult:
    return await asyncio.to_thread(
        evaluate_sync,
        eval_metric,
        actual_invocations,
        expected_invocations,
        conversation_scenario,
    )


def evaluate_sync(
    eval_metric: Any,
    actual_invocations: Any,
    expected_invocations: Any,
    conversation_scenario: Any = None,
) -> EvaluationResult:
    actual, expected = actual_invocations, expected_invocations
    try:
        command, timeout = options(eval_metric)
        document = envelope(eval_metric, actual, expected, conversation_scenario)
        return result(run_program(document, command, timeout), actual, expected)
    except Exception as error:
        if getattr(eval_metric.criterion, "on_error", "fail") == "raise":
            raise
        reason = f"the evaluator broke, the agent was not judged: {error}"
        return failed(reason, actual, expected)


def options(eval_metric: Any) -> tuple[list[str], float]:
    extras = eval_metric.criterion
    command = getattr(extras, "command", COMMAND)
    if isinstance(command, str):
        command = shlex.split(command)
    if not command or not isinstance(command, list):
        raise ValueError(f"`command` must be a list or a text, not {command!r}")
    timeout = getattr(extras, "timeout", TIMEOUT)
    if not is_finite(timeout) or timeout <= 0:
        raise ValueError(f"`timeout` must be a number of seconds, not {timeout!r}")
    on_error = getattr(extras, "on_error", "fail")
    if on_error not in ("fail", "raise"):
        raise ValueError(f'`on_error` must be "fail" or "raise", not {on_error!r}')
    return command, timeout


def envelope(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> str:
    """Returns the arguments of this metric as one line of JSON.

    What is meant for this module is no setting of the evaluator.
    """

    def dump(model: Any, exclude: Any = None) -> str:
        if model is None:
            return "null"
        text: str = model.model_dump_json(exclude_none=True, exclude=exclude)
        return text

    def dump_all(models: Any) -> str:
        return "null" if models is None else f"[{','.join(map(dump, models))}]"

    return (
        f'{{"eval_metric":{dump(eval_metric, {"criterion": OPTIONS})},'
        f'"actual_invocations":{dump_all(actual)},'
        f'"expected_invocations":{dump_all(expected)},'
        f'"conversation_scenario":{dump(scenario)}}}\n'
    )


def result(answer: dict[str, Any], actual: Any, expected: Any) -> EvaluationResult:
    """Returns the answer as ADK's result.

    What ADK would take for something else, or die of, is an exception.
    """
    status = answer.get("overall_eval_status")
    if isinstance(status, bool) or status not in (1, 2, 3, 4):
        reason = f"the answer has no `overall_eval_status` in 1..=4, but {status!r}"
        raise BrokenEvaluator(reason)
    rows = answer.get("per_invocation_results") or []
    judged = status in (EvalStatus.PASSED.value, EvalStatus.FAILED.value)
    if len(rows) != len(actual):
        if judged:
            reason = f"the answer has {len(rows)} rows for {len(actual)} turns"
            raise BrokenEvaluator(reason)
        rows = []
    for score in [answer.get("overall_score"), *(row.get("score") for row in rows)]:
        if score is not None and not is_finite(score):
            raise BrokenEvaluator(f"the answer has a score that is none: {score!r}")
    rows = [{**row, **turn(actual, expected, at)} for at, row in enumerate(rows)]
    return EvaluationResult.model_validate({**answer, "per_invocation_results": rows})


def failed(reason: str, actual: Any, expected: Any) -> EvaluationResult:
    reasons = [RubricScore(rubric_id="error", rationale=reason, score=0.0)]
    rows = [
        PerInvocationResult(
            score=0.0,
            eval_status=EvalStatus.FAILED,
            rubric_scores=reasons,
            **turn(actual, expected, at),
        )
        for at in range(len(actual))
    ]
    return EvaluationResult(
        overall_score=0.0,
        overall_eval_status=EvalStatus.FAILED,
        per_invocation_results=rows,
        overall_rubric_scores=reasons,
    )


def turn(actual: Any, expected: Any, at: int) -> dict[str, Any]:
    """The invocations that a row is about: the evaluator never sends them back."""
    golden = expected[at] if expected and at < len(expected) else None
    return {"actual_invocation": actual[at], "expected_invocation": golden}


def is_finite(value: Any) -> bool:
    """Whether it is a number; `NaN` and the like would count as one for ADK."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


# @RUN@
