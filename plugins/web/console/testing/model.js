// A model server (OpenAI's chat completions) whose answers are under the control of the test.

import { once } from "node:events";
import { createServer } from "node:http";

/** Answers requests with the scripts of the test. A request without a script is answered with "Done." */
export class FakeModel {
  #scripts = new Map();
  #server = createServer((request, response) => void this.#serve(request, response));

  static async start(t) {
    const model = new FakeModel();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    t.after(() => {
      model.#server.close();
      model.#server.closeAllConnections();
    });
    return model;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}/v1`;
  }

  /**
   * Answers the message that contains `words`. Each step writes one answer of the model: the first one
   * answers the message, the next one the results of the calls. A step is a text or a function.
   */
  on(words, ...steps) {
    this.#scripts.set(words, steps);
  }

  async #serve(request, response) {
    response.on("error", () => undefined);
    let body = "";
    for await (const piece of request.setEncoding("utf8")) {
      body += piece;
    }
    if (!request.url.endsWith("/chat/completions")) {
      response.writeHead(404).end("{}");
      return;
    }
    const { messages } = JSON.parse(body);
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const answer = new Answer(messages, response);
    const step = this.#step(messages);
    await (typeof step === "function" ? step(answer) : answer.text(step));
    answer.end();
  }

  #step(messages) {
    const at = messages.findLastIndex(({ role }) => role === "user");
    const results = messages.slice(at).filter(({ role }) => role === "assistant").length;
    const text = textOf(messages[at]);
    const [, steps = []] = [...this.#scripts].findLast(([words]) => text.includes(words)) ?? [];
    return steps[results] ?? "Done.";
  }
}

function textOf({ content }) {
  return typeof content === "string" ? content : content.map(({ text = "" }) => text).join("\n");
}

/** One answer that is being streamed. */
class Answer {
  #response;
  #calls = 0;

  constructor(messages, response) {
    /** The request's messages. */
    this.messages = messages;
    this.#response = response;
  }

  text(content) {
    this.#send({ content }, null);
  }

  /** Sends a text in pieces of a few characters. */
  pieces(content) {
    for (const [piece] of content.matchAll(/.{1,20}/gs)) {
      this.text(piece);
    }
  }

  call(name, given) {
    const index = this.#calls;
    this.#calls += 1;
    const call = { name, arguments: JSON.stringify(given) };
    this.#send({ tool_calls: [{ index, id: `call_${Date.now()}_${index}`, type: "function", function: call }] }, null);
  }

  end() {
    this.#send({}, this.#calls > 0 ? "tool_calls" : "stop", { prompt_tokens: 1200, completion_tokens: 80, total_tokens: 1280 });
    this.#response.end("data: [DONE]\n\n");
  }

  #send(delta, finish_reason, usage = null) {
    const chunk = { id: "a", object: "chat.completion.chunk", created: 1, model: "model", choices: [{ index: 0, delta, finish_reason }], usage };
    this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}

/** A promise that the test fulfils with `open()`, at its end at the latest. */
export function gate(t) {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  t.after(() => open());
  return { open, opened };
}
