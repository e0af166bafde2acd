import assert from "node:assert/strict";
import { test } from "node:test";

import { source } from "./source.js";

const { maskSecrets, unmaskSecrets } = await source("views/config/secrets.ts");

const TEXT = `# api_key = "in a comment"
[providers.a]
api_key = "sk-one" # the "key"
base_url = "http://127.0.0.1"
[channels.telegram]
token = '7:two'
proxy = "socks5h://u:p@host"
[tools.mcp.files]
env = { TOKEN = "three", PLACE = "four" }
headers = { Authorization = "Bearer \${FILES}", "x-api-key" = "fi\\"ve" }
[http.tokens.phone]
token = "\${AVOCET_HTTP_TOKEN}"
max_tokens_field = "max_tokens"
[telemetry.headers]
key = "six"
any = "seven"
`;

test("maskSecrets hides each secret, and no other value", () => {
  const { shown, values } = maskSecrets(TEXT);
  const hidden = ["sk-one", "7:two", "socks5h", "three", "four", 've"', "six", "seven"];
  for (const secret of hidden) {
    assert.ok(!shown.includes(secret), `${secret}\n${shown}`);
  }
  for (const kept of ['"in a comment"', "http://127.0.0.1", "${FILES}", "${AVOCET_HTTP_TOKEN}", '"max_tokens"', '# the "key"']) {
    assert.ok(shown.includes(kept), `${kept}\n${shown}`);
  }
  assert.equal(values.size, 8);
  assert.equal(shown.split("\n").length, TEXT.split("\n").length);
});

test("unmaskSecrets puts the secrets back, also in an edited text", () => {
  const { shown, values } = maskSecrets(TEXT);
  assert.equal(unmaskSecrets(shown, values), TEXT);
  const edited = shown.replace('"•••••••• 2"', '"8:new"').replace("[providers.a]", "[providers.b]");
  const expected = TEXT.replace("'7:two'", '"8:new"').replace("[providers.a]", "[providers.b]");
  assert.equal(unmaskSecrets(edited, values), expected);
});
