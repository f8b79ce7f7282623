# @HEADER@
# Custom code for Agenta, interface v2: the score, which Agenta's
# threshold turns into success.
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


def evaluate(inputs: Any, outputs: Any, trace: Any) -> float:
    document = {"inputs": inputs, "outputs": outputs, "trace": trace}
    return checked(run_program(json.dumps(document)).get("score"))


# @RUN@


# @SCORE@
