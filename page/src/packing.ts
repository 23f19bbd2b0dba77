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

function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const form = value as Form;
  if ("runs" in form) {
    return form.runs.flatMap((same, at) => (at % 2 ? [] : Array<unknown>(form.runs[at + 1] as number).fill(same)));
  }
  if ("names" in form) return ways(form.names, form.names.at(-1)!, "");
  if ("steps" in form) return sums(plain(form.steps) as Steps[]);
  if ("columns" in form) return transposed(form.columns);
  if ("rows" in form) return transposed(form.rows).map((row) => row.filter((number) => number !== null));
  return each(form);
}

const each = (packed: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(packed).map(([name, value]) => [name, plain(value)]));

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

/** The names that begin at a node, in order. */
function ways(nodes: Node[], node: Node, before: string): string[] {
  return node.flatMap((parts, at) => {
    if (typeof parts !== "string") return [];
    const next = node[at + 1] ?? "";
    return parts.split("|").flatMap((part) =>
      (typeof next === "string" ? before + part : ways(nodes, typeof next === "number" ? nodes[next] : next, before + part)));
  });
}
