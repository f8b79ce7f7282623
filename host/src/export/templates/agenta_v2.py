# @HEADER@
# Custom code for Agenta, interface v2: the score, which Agenta's threshold turns into success. It starts a process, so the
# runner has to be `local`: for others, serve the evaluator and use the webhook.

import json
import os
import signal
import subprocess

COMMAND = "@COMMAND@"
ENVIRONMENT = "@ENVIRONMENT@"
TIMEOUT = 40  # Agenta gives up after 45 s, and would leave the program behind.


def evaluate(inputs, outputs, trace):
    document = {"inputs": inputs, "outputs": outputs, "trace": trace}
    return checked(run_program(json.dumps(document)).get("score"))


# @RUN@
