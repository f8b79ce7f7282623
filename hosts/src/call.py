"""Calls a function that an evaluation host would call, with the parts of the document on standard input.

Arguments: the file, the contract (`adk` or `agenta`), the name of the function, and what follows is for the file.
Prints the function's result as JSON. What the file prints itself goes to standard error.
"""
# The fork server knows this file by this mark, and does the imports of the file that it loads: evaluator-call

import inspect
import json
import math
import os
import sys
import traceback
import types


class Unusable(Exception):
    """Why there is no result."""


def load(path):
    """The module that the file is, loaded as hosts do: by its name, not as a program."""
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:
        name = "evaluator_of_" + name
    module = types.ModuleType(name)
    module.__file__ = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def find(module, path, name):
    function = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise Unusable("%s defines no function `%s`" % (path, name))
    return function


def call_agenta(function, document):
    """Calls with the arguments of custom code v1, or those of v2 and v3."""
    inputs = document.get("inputs") or {}
    output = document["output"] if "output" in document else document.get("outputs")
    key = (document.get("parameters") or {}).get("correct_answer_key") or "correct_answer"
    signature = inspect.signature(function)

    def takes(count):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            return False
        return True

    first = next(iter(signature.parameters), None)
    is_v1 = takes(4) and not (first == "inputs" and takes(3))
    if not is_v1 and not takes(3):
        raise Unusable(
            "`%s` takes %s; Agenta calls it with (app_params, inputs, output, correct_answer) or with "
            "(inputs, outputs, trace)" % (function.__name__, signature)
        )
    if is_v1 and "correct_answer" not in document and key not in inputs:
        raise Unusable(
            "`%s` takes a correct answer, and there is none for this conversation: give an eval set with an expected "
            "answer for its last turn" % function.__name__
        )
    if is_v1:
        correct_answer = document["correct_answer"] if "correct_answer" in document else inputs[key]
        result = function({}, inputs, output, correct_answer)
    else:
        result = function(inputs, output, document.get("trace"))
    if inspect.iscoroutine(result):
        result.close()
        raise Unusable("`%s` is async, which Agenta does not call" % function.__name__)
    if isinstance(result, float) and not math.isfinite(result):
        raise Unusable("`%s` returned %s, which is not a score" % (function.__name__, result))
    if result is None or is_v1 and not isinstance(result, (bool, int, float, str)):
        raise Unusable(
            "`%s` returned %s; Agenta takes %s from a function of this interface"
            % (
                function.__name__,
                "nothing" if result is None else "a " + type(result).__name__,
                "a number" if is_v1 else "a number, true, false, or a dict with a score",
            )
        )
    return result


def call_adk(function, document):
    """Calls with ADK's own models, and gives its result as a JSON value."""
    import asyncio

    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric
    from google.adk.evaluation.evaluator import EvaluationResult

    def invocations(key):
        items = document.get(key)
        return None if items is None else [Invocation.model_validate(item) for item in items]

    scenario = document.get("conversation_scenario")
    if scenario is not None:
        from google.adk.evaluation.conversation_scenarios import ConversationScenario

        scenario = ConversationScenario.model_validate(scenario)
    async def call():
        # ADK calls every metric in its event loop, and awaits whatever can be awaited.
        result = function(
            EvalMetric.model_validate(document["eval_metric"]),
            invocations("actual_invocations"),
            invocations("expected_invocations"),
            scenario,
        )
        return await result if inspect.isawaitable(result) else result

    result = asyncio.run(call())
    if not isinstance(result, EvaluationResult):
        raise Unusable(
            "`%s` returned a %s; ADK takes an EvaluationResult" % (function.__name__, type(result).__name__)
        )
    of_row = {"actual_invocation", "expected_invocation"}
    return result.model_dump(mode="json", exclude={"per_invocation_results": {"__all__": of_row}}, exclude_none=True)


def frames_of(path, frames):
    """The frames from the file on: those before it are not its author's business."""
    frame = frames
    while frame is not None and frame.tb_frame.f_code.co_filename != path:
        frame = frame.tb_next
    return frame or frames


def main():
    path, contract, name = sys.argv[1:4]
    answer = os.dup(1)
    os.dup2(2, 1)
    sys.argv[:] = [path] + sys.argv[4:]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    document = json.loads(sys.stdin.buffer.read())
    try:
        function = find(load(path), path, name)
        result = {"adk": call_adk, "agenta": call_agenta}[contract](function, document)
    except Unusable as why:
        sys.exit(str(why))
    except Exception as error:
        traceback.print_exception(type(error), error, frames_of(path, error.__traceback__))
        missing = (error.name or "").split(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        package = {"google": "google-adk", "agenta": "agenta"}.get(missing)
        if package:
            sys.exit("the package %s is missing: name it in a requirements.txt next to %s" % (package, path))
        sys.exit(1)
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        sys.exit("the result of `%s` cannot be written as JSON: %s" % (name, error))
    sys.stdout.flush()
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        out.write(text + "\n")


main()
