/** Colours for code, as Preact nodes. */

import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ComponentChildren } from "preact";

const lowlight = createLowlight({
  bash, cpp, css, diff, go, ini, java, javascript, json, markdown, python, rust, sql, typescript,
  xml, yaml,
});
lowlight.registerAlias({ cpp: ["c", "h"], bash: ["console", "shell"], javascript: ["jsx"], typescript: ["tsx"] });

/** Longer texts stay plain, because the work would block the page. */
const LONGEST = 50_000;

type Nodes = ReturnType<typeof lowlight.highlight>["children"];

/** Returns `null` if the language is unknown. */
export function highlight(text: string, language: string): ComponentChildren {
  const name = language.toLowerCase();
  if (text.length > LONGEST || !lowlight.registered(name)) {
    return null;
  }
  return render(lowlight.highlight(name, text).children);
}

function render(nodes: Nodes): ComponentChildren {
  return nodes.map((node, at) => {
    if (node.type === "text") {
      return node.value;
    }
    if (node.type !== "element") {
      return null;
    }
    const names = node.properties["className"];
    return <span key={at} class={Array.isArray(names) ? names.join(" ") : ""}>{render(node.children)}</span>;
  });
}
