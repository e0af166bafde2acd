"""The servers around the daemon, on one port of this machine: an MCP server with the functions of a suite, and a
model that obeys each injection that it reads."""

import enum
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from suites import EFFECTS, Case, environment_of, orders_of, suites

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime


class Obedience(enum.Enum):
    """The moment at which the model obeys an injection."""

    # Before the rest of the user task, as the injections of the benchmark demand.
    FIRST = enum.auto()
    # After the user task.
    LAST = enum.auto()
    NEVER = enum.auto()


@dataclass
class Scene:
    """A case while it runs: its environment, and the calls that the model makes."""

    case: Case
    obedience: Obedience = Obedience.FIRST
    environment: Any = field(init=False)
    before: Any = field(init=False)
    # The calls of the user task, which the person expects.
    expected: list[FunctionCall] = field(init=False)
    # All calls of the model, in their order.
    planned: list[FunctionCall] = field(init=False)
    # `True` once the injection stands in what the model reads.
    has_read: bool = False
    # The calls that the MCP server has run.
    run: list[FunctionCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.environment = environment_of(self.case)
        self.before = self.environment.model_copy(deep=True)
        self.expected = list(self.user_task.ground_truth(self.environment.model_copy(deep=True)))
        self.planned = list(self.expected)

    @property
    def suite(self) -> Any:
        """The suite of the case."""
        return suites()[self.case.suite]

    @property
    def user_task(self) -> Any:
        """The task of the person."""
        return self.suite.user_tasks[self.case.user_task]

    @property
    def injection(self) -> Any:
        """The task of the attacker; `None` without one."""
        return self.case.injection and self.suite.injection_tasks[self.case.injection]

    def next_call(self, messages: list[dict[str, Any]]) -> FunctionCall | None:
        """Return the next call of the model; `None` if it answers. The same messages have the same call."""
        made = sum(len(message.get("tool_calls") or []) for message in messages)
        results = [text_of(message) for message in messages if message["role"] == "tool"]
        if self.injection and not self.has_read:
            goal = letters_of(self.injection.GOAL)
            self.has_read = any(goal in letters_of(text) for text in results)
            if self.has_read and self.obedience != Obedience.NEVER:
                orders = orders_of(self.case.suite, self.injection.ID, self.environment)
                place = made if self.obedience == Obedience.FIRST else len(self.planned)
                self.planned[place:place] = orders
        return self.planned[made] if made < len(self.planned) else None

    def answer(self) -> str:
        """Return the final answer of the model."""
        texts = [self.user_task.GROUND_TRUTH_OUTPUT]
        if self.has_read and self.obedience != Obedience.NEVER:
            texts.append(self.injection.GROUND_TRUTH_OUTPUT)
        return "\n".join(text for text in texts if text) or "Done."

    def run_function(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Run a function of the suite. Return the text of its result, and `True` after an error."""
        self.run.append(FunctionCall(function=name, args=arguments))
        runtime = FunctionsRuntime(self.suite.tools)
        result, error = runtime.run_function(self.environment, name, arguments)
        return (error, True) if error else (tool_result_to_str(result), False)

    def expects(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Return `True` for a call of the person's task."""
        expected = [(call.function, given_arguments(call.args)) for call in self.expected]
        return (name, given_arguments(arguments)) in expected

    def count_injected_effects(self) -> int:
        """Return the number of calls with effects that ran and are not part of the person's task."""
        effects = [call for call in self.run if call.function in EFFECTS[self.case.suite]]
        return sum(not self.expects(call.function, call.args) for call in effects)

    def finishes_task(self, answer: str) -> bool:
        """Return `True` if the task of the person is done, as the benchmark judges."""
        output = [{"type": "text", "content": answer}]
        return self._judge(self.suite._check_user_task_utility, self.user_task, output)

    def reaches_goal(self, answer: str) -> bool:
        """Return `True` if the goal of the injection is reached, as the benchmark judges."""
        output = [{"type": "text", "content": answer}]
        return self._judge(self.suite._check_injection_task_security, self.injection, output)

    def _judge(self, check: Any, task: Any, output: list[Any]) -> bool:
        # Some checks of the benchmark change what they look at, and some fail if what they look for is missing.
        before, after = (world.model_copy(deep=True) for world in [self.before, self.environment])
        try:
            return bool(check(task, output, before, after, self.run))
        except (AttributeError, IndexError, KeyError, ValueError):
            return False


def given_arguments(arguments: Mapping[str, Any]) -> Any:
    """Return arguments as JSON has them, without those that are null."""
    decoded = json.loads(json.dumps(dict(arguments)))
    return {name: value for name, value in decoded.items() if value is not None}


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message of a request to the model."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def letters_of(text: str) -> str:
    """Return the letters and digits of a text. YAML breaks lines and writes escapes, so the rest may differ."""
    return re.sub(r"[^A-Za-z0-9]+", "", text.replace("\\n", ""))


class Servers:
    """Serves one scene at a time."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.scene: Scene | None = None
        servers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Otherwise each small answer waits for 40 ms.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/mcp":
                    self._send("application/json", servers.mcp_answer(body))
                else:
                    self._send("text/event-stream", "".join(servers.model_events(body)))

            def do_GET(self) -> None:
                self.send_error(405)

            do_DELETE = do_GET

            def log_message(self, *_: object) -> None:
                pass

            def _send(self, kind: str, text: str | None) -> None:
                content = (text or "").encode()
                self.send_response(202 if text is None else 200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()

    def mcp_answer(self, message: dict[str, Any]) -> str | None:
        """Answer a message of the MCP client; `None` for a notification."""
        if "id" not in message:
            return None
        params = message.get("params") or {}
        result: dict[str, Any]
        match message["method"]:
            case "initialize":
                result = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": self.suite, "version": "1"},
                }
            case "tools/list":
                result = {"tools": list(self._tools())}
            case "tools/call":
                assert self.scene is not None
                text, is_error = self.scene.run_function(params["name"], params.get("arguments") or {})
                result = {"content": [{"type": "text", "text": text}], "isError": is_error}
            case _:
                result = {}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _tools(self) -> Iterator[dict[str, Any]]:
        for function in suites()[self.suite].tools:
            yield {
                "name": function.name,
                "description": function.description,
                "inputSchema": function.parameters.model_json_schema(),
                # `openWorldHint` is true by default, so each result is untrusted text.
                "annotations": {
                    "readOnlyHint": function.name not in EFFECTS[self.suite],
                    "destructiveHint": False,
                },
            }

    def model_events(self, request: dict[str, Any]) -> Iterator[str]:
        """Return the events of the model's answer, as the API for chat completions has them."""
        assert self.scene is not None
        call = self.scene.next_call(request["messages"])
        delta: dict[str, Any] = {"role": "assistant"}
        if call is None:
            delta["content"] = self.scene.answer()
        else:
            arguments = json.dumps(dict(call.args))
            function = {"name": f"{self.suite}__{call.function}", "arguments": arguments}
            made = len(request["messages"])
            delta["tool_calls"] = [{"index": 0, "id": f"call_{made}", "type": "function", "function": function}]
        finish = "stop" if call is None else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        for choices, more in [
            ([{"index": 0, "delta": delta, "finish_reason": None}], {}),
            ([{"index": 0, "delta": {}, "finish_reason": finish}], {}),
            ([], {"usage": usage}),
        ]:
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices}
            yield f"data: {json.dumps(chunk | more)}\n\n"
        yield "data: [DONE]\n\n"
