/** Wait states between two instructions, from the tables that Python computed (src/mmacalc/answers/page_waits.py). */

import type { Catalog, Instruction, WaitAnswer, Waits } from "./catalog.ts";

export interface WaitRow {
  words: string;
  answer: WaitAnswer;
}

export interface WaitTable {
  unit: string;
  matrix: WaitRow[];
  after: WaitRow[];
  before: WaitRow[];
}

const MOST_NOP = 16;

/** The instructions that give so many wait states. */
export function nops(states: number, unit: string): string[] {
  if (unit === "v_nop") return Array<string>(states).fill("v_nop");
  const found = Array<string>(Math.floor(states / MOST_NOP)).fill(`s_nop ${MOST_NOP - 1}`);
  return states % MOST_NOP ? [...found, `s_nop ${(states % MOST_NOP) - 1}`] : found;
}

/** All dependencies of two instructions of one architecture, or why there are none. */
export function waitTable(catalog: Catalog, first: Instruction, second: Instruction, fields: [Record<string, number>, Record<string, number>]): WaitTable | string {
  const { architecture } = first;
  const data = catalog.data.waits[catalog.architectures.indexOf(architecture)];
  if (!data) return `${architecture.refused.waits ?? `No source has wait states for ${architecture.title}`}.`;
  const kinds = [first, second].map((instruction, at) => kindOf(catalog, data, instruction, fields[at]));
  const unknown = [first, second].find((_, at) => kinds[at] === null);
  if (unknown) return `No source has wait states for ${unknown.name}.`;
  const [x, y] = kinds as number[];
  const { wait_lists: lists } = catalog.data;
  const rows = (name: keyof Catalog["data"]["wait_rows"], list: number): WaitRow[] =>
    lists[list].flatMap((number, at) => (number === null ? [] : [{ words: catalog.data.wait_rows[name][at], answer: data.answers[number] }]));
  return {
    unit: data.unit,
    matrix: rows("matrix", data.matrix[x][y][first.name === second.name ? 1 : 0]),
    after: rows("after", data.after[x]),
    before: rows("before", data.before[y]),
  };
}

/** Instructions of one kind differ in no rule but that of the same opcode; narrow formats can make another kind. */
function kindOf(catalog: Catalog, data: Waits, instruction: Instruction, fields: Record<string, number>): number | null {
  const found = data.kinds[catalog.instructions(instruction.architecture).findIndex((each) => each.name === instruction.name)];
  if (!Array.isArray(found)) return found;
  const [wide, most, narrow] = found;
  const wave = instruction.wave(undefined);
  const bits = ["A", "B"].map((name) => instruction.operand(name, wave)!.placement(fields)?.bits ?? 0);
  return Math.max(...bits) <= most ? narrow : wide;
}
