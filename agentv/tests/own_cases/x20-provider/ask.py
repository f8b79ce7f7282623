import json, os, sys, urllib.request

assert json.load(sys.stdin)["config"] is None
url, token = os.environ["AGENTV_PROVIDER_PROXY_URL"], os.environ["AGENTV_PROVIDER_PROXY_TOKEN"]
headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(url + path, data, headers)))


answer = ask("/invoke", {"question": "q", "provider": "judge"})
print(json.dumps({"score": 1 if answer["rawText"] == "Yes" and ask("/info")["maxCalls"] == int(sys.argv[1]) else 0}))
