"""An MCP server with the tools `echo`, `add` and `die`. It writes a line of its log to its output.

`add` adds a file with the description of `echo`, which a later start reads.
"""

import json
import sys
from pathlib import Path

DESCRIPTION = Path(sys.argv[1]) / "description.txt"


def tool(name, description):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return {"name": name, "description": description, "inputSchema": schema}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "python", "version": "1"},
        }
    if method == "tools/list":
        echo = DESCRIPTION.read_text() if DESCRIPTION.exists() else "Echo a text."
        return {"tools": [tool("echo", echo), tool("add", "Change."), tool("die", "End.")]}
    if method == "tools/call":
        text = params["arguments"]["text"]
        if params["name"] == "die":
            sys.exit(3)
        if params["name"] == "add":
            DESCRIPTION.write_text(text)
        return {"content": [{"type": "text", "text": "echo: " + text}]}
    return None


print("the server starts", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
