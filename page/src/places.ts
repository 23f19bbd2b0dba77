/** Places and elements in words: src/mmacalc/drawing/matrix.py. */

import type { Registers } from "./data.ts";
import type { Location } from "./placement.ts";
import type { Matrix } from "./picture.ts";

const TITLES: Record<string, string> = {
  K: "K (index of A)", SA: "SA (scale of A)", SB: "SB (scale of B)", P: "P (row addresses)",
};

export const operandTitle = (name: string): string => TITLES[name] ?? name;

/** The name of a register, or of the pair that a 64-bit element takes. */
export function registerText(registers: Registers, register: number, width: number): string {
  const numbers = [register, register + 1, Math.floor(register / 2)];
  return (width === 64 ? registers.wide : registers.one).replace(/{(\d)}/g, (_, at) => String(numbers[at]));
}

/** The bits of a register that an element takes; "" for all, with a + where it goes on in the next register. */
export function bitsText(lsb: number, width: number): string {
  if (width >= 32) return "";
  const last = lsb + width - 1;
  return `${Math.min(last, 31)}:${lsb}${last > 31 ? "+" : ""}`;
}

/** The registers and bits of a location, in full. */
export function placeText(registers: Registers, { register, lsb, width }: Location): string {
  const first = registerText(registers, register, width);
  const last = lsb + width - 1;
  if (last > 31 && width < 32) {
    return `${first}[31:${lsb}] + ${registerText(registers, register + 1, width)}[${last - 32}:0]`;
  }
  return width >= 32 ? first : `${first}[${last}:${lsb}]`;
}

/** An element by name; the block is named where there are several. */
export function elementText(matrix: Matrix, block: number, row: number, column: number): string {
  return `${matrix.name}[${row}][${column}]${matrix.blocks.extent > 1 ? `.B${block}` : ""}`;
}

/** Lanes, of a pair of CTAs with the CTA, of a tile as threads with the wave and the lane of it. */
export function lanesText({ placement }: Matrix, found: number[]): string {
  const { ofWave, wave, layout } = placement;
  if (ofWave) {
    const [waves, lanes] = [found.map((lane) => Math.floor(lane / ofWave)), found.map((lane) => lane % ofWave)];
    return `thread ${ranges(found)} (wave ${ranges(waves)}, lane ${ranges(lanes)})`;
  }
  if (layout.outer !== "cta") return `lane ${ranges(found)}`;
  return found.map((lane) => `CTA ${Math.floor(lane / wave)} lane ${lane % wave}`).join("; ");
}

/** Numbers with runs written as ranges. */
export function ranges(values: Iterable<number>, between = ", "): string {
  const runs: [number, number][] = [];
  for (const value of [...new Set(values)].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[1] === value - 1) last[1] = value;
    else runs.push([value, value]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(between);
}

/** What one item of a lane is: `3,9`, in a block `2:3,9`, with runs where several share the place; signs as read. */
export function heldText(matrix: Matrix, lane: number, item: number): string {
  const found = matrix.elements(lane, item);
  if (!found.length) return "";
  const blocked = matrix.blocks.extent > 1;
  const [blocks, rows, columns] = [0, 1, 2].map((at) => new Set(found.map((element) => element[at])));
  let text = `${ranges(rows, "/")},${ranges(columns, "/")}`;
  if (blocks.size * rows.size * columns.size !== found.length) {
    text = found.map(([b, i, j]) => (blocked ? `${b}:${i},${j}` : `${i},${j}`)).join(" ");
  } else if (blocked) text = `${ranges(blocks, "/")}:${text}`;
  return signed(text, matrix.signs[item]);
}

/** The signs that NEG and its kin put around an element. */
export function signed(text: string, sign: string): string {
  if (sign === "low" || sign === "high") return `(${sign} -) ${text}`;
  const inner = sign.includes("|") ? `|${text}|` : text;
  return sign.includes("-") ? `-${inner}` : inner;
}
