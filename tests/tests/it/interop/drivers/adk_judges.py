"""Evaluates cases by a metric of ADK with its default prompt. The model is a server that speaks OpenAI's protocol.

Standard input: {"metric", "url", "cases": [{"user", "tool_result", "answer"}]}. Standard output: a score for each case, or null.
"""

import asyncio
import json
import logging
import sys
import urllib.request

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation, InvocationEvent, InvocationEvents
from google.adk.evaluation.eval_metrics import (
    EvalMetric,
    HallucinationsCriterion,
    JudgeModelOptions,
    LlmAsAJudgeCriterion,
    LlmBackedUserSimulatorCriterion,
    RubricsBasedCriterion,
)
from google.adk.evaluation.eval_rubrics import Rubric, RubricContent
from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.genai import types

logging.disable(logging.CRITICAL)
job = json.load(sys.stdin)


def text_of(contents):
    return "\n\n".join(part.text or "" for content in contents for part in content.parts or [])


class Loopback(BaseLlm):
    @classmethod
    def supported_models(cls):
        return ["loopback"]

    async def generate_content_async(self, llm_request, stream=False):
        body = {"messages": [{"role": "user", "content": text_of(llm_request.contents)}]}
        request = urllib.request.Request(
            job["url"] + "/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            reply = json.load(response)["choices"][0]["message"]["content"]
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=reply)]))


def content(role, *parts):
    return types.Content(role=role, parts=list(parts))


def text(role, value):
    return content(role, types.Part(text=value))


def turn(case):
    call = types.FunctionCall(id="1", name="timetable", args={"day": "today"})
    response = types.FunctionResponse(id="1", name="timetable", response={"page": case["tool_result"]})
    events = [
        InvocationEvent(author="a", content=content("model", types.Part(function_call=call))),
        InvocationEvent(author="a", content=content("user", types.Part(function_response=response))),
    ]
    return Invocation(
        invocation_id="i",
        user_content=text("user", case["user"]),
        final_response=text("model", case["answer"]),
        intermediate_data=InvocationEvents(invocation_events=events),
    )


def metric():
    name, options = job["metric"], JudgeModelOptions(judge_model="loopback", num_samples=1)
    common = {"threshold": 0.5, "judge_model_options": options}
    if name == "hallucinations_v1":
        criterion = HallucinationsCriterion(**common)
    elif name.startswith("rubric_based"):
        rubric = Rubric(rubric_id="right", rubric_content=RubricContent(text_property="The answer is right."))
        criterion = RubricsBasedCriterion(rubrics=[rubric], **common)
    elif name.startswith("per_turn_user_simulator"):
        criterion = LlmBackedUserSimulatorCriterion(**common)
    else:
        criterion = LlmAsAJudgeCriterion(**common)
    return DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(
        EvalMetric(metric_name=name, threshold=0.5, criterion=criterion)
    )


async def score(case):
    actual = [turn(case)]
    golden = [turn(dict(case, answer="The last ferry leaves at 22:40."))]
    scenario = None
    if job["metric"].startswith("per_turn_user_simulator"):
        start = case["user"].split(" ", 1)[0] + " Hello"
        opening = Invocation(user_content=text("user", start), final_response=text("model", "Hello."))
        actual, golden = [opening] + actual, None
        scenario = ConversationScenario(starting_prompt=start, conversation_plan="Ask for the last ferry.")
    try:
        result = await metric().evaluate_invocations(actual, golden, scenario)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return None
    return result.overall_score


async def main():
    LLMRegistry.register(Loopback)
    return [await score(case) for case in job["cases"]]


json.dump(asyncio.run(main()), sys.stdout)
