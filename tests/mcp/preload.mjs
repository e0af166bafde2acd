// Loaded before programs of others: all their listeners are on the loopback interface, and the port of
// each is written to stderr.
//
// The conformance suite imports `globSync` of `fs` for a command that is not used here. Node has it from
// version 22 on.
import { register } from "node:module";
import net from "node:net";

net.Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => process.stderr.write(`listening on 127.0.0.1:${this.address().port}\n`));
  const then = rest.find((one) => typeof one === "function");
  if (then) this.once("listening", then);
  // The suite reads the address at once, so a look-up of a host would be too late.
  this._listen2("127.0.0.1", Number(port), 4);
  return this;
};

const dataUrl = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const fs = dataUrl('export * from "node:fs"; export { default } from "node:fs"; export const globSync = null;');
const hooks = `export const resolve = (name, context, next) =>
  name === "fs" && context.parentURL?.includes("/conformance/dist/")
    ? { url: ${JSON.stringify(fs)}, shortCircuit: true }
    : next(name, context);`;
if (parseInt(process.versions.node) < 22) {
  register(dataUrl(hooks));
}
