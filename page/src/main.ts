import { App } from "./app.ts";
import { Catalog } from "./catalog.ts";
import type { Data } from "./data.ts";
import { chain, refusal } from "./chain.ts";
import { checksum, inverts } from "./checksum.ts";
import { kernel } from "./kernel.ts";
import { accessesOf, costOf, linear, misfit, repair, ruleOf, shortest, tileOf } from "./memory.ts";
import { Matrix } from "./picture.ts";
import { operandScene } from "./pictureScene.ts";
import { link, read } from "./state.ts";
import { placementOf, refusalOf } from "./tile.ts";
import { svg } from "./svg.ts";
import { nops, waitTable } from "./waits.ts";

/** The catalog's tables, which are deflated in the page (questions/page.py). */
async function inflated(text: string): Promise<Data> {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

async function start(): Promise<void> {
  const catalog = new Catalog(await inflated(document.getElementById("data")!.textContent!));
  const app = new App(catalog, document.body.dataset.start ?? "");
  // For the console, and for the tests that compare all of this with Python.
  const memory = { accessesOf, costOf, linear, misfit, repair, ruleOf, shortest, tileOf };
  Object.assign(window, {
    mmacalc: { memory, app, catalog, chain, checksum, inverts, kernel, Matrix, refusal, operandScene, svg, link, read, nops, placementOf, refusalOf, waitTable },
  });
  performance.mark("usable");  // benchmarks/bench_page.py reads it
}

void start();
