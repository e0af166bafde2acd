import { useEffect } from "preact/hooks";

import { errorText } from "../api.js";
import { useTitle } from "../hooks.js";
import { logIn, loginError } from "../login.js";
import { Spinner } from "../parts/index.js";
import { useStore } from "../store.js";

/** Shown without a token: logs in with the code of the address, or names the command. */
export function SignIn({ code }: { code: string | null }) {
  useTitle("Sign in");
  useEffect(() => {
    if (code !== null) {
      void logIn(code);
    }
  }, [code]);
  return (
    <main class="sign-in">
      <img src="/icon.svg" alt="" width={48} height={48} />
      <h1>Avocet</h1>
      {code !== null ? <Spinner label="Signing in" /> : <Instructions />}
    </main>
  );
}

function Instructions() {
  const error = useStore(loginError);
  return (
    <>
      {error !== undefined && <p class="fault" role="alert">{errorText(error)}</p>}
      <p>To open the console, run this command on the machine of the daemon:</p>
      <pre class="command"><code>avocet web</code></pre>
      <p class="hint">
        It prints a link that works once, for 10 minutes. This browser then stays signed in for 30 days.
      </p>
    </>
  );
}
