// Builds the page: one HTML file with its style and script, in which the Python package puts the catalog's data.
//
//     npm ci && node build.mjs [FILE]
//
// FILE is the package's own by default. The same sources give the same bytes: tests/test_page_build.py compares.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const made = await build({
  entryPoints: [join(here, "src/main.ts"), join(here, "src/style.css")],
  outdir: here,
  bundle: true,
  minify: true,
  write: false,
  charset: "ascii",
  format: "iife",
  target: ["es2022", "chrome110", "firefox115", "safari16.4"],
  legalComments: "none",
  logLevel: "warning",
});
const text = (end) => made.outputFiles.find((file) => file.path.endsWith(end)).text.trim();
const page = readFileSync(join(here, "src/template.html"), "utf8")
  .replace("/* style */", () => text(".css"))
  .replace("/* script */", () => text(".js").replaceAll("</", "<\\/"));
writeFileSync(process.argv[2] ?? join(here, "../src/mmacalc/page/page.html"), page);
