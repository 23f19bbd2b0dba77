/** Undoes what makes the data small: src/mmacalc/answers/page_packing.py describes the forms of a list. */

import type { Choice, Data } from "./catalog.ts";

type Form = { runs: unknown[] } | { steps: unknown } | { columns: unknown[] } | { rows: unknown[] } | { names: Node[] };
/** Parts of names, each followed by the node where the name goes on or by that node's number, if it does. */
type Node = (string | number | Node)[];
type Steps = number | number[];

/** The tables as rows. */
export function unpacked(packed: object): Data {
  const tables = each(packed);
  let last = 0;
  const sum = (step: number | null) => (step === null ? -1 : (last += step));
  tables.choices = (tables.choices as Choice<number>[]).map((choice) =>
    (Array.isArray(choice) ? [choice[0], choice[1], choice[2].map(sum)] : sum(choice)));
  return tables as unknown as Data;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

function plain(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.some(isObject) ? value.map(plain) : value;
  const form = value as Form;
  if ("runs" in form) return repeated(form.runs);
  if ("names" in form) return ways(form.names, form.names.at(-1)!, "", []);
  if ("steps" in form) return sums(plain(form.steps) as Steps[]);
  if ("columns" in form) return transposed(form.columns);
  if ("rows" in form) return transposed(form.rows).map((row) => row.filter((number) => number !== null));
  return each(form);
}

const each = (packed: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(packed).map(([name, value]) => [name, plain(value)]));

/** Each value that is followed by a number that often. */
function repeated(runs: unknown[]): unknown[] {
  const found: unknown[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let times = runs[at + 1] as number; times > 0; times--) found.push(runs[at]);
  }
  return found;
}

function transposed(packed: unknown[]): unknown[][] {
  const columns = plain(packed) as unknown[][];
  return columns[0].map((_, row) => columns.map((column) => column[row]));
}

/** Numbers, or lists of numbers, from the differences between neighbours. */
function sums(values: Steps[]): Steps[] {
  let last = 0;
  let before: number[] = [];
  return values.map((value) =>
    Array.isArray(value) ? (before = value.map((step, at) => step + (before[at] ?? 0))) : (last += value));
}

/** The names that begin at a node, in order, behind those found already. */
function ways(nodes: Node[], node: Node, before: string, found: string[]): string[] {
  for (const [at, parts] of node.entries()) {
    if (typeof parts !== "string") continue;
    const next = node[at + 1] ?? "";
    for (const part of parts.split("|")) {
      if (typeof next === "string") found.push(before + part);
      else ways(nodes, typeof next === "number" ? nodes[next] : next, before + part, found);
    }
  }
  return found;
}
