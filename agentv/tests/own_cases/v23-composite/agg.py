import json,sys
r=json.load(sys.stdin)["results"]
assert r["c"]["hits"]==["h"] and r["c"]["verdict"]=="borderline", r
print(json.dumps({"score":0.7,"verdict":"borderline"}))
