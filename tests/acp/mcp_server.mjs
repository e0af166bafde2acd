// A small MCP server on stdio for the tests of the editor's servers. Its arguments: a file that gets a line
// for each start, and the names of its tools.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [log, ...names] = process.argv.slice(2);
appendFileSync(log, `start ${process.cwd()}\n`);

let roots = "unknown";
let asked = 0;
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const text = (value) => ({ content: [{ type: "text", text: value }] });
const tools = names.map((name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: {} },
}));

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "small", version: "1.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name }) =>
    text(`${name} ran in ${process.cwd()} with ${roots} and ${process.env.SMALL_TOKEN ?? "nothing"}`),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "notifications/initialized") send({ id: `roots-${++asked}`, method: "roots/list" });
  if (!method && result?.roots) roots = result.roots.map(({ uri }) => uri).join(" ");
  if (id === undefined || !method) return;
  const answer = answers[method];
  if (answer) send({ id, result: answer(params) });
  else send({ id, error: { code: -32601, message: `there is no method ${method}` } });
});
