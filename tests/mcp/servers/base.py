"""A strict MCP server on stdio, with the standard library only.

It ends with status 3 and one line on stderr if the client breaks the protocol (version 2025-06-18). The
programs beside this file misbehave, each in one way.
"""

import json
import sys
from typing import Any

VERSION = "2025-06-18"

Json = dict[str, Any]


def tool(name: str, description: str = "Does some work.") -> Json:
    """Describes a tool without arguments."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def text(said: str) -> Json:
    """The result of a tool that is one text."""
    return {"content": [{"type": "text", "text": said}]}


class Server:
    """A server with the tool `work`. Subclasses replace its answers."""

    def __init__(self) -> None:
        self.capabilities: Json = {}
        self.cancelled: set[str | int] = set()
        self._initialized = False
        self._ids: set[str | int] = set()
        self._asked = 0

    def initialize(self) -> Json:
        return {
            "protocolVersion": VERSION,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "fake", "version": "1"},
        }

    def tools(self) -> list[Json]:
        return [tool("work")]

    def call(self, name: str, arguments: Json) -> Json | None:
        """Returns the result; without one, the call stays open."""
        return text(f"{name} is done")

    def answered(self, answer: Json) -> None:
        """Takes the client's answer to a request of this server."""

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                fail(f"not a message of JSON-RPC 2.0: {line[:200]}")
            if "method" not in message:
                self.answered(message)
            elif "id" in message:
                self._request(message["id"], message["method"], message.get("params", {}))
            else:
                self._notice(message["method"], message.get("params", {}))

    def _notice(self, method: str, params: Json) -> None:
        if method == "notifications/initialized":
            self._initialized = True
        elif method == "notifications/cancelled":
            if params["requestId"] not in self._ids:
                fail(f"the request {params['requestId']!r} that is cancelled was never sent")
            self.cancelled.add(params["requestId"])

    def _request(self, request: str | int, method: str, params: Json) -> None:
        if request in self._ids:
            fail(f"the id {request!r} is used twice")
        self._ids.add(request)
        if not self._initialized and method not in ("initialize", "ping"):
            fail(f"{method} came before notifications/initialized")
        result: Json | None
        match method:
            case "initialize":
                self.capabilities = params["capabilities"]
                result = self.initialize()
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": self.tools()}
            case "tools/call":
                if params["name"] not in [one["name"] for one in self.tools()]:
                    fail(f"there is no tool {params['name']!r}")
                result = self.call(params["name"], params.get("arguments", {}))
            case _:
                send({"id": request, "error": {"code": -32601, "message": "unknown method"}})
                return
        if result is not None:
            send({"id": request, "result": result})

    def ask(self, method: str, params: Json) -> None:
        """Sends a request to the client."""
        self._asked += 1
        send({"id": f"server-{self._asked}", "method": method, "params": params})


def send(message: Json) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def write(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


def fail(reason: str) -> None:
    sys.stderr.write(f"the client broke the protocol: {reason}\n")
    sys.exit(3)
