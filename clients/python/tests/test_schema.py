"""The schema against the real daemon, and the generated files against the schema."""

import importlib.util
import json
import re
import unittest
from typing import Any

from support import ME, ROOT, DaemonTest, soon, until
from validate import Validator

from avocet_client import AvocetError, ErrorCode

SCHEMA = json.loads((ROOT / "clients/schema/socket.json").read_text(encoding="utf-8"))
FROM_DAEMON = SCHEMA["x-from-daemon"]
VALIDATOR = Validator(SCHEMA)


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "clients/generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def defined(name: str) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA["$defs"][name]
    return found


class GeneratedTest(unittest.TestCase):
    def test_generated_files_equal_the_schema(self) -> None:
        self.assertEqual(generator().different(), [], "run clients/generate.py")

    def test_types_that_the_schema_names_are_python_types(self) -> None:
        from avocet_client import types

        for name in SCHEMA["$defs"]:
            self.assertTrue(hasattr(types, name), name)
        codes = {name: error["const"] for name, error in SCHEMA["x-errors"].items()}
        self.assertEqual({code.name: code.value for code in ErrorCode}, codes)


class ParameterTest(DaemonTest):
    async def refusal(self, method: str, params: Any) -> str:
        with self.assertRaises(AvocetError) as refused:
            await self.client.call(method, params)
        return refused.exception.message

    async def test_methods_of_the_schema_exist(self) -> None:
        message = await self.refusal("fly", None)
        known = set(message.split("there are ")[1].split(", "))
        self.assertLessEqual(set(SCHEMA["x-methods"]), known)

    async def test_parameters_are_those_of_the_daemon(self) -> None:
        closed = 0
        for method, sides in SCHEMA["x-methods"].items():
            name = sides.get("params", {}).get("$ref", "").rsplit("/", 1)[-1]
            if not name or defined(name).get("additionalProperties", True):
                continue
            message = await self.refusal(method, {"unknown_key": 1})
            self.assertIn("unknown key `unknown_key`", message)
            keys = set(re.findall(r"`(\w+)`", message.split("the keys are ")[-1]))
            keys.discard("unknown_key")
            self.assertEqual(keys, set(defined(name)["properties"]), method)
            closed += 1
        self.assertEqual(closed, 33)

    async def test_required_parameters_are_those_of_the_daemon(self) -> None:
        limits = {"max_inference_runs": 1, "max_seconds": 1}
        given: dict[str, Any] = {
            "session": ME, "text": "hi", "schema": {}, "chat": ME, "message": "m1", "id": "w1",
            "name": "x", "task": "hi", "agent": "default", "limits": limits, "decision": "once",
            "sender": "ann", "key": "k", "delivery": "x", "file": 0, "offset": 0, "words": "hi",
            "memory": "m1", "digest": "x", "channel": "external", "account": "irc",
            "cursor": {"position": "1"}, "option": "mode", "value": "ask", "into": ME,
        }  # fmt: skip
        for method, sides in SCHEMA["x-methods"].items():
            schema = (
                defined(sides["params"]["$ref"].rsplit("/", 1)[-1]) if "params" in sides else {}
            )
            required = schema.get("required", [])
            for missing in required:
                params = {name: given[name] for name in required if name != missing}
                params |= {"decision": "once"} if method == "approval.decide" else {}
                message = await self.refusal(method, params)
                self.assertIn(f"`{missing}` is missing", message, method)

    async def test_kinds_of_events_are_those_of_the_daemon(self) -> None:
        message = await self.refusal("events.list", {"kinds": ["talk"]})
        kinds = message.split("there are ")[1].split(", ")
        self.assertEqual(kinds, [kind["const"] for kind in defined("EventKind")["oneOf"]])


