"""A grader as AgentV has it: JSON in, JSON out."""

import json
import sys

from faults import score

document = json.load(sys.stdin)
print(json.dumps({"score": score(document["config"]["fault"]), "assertions": []}))
