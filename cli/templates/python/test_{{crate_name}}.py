import json
import subprocess
import sys
import unittest
from pathlib import Path

import {{crate_name}}


class EvaluateTest(unittest.TestCase):
    def test_answered_turns_score(self):
        document = {"invocations": [{"final_response": "Hello!"}, {"final_response": None}]}

        result = {{crate_name}}.evaluate(document)

        self.assertEqual(result["per_invocation_scores"], [1.0, 0.0])
        self.assertEqual(result["score"], 0.5)
        self.assertEqual(result["details"], {"misses": ["turn 2 has no answer"]})

    def test_an_empty_conversation_is_not_judged(self):
        self.assertEqual({{crate_name}}.evaluate({})["status"], "NOT_EVALUATED")

    def test_the_program_reads_a_document_and_writes_one(self):
        program = [sys.executable, str(Path({{crate_name}}.__file__))]
        document = json.dumps({"metric_name": "{{crate_name}}", "invocations": [{"final_response": "¡Hola!"}]})

        done = subprocess.run(program, input=document.encode(), capture_output=True, check=True)

        self.assertEqual(json.loads(done.stdout)["score"], 1.0)


if __name__ == "__main__":
    unittest.main()
