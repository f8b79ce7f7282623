"""An evaluator as the SDK of agentevals has it."""

from agentevals_evaluator_sdk import EvalInput, EvalResult, evaluator
from faults import score


@evaluator
def theirs(input: EvalInput) -> EvalResult:
    return EvalResult(score=score(input.config["fault"]))


if __name__ == "__main__":
    theirs.run()
