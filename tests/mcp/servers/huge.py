"""Answers a call with a text of 50 MB."""

from base import Json, Server, text


class Huge(Server):
    def call(self, name: str, arguments: Json) -> Json | None:
        return text("begin " + "x" * 50_000_000)


Huge().run()
