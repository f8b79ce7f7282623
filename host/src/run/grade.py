"""Calls `grade(sample, item)` of a grader for each call in the document on standard input.

Prints a list with one object per call: its value, or the error of the call.
"""

import json
import linecache
import numbers
import os
import sys
import traceback

NAME = "<grader>"


def load(source):
    """Returns the function of the source. Tracebacks show its lines."""
    linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
    namespace = {"__name__": "grader"}
    exec(compile(source, NAME, "exec"), namespace)
    grade = namespace.get("grade")
    if not callable(grade):
        sys.exit("the source does not define a function `grade`")
    return grade


def call(grade, arguments):
    try:
        value = grade(arguments["sample"], arguments["item"])
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return {"error": "`grade` returned %r, which is not a number" % (value,)}
        return {"value": float(value)}
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == NAME]
        place = " (line %d of the source)" % lines[-1] if lines else ""
        text = traceback.format_exception_only(type(error), error)[-1].strip()
        return {"error": "`grade` raised %s%s" % (text, place)}


def main():
    document = json.load(sys.stdin.buffer)
    # What the source prints is not an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    grade = load(document["source"])
    results = [call(grade, arguments) for arguments in document["calls"]]
    answers.write(json.dumps(results))
    answers.close()


main()
