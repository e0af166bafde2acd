"""Has 5,000 tools."""

from base import Json, Server, tool


class Many(Server):
    def tools(self) -> list[Json]:
        return [tool("work")] + [tool(f"work_{number}") for number in range(1, 5000)]


Many().run()
