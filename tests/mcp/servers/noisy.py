"""Logs to stdout, between the messages of the protocol."""

from base import Json, Server, text, write


class Noisy(Server):
    def initialize(self) -> Json:
        write("INFO starting up\n")
        return super().initialize()

    def call(self, name: str, arguments: Json) -> Json | None:
        write("DEBUG working\n\n")
        return text("work is done")


Noisy().run()
