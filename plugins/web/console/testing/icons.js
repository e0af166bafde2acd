// Draws the icons of the installed page from src/icon.svg: `npm run icons`.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { browserOf } from "./console.js";

const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));
const ends = [];
const browser = await browserOf({ after: (end) => ends.push(end) });
const svg = readFileSync(`${SOURCE}icon.svg`, "utf8");
const page = await browser.newPage();
// A maskable icon fills the square, and its drawing stays within the inner 80 percent.
const full = svg.replace('rx="7" ', "").replace(/(<path|<circle)/g, "$1").replace(/(<rect[^>]*>)([\s\S]*)<\/svg>/, '$1<g transform="translate(3.6 3.2) scale(0.78)">$2</g></svg>');
for (const [name, size, drawing] of [["icon-192", 192, svg], ["icon-512", 512, svg], ["icon-maskable", 512, full]]) {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>body { margin: 0 } svg { display: block; width: 100vw; height: 100vh }</style>${drawing}`);
  writeFileSync(`${SOURCE}icons/${name}.png`, await page.screenshot({ omitBackground: true }));
}
for (const end of ends) {
  await end();
}
