import json,sys
d=json.load(sys.stdin)["config"]
print(json.dumps({"score": 1 if d=={"min_length":5,"Tags":{"a_b":1},"x":"y"} else 0, "reasoning": json.dumps(d)}))
