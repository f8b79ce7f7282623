def checked(score: Any) -> float:
    """Returns a score from 0 to 1: hosts take any other number for one, too."""
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise BrokenEvaluator(f"{COMMAND[0]} gave no score, but {score!r}")
    if not 0 <= score <= 1:
        raise BrokenEvaluator(f"{COMMAND[0]} gave a score beyond 0..1: {score}")
    return float(score)
