"""DSPy's ReAct module. Its model answers in DSPy's own format, and calls the tool `finish` before the final answer."""

import json

FRAMEWORK = "dspy"
OPENINFERENCE = "openinference-instrumentation-dspy"
PACKAGES = ["dspy", OPENINFERENCE]
PRODUCERS = {"dspy-openinference": {"package": OPENINFERENCE}}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    from openinference.instrumentation.dspy import DSPyInstrumentor

    DSPyInstrumentor().instrument(tracer_provider=provider)
    import dspy

    dspy.configure(lm=dspy.LM("openai/gpt-4o-mini", api_base=context.openai_url, api_key="sk-1", cache=False))
    history = []

    class Weather(dspy.Signature):
        """You are a weather assistant."""

        history: dspy.History = dspy.InputField()
        question: str = dspy.InputField()
        answer: str = dspy.OutputField()

    react = dspy.ReAct(Weather, tools=context.tools.functions(), max_iters=5)

    def say(user: str) -> str:
        answer = react(question=user, history=dspy.History(messages=list(history))).answer
        history.append({"question": user, "answer": answer})
        # The module's own tool, which ends its loop.
        context.tools.note("finish", {}, "Completed")
        return answer

    return say


def script(turn):
    from scenarios import Step

    def fields(**values) -> Step:
        text = "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in values.items())
        return Step(f"{text}[[ ## completed ## ]]")

    calls = [call for step in turn.steps for call in step.calls]
    steps = [
        fields(next_thought="I go on.", next_tool_name=name, next_tool_args=json.dumps(args, ensure_ascii=False))
        for name, args in [*calls, ("finish", {})]
    ]
    return [*steps, fields(reasoning="That follows.", answer=turn.final)]
