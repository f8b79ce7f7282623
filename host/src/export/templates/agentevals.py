# @HEADER@
"""Becomes an evaluator, for agentevals: it starts files of its own languages only."""

import os
import sys

COMMAND = "@COMMAND@"
ENVIRONMENT = "@ENVIRONMENT@"

os.environ.update(ENVIRONMENT)
try:
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call(COMMAND))
    # The evaluator takes the place of this interpreter: streams, exit code and signals are its own.
    os.execv(COMMAND[0], COMMAND)
except OSError as error:
    sys.exit(f"cannot start {COMMAND[0]}: {error}")
