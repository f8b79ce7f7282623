"""Measures conversations with a metric of DeepEval in one process, as its own runner does: to compare the time with `type: metric`.

Argument: the number of conversations. Run it with the interpreter of an environment that has DeepEval.
"""

import sys

from deepeval.metrics import ToolPermissionMetric
from deepeval.test_case import LLMTestCase, ToolCall

metric = ToolPermissionMetric(denied_tools=["pay"])
for number in range(int(sys.argv[1])):
    calls = [ToolCall(name="search_offers", input_parameters={"number": number}, output="a quiet room near the old town")]
    metric.measure(LLMTestCase(input="Is there a room?", actual_output="Yes.", tools_called=calls), _show_indicator=False)
    assert metric.score == 1 and not metric.error, metric.error
