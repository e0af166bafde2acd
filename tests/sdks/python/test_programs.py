"""Programs for OpenAI's APIs against a running daemon: LangChain, pydantic-ai, LiteLLM and `llm`."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

# LiteLLM would ask the network for prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

URL = os.environ["AVOCET_URL"] + "/v1"
TOKEN = os.environ["AVOCET_TOKEN"]


def weather(city: str) -> str:
    """Tells the weather."""
    return f"minus 3 in {city}"


class LangChainTest(unittest.TestCase):
    def setUp(self):
        self.model = ChatOpenAI(model="avocet", base_url=URL, api_key=TOKEN, max_retries=0)

    def test_history_and_usage(self):
        messages = [SystemMessage("Be brief."), HumanMessage("hi"), AIMessage("hello"), HumanMessage("count to 2")]
        answer = self.model.invoke(messages)
        self.assertEqual("1, 2.", answer.content)
        self.assertIn("total_tokens", answer.usage_metadata)

    def test_stream_has_the_text_and_the_usage(self):
        chunks = list(self.model.stream("count to 2", stream_usage=True))
        self.assertEqual("1, 2.", "".join(chunk.content for chunk in chunks))
        self.assertTrue(any(chunk.usage_metadata for chunk in chunks))

    def test_bound_tool_is_called(self):
        model = self.model.bind_tools([weather])
        question = HumanMessage("weather Oslo")
        answer = model.invoke([question])
        [call] = answer.tool_calls
        self.assertEqual(("weather", {"city": "Oslo"}), (call["name"], call["args"]))
        result = ToolMessage("minus 3", tool_call_id=call["id"])
        self.assertTrue(model.invoke([question, answer, result]).content)


class PydanticAiTest(unittest.TestCase):
    def run_agent(self, kind):
        model = kind("avocet", provider=OpenAIProvider(base_url=URL, api_key=TOKEN))
        agent = Agent(model, system_prompt="Be brief.")
        calls = []

        @agent.tool_plain
        def weather(city: str) -> str:
            """Tells the weather."""
            calls.append(city)
            return "minus 3"

        counted = agent.run_sync("count to 2")
        self.assertEqual("1, 2.", counted.output)
        again = agent.run_sync("count to 1", message_history=counted.all_messages())
        self.assertEqual("1.", again.output)
        self.assertTrue(agent.run_sync("weather Oslo").output)
        self.assertEqual(["Oslo"], calls)

    def test_chat_agent_runs_its_tool(self):
        self.run_agent(OpenAIChatModel)

    def test_responses_agent_runs_its_tool(self):
        self.run_agent(OpenAIResponsesModel)


class LiteLlmTest(unittest.TestCase):
    def complete(self, text, **more):
        messages = [{"role": "user", "content": text}]
        return litellm.completion("openai/avocet", messages, api_base=URL, api_key=TOKEN, **more)

    def test_completion_and_stream(self):
        completion = self.complete("count to 2")
        self.assertEqual("1, 2.", completion.choices[0].message.content)
        chunks = self.complete("count to 2", stream=True)
        self.assertEqual("1, 2.", "".join(chunk.choices[0].delta.content or "" for chunk in chunks))

    def test_tool_is_called(self):
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        tool = {"type": "function", "function": {"name": "weather", "parameters": parameters}}
        [call] = self.complete("weather Oslo", tools=[tool]).choices[0].message.tool_calls
        self.assertEqual({"city": "Oslo"}, json.loads(call.function.arguments))


class LlmTest(unittest.TestCase):
    def test_prompt_is_answered(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as models:
                models.write(f"- model_id: avocet\n  model_name: avocet\n  api_base: {URL}\n  api_key_name: avocet\n")
            command = [sys.executable, "-m", "llm", "-m", "avocet", "--key", TOKEN, "-s", "Be brief.", "count to 2"]
            environment = {**os.environ, "LLM_USER_PATH": folder}
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual((0, "1, 2."), (ran.returncode, ran.stdout.strip()), ran.stderr)


if __name__ == "__main__":
    unittest.main()
