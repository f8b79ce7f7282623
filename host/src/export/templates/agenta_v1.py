# @HEADER@
# Custom code for Agenta, interface v1 (`version` 1 or none). It starts a process, so the runner has to be `local`: for others,
# serve the evaluator and use the webhook.

import json
import os
import signal
import subprocess

COMMAND = "@COMMAND@"
ENVIRONMENT = "@ENVIRONMENT@"
TIMEOUT = 40  # Agenta gives up after 45 s, and would leave the program behind.


def evaluate(app_params, inputs, output, correct_answer):
    document = {
        "app_params": app_params,
        "inputs": inputs,
        "output": output,
        "correct_answer": correct_answer,
    }
    return checked(run_program(json.dumps(document)).get("score"))


# @RUN@
