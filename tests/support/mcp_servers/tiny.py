# A stdio server in plain Python, well-behaved or hostile by its first argument.
import json
import os
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def note(method, params=None):
    send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name, description="A tool.", schema=None, **more):
    schema = {"type": "object", "properties": {}} if schema is None else schema
    return {"name": name, "description": description, "inputSchema": schema, **more}


ECHO = tool("echo", "Says it again.", {"type": "object", "properties": {"text": {"type": "string"}}})


def tools(mode, params):
    cursor = (params or {}).get("cursor")
    if mode == "pages":
        page = int(cursor or 0)
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"tools": [tool(f"t{page * 2}"), tool(f"t{page * 2 + 1}")], **more}
    if mode == "stuck-cursor":
        return {"tools": [tool("a"), tool("b")], "nextCursor": "same"}
    if mode == "empty-cursor":
        return {"tools": [tool("a")], "nextCursor": ""}
    if mode == "many":
        return {"tools": [tool(f"tool{i}") for i in range(5000)]}
    if mode == "names":
        names = [
            "Dockerfile problems scanner",
            "admin.tools.list",
            "a/b",
            "x" * 100,
            "x" * 99 + "y",
            "",
            "ツール",
        ]
        return {"tools": [tool(name) for name in names]}
    if mode == "schemas":
        schemas = {
            "string": {"type": "string"},
            "any_of": {
                "anyOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
                ]
            },
            "one_of": {"type": "object", "oneOf": [{"properties": {"a": {"type": "integer"}}}]},
            "empty": {},
            "nullable": {"type": ["object", "null"]},
            "true": True,
            "circle": {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            },
            "recursive": {
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/node"}},
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            },
        }
        listed = [tool(name, schema=schema) for name, schema in schemas.items()]
        return {"tools": [*listed, {"name": "null", "inputSchema": None}, 7, {"nope": 1}, ECHO]}
    if mode == "changing":
        with open(sys.argv[2]) as file:
            words = file.read()
        return {"tools": [tool("echo", words), tool("steady")]}
    if mode == "kinds":
        return {"tools": [tool("kinds"), tool("long")]}
    if mode == "list-changed":
        return {"tools": [ECHO, *([tool("late")] if STATE["called"] else [])]}
    if mode == "shrinking":
        return {"tools": [ECHO] if STATE["called"] else [ECHO, tool("slow"), tool("gone")]}
    return {
        "tools": [
            ECHO,
            *(
                tool(n)
                for n in (
                    "die",
                    "hang",
                    "half",
                    "big",
                    "fail",
                    "env",
                    "args",
                    "progress",
                    "ask",
                    "sample",
                    "roots",
                )
            ),
        ]
    }


STATE = {"called": 0, "next": 1000}


def ask_client(method, params):
    STATE["next"] += 1
    send({"jsonrpc": "2.0", "id": STATE["next"], "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == STATE["next"] and "method" not in message:
            return message.get("result") or message.get("error")
    return None


def call(request):
    params = request["params"]
    name, given = params["name"], params.get("arguments")
    STATE["called"] += 1
    if name == "die":
        print("dying words", file=sys.stderr, flush=True)
        os._exit(1)
    if name == "hang":
        time.sleep(1000)
    if name == "half":
        sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "res')
        sys.stdout.flush()
        os._exit(0)
    if name == "big":
        return answer(request, text("x" * 50_000_000))
    if name == "long":
        return answer(request, text("y" * 2_000_000))
    if name == "fail":
        return answer(request, {"content": [], "isError": True})
    if name == "env":
        return answer(request, text(json.dumps(dict(os.environ))))
    if name == "args":
        return answer(request, text(json.dumps({"given": given, "cwd": os.getcwd()})))
    if name == "kinds":
        return answer(request, json.loads(os.environ["KINDS"]))
    if name == "progress":
        token = params["_meta"]["progressToken"]
        for done in range(1, 4):
            note(
                "notifications/progress",
                {"progressToken": token, "progress": done, "total": 3, "message": "step"},
            )
            time.sleep(0.3)
        return answer(request, text("finished"))
    if name == "ask":
        schema = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "sure": {"type": "boolean"}},
            "required": ["name"],
        }
        found = ask_client("elicitation/create", {"message": "Who are you?", "requestedSchema": schema})
        return answer(request, text(json.dumps(found)))
    if name == "sample":
        body = {"messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}], "maxTokens": 50}
        return answer(request, text(json.dumps(ask_client("sampling/createMessage", body))))
    if name == "roots":
        return answer(request, text(json.dumps(ask_client("roots/list", {}))))
    if name == "slow":
        note("notifications/tools/list_changed")
        time.sleep(1.0)
        return answer(request, text("slow but done"))
    if MODE == "list-changed":
        note("notifications/tools/list_changed")
    return answer(request, text(f"echo: {(given or {}).get('text')}"))


def other(request):
    method = request["method"]
    if method == "resources/list":
        return answer(request, {"resources": [{"uri": "memo://one", "name": "one"}]})
    if method == "resources/templates/list":
        return answer(request, {"resourceTemplates": [{"uriTemplate": "memo://{name}", "name": "any"}]})
    if method == "resources/read":
        return answer(request, {"contents": [{"uri": request["params"]["uri"], "text": "remember"}]})
    if method == "prompts/list":
        return answer(
            request, {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
        )
    if method == "prompts/get":
        who = request["params"]["arguments"]["who"]
        return answer(
            request, {"messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {who}."}}]}
        )
    if method == "ping":
        return answer(request, {})
    return send(
        {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "Method not found"}}
    )


def main():
    if MODE == "exit":
        print("cannot open the database", file=sys.stderr)
        sys.exit(1)
    if MODE == "silent":
        time.sleep(1000)
    if MODE == "flood":
        while True:
            sys.stdout.write("noise\n" * 1000)
    if MODE == "noise":
        sys.stdout.buffer.write(b"Starting up...\n\n\xff\xfe binary\n[1, 2]\n")
        sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            version = os.environ.get("OLD_VERSION", request["params"]["protocolVersion"])
            capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
            answer(
                request,
                {
                    "protocolVersion": version,
                    "capabilities": capabilities,
                    "serverInfo": {"name": "tiny", "version": "1"},
                },
            )
        elif method == "notifications/initialized":
            note("notifications/something_new", {"a": 1})
            if MODE == "burst":
                for _ in range(200):
                    note("notifications/tools/list_changed")
        elif method == "tools/list":
            if MODE == "burst":
                STATE["called"] += 1
                print(f"listed {STATE['called']}", file=sys.stderr, flush=True)
            answer(request, tools(MODE, request.get("params")))
        elif method == "tools/call":
            call(request)
        elif "id" in request and method:
            other(request)


main()
