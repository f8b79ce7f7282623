"""Scores whether the numbers in an answer come from somewhere: from the user or from a tool, not out of thin air.

Needs nothing but Python. Try it: python3 -m doctest grounded_numbers.py
"""

import json
import re
import sys


def numbers(text):
    """All numbers in a text, as text.

    >>> numbers("ICE 225 leaves at 06:38, for 79.50 euros.")
    ['225', '06:38', '79.50']
    """
    return re.findall(r"\d+(?:[.:,]\d+)*", text or "")


def evaluate(document):
    """Scores every turn by the share of numbers in its answer that were said or looked up before.

    >>> tool = {"tool_responses": [{"name": "search", "output": "leaves at 06:38"}]}
    >>> turn = {"final_response": "It leaves at 06:38 from platform 7.", "intermediate_steps": tool}
    >>> evaluate({"invocations": [turn]})["score"]
    0.5
    """
    known, invented, scores = set(), [], []
    for turn in document.get("invocations", []):
        known.update(numbers(turn.get("user_content")))
        for response in turn.get("intermediate_steps", {}).get("tool_responses", []):
            known.update(numbers(response.get("output")))
        said = numbers(turn.get("final_response"))
        invented += [number for number in said if number not in known]
        scores.append(sum(number in known for number in said) / len(said) if said else None)
    judged = [score for score in scores if score is not None]
    if not judged:
        return {"score": 0.0, "status": "NOT_EVALUATED", "details": {"reason": "no answer has a number in it"}}
    return {
        "score": sum(judged) / len(judged),
        "per_invocation_scores": scores,
        "details": {"invented": invented},
    }


if __name__ == "__main__":
    json.dump(evaluate(json.load(sys.stdin.buffer)), sys.stdout)
