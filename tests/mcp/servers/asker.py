"""Asks the person with a form, or with a link, during the calls of its tools."""

from base import Json, Server, send, text, tool

FORM: Json = {
    "mode": "form",
    "message": "Which colour?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "green"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["colour", "count"],
    },
}
LINK: Json = {
    "mode": "url",
    "message": "Log in first",
    "url": "https://login.example/start?id=7",
    "elicitationId": "7",
}


class Asker(Server):
    def tools(self) -> list[Json]:
        return [tool("form"), tool("link")]

    def call(self, name: str, arguments: Json) -> Json | None:
        if "elicitation" not in self.capabilities:
            return text("the client has no person")
        self.ask("elicitation/create", FORM if name == "form" else LINK)
        return None

    def answered(self, answer: Json) -> None:
        call = max(one for one in self._ids if isinstance(one, int))
        if call not in self.cancelled:
            send({"id": call, "result": text(f"the person: {answer['result']}")})


Asker().run()
