/** Undoes what makes the data small (src/mmacalc/answers/page_packing.py). */

import type { Choice, Data } from "./catalog.ts";

/** A column as it is written. */
type Packed = unknown[] | { runs: unknown[] } | { rows: Packed[] } | { names: Node[] };
/** Parts of names, each followed by the node where the name goes on or by that node's number, if it does. */
type Node = (string | number | Node)[];

/** The tables as rows. */
export function unpacked(packed: Data): Data {
  const tables: Record<string, unknown> = { ...packed };
  for (const [name, differences] of Object.entries(packed.columns)) {
    const columns = (tables[name] as Packed[]).map(decoded);
    for (const column of differences) columns[column] = sums(columns[column] as (number | number[])[]);
    tables[name] = columns[0].map((_, row) => columns.map((column) => column[row]));
  }
  let last = 0;
  const sum = (step: number | null) => (step === null ? -1 : (last += step));
  tables.choices = (decoded(packed.choices) as Choice<number>[]).map((choice) =>
    (Array.isArray(choice) ? [choice[0], choice[1], choice[2].map(sum)] : sum(choice)));
  tables.kernels = decoded(packed.kernels);
  return tables as unknown as Data;
}

function decoded(column: Packed): unknown[] {
  if ("runs" in column) {
    return column.runs.flatMap((value, at) => (at % 2 ? [] : Array<unknown>(column.runs[at + 1] as number).fill(value)));
  }
  if ("names" in column) return ways(column.names, column.names.at(-1)!, "");
  if (!("rows" in column)) return column;
  const columns = column.rows.map(decoded);
  return columns[0].map((_, row) => columns.map((each) => each[row]).filter((value) => value !== null));
}

/** Numbers, or lists of numbers, from the differences between neighbours. */
function sums(values: (number | number[])[]): (number | number[])[] {
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
