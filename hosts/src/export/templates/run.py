class BrokenEvaluator(Exception):
    """The evaluator said nothing of the agent."""


def run_program(
    document: str, command: list[str] = COMMAND, timeout: float = TIMEOUT
) -> dict[str, Any]:
    """Returns the JSON object that the evaluator answers to a document.

    Whatever else it does is an exception.
    """
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
                reason = f"{command[0]} was killed after {timeout} s"
                raise BrokenEvaluator(reason) from None
            raise
    if child.returncode != 0:
        how = f"exited with code {child.returncode}"
        if child.returncode < 0:
            how = f"was killed by signal {-child.returncode}"
        said = messages.decode(errors="replace").strip()[-2000:]
        raise BrokenEvaluator(f"{command[0]} {how}: {said or 'it said nothing'}")
    try:
        value = json.loads(answer.decode(), parse_constant=not_json)
    except (ValueError, RecursionError) as error:
        reason = f"{command[0]} did not answer with one JSON document: {error}"
        raise BrokenEvaluator(reason) from None
    if not isinstance(value, dict):
        raise BrokenEvaluator(f"{command[0]} did not answer with a JSON object")
    return value


def kill(child: subprocess.Popen[bytes]) -> None:
    """Ends the evaluator and what it has started."""
    if hasattr(os, "killpg"):
        os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()


def not_json(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")
