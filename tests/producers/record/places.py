"""Directories of the recording scripts."""

import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("EVALUATOR_PRODUCERS_CACHE") or "~/.cache/evaluator-producers").expanduser()
