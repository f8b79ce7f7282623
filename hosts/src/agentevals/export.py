# @HEADER@
"""Becomes an evaluator: agentevals starts files of its own languages only."""

import os
import sys

COMMAND: list[str] = "@COMMAND@"
ENVIRONMENT: dict[str, str] = "@ENVIRONMENT@"

os.environ.update(ENVIRONMENT)
try:
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call(COMMAND))
    # It takes the place of this interpreter: streams, exit code and signals are
    # the evaluator's own.
    os.execv(COMMAND[0], COMMAND)
except OSError as error:
    sys.exit(f"cannot start {COMMAND[0]}: {error}")
