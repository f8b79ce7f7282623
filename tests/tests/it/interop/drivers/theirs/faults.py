"""How an evaluator in Python breaks: `score(fault)` is a full score, or does what the fault says."""

import ctypes
import os
import signal
import sys
import time


def score(fault):
    if fault == "stray output":
        print("judging ...")
        return 1.0
    if fault == "3 MB of messages":
        sys.stderr.write("judging ...\n" * (3 << 20 >> 4))
        return 1.0
    if fault == "error":
        raise ValueError("the model is gone")
    if fault == "exit 3":
        sys.exit(3)
    if fault == "exit 0 without an answer":
        sys.exit(0)
    if fault == "abort":
        os.abort()
    if fault == "segfault":
        ctypes.string_at(0)
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hang":
        time.sleep(600)
    if fault == "score NaN":
        return float("nan")
    if fault == "score 2":
        return 2.0
    raise ValueError(f"no such fault: {fault}")
