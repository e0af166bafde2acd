"""Asks the client's model again and again while a call runs, whether or not it is allowed."""

from base import Json, Server, send, text


class Sampler(Server):
    left = 1000

    def call(self, name: str, arguments: Json) -> Json | None:
        self.sample()
        return None

    def answered(self, answer: Json) -> None:
        self.left -= 1
        if self.left:
            self.sample()
        else:
            call = max(one for one in self._ids if isinstance(one, int))
            send({"id": call, "result": text(f"last answer: {answer.get('error', 'a text')}")})

    def sample(self) -> None:
        content = {"type": "text", "text": "Say something."}
        messages = [{"role": "user", "content": content}]
        self.ask("sampling/createMessage", {"messages": messages, "maxTokens": 100})


Sampler().run()
