// Asks the agent one question and prints the answer:
//     node ask.js terminal:local:me "count to 3"

import { AvocetError, Client } from "avocet-client";

const [session, text] = process.argv.slice(2);
const avocet = new Client();
try {
  console.log((await avocet.ask(session, text)).reply);
} catch (error) {
  if (!(error instanceof AvocetError)) {
    throw error;
  }
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  avocet.close();
}
