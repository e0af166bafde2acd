// Builds dist/: the page, its script and style sheet, those of formulas with their fonts, and the record of
// checksums. The same sources and versions give the same bytes.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { writeChecksums } from "./checksums.mjs";

const HERE = fileURLToPath(new URL("./", import.meta.url));

/** The exports that `src/settings/shared.ts` gives to scripts which are loaded later. */
const SHARED_EXPORTS = sharedExports();

function sharedExports() {
  const source = readFileSync(`${HERE}src/settings/shared.ts`, "utf8");
  const modules = source.slice(source.indexOf("SHARED:")).matchAll(/^  "?([\w./-]+)"?: \{([^}]*)\}/gm);
  return Object.fromEntries([...modules].map(([, path, body]) => [path, [...body.matchAll(/(\w+):/g)].map(([, name]) => name)]));
}

const at = (path) => `${HERE}${path}`;

/** Every browser of the page reads WOFF2. */
const onlyWoff2 = {
  name: "only WOFF2",
  setup({ onLoad }) {
    onLoad({ filter: /katex\.css$/, namespace: "file" }, ({ path }) => {
      const contents = readFileSync(path, "utf8").replace(/, url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, "");
      return { contents, loader: "css" };
    });
  },
};

/** A script that is loaded later gets modules of the page from `src/settings/shared.ts`. */
const sharedModules = {
  name: "modules of the page",
  setup({ onResolve, onLoad }) {
    const names = Object.keys(SHARED_EXPORTS);
    onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === "import-statement" && names.includes(path) ? { path, namespace: "page" } : undefined);
    onLoad({ filter: /./, namespace: "page" }, ({ path }) => ({
      contents: `export const { ${SHARED_EXPORTS[path].join(", ")} } = globalThis.avocetShared[${JSON.stringify(path)}];`,
    }));
  },
};

/** Bundles one entry and writes it under the hash of its content. Returns its address. */
async function bundle(entry, name, kind, { define = {}, plugins = [] } = {}) {
  const result = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    outdir: at("dist/assets"),
    format: "esm",
    target: ["es2022", "chrome110", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    loader: { ".woff2": "file" },
    assetNames: "[name]-[hash]",
    publicPath: "/assets",
    plugins: [onlyWoff2, ...plugins],
    define: { "process.env.NODE_ENV": '"production"', ...define },
  });
  let address;
  for (const { path, contents } of result.outputFiles) {
    if (!path.endsWith(`.${kind}`)) {
      writeFileSync(path, contents);
      continue;
    }
    address = keep(name, kind, contents);
  }
  return address;
}

/** Writes a file under the hash of its content. Returns its address. */
function keep(name, kind, contents) {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 12);
  const address = `/assets/${name}-${hash}.${kind}`;
  writeFileSync(at(`dist${address}`), contents);
  return address;
}

/** The description of the page for systems that install it. */
function manifest(icon) {
  const image = (name, size, purpose) => ({ src: icon[name], sizes: `${size}x${size}`, type: "image/png", purpose });
  return JSON.stringify({
    name: "Avocet",
    short_name: "Avocet",
    description: "Conversations with the agent",
    id: "/",
    start_url: "/",
    scope: "/",
    display: "standalone",
    background_color: "#ffffff",
    theme_color: "#17585a",
    icons: [
      image("icon-192", 192, "any"),
      image("icon-512", 512, "any"),
      image("icon-maskable", 512, "maskable"),
      { src: "/icon.svg", sizes: "any", type: "image/svg+xml", purpose: "any" },
    ],
  });
}

rmSync(at("dist"), { recursive: true, force: true });
mkdirSync(at("dist/assets"), { recursive: true });
const formulas = {
  FORMULA_SCRIPT: JSON.stringify(await bundle("src/formulas/katex.ts", "formulas", "js")),
  FORMULA_STYLE: JSON.stringify(await bundle("src/formulas/katex.css", "formulas", "css")),
};
const settings = {
  SETTINGS_SCRIPT: JSON.stringify(await bundle("src/settings/form.tsx", "settings", "js", { plugins: [sharedModules] })),
  SETTINGS_STYLE: JSON.stringify(await bundle("src/settings/form.css", "settings", "css")),
};
const script = await bundle("src/main.tsx", "console", "js", { define: { ...formulas, ...settings } });
const style = await bundle("src/styles/index.css", "console", "css");
const icon = Object.fromEntries(
  ["icon-192", "icon-512", "icon-maskable"].map((name) => [name, keep(name, "png", readFileSync(at(`src/icons/${name}.png`)))]),
);
const places = { script, style, icon: icon["icon-192"], manifest: keep("console", "webmanifest", manifest(icon)) };
const page = readFileSync(at("src/index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => places[name]);
writeFileSync(at("dist/index.html"), page);
copyFileSync(at("src/icon.svg"), at("dist/icon.svg"));
// The licence asks that its text goes with every copy.
copyFileSync(at("node_modules/katex/LICENSE"), at("dist/assets/katex-license.txt"));
writeChecksums();
