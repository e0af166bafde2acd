"""The official Python client of OpenAI against a running daemon. `tests/e2e/sdks.rs` starts both."""

import asyncio
import io
import json
import os
import threading
import unittest
import urllib.request

import openai

URL = os.environ["AVOCET_URL"]
TOKEN = os.environ["AVOCET_TOKEN"]
AVOCET = {"base_url": f"{URL}/v1", "api_key": TOKEN, "max_retries": 0}
# The fake model writes a number every 0.4 seconds, so these ten take longer than this timeout.
TEN = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10."
READ_TIMEOUT = openai.Timeout(60, read=2)


def get(path):
    """Reads a path of Avocet's own API."""
    request = urllib.request.Request(URL + path, headers={"Authorization": f"Bearer {TOKEN}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)


def logged_reply(of):
    """Waits for the outcome of the message behind a completion or response."""
    message = get(f"/v1/messages/{of.split('-')[-1].split('_')[-1]}?wait=60")
    assert message["outcome"] == "replied", message
    return message["reply"]


def texts(session):
    """Returns the texts of the messages in a session."""
    turns = get(f"/v1/sessions/{session}")
    found = [message for turn in turns for message in turn["origin"]["messages"]]
    return [message["message"]["inbound"]["content"]["text"] for message in found]


def user(content):
    return [{"role": "user", "content": content}]


class OpenAiTest(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(**AVOCET)
        self.addCleanup(self.client.close)
        # A session for each test.
        self.user = self.id().split(".")[-1]
        self.session = f"terminal:local:api-{self.user}"

    def chat(self, content, client=None, **more):
        client = client or self.client
        more = {"user": self.user, "model": "avocet", **more}
        return client.chat.completions.create(messages=user(content), **more)

    def respond(self, content, **more):
        more = {"user": self.user, "model": "avocet", **more}
        return self.client.responses.create(input=content, **more)


class ChatCompletionsTest(OpenAiTest):
    def test_plain_completion_has_the_reply(self):
        completion = self.chat("count to 3")
        [choice] = completion.choices
        self.assertEqual(("1, 2, 3.", "stop"), (choice.message.content, choice.finish_reason))
        self.assertEqual(("assistant", None), (choice.message.role, choice.message.tool_calls))
        self.assertEqual("avocet", completion.model)
        usage = completion.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertEqual("1, 2, 3.", logged_reply(completion.id))

    def test_streamed_chunks_join_to_the_reply(self):
        with self.chat("count to 3", stream=True) as stream:
            chunks = list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        self.assertEqual("1, 2, 3.", text)
        self.assertGreater(len(chunks), 3, "the text comes in pieces")
        self.assertEqual("assistant", chunks[0].choices[0].delta.role)
        reasons = [chunk.choices[0].finish_reason for chunk in chunks]
        self.assertEqual([None] * (len(chunks) - 1) + ["stop"], reasons)
        self.assertEqual(1, len({chunk.id for chunk in chunks}))
        self.assertEqual("1, 2, 3.", logged_reply(chunks[0].id))

    def test_stream_with_usage_option_is_accepted(self):
        stream = self.chat("count to 1", stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        self.assertEqual("1.", text)
        self.assertIsNotNone(chunks[-1].usage)
        self.assertEqual([None] * (len(chunks) - 1), [chunk.usage for chunk in chunks[:-1]])

    def test_stream_helper_builds_the_completion(self):
        arguments = {"model": "avocet", "messages": user("count to 2"), "user": self.user}
        with self.client.chat.completions.stream(**arguments) as stream:
            deltas = [event.delta for event in stream if event.type == "content.delta"]
            completion = stream.get_final_completion()
        self.assertEqual("1, 2.", "".join(deltas))
        [choice] = completion.choices
        self.assertEqual(("1, 2.", "stop"), (choice.message.content, choice.finish_reason))

    def test_text_parts_are_joined(self):
        parts = [{"type": "text", "text": "count"}, {"type": "text", "text": "to 2"}]
        self.chat(parts)
        self.assertEqual(["count\nto 2"], texts(self.session))

    def test_only_the_last_message_is_sent(self):
        earlier = [{"role": "system", "content": "Be brief."}, *user("a"), {"role": "assistant", "content": "b"}]
        messages = [*earlier, *user("count to 1")]
        completion = self.client.chat.completions.create(
            model="avocet", messages=messages, user=self.user, temperature=0.5
        )
        self.assertEqual("1.", completion.choices[0].message.content)
        self.assertEqual(["count to 1"], texts(self.session))


class ResponsesTest(OpenAiTest):
    def test_plain_response_has_the_reply(self):
        response = self.respond("count to 3")
        self.assertEqual(("1, 2, 3.", "completed"), (response.output_text, response.status))
        self.assertEqual("1, 2, 3.", logged_reply(response.id))

    def test_input_parts_are_joined(self):
        parts = [{"type": "input_text", "text": "count"}, {"type": "input_text", "text": "to 2"}]
        self.respond(user(parts))
        self.assertEqual(["count\nto 2"], texts(self.session))

    def test_streamed_events_have_the_order_of_the_api(self):
        events = list(self.respond("count to 2", stream=True))
        deltas = [event for event in events if event.type == "response.output_text.delta"]
        self.assertEqual("1, 2.", "".join(delta.delta for delta in deltas))
        expected = [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            *["response.output_text.delta"] * len(deltas),
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
        self.assertEqual(expected, [event.type for event in events])
        self.assertEqual(list(range(len(events))), [event.sequence_number for event in events])
        self.assertEqual("1, 2.", events[-1].response.output_text)

    def test_stream_helper_builds_the_response(self):
        arguments = {"model": "avocet", "input": "count to 2", "user": self.user}
        with self.client.responses.stream(**arguments) as stream:
            deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
            response = stream.get_final_response()
        self.assertEqual("1, 2.", "".join(deltas))
        self.assertEqual(("1, 2.", "completed"), (response.output_text, response.status))


class ModelsTest(OpenAiTest):
    def test_list_has_the_agent(self):
        self.assertEqual(["avocet", "default"], [model.id for model in self.client.models.list()][:2])

    def test_retrieve_shows_the_agent(self):
        model = self.client.models.retrieve("avocet")
        self.assertEqual(("avocet", "model"), (model.id, model.object))

    def test_retrieve_of_another_model_is_not_found(self):
        with self.assertRaisesRegex(openai.NotFoundError, 'there is no model "gpt-4o"'):
            self.client.models.retrieve("gpt-4o")


class ErrorsTest(OpenAiTest):
    def test_wrong_token_is_an_authentication_error(self):
        wrong = self.client.with_options(api_key="wrong")
        for call in [wrong.models.list, lambda: self.chat("hi", wrong)]:
            with self.assertRaisesRegex(openai.AuthenticationError, "the token is unknown") as raised:
                call()
            self.assertEqual("urn:avocet:problem:unauthorized", raised.exception.code)

    def test_unsupported_parameter_is_a_bad_request(self):
        table = [
            ("`n` is not supported", "n", lambda: self.chat("hi", n=2)),
            ("`logprobs` is not supported", "logprobs", lambda: self.chat("hi", logprobs=True)),
            ("`response_format` is not", "response_format", lambda: self.chat("hi", response_format={"type": "x"})),
            ('"web_search" is not supported', "tools", lambda: self.respond("hi", tools=[{"type": "web_search"}])),
            ("`background` is not supported", "background", lambda: self.respond("hi", background=True)),
        ]
        for text, param, call in table:
            with self.subTest(text), self.assertRaisesRegex(openai.BadRequestError, text) as raised:
                call()
            error = raised.exception
            self.assertEqual(("invalid_request_error", "unsupported_value"), (error.type, error.code))
            self.assertEqual(param, error.param)

    def test_streamed_request_with_a_fault_is_a_bad_request(self):
        with self.assertRaisesRegex(openai.BadRequestError, "`n` is not supported"):
            self.chat("hi", n=2, stream=True)

    def test_failed_turn_is_a_server_error_that_is_not_repeated(self):
        retrying = self.client.with_options(max_retries=5)
        with self.assertRaises(openai.ConflictError) as raised:
            stopping = threading.Timer(1, lambda: self.chat("/stop"))
            stopping.start()
            self.chat("count to 500", retrying)
        stopping.join()
        self.assertEqual("turn_stopped", raised.exception.code)
        self.assertEqual(["count to 500"], texts(self.session))

    def test_unknown_path_is_not_found(self):
        with self.assertRaisesRegex(openai.NotFoundError, "there is no such path") as raised:
            self.client.embeddings.create(model="avocet", input="hi")
        self.assertEqual("urn:avocet:problem:not-found", raised.exception.code)


WEATHER = {
    "name": "weather",
    "description": "Tells the weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class ToolsTest(OpenAiTest):
    """The model without intelligence runs a tool from a plain command."""

    def test_chat_client_runs_the_tool_and_sends_its_result(self):
        tools = [{"type": "function", "function": WEATHER}]
        messages = [{"role": "system", "content": "Be brief."}, *user("weather Oslo")]
        ask = self.client.chat.completions.create
        [choice] = ask(model="avocet", messages=messages, tools=tools).choices
        self.assertEqual("tool_calls", choice.finish_reason)
        [call] = choice.message.tool_calls
        self.assertEqual(("weather", {"city": "Oslo"}), (call.function.name, json.loads(call.function.arguments)))
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "minus 3"}]
        [choice] = ask(model="avocet", messages=messages, tools=tools).choices
        self.assertEqual(("stop", None), (choice.finish_reason, choice.message.tool_calls))
        self.assertTrue(choice.message.content)

    def test_response_with_a_call_is_continued_by_its_id(self):
        tools = [{"type": "function", **WEATHER}]
        ask = self.client.responses.create
        first = ask(model="avocet", input="weather Oslo", tools=tools)
        [call] = [item for item in first.output if item.type == "function_call"]
        self.assertEqual({"city": "Oslo"}, json.loads(call.arguments))
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "minus 3"}
        second = ask(model="avocet", input=[output], tools=tools, previous_response_id=first.id)
        self.assertEqual((first.id, "completed"), (second.previous_response_id, second.status))
        self.assertEqual(second.output_text, self.client.responses.retrieve(second.id).output_text)
        self.client.responses.delete(second.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(first.id)


class OneRequestTest(OpenAiTest):
    def test_request_without_a_user_has_a_conversation_of_its_own(self):
        ask = self.client.chat.completions.create
        earlier = [*user("count to 3"), {"role": "assistant", "content": "1, 2, 3."}]
        for messages in [user("count to 2"), [*earlier, *user("count to 2")]]:
            completion = ask(model="avocet", messages=messages)
            self.assertEqual("1, 2.", completion.choices[0].message.content)
        sessions = [row["session"] for row in get("/v1/sessions")]
        self.assertEqual([], [session for session in sessions if session.startswith("terminal:local:once-")])

    def test_picture_is_taken(self):
        url = "data:image/png;base64,iVBORw0KGgo="
        parts = [{"type": "text", "text": "count to 1"}, {"type": "image_url", "image_url": {"url": url}}]
        self.assertTrue(self.client.chat.completions.create(model="avocet", messages=user(parts)).choices)
        image = {"type": "input_image", "image_url": url, "detail": "auto"}
        self.assertEqual("completed", self.client.responses.create(model="avocet", input=user([image])).status)

    def test_model_is_a_profile(self):
        completion = self.client.chat.completions.create(model="default", messages=user("count to 1"))
        self.assertEqual("default", completion.model)
        with self.assertRaises(openai.NotFoundError) as raised:
            self.client.chat.completions.create(model="gpt-4o", messages=user("hi"))
        self.assertEqual("model_not_found", raised.exception.code)


class FilesTest(OpenAiTest):
    def test_uploaded_file_is_listed_read_named_and_deleted(self):
        uploads = [("nötes.txt", b"notes", "text/plain"), ("b.bin", b"\x00\xff"), io.BytesIO(b"bare")]
        files = [self.client.files.create(file=file, purpose="user_data") for file in uploads]
        self.assertEqual(["nötes.txt", "b.bin"], [file.filename for file in files[:2]])
        self.assertEqual([5, 2, 4], [file.bytes for file in files])
        listed = [file.id for file in self.client.files.list(limit=1)]
        self.assertEqual([file.id for file in reversed(files)], listed)
        self.assertEqual(files[0], self.client.files.retrieve(files[0].id))
        self.assertEqual(b"\x00\xff", self.client.files.content(files[1].id).read())
        part = {"type": "file", "file": {"file_id": files[0].id}}
        parts = [{"type": "text", "text": "count to 1"}, part]
        self.assertTrue(self.client.chat.completions.create(model="avocet", messages=user(parts)).choices)
        for file in files:
            self.assertTrue(self.client.files.delete(file.id).deleted)
        with self.assertRaisesRegex(openai.NotFoundError, "there is no file"):
            self.client.files.retrieve(files[0].id)

    def test_upload_of_another_purpose_is_a_bad_request(self):
        with self.assertRaisesRegex(openai.BadRequestError, "supported are user_data"):
            self.client.files.create(file=b"{}", purpose="batch")


class SessionsTest(OpenAiTest):
    def test_user_makes_the_session(self):
        self.chat("count to 1")
        self.respond("count to 2")
        self.assertEqual(["count to 1", "count to 2"], texts(self.session))

    def test_header_names_the_session(self):
        header = {"X-Avocet-Session": "terminal:local:python-header"}
        completion = self.chat("count to 1", extra_headers=header)
        self.assertEqual("1.", completion.choices[0].message.content)
        self.assertEqual("1.", self.respond("count to 1", extra_headers=header).output_text)
        self.assertEqual(["count to 1"] * 2, texts("terminal:local:python-header"))

    def test_header_that_is_no_session_is_a_bad_request(self):
        with self.assertRaisesRegex(openai.BadRequestError, 'session id "nowhere"'):
            self.chat("hi", extra_headers={"X-Avocet-Session": "nowhere"})

    def test_two_requests_of_a_user_at_once_get_their_own_replies(self):
        async def ask(client, number):
            arguments = {"model": "avocet", "user": self.user, "stream": True}
            messages = user(f"count to {number}")
            stream = await client.chat.completions.create(messages=messages, **arguments)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        async def ask_both():
            async with openai.AsyncOpenAI(**AVOCET) as client:
                return await asyncio.gather(ask(client, 3), ask(client, 2))

        self.assertEqual(["1, 2, 3.", "1, 2."], asyncio.run(ask_both()))
        self.assertEqual(["count to 2", "count to 3"], sorted(texts(self.session)))


class DisconnectionTest(OpenAiTest):
    def test_turn_goes_on_after_a_closed_chat_stream(self):
        with self.chat("count to 5", stream=True) as stream:
            chunk = next(chunk for chunk in stream if chunk.choices[0].delta.content)
        self.assertEqual("1, 2, 3, 4, 5.", logged_reply(chunk.id))

    def test_turn_goes_on_after_a_closed_response_stream(self):
        with self.respond("count to 5", stream=True) as stream:
            created = next(iter(stream))
        self.assertEqual("1, 2, 3, 4, 5.", logged_reply(created.response.id))

    def test_turn_goes_on_after_a_cancelled_task(self):
        async def ask_and_cancel():
            started = asyncio.get_running_loop().create_future()

            async def ask(client):
                arguments = {"model": "avocet", "user": self.user, "stream": True}
                stream = await client.responses.create(input="count to 5", **arguments)
                async for event in stream:
                    if event.type == "response.created":
                        started.set_result(event.response.id)

            async with openai.AsyncOpenAI(**AVOCET) as client:
                asking = asyncio.create_task(ask(client))
                response = await started
                asking.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await asking
                return response

        self.assertEqual("1, 2, 3, 4, 5.", logged_reply(asyncio.run(ask_and_cancel())))

    def test_timed_out_request_is_answered_in_the_log(self):
        header = {"Idempotency-Key": self.user}
        hasty = self.client.with_options(timeout=READ_TIMEOUT)
        with self.assertRaises(openai.APITimeoutError):
            self.chat("count to 10", hasty, extra_headers=header)
        completion = self.chat("count to 10", extra_headers=header)
        self.assertEqual(TEN, completion.choices[0].message.content)
        self.assertEqual(["count to 10"], texts(self.session))

    def test_retries_of_the_client_with_a_key_ask_once(self):
        retrying = self.client.with_options(timeout=READ_TIMEOUT, max_retries=20)
        completion = self.chat("count to 10", retrying, extra_headers={"Idempotency-Key": self.user})
        self.assertEqual(TEN, completion.choices[0].message.content)
        self.assertEqual(["count to 10"], texts(self.session))


if __name__ == "__main__":
    unittest.main()
