"""Speaks a version of the protocol that does not exist."""

from base import Json, Server


class Ancient(Server):
    def initialize(self) -> Json:
        return {**super().initialize(), "protocolVersion": "1999-01-01"}


Ancient().run()
