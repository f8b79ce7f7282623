"""Scores whether answers avoid certain words. The entry in the configuration forgets to name them."""

import json
import sys

document = json.load(sys.stdin)
words = document["config"].get("words")
if not words:
    sys.exit("error: config.words: missing")
answers = [(turn.get("final_response") or "").lower() for turn in document["invocations"]]
scores = [0.0 if any(word in answer for word in words) else 1.0 for answer in answers]
json.dump({"score": sum(scores) / len(scores), "per_invocation_scores": scores}, sys.stdout)
