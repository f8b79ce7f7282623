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
        raise NameError("it does not define a function `grade`")
    return grade


def described(error):
    """Returns an error in one line, with its place in the source."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == NAME]
    if isinstance(error, SyntaxError) and error.filename == NAME:
        lines.append(error.lineno)
    place = " (line %d of the source)" % lines[-1] if lines else ""
    return traceback.format_exception_only(type(error), error)[-1].strip() + place


def call(grade, arguments):
    try:
        value = grade(arguments["sample"], arguments["item"])
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return {"error": "`grade` returned %r, which is not a number" % (value,)}
        return {"value": float(value)}
    except Exception as error:
        traceback.print_exc()
        return {"error": "`grade` raised " + described(error)}


def main():
    document = json.load(sys.stdin.buffer)
    # What the source prints is not an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        grade = load(document["source"])
        results = [call(grade, arguments) for arguments in document["calls"]]
    except Exception as error:
        traceback.print_exc()
        problem = {"error": "the source cannot be loaded: " + described(error)}
        results = [problem for arguments in document["calls"]]
    answers.write(json.dumps(results))
    answers.close()


main()
