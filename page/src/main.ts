import { App } from "./app.ts";
import { Catalog, unpacked, type Data, type Instruction } from "./catalog.ts";
import { chain, refusal } from "./chain.ts";
import { checksum, inverts } from "./checksum.ts";
import { accessesOf, costOf, linear, repair, ruleOf, shortest, tileOf } from "./memory.ts";
import { Matrix } from "./picture.ts";
import { operandScene } from "./pictureScene.ts";
import { link, read } from "./state.ts";
import { svg } from "./svg.ts";
import { nops, waitTable } from "./waits.ts";

const data = unpacked(JSON.parse(document.getElementById("data")!.textContent!) as Data);
const catalog = new Catalog(data);
const statements = new Map<string, number>();
let name = "";
for (const [at, [shared, rest]] of data.instructions.entries()) {
  name = name.slice(0, shared) + rest;
  statements.set(name, data.statement[at]);
}
const statement = (instruction: Instruction): string => data.statements[statements.get(instruction.name)!];
const app = new App(catalog, statement, document.body.dataset.start ?? "");
// For the console, and for the tests that compare all of this with Python.
const memory = { accessesOf, costOf, linear, repair, ruleOf, shortest, tileOf };
Object.assign(window, { mmacalc: { memory, app, catalog, chain, checksum, inverts, Matrix, refusal, operandScene, svg, link, read, nops, waitTable } });
