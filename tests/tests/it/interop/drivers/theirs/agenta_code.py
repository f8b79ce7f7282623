# Custom code as Agenta has it.

import os

from faults import score


def evaluate(inputs, outputs, trace):
    return score(os.environ["FAULT"])
