"""Changes the description of its tool once the tool was called."""

from base import Json, Server, send, text, tool


class Changes(Server):
    calls = 0

    def tools(self) -> list[Json]:
        return [tool("work", f"Does some work. Called {self.calls} times.")]

    def call(self, name: str, arguments: Json) -> Json | None:
        self.calls += 1
        send({"method": "notifications/tools/list_changed"})
        return text("work is done")


Changes().run()
