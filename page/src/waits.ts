/** Wait states between two instructions, from the tables that Python computed (src/mmacalc/page/waits.py). */

import type { Catalog, Instruction } from "./catalog.ts";
import type { Waits } from "./data.ts";

export interface WaitRow {
  words: string;
  /** states, LLVM's, the ISA guide's (null: it has none), where they have the rules, what stands for the nops or "" */
  answer: [number, number, number | null, string, string];
}

export interface WaitTable {
  unit: string;
  matrix: WaitRow[];
  after: WaitRow[];
  before: WaitRow[];
}

const MOST_NOP = 16;

/** The instructions that give so many wait states, or the one that stands for them. */
export function nops(states: number, unit: string, instruction = ""): string[] {
  if (states && instruction) return [instruction];
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
  const { wait_lists: lists, wait_answers: answers, wait_sources: sources, wait_rows: texts } = catalog.data;
  const rows = (name: keyof typeof texts, list: number): WaitRow[] => lists[list].flatMap((number, at) => {
    if (number < 0) return [];
    const [states, llvm, guide, places, instruction] = answers[number];
    return [{ words: texts[name][at], answer: [states, llvm, guide, places.map((place) => sources[place]).join("; "), instruction] }];
  });
  const lines = data.matrix[x][y];
  return {
    unit: data.unit,
    matrix: rows("matrix", Array.isArray(lines) ? lines[first.name === second.name ? 1 : 0] : lines),
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
