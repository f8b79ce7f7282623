"""An evaluator: reads a conversation from standard input, writes a score to standard output."""

import json
import sys


def evaluate(document):
    """Scores the share of turns that the agent answered."""
    scores = [
        1.0 if (turn.get("final_response") or "").strip() else 0.0
        for turn in document.get("invocations", [])
    ]
    if not scores:
        return {"score": 0.0, "status": "NOT_EVALUATED", "details": {"reason": "the conversation has no turns"}}
    # Reports show what is under `misses` if the score is too low. Put into `details` whatever else helps to understand it.
    misses = [f"turn {number} has no answer" for number, score in enumerate(scores, 1) if score == 0.0]
    details = {"misses": misses} if misses else {}
    return {"score": sum(scores) / len(scores), "per_invocation_scores": scores, "details": details}


if __name__ == "__main__":
    # An exception ends the program with a traceback and is reported as an error, not as a low score.
    json.dump(evaluate(json.load(sys.stdin.buffer)), sys.stdout)
