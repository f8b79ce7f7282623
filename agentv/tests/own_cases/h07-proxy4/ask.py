import json,os,sys,urllib.request
json.load(sys.stdin)
u=os.environ.get("AGENTV_TARGET_PROXY_URL"); t=os.environ.get("AGENTV_TARGET_PROXY_TOKEN")
r=json.load(urllib.request.urlopen(urllib.request.Request(u+"/invoke",json.dumps({"question":"q","systemPrompt":None}).encode(),{"Authorization":"Bearer "+t,"Content-Type":"application/json"})))
print(json.dumps({"score":1 if r["rawText"]=="Yes" and r["output"] else 0}))
