import json, os, sys

is_setting = json.load(sys.stdin)["config"] == {"provider": "some text"}
print(json.dumps({"score": 1 if is_setting and "AGENTV_PROVIDER_PROXY_URL" not in os.environ else 0}))
