/** Tiles: one instruction repeated over waves and by each wave. Where its operands lie is said by src/mmacalc/model/tile.py. */

import type { Instruction, OperandTable } from "./catalog.ts";
import type { Fields } from "./data.ts";
import { bare, Layout } from "./layout.ts";
import { Placement } from "./placement.ts";

const AXES = ["m", "n", "k"] as const;
type Triple = [number, number, number];

/** Waves, and instructions of each, along m, n and k; the orders name what is counted fastest first. */
export interface Tile {
  waves: Triple;
  repeat: Triple;
  adjacent: Triple;
  waveOrder: string;
  repeatOrder: string;
  /** By m, n and k, CuTe's shape:stride of a permutation: from a place's coordinate to that of the element. */
  permutation?: Record<string, string>;
}

export const ONE: Tile = { waves: [1, 1, 1], repeat: [1, 1, 1], adjacent: [1, 1, 1], waveOrder: "mnk", repeatOrder: "mnk" };
export type Counts = "waves" | "repeat" | "adjacent";
export const COUNTS: Counts[] = ["waves", "repeat", "adjacent"];
/** The orders by the names that links and the command give them. */
export const ORDERS = { "wave-order": "waveOrder", "repeat-order": "repeatOrder" } as const;
/** What a picture has room for: as many threads as a workgroup, and elements of each operand. */
const MOST_THREADS = 1024;
const MOST_ELEMENTS = 1 << 18;

/** Counts as the command takes them: MxN, or MxNxK; null where they are none. */
export function counts(text: string): Triple | null {
  const found = /^\s*(\d+)(?:\s*[x\u00d7]\s*(\d+))?(?:\s*[x\u00d7]\s*(\d+))?\s*$/i.exec(text);
  const numbers = found && [found[1], found[2] ?? "1", found[3] ?? "1"].map(Number);
  return numbers && numbers.every((count) => count >= 1 && count <= 1 << 16) ? (numbers as Triple) : null;
}

/** An order of two or three axes, the fastest first; null where it is none. */
export function order(text: string): string | null {
  const sorted = [...text].sort().join("");
  return sorted === "kmn" || sorted === "mn" ? `${text}k`.slice(0, 3) : null;
}

export const countsText = (counts: Triple): string => (counts[2] > 1 ? counts : counts.slice(0, 2)).join("x");

/** Permutations as `mmacalc tile --permutation` takes them, with ; between; null where a text is none. */
export function permutations(text: string): Record<string, string> | null {
  const found: Record<string, string> = {};
  for (const part of text.replaceAll(" ", "").split(";").filter(Boolean)) {
    const [, axis, layout] = /^([mnk])=(.+)$/.exec(part) ?? [];
    if (!layout || !modesOf(layout)) return null;
    found[axis] = layout;
  }
  return found;
}

export const permutationsText = (given: Record<string, string> = {}): string =>
  Object.entries(given).map(([axis, layout]) => `${axis}=${layout}`).join(";");

/** The sizes and strides of the modes of CuTe's shape:stride, the fastest first; null where a text is none. */
function modesOf(text: string): [number, number][] | null {
  const [shape, stride, ...more] = text.split(":");
  const form = (part: string) => part.replace(/_?\d+/g, "1");
  if (more.length || !/^[\d_(),]+$/.test(shape) || (stride !== undefined && form(stride) !== form(shape))) return null;
  const sizes = (shape.match(/\d+/g) ?? []).map(Number);
  const strides = stride === undefined ? sizes.map((_, at) => product(sizes.slice(0, at))) : stride.match(/\d+/g)!.map(Number);
  return sizes.length && sizes.every((size) => size >= 1) ? sizes.map((size, at) => [size, strides[at]]) : null;
}

/** A digit of a permuted coordinate: its size, and its weight in the coordinate. */
type Moved = [number, number];

