// Passes requests on to the daemon and adds a token, because the conformance suite sends none:
//
//   node proxy.mjs ADDRESS TOKEN
//
// Prints its port. Ends when its stdin is closed.
import { createServer, request } from "node:http";

const [address, token] = process.argv.slice(2);
const [hostname, port] = address.split(":");
const server = createServer((incoming, answer) => {
  // Other hosts and origins pass unchanged: the daemon has to refuse them.
  const ofDaemon = (text) => text?.replace(`:${server.address().port}`, `:${port}`);
  const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
  for (const name of ["host", "origin"].filter((name) => name in headers)) {
    headers[name] = ofDaemon(headers[name]);
  }
  const { method, url } = incoming;
  const onward = request({ hostname, port, path: url, method, headers }, (answered) => {
    answer.writeHead(answered.statusCode, answered.headers);
    answered.pipe(answer);
  });
  onward.on("error", (error) => answer.destroy(error));
  answer.on("close", () => onward.destroy());
  incoming.pipe(onward);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
