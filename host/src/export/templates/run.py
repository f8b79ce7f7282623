class BrokenEvaluator(Exception):
    """The evaluator said nothing of the agent."""


def run_program(document, command=None, timeout=TIMEOUT):
    """Returns what the evaluator answers to a document, a JSON object. Whatever else it does is an exception."""
    command = command or COMMAND
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT},
        start_new_session=True,
    ) as child:
        try:
            answer, messages = child.communicate(document.encode(), timeout=timeout)
        except BaseException as error:
            if child.returncode is None:
                kill(child)
            if isinstance(error, subprocess.TimeoutExpired):
                raise BrokenEvaluator(f"{command[0]} was killed after {timeout} s") from None
            raise
    if child.returncode != 0:
        how = f"exited with code {child.returncode}"
        if child.returncode < 0:
            how = f"was killed by signal {-child.returncode}"
        said = messages.decode(errors="replace").strip()[-2000:]
        raise BrokenEvaluator(f"{command[0]} {how}: {said or 'it said nothing'}")
    try:
        answer = json.loads(answer.decode(), parse_constant=not_json)
    except (ValueError, RecursionError) as error:
        raise BrokenEvaluator(f"{command[0]} did not answer with one JSON document: {error}") from None
    if not isinstance(answer, dict):
        raise BrokenEvaluator(f"{command[0]} answered with something else than a JSON object")
    return answer


def kill(child):
    """Ends the evaluator and what it has started."""
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()


def not_json(name):
    raise ValueError(f"{name} is no number in JSON")


def checked(score):
    """Returns a score, if it is a finite number: anything else would count as one somewhere."""
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise BrokenEvaluator(f"{COMMAND[0]} gave a score that is no number: {score!r}")
    if not float("-inf") < score < float("inf"):
        raise BrokenEvaluator(f"{COMMAND[0]} gave a score that is not finite")
    return float(score)
