# A stdio server whose tool decides about calls: what it was asked goes to the file named by its first argument.
import json
import sys

ASKED = sys.argv[1]
SCHEMA = {
    "type": "object",
    "properties": {
        "tool_name": {"type": "string"},
        "input": {"type": "object"},
        "tool_use_id": {"type": "string"},
    },
    "required": ["tool_name", "input"],
    "additionalProperties": False,
}


def decide(asked):
    text = json.dumps(asked["input"])
    if "break" in text:
        return "what?"
    if "fail" in text:
        raise ValueError("out of order")
    if "other" in text:
        return {"behavior": "allow", "updatedInput": {"command": "touch changed"}}
    if "good" in text:
        return {"behavior": "allow", "updatedInput": asked["input"]}
    return {"behavior": "deny", "message": "Not on Fridays."}


def answer(request):
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "gate", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        names = ("decide", "look")
        return {"tools": [{"name": n, "description": "Decides.", "inputSchema": SCHEMA} for n in names]}
    if method == "tools/call":
        asked = request["params"]["arguments"]
        with open(ASKED, "a") as file:
            file.write(json.dumps(asked) + "\n")
        try:
            said = decide(asked)
        except ValueError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        text = said if isinstance(said, str) else json.dumps(said)
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}), flush=True)
