import { render } from "preact";

import { App } from "./app.js";
import { watchLoginCode } from "./login.js";
import { applyTheme } from "./theme.js";

applyTheme();
watchLoginCode();
render(<App />, document.getElementById("app")!);
