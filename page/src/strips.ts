/** The strips at the edges of a picture, which are the whole layout: src/mmacalc/drawing/plan.py. */

import { bitsText, registerText } from "./places.ts";
import { digit, type Axis, type Matrix } from "./picture.ts";

export interface Part {
  first: number;
  last: number;
  text: string;
  /** The lane part or the digit by which it is coloured. */
  value: number;
}

export interface Strip {
  kind: "index" | "lane" | "bits" | "register" | "digit";
  head: string;
  parts: Part[];
}

/** The strips of the rows or of the columns, the nearest to the cells first, with the values of one digit. */
export function strips(matrix: Matrix, axis: Axis, key = ""): Strip[] {
  const parts: Part[] = [];
  for (let at = 0; at < axis.extent; at += axis.merged) {
    parts.push({ first: at, last: at + axis.merged - 1, text: String(at), value: 0 });
  }
  const found = [laneStrip(matrix, axis), bitsStrip(matrix, axis), registerStrip(matrix, axis)];
  if (axis.digits.some(([name]) => name === key)) {
    const values = axis.steps.map((_, value) => digit(axis, key, value));
    found.push({ kind: "digit", head: key, parts: grouped(values.map((value) => [String(value), String(value), value])) });
  }
  return [{ kind: "index", head: axis.name, parts }, ...found.filter((strip) => strip !== null)];
}

const others = (matrix: Matrix, axis: Axis): Axis[] => matrix.axes.filter((other) => other !== axis);

/** Neighbours with the same key as one part. */
function grouped(parts: [string, string, number][]): Part[] {
  const result: Part[] = [];
  for (const [at, [key, text, value]] of parts.entries()) {
    if (at && parts[at - 1][0] === key) result[result.length - 1].last = at;
    else result.push({ first: at, last: at, text, value });
  }
  return result;
}

function laneStrip(matrix: Matrix, axis: Axis): Strip | null {
  if (!axis.movesLane) return null;
  const only = !others(matrix, axis).some((other) => other.movesLane);
  const base = matrix.base[0];
  const sum = matrix.read !== null || !only;
  const text = (lane: number) => (sum ? `+${lane}` : String(lane + base));
  const head = sum && base ? `lane ${base} +` : "lane";
  return { kind: "lane", head, parts: grouped(axis.steps.map(([lane]) => [String(lane), text(lane), lane])) };
}

/** The first bit of a slot, counted from the operand's first register. */
function bit(matrix: Matrix, slot: number): number {
  const place = matrix.placement.slot(0, Math.floor(slot / matrix.merge));
  return 32 * place.register + place.lsb - matrix.placement.offset;
}

/** What each value adds to the register, and to the bits beyond that. */
const parts = (matrix: Matrix, axis: Axis): [number, number][] =>
  axis.steps.map(([, slot]) => [Math.floor(bit(matrix, slot) / 32), bit(matrix, slot) % 32]);

function bitsStrip(matrix: Matrix, axis: Axis): Strip | null {
  const own = parts(matrix, axis);
  if (!own.some(([, bits]) => bits)) return null;
  const sum = others(matrix, axis).some((other) => parts(matrix, other).some(([, bits]) => bits));
  const text = (at: number): string => {
    if (sum) return `+${own[at][1]}`;
    const place = matrix.placement.slot(0, Math.floor((axis.steps[at][1] + matrix.base[1]) / matrix.merge));
    return bitsText(place.lsb, place.width);
  };
  return { kind: "bits", head: "bits", parts: grouped(own.map((part, at) => [part.join(), text(at), 0])) };
}

function registerStrip(matrix: Matrix, axis: Axis): Strip | null {
  if (!axis.movesSlot) return null;
  const registers = parts(matrix, axis).map(([register]) => register);
  const head = matrix.registers.head;
  if (others(matrix, axis).some((other) => parts(matrix, other).some(([register]) => register))) {
    if (!registers.some(Boolean)) return null;
    return { kind: "register", head, parts: grouped(registers.map((r) => [String(r), `+${r}`, 0])) };
  }
  if (!registers.some(Boolean) && axis === matrix.rows && matrix.columns.movesSlot) return null;
  const base = Math.floor(bit(matrix, matrix.base[1]) / 32);
  const { width } = matrix.placement.slot(0, 0);
  const name = (register: number) => registerText(matrix.registers, register + base, width);
  return { kind: "register", head, parts: grouped(registers.map((r) => [String(r), name(r), 0])) };
}

/** What stands above a block: its number, and what it adds to the lane and the register. */
export function blockTitle(matrix: Matrix, block: number): string {
  const every = parts(matrix, matrix.blocks);
  const [register, bits] = every[block];
  let text = `block ${block}`;
  if (matrix.blocks.movesLane) text += `, lane +${matrix.blocks.steps[block][0]}`;
  if (every.some(([part]) => part)) text += `, register +${register}`;
  return bits ? `${text}, bits +${bits}` : text;
}

/** What else a reader must know: copies, shared places, signs, lanes moved, and how sure the layout is. */
export function notes(matrix: Matrix): string[] {
  const { placement } = matrix;
  const found: string[] = [];
  if (!matrix.axes.some((axis) => axis.movesSlot)) {
    const place = placement.slot(0, Math.floor(matrix.base[1] / matrix.merge));
    const bits = bitsText(place.lsb, place.width);
    found.push(`all in ${registerText(matrix.registers, place.register, place.width)}${bits && `[${bits}]`}`);
  }
  if (placement.copies.length > 1) found.push(`each element is kept ${placement.copies.length} times`);
  if (matrix.merge > 1) {
    const kept = matrix.name === "K" ? "indices" : "stored values";
    found.push(`${matrix.sharedBy} values of k share a place, that of their ${matrix.merge} ${kept}`);
  } else if (matrix.sharedBy > 1) found.push(`${matrix.sharedBy} elements share each value`);
  if (matrix.read) {
    found.push(`BLGP ${matrix.fields.blgp}: the tiles name the lanes that are read, the strips those without`);
  }
  found.push(...signNotes(matrix));
  if (placement.ofWave) found.push(`lanes are the threads of all waves: those of wave 1 begin at ${placement.ofWave}`);
  if (placement.layout.outer === "cta") found.push(`lanes ${placement.wave} and above are those of CTA 1`);
  const { provenance } = matrix.table;
  if (provenance === "unconfirmed" || provenance === "assumed") found.push(`this layout is ${provenance}`);
  return found;
}

const MEANINGS: Record<string, string> = {
  "-": "negated",
  "|": "taken without their sign",
  "-|": "taken without their sign, then negated",
  low: "negated in their lower half, which is the first stored value of two",
  high: "negated in their upper half, which is the second stored value of two",
};

/** Which elements are read with a sign: all, or those of some bits. */
function signNotes(matrix: Matrix): string[] {
  const found: string[] = [];
  for (const [sign, meaning] of Object.entries(MEANINGS)) {
    const items = [...matrix.signs.keys()].filter((item) => matrix.signs[item] === sign);
    if (!items.length) continue;
    const slots = items.map((item) => matrix.placement.slot(0, item));
    const distinct = new Map(slots.map((slot) => [slot.lsb * 64 + slot.width, slot]));
    const bits = [...distinct.keys()].sort((a, b) => a - b).map((key) => distinct.get(key)!);
    const all = items.length === matrix.signs.length;
    const which = all ? "all elements" : `the elements in bits ${bits.map((s) => bitsText(s.lsb, s.width)).join(", ")}`;
    found.push(`${which} are ${meaning}`);
  }
  return found;
}
