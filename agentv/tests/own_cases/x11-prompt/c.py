import json,sys
d=json.load(sys.stdin)
ok=d["output"]=="q|one|0" and d["candidate_answer"]=="q|one|0" and d["question"]=="q" and d["input"][0]["content"]=="q" and d["criteria"]=="x" and d["expected_output"]==[] and d["config"] is None and d["duration_ms"]>0 and d["messages"][-1]["role"]=="assistant" and d["trace_summary"]["llm_call_count"]==1
print(json.dumps({"score": 1 if ok else 0, "reasoning": json.dumps(d)}))
