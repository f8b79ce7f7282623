# @HEADER@
"""A custom metric for Google's ADK: runs an evaluator, a program that reads one JSON document and answers with one.

`evaluate` is asynchronous, so that several cases are judged at a time; `evaluate_sync` is not. Both take from the metric's
criterion in the EvalConfig:

  command   the program and its arguments, as a list or as for a shell (default: COMMAND)
  timeout   seconds after which it is killed, with all that it has started (default: TIMEOUT)
  on_error  "fail": an evaluator that breaks fails the case, with the reason as a rubric score "error" (default);
            "raise": ADK logs the exception and takes the metric for not evaluated, which does NOT fail a case
"""

import asyncio
import json
import os
import shlex
import signal
import subprocess

from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import (
    EvalStatus,
    EvaluationResult,
    PerInvocationResult,
)

COMMAND = "@COMMAND@"
ENVIRONMENT = "@ENVIRONMENT@"
TIMEOUT = 60
OPTIONS = {"command", "timeout", "on_error"}


async def evaluate(eval_metric, actual_invocations, expected_invocations, conversation_scenario=None):
    return await asyncio.to_thread(
        evaluate_sync, eval_metric, actual_invocations, expected_invocations, conversation_scenario
    )


def evaluate_sync(eval_metric, actual_invocations, expected_invocations, conversation_scenario=None):
    actual, expected = actual_invocations, expected_invocations
    try:
        command, timeout = options(eval_metric)
        document = envelope(eval_metric, actual, expected, conversation_scenario)
        return result(run_program(document, command, timeout), actual, expected)
    except Exception as error:
        if getattr(eval_metric.criterion, "on_error", "fail") == "raise":
            raise
        return failed(f"the evaluator broke, the agent was not judged: {error}", actual, expected)


def options(eval_metric):
    extras = eval_metric.criterion
    command = getattr(extras, "command", None)
    if isinstance(command, str):
        command = shlex.split(command)
    timeout = getattr(extras, "timeout", TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise ValueError(f"`timeout` must be a number of seconds, not {timeout!r}")
    on_error = getattr(extras, "on_error", "fail")
    if on_error not in ("fail", "raise"):
        raise ValueError(f'`on_error` must be "fail" or "raise", not {on_error!r}')
    return command, timeout


def envelope(eval_metric, actual, expected, scenario):
    """Returns the arguments of this metric as one line of JSON. What is meant for this module is no setting of the evaluator."""

    def dump(model, exclude=None):
        return "null" if model is None else model.model_dump_json(exclude_none=True, exclude=exclude)

    def dump_all(models):
        return "null" if models is None else "[" + ",".join(map(dump, models)) + "]"

    return (
        f'{{"eval_metric":{dump(eval_metric, {"criterion": OPTIONS})},"actual_invocations":{dump_all(actual)},'
        f'"expected_invocations":{dump_all(expected)},"conversation_scenario":{dump(scenario)}}}\n'
    )


def result(answer, actual, expected):
    """Returns the answer as ADK's result. What ADK would take for something else, or die of, is an exception."""
    status = answer.get("overall_eval_status")
    if isinstance(status, bool) or status not in (1, 2, 3, 4):
        raise BrokenEvaluator(f"the answer has no `overall_eval_status` in 1..=4, but {status!r}")
    rows = answer.get("per_invocation_results") or []
    judged = status in (EvalStatus.PASSED.value, EvalStatus.FAILED.value)
    if len(rows) != len(actual):
        if judged:
            raise BrokenEvaluator(f"the answer has {len(rows)} rows for {len(actual)} turns")
        rows = []
    for score in [answer.get("overall_score"), *(row.get("score") for row in rows)]:
        if score is not None:
            checked(score)
    rows = [{**row, **turn(actual, expected, index)} for index, row in enumerate(rows)]
    return EvaluationResult.model_validate({**answer, "per_invocation_results": rows})


def failed(reason, actual, expected):
    row = {"score": 0.0, "eval_status": EvalStatus.FAILED}
    reasons = [RubricScore(rubric_id="error", rationale=reason, score=0.0)]
    rows = [
        PerInvocationResult(**row, **turn(actual, expected, index), rubric_scores=reasons)
        for index in range(len(actual))
    ]
    return EvaluationResult(
        overall_score=0.0,
        overall_eval_status=EvalStatus.FAILED,
        per_invocation_results=rows,
        overall_rubric_scores=reasons,
    )


def turn(actual, expected, index):
    """The invocations that a row is about: they are never sent back by the evaluator."""
    golden = expected[index] if expected and index < len(expected) else None
    return {"actual_invocation": actual[index], "expected_invocation": golden}


# @RUN@