/** The digits of a place's coordinate, most significant first; in words why there are none. */
function movedOf(axis: string, text: string, extent: number): Moved[] | string {
  const modes = modesOf(text) ?? [];
  const size = product(modes.map(([count]) => count));
  if (extent % size) return `the permutation ${text} of ${axis} has ${size} elements, which do not divide the tile's ${extent}.`;
  const digits = modes.filter(([count]) => count > 1);
  let reached = 1;
  for (const [count, step] of [...digits].sort((one, other) => one[1] - other[1])) {
    if (step !== reached) return `the permutation ${text} of ${axis} is none: it does not reach each index once.`;
    reached *= count;
  }
  return [...(extent > size ? [[extent / size, size] as Moved] : []), ...digits.reverse()];
}

const product = (numbers: readonly number[]): number => numbers.reduce((all, number) => all * number, 1);

/** Whether it is of more than one instruction. */
export const isTile = (tile: Tile): boolean =>
  product(tile.waves) * product(tile.repeat) > 1 || Object.keys(tile.permutation ?? {}).length > 0;

/** How many threads carry out one instruction. */
const lanesOf = (instruction: Instruction, wave: number): number =>
  Math.max(...instruction.operands(wave).map((table) => table.placement({})?.lanes ?? 0));

/** M, N and K of the tile. */
export const shapeOf = ({ shape }: Instruction, tile: Tile): Triple =>
  [0, 1, 2].map((at) => shape[at] * tile.waves[at] * tile.repeat[at]) as Triple;

/** Its shape and how it is made up, as `Tile.title`. */
export const titleOf = (instruction: Instruction, tile: Tile): string =>
  `${shapeOf(instruction, tile).join("x")}, waves ${tile.waves.join("x")}, repeat ${tile.repeat.join("x")}`;

/** How many threads and instructions, in words. */
export function sizeText(instruction: Instruction, wave: number, tile: Tile): string {
  const [waves, each] = [product(tile.waves), product(tile.repeat)];
  const lanes = lanesOf(instruction, wave);
  return `${waves} wave${waves > 1 ? "s" : ""} of ${lanes} threads, each with ${each} instruction${each > 1 ? "s" : ""}`;
}

export const instructionsOf = (tile: Tile): number => product(tile.waves) * product(tile.repeat);

/** Why there is no such tile of an instruction, or no picture of it; "" where there is one. */
export function refusalOf(instruction: Instruction, wave: number, fields: Fields, tile: Tile): string {
  const { name, architecture } = instruction;
  if (instruction.inTensorMemory) return `${name} has a shape of its own choice: there is no tile of it.`;
  if (architecture.refused.tile) return `${architecture.refused.tile}.`;
  if (instruction.has("move")) return `${name} moves a matrix and multiplies nothing; a tile is of an instruction that does.`;
  for (const [at, axis] of AXES.entries()) {
    const [near, count] = [tile.adjacent[at], tile.repeat[at]];
    if (count % near) return `adjacent divides repeat; got ${near} of ${count} along ${axis}.`;
  }
  for (const [axis, text] of Object.entries(tile.permutation ?? {})) {
    const at = AXES.indexOf(axis as "m");
    const moved = movedOf(axis, text, shapeOf(instruction, tile)[at]);
    if (typeof moved === "string") return moved;
  }
  const threads = product(tile.waves) * lanesOf(instruction, wave);
  if (threads > MOST_THREADS) return `The page shows tiles of up to ${MOST_THREADS} threads; this one has ${threads}. \`mmacalc tile\` answers of larger ones.`;
  for (const table of instruction.operands(wave)) {
    const placement = table.placement(fields);
    if (!placement) continue;
    const along = placement.layout.axes.slice(-2).map((axis) => [axis, timesOf(tile, axis)] as const);
    for (const [axis, times] of along) {
      if (tile.permutation?.[AXES[axisOf(axis)]] && unsplit(placement, tile, axis)) {
        return `The page does not show this permutation of ${AXES[axisOf(axis)]}: it cuts ${table.name} between its digits. \`mmacalc tile\` answers of it.`;
      }
      if (times > 1 && placement.layout.ends.has(axis)) {
        return `${table.name} of ${name} does not fill its layout along ${axis}, so a tile along ${AXES[axisOf(axis)]} has no layout of its own: repeat it along other axes.`;
      }
    }
    if (product(placement.shape) * product(along.map(([, times]) => times)) > MOST_ELEMENTS) {
      return `The page shows tiles of up to ${MOST_ELEMENTS.toLocaleString("en")} elements of an operand; ${table.name} has more. \`mmacalc tile\` answers of larger ones.`;
    }
  }
  return "";
}

