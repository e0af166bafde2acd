import { useEffect } from "preact/hooks";

import { token } from "./api.js";
import { startAway, unseen } from "./away.js";
import { Frame } from "./frame/Frame.js";
import { pageTitle } from "./hooks.js";
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { loginCode } from "./login.js";
import { routes } from "./routes.js";
import { useRoute } from "./router.js";
import { useStore } from "./store.js";
import { SignIn } from "./views/SignIn.js";

/** The page: the sign-in, or the frame with the view of the address. */
export function App() {
  const present = useStore(token);
  const code = useStore(loginCode);
  const route = useRoute();
  useEffect(() => {
    startAway();
    startLive();
    startKeys();
  }, []);
  const title = useStore(pageTitle);
  const news = useStore(unseen);
  useEffect(() => {
    document.title = `${news > 0 ? `(${news}) ` : ""}${title === "" ? "" : `${title} · `}Avocet`;
  }, [title, news]);
  if (present === null || code !== null) {
    return <SignIn code={code} />;
  }
  const { name, View } = routes.find((known) => known.name === route.name) ?? routes[0]!;
  return (
    <Frame active={name}>
      <View key={`${name}/${route.parts.join("/")}`} parts={route.parts} />
    </Frame>
  );
}
