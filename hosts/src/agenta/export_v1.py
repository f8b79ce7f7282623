# @HEADER@
# Custom code for Agenta, interface v1 (`version` 1 or none): the score.
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


def evaluate(app_params: Any, inputs: Any, output: Any, correct_answer: Any) -> float:
    document = {
        "app_params": app_params,
        "inputs": inputs,
        "output": output,
        "correct_answer": correct_answer,
    }
    return checked(run_program(json.dumps(document)).get("score"))


# @RUN@


# @SCORE@