/** The number of a coordinate's axis in m, n, k. */
const axisOf = (coordinate: string): number => "ijk".indexOf(coordinate);

function timesOf(tile: Tile, coordinate: string): number {
  const at = axisOf(coordinate);
  return tile.waves[at] * tile.repeat[at];
}

/** Whether the digits of a coordinate, with those of the tile above, cannot be cut where a permutation has its digits. */
function unsplit({ layout }: Placement, tile: Tile, axis: string): boolean {
  const at = axisOf(axis);
  const own = (layout.groups[layout.axes.indexOf(axis)] ?? []).map((name) => layout.size(name));
  const sizes = [tile.repeat[at] / tile.adjacent[at], tile.waves[at], tile.adjacent[at], ...own];
  const moved = movedOf(AXES[at], tile.permutation![AXES[at]], product(sizes));
  return layout.ends.has(axis) || typeof moved === "string" || !cutsOf(sizes, moved.map(([size]) => size));
}

/** Where two sequences of digits (most significant first) both end, counted from below; null where cuts cross. */
function cutsOf(one: number[], other: number[]): number[] | null {
  const ends = (sizes: number[]) => sizes.map((_, at) => product(sizes.slice(at)));
  const cuts = [...new Set([1, ...ends(one), ...ends(other)])].sort((a, b) => a - b);
  return cuts.every((cut, at) => !at || cut % cuts[at - 1] === 0) ? cuts : null;
}

/**
 * Permute a coordinate: its digits are cut where the permutation has its own, and the parts put in the order that they
 * have in the element's coordinate. `split` gets the parts of each digit, most significant first.
 */
function permuted(names: string[], sizes: Map<string, number>, moved: Moved[], split: Map<string, string[]>): string[] {
  const cuts = cutsOf(names.map((name) => sizes.get(name)!), moved.map(([size]) => size))!;
  const parts: { name: string; weight: number }[] = [];
  const digitAt = (weight: number): [number, number] => {
    let below = 1;
    for (const [size, step] of [...moved].reverse()) {
      if (weight < below * size) return [below, step];
      below *= size;
    }
    return [below, below];
  };
  let below = 1;
  for (const name of [...names].reverse()) {
    const above = below * sizes.get(name)!;
    const own = cuts.slice(0, -1).map((cut, at) => [cut, cuts[at + 1] / cut]).filter(([cut]) => cut >= below && cut < above);
    const made = own.map(([cut, size], at) => {
      let part = own.length === 1 ? name : `${name}${at}`;
      while (part !== name && sizes.has(part)) part += "_";
      sizes.set(part, size);
      const [start, step] = digitAt(cut);
      parts.push({ name: part, weight: (cut / start) * step });
      return part;
    });
    split.set(name, made.reverse());
    below = above;
  }
  return parts.sort((one, other) => other.weight - one.weight).map(({ name }) => name);
}

const made = new WeakMap<Placement, Map<string, Placement>>();

/** Where the elements of an operand are, of one instruction or of a whole tile; null where modifiers do not go together. */
export function placementOf(table: OperandTable, fields: Fields, tile: Tile): Placement | null {
  const atom = table.placement(fields);
  if (!atom || !isTile(tile)) return atom;
  const key = JSON.stringify(tile);
  const known = made.get(atom) ?? new Map<string, Placement>();
  made.set(atom, known);
  if (!known.has(key)) known.set(key, tiled(atom, tile));
  return known.get(key)!;
}

