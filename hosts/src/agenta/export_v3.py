# @HEADER@
# Custom code for Agenta, interface v3: all that the evaluator says,
# `score` and `success` at least.
# It starts a process, so the runner has to be `local`: for others, serve the
# evaluator and use the webhook.

import json
import os
import signal
import subprocess
from typing import Any

COMMAND: list[str] = "@COMMAND@"
ENVIRONMENT: dict[str, str] = "@ENVIRONMENT@"
TIMEOUT = 40  # Agenta gives up after 45 s, and would leave the program behind.


def evaluate(inputs: Any, outputs: Any, trace: Any) -> dict[str, Any]:
    document = {"inputs": inputs, "outputs": outputs, "trace": trace}
    answer = run_program(json.dumps(document))
    checked(answer.get("score"))
    if not isinstance(answer.get("success"), bool):
        reason = f"{COMMAND[0]} does not say whether it was a success"
        raise BrokenEvaluator(reason)
    return answer


# @RUN@


# @SCORE@
