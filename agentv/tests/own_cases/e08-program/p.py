import json,sys
d=json.load(sys.stdin)
print("GRADE {{ output }} for", d["criteria"])
