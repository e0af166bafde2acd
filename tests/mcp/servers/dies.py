"""Ends in the middle of a call, after half of an answer."""

import os

from base import Json, Server, write


class Dies(Server):
    def call(self, name: str, arguments: Json) -> Json | None:
        write('{"jsonrpc": "2.0", "id": ')
        os._exit(7)


Dies().run()