/** The arrangement's digits above those of the instruction: `_tiled` of src/mmacalc/model/tile.py. */
function tiled(atom: Placement, tile: Tile): Placement {
  const { layout } = atom;
  const sizes = new Map<string, number>();
  for (const [at, axis] of AXES.entries()) {
    sizes.set(`r${axis}`, tile.repeat[at] / tile.adjacent[at]);
    sizes.set(`w${axis}`, tile.waves[at]);
    sizes.set(`a${axis}`, tile.adjacent[at]);
  }
  const real = (names: string[]) => names.filter((name) => sizes.get(bare(name)) !== 1);
  const slowest = (axes: string) => [...axes].reverse();
  const coordinates = layout.axes.slice(-2);
  const own = new Set(coordinates.flatMap((axis) => ["r", "w", "a"].map((kind) => kind + AXES[axisOf(axis)])));
  const above = (axis: string) => (coordinates.includes(axis) ? real(["r", "w", "a"].map((kind) => kind + AXES[axisOf(axis)])) : []);
  const wave = real(slowest(tile.waveOrder).map((axis) => `w${axis}`)).map((name) => (own.has(name) ? name : `*${name}`));
  const items = real(slowest(tile.repeatOrder).flatMap((axis) => [`r${axis}`, `a${axis}`])).filter((name) => own.has(name));
  // The instructions of a wave begin in registers of their own.
  const held = layout.span(layout.places.get("item") ?? []) * atom.slotBits;
  const filler = items.length && held % 32 ? ["unused"] : [];
  sizes.set("unused", (Math.ceil(held / 32) * 32) / held);
  for (const [name, size] of layout.sizes) sizes.set(name, size);
  const places = new Map([["wave", wave], ...layout.places]);
  places.set("item", [...items, ...filler, ...(layout.places.get("item") ?? [])]);
  const split = new Map<string, string[]>();
  const groups = layout.groups.map((names, at) => {
    const [axis, every] = [layout.axes[at], [...above(layout.axes[at]), ...names]];
    const text = coordinates.includes(axis) ? tile.permutation?.[AXES[axisOf(axis)]] : undefined;
    const moved = text && movedOf(axis, text, product(every.map((name) => sizes.get(name)!)));
    return moved && typeof moved !== "string" ? permuted(every, sizes, moved, split) : every;
  });
  for (const [place, names] of places) places.set(place, names.flatMap((name) => split.get(name) ?? [name]));
  // The only digit of a coordinate takes its letter.
  const every = new Set([...groups.flat(), ...[...places.values()].flat().map(bare)]);
  const lone = new Map(groups.flatMap((names, at) => (names.length === 1 && !every.has(layout.axes[at][0]) ? [[names[0], layout.axes[at][0]]] : [])));
  const spelt = (name: string) => name.replace(bare(name), lone.get(bare(name)) ?? bare(name));
  const group = (names: string[]) => (names.length === 1 ? spelt(names[0]) : `(${names.map(spelt).join(" ")})`);
  const left = groups.map(group);
  const right = [...places].map(([place, names]) => `${place} (${names.map(spelt).join(" ")})`);
  for (const [name, letter] of lone) sizes.set(letter, sizes.get(name)!);
  const named = [...groups.flat(), ...[...places.values()].flat()].map((name) => bare(spelt(name)));
  const ends = coordinates.map((axis) => layout.ends.get(axis) ?? 0);
  const text = `${left.join(" ")} -> ${right.join(", ")}`;
  const made = new Layout(text, [...new Set(named)].map((name) => sizes.get(name)!), coordinates.join(""), ends);
  const { lanes, read } = atom;
  const count = product(tile.waves);
  const through = read && Array.from({ length: lanes * count }, (_, lane) => Math.floor(lane / lanes) * lanes + read[lane % lanes]);
  return new Placement(made, atom.wave, atom.slotBits, atom.offset, atom.bits, atom.merge, atom.format, atom.chosen, through, lanes);
}
