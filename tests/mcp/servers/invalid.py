"""Answers a call with invalid JSON."""

from base import Json, Server, write


class Invalid(Server):
    def call(self, name: str, arguments: Json) -> Json | None:
        write('{"jsonrpc": "2.0", "id": 1, "result": {"content": [}}\n')
        return None


Invalid().run()