class ResultTest(DaemonTest):
    config = """
        [tools.policy]
        write_file = "ask"
        [channels.external.irc]
        owners = ["ann"]
    """

    def setUp(self) -> None:
        super().setUp()
        self.checked: set[str] = set()

    async def check(self, method: str, params: Any = None) -> Any:
        """Call a method and check the parameters and the result by the schema."""
        sides = SCHEMA["x-methods"][method]
        schema = sides.get("params", {"x-optional": True})
        is_left_out = params is None and schema.get("x-optional", False)
        faults = [] if is_left_out else VALIDATOR.faults(schema, params)
        self.assertEqual(faults, [], method)
        result = await soon(self.client.call(method, params))
        self.assertEqual(VALIDATOR.faults(sides["result"], result), [], method)
        self.checked.add(method)
        return result

    async def test_results_are_those_of_the_schema(self) -> None:
        await self.check("ping")
        asked = await self.check("ask", {"session": ME, "text": "count to 3", "key": "one"})
        message = {"message": asked["message"]}
        await self.check("wait", message)
        await self.check("send", {"chat": ME, "text": "hello"})
        found = await self.check("sessions.search", {"words": "count", "limit": 5})
        self.assertEqual(found[0]["author"], "person")
        sent = await self.check("sessions.sent", {"session": ME})
        self.assertEqual([message["text"] for message in sent], ["hello"])
        await self.check("sessions.sent", {"session": ME, "before": sent[0]["delivery"]})
        await self.check("ask.json", {"session": ME, "text": "hi", "schema": {"type": "object"}})
        await self.approvals_and_calls()
        await self.check("trace", message)
        await self.check("trace", {"message": "m2"})
        submitted = await self.check("job.submit", {
            "task": "count to 2", "agent": "default", "workspace": None,
            "limits": {"max_inference_runs": 5, "max_seconds": 60, "max_cost": None},
        })  # fmt: skip
        await self.check("wait", {"message": submitted["message"]})
        job = await self.check("job.show", {"id": submitted["id"]})
        self.assertEqual(job["state"], "completed")
        sessions = await self.check("sessions.list", {"limit": 500})
        row = {"used_at": sessions[0]["used_at"], "session": sessions[0]["session"]}
        await self.check("sessions.list", {"after": row})
        await self.channel()
        options = await self.check("sessions.options", {"session": ME})
        self.assertEqual([options[0]["option"], options[0]["value"]], ["model", "default"])
        default = {"session": ME, "option": "mode", "value": "default"}
        await self.check("sessions.set_option", default)
        labels = {"session": ME, "title": "Counting", "is_pinned": True, "is_archived": False}
        await self.check("sessions.change", labels)
        branch = {"session": ME, "into": f"{ME}-2", "before": "t1"}
        await self.check("sessions.branch", branch)
        pinned = await self.check("sessions.list", {"only": "pinned"})
        self.assertEqual([row["title"] for row in pinned], ["Counting"])
        await self.check("status")
        await self.check("attach", {"chat": ME})
        await self.check("hello", {})
        await self.check("web.open", {})
        await self.check("web.browsers")
        await self.check("web.sign_out")
        await self.events()
        await self.memories()
        shown = await self.check("config.show")
        for text in [shown["text"], "oops = 1", 'socket = "${NOWHERE}"']:
            await self.check("config.check", {"text": text})
        await self.check("config.diff")
        edits = [{"key": "agents.defaults.max_depth", "value": 1}]
        await self.check("config.form", {"text": shown["text"], "edits": edits})
        await self.check("config.save", {"text": shown["text"], "digest": shown["digest"]})
        # `file.get` needs an open delivery with a file: see `test_channel.py`.
        self.assertEqual(self.checked | {"file.get"}, set(SCHEMA["x-methods"]))

    async def approvals_and_calls(self) -> None:
        await self.client.publish(ME, "write_file a.txt hello")

        async def opened() -> Any:
            return await self.check("approval.list", {"limit": 1}) or None

        waits = await until(opened)
        await self.check(
            "approval.decide", {"id": waits[0]["id"], "decision": "denied", "why": "no"}
        )
        await soon(self.client.wait("m2"))
        await soon(self.client.ask(ME, "read_file a.txt"))
        turns = await self.check("sessions.show", {"session": ME, "turns": 10})
        calls = [call for turn in turns for step in turn["steps"] for call in step["calls"]]
        self.assertEqual(len(calls), 2)

    async def channel(self) -> None:
        chat = "external:irc:c1"
        await self.check("publish", {
            "chat": chat, "chat_kind": "group", "sender": "ann", "sender_name": "Ann", "key": "k1",
            "is_bot": False, "text": "count to 1", "attachments": [], "written_at": 1,
            "corrects": None, "cursor": {"scope": "", "position": "7"},
            "forwarded": [{"from": "Eve", "text": "x"}], "quotes": [{"text": "x"}], "untrusted": [],
        })  # fmt: skip
        moved = {"channel": "external", "account": "irc", "cursor": {"position": "8"}}
        await self.check("cursor.move", moved)
        await self.check("message.withdraw", {"chat": chat, "key": "k1"})
        await self.check("attach", {"channel": "external", "account": "irc", "max_text": 400})
        async with self.client.channel("irc") as channel:
            await self.client.send(chat, "**hello**")
            connection, request = await soon(channel._next_request("deliver"))
            faults = VALIDATOR.faults(FROM_DAEMON["deliver"]["params"], request.params)
            self.assertEqual(faults, [])
            self.assertEqual(request.params["styles"][0]["style"], "bold")
            await connection.refuse(request, ErrorCode.NOT_ALLOWED, "the chat is gone")

            async def failed() -> Any:
                return await self.check("dead.list", {}) or None

            await until(failed)

    async def events(self) -> None:
        await soon(self.client.ask(ME, "remember that I like tea"))
        listed = await self.check("events.list", {"after": 0, "limit": 500})
        self.assertGreater(len(listed["events"]), 20)
        subscribed = await self.check("subscribe", {"name": "me", "from": 0, "kinds": ["message"]})
        self.assertEqual(subscribed["from"], 0)
        await self.check("subscriber.list")
        await self.check("subscriber.remove", {"name": "me"})

    async def memories(self) -> None:
        listed = await self.check("memory.list", {})
        self.assertEqual(len(listed), 1)
        await self.check("memory.list", {"words": "tea", "limit": 1})
        shown = await self.check("memory.show", {"memory": listed[0]["id"]})
        changes = await self.check("memory.log", {"memory": listed[0]["id"], "limit": 5})
        self.assertEqual(shown["changes"], changes)

    async def test_requests_of_the_daemon_are_those_of_the_schema(self) -> None:
        seen: list[Any] = []
        async with self.client.attach(ME, on_event=seen.append) as chat:
            await self.client.publish(ME, "write_file a.txt hello")
            connection, request = await soon(chat._next_request("deliver"))
            self.assertEqual(len(request.params["choices"]), 3)
            faults = VALIDATOR.faults(FROM_DAEMON["deliver"]["params"], request.params)
            self.assertEqual(faults, [])
            await connection.answer(request, {})
            await soon(self.client.ask(ME, "/deny"))
        self.assertGreater(len(seen), 3)
        for event in seen:
            self.assertEqual(VALIDATOR.faults(FROM_DAEMON["event"]["params"], event), [])


if __name__ == "__main__":
    unittest.main()
