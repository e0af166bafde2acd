"""Never answers a call of `work`. The tool `seen` counts these calls."""

from base import Json, Server, text, tool


class Silent(Server):
    calls = 0

    def tools(self) -> list[Json]:
        return [tool("work"), tool("seen", "Counts the calls of work.")]

    def call(self, name: str, arguments: Json) -> Json | None:
        if name == "seen":
            return text(f"calls: {self.calls}, cancelled: {len(self.cancelled)}")
        self.calls += 1
        return None


Silent().run()
