/**
 * How an operand is loaded from memory (D: stored): the widest accesses, and the banks of LDS that they touch. The same
 * as src/mmacalc/memory_access, and compared with it.
 */

import type { Catalog } from "./catalog.ts";
import type { BankRule } from "./data.ts";
import type { Matrix } from "./picture.ts";
import { compare } from "./layout.ts";

export const WIDTHS = [1, 2, 4, 8, 16];
const WIDEST = 16;
const DWORD = 4;

/** bits, base, shift of CuTe's Swizzle on byte addresses */
export type Swizzle = [number, number, number];
export const NO_SWIZZLE: Swizzle = [0, 4, 3];

/** The bit in the lane's registers, the row of memory, the bit in that row. */
type Unit = [number, number, number];

export interface Tile {
  matrix: Matrix;
  order: "row" | "col";
  rowBytes: number;
  rows: number;
  unitBits: number;
  lanes: Unit[][];
}

export interface Accesses {
  runBytes: number;
  accessBytes: number;
  /** For each access of the wave the row and the byte in it of each lane, null where a lane has nothing left. */
  addresses: ([number, number] | null)[][];
}

export interface Phase {
  lanes: number[];
  cycles: number;
  /** For each bank the dwords that are read there, each with its lanes. */
  banks: Map<number, Map<number, number[]>>;
}

/** The fewest elements from one row to the next. */
export function shortest(matrix: Matrix, order: "row" | "col"): number {
  const { merge } = matrix.placement;
  const group = groupSize(matrix);
  const [rows, columns] = [matrix.rows.extent, matrix.columns.extent];
  const along = order === "row" ? columns : rows;
  const isK = (order === "row" ? matrix.columns : matrix.rows).name === "k";
  return (isK ? along / group : along) * merge;
}

/** How many k of a 2:4 sparse A share a group of stored values; 1 for any other operand. */
function groupSize(matrix: Matrix): number {
  return matrix.name === "A" && matrix.instruction.has("sparse") ? matrix.placement.layout.size("p") : 1;
}

/** The elements of an operand, lane by lane, with their places in memory; or why they have none. */
export function tileOf(matrix: Matrix, order: "row" | "col", ld: number): Tile | string {
  if (!"ABCD".includes(matrix.name)) return `${matrix.name} is not a matrix in memory: it is packed into whole registers.`;
  const group = groupSize(matrix);
  if (group > 1 && order === "col") return "The stored values of a sparse row are consecutive, so the order is row by row.";
  const { placement } = matrix;
  const { bits, merge, slotBits, offset, steps, copies, read } = placement;
  const least = shortest(matrix, order);
  if (!Number.isInteger(ld) || ld < least) return `ld is at least ${least}, the elements of ${matrix.name} along memory.`;
  if ((ld * bits) % 8) return `A row of ${ld} elements of ${bits} bits is not a whole number of bytes.`;
  const extents = [matrix.rows, matrix.columns].map((axis) => (axis.name === "k" ? axis.extent / group : axis.extent));
  const [along, across] = order === "row" ? [1, 0] : [0, 1];
  const names = [matrix.rows.name, matrix.columns.name];
  const lanes: Map<string, Unit>[] = Array.from({ length: placement.lanes }, () => new Map());
  for (const [block, [blockLane, blockItem]] of steps[0].entries()) {
    for (const [row, [rowLane, rowItem]] of steps[1].entries()) {
      for (const [column, [columnLane, columnItem]] of steps[2].entries()) {
        for (const [more, further] of copies) {
          const lane = blockLane + rowLane + columnLane + more;
          const item = blockItem + rowItem + columnItem + further;
          const bit = Math.floor(item / merge) * merge * slotBits + offset;
          const place = [row, column].map((value, at) => (names[at] === "k" ? Math.floor(value / group) : value));
          const unit: Unit = [bit, block * extents[across] + place[across], place[along] * bits * merge];
          lanes[read ? read[lane] : lane].set(unit.join(), unit);
        }
      }
    }
  }
  const sorted = lanes.map((units) => [...units.values()].sort(compare));
  return { matrix, order, rowBytes: (ld * bits) / 8, rows: matrix.blocks.extent * extents[across], unitBits: bits * merge, lanes: sorted };
}

const gcd = (a: number, b: number): number => (b ? gcd(b, a % b) : a);

/** The widest accesses that move an operand, or why none reaches it. */
export function accessesOf(tile: Tile): Accesses | string {
  const count = Math.max(...tile.lanes.map((units) => units.length));
  let run = count;
  while (run > 1 && (count % run || !tile.lanes.every((units) => contiguous(units, run, tile.unitBits)))) run--;
  const runBits = run * tile.unitBits;
  const starts = tile.lanes.flatMap((units) => units.filter((_, at) => at % run === 0));
  if (runBits % 8 || starts.some(([, , bit]) => bit % 8)) {
    const other = tile.order === "row" ? "column by column" : "row by row";
    return `Elements of ${tile.unitBits} bits do not lie side by side in memory in this order; ${other}, or a load that transposes, reaches them.`;
  }
  const shared = [runBits / 8, tile.rowBytes, ...starts.map(([, , bit]) => bit / 8)].reduce(gcd, WIDEST);
  const width = shared & -shared;
  const perRun = runBits / 8 / width;
  const addresses: ([number, number] | null)[][] = [];
  for (let number = 0; number < (count / run) * perRun; number++) {
    const [which, part] = [Math.floor(number / perRun), number % perRun];
    addresses.push(tile.lanes.map((units) => {
      const unit = units[which * run];
      return unit ? [unit[1], unit[2] / 8 + part * width] : null;
    }));
  }
  return { runBytes: runBits / 8, accessBytes: width, addresses };
}

function contiguous(units: Unit[], run: number, width: number): boolean {
  for (let at = 1; at < units.length; at++) {
    const [before, after] = [units[at - 1], units[at]];
    if (at % run && (before[0] + width !== after[0] || before[1] !== after[1] || before[2] + width !== after[2])) return false;
  }
  return true;
}

/** The byte address of each lane in each access. */
export function linear(found: Accesses, tile: Tile, pad: number, swizzle: Swizzle): (number | null)[][] {
  const [bits, base, shift] = swizzle;
  const mask = ((1 << bits) - 1) << base;
  const stride = tile.rowBytes + pad;
  return found.addresses.map((lanes) => lanes.map((place) => {
    if (!place) return null;
    const address = place[0] * stride + place[1];
    return address ^ ((address >> shift) & mask);
  }));
}

/** Why a swizzle does not fit the tile: a last block that is not whole, or an access taken apart; empty if it fits. */
export function misfit(found: Accesses, tile: Tile, pad: number, swizzle: Swizzle): string {
  const left = outside(tile, pad, swizzle), [bits, base] = swizzle;
  if (left) return left;
  const apart = bits > 0 && 2 ** base % found.accessBytes !== 0;
  const least = 31 - Math.clz32(found.accessBytes);
  return apart ? `The swizzle keeps ${2 ** base} bytes together, and a lane's access has ${found.accessBytes}; the base should be at least ${least}.` : "";
}

/** Which bytes a swizzle moves out of the tile: an address stays within its block of 2**(base + bits) bytes. */
function outside(tile: Tile, pad: number, [bits, base, shift]: Swizzle): string {
  const size = tile.rows * (tile.rowBytes + pad), block = 2 ** (base + bits);
  const last = size % block;
  const flipped = ((size - last) >> shift) & (((1 << bits) - 1) << base);
  if (last % 2 ** (32 - Math.clz32(flipped)) === 0) return "";
  return `The swizzle moves bytes of the last ${last} of ${size} out of the tile; the tile should be a multiple of ${block} bytes.`;
}

/** How LDS serves an access of a width; null where that is not published. */
export function ruleOf(catalog: Catalog, matrix: Matrix, width: number, write: boolean): BankRule | null {
  const { data, architectures } = catalog;
  const found = data.banks[architectures.indexOf(matrix.instruction.architecture)];
  return found ? data.rules[found[write ? "write" : "read"][WIDTHS.indexOf(width)]] : null;
}

/** The phases of one access of one wave, merged in pairs where the hardware does so. */
export function phasesOf([banks, phases, merges, ports]: BankRule, addresses: (number | null)[], width: number): Phase[] {
  const period = phases.reduce((sum, lanes) => sum + lanes.length, 0);
  let groups: number[][] = [];
  for (let first = 0; first < addresses.length; first += period) {
    for (const lanes of phases) groups.push(lanes.map((lane) => first + lane).filter((lane) => (addresses[lane] ?? null) !== null));
  }
  const paired = (flip: number) => addresses.every((address, lane) => address === null || (addresses[lane ^ flip] ?? address) === address);
  if (merges && (paired(1) || paired(2))) {
    groups = groups.filter((_, at) => at % 2 === 0).map((lanes, at) => [...lanes, ...groups[2 * at + 1]]);
  }
  return groups.filter((lanes) => lanes.length).map((lanes) => {
    const found = new Map<number, Map<number, number[]>>();
    for (const lane of lanes) {
      const address = addresses[lane]!;
      for (let dword = Math.floor(address / DWORD); dword <= Math.floor((address + width - 1) / DWORD); dword++) {
        const bank = found.get(dword % banks) ?? new Map<number, number[]>();
        bank.set(dword, [...(bank.get(dword) ?? []), lane]);
        found.set(dword % banks, bank);
      }
    }
    const most = Math.max(...[...found.values()].map((dwords) => dwords.size));
    return { lanes, cycles: Math.ceil(most / ports), banks: found };
  });
}

export interface Cost {
  cycles: number;
  ideal: number;
  /** The phases of each access; a warpgroup's waves one after another. */
  phases: Phase[][];
}

/** What all accesses cost in LDS. */
export function costOf(rule: BankRule, addresses: (number | null)[][], width: number, wave: number): Cost {
  const phases = addresses.map((lanes) => {
    const found: Phase[] = [];
    for (let first = 0; first < lanes.length; first += wave) {
      for (const phase of phasesOf(rule, lanes.slice(first, first + wave), width)) {
        found.push({ ...phase, lanes: phase.lanes.map((lane) => lane + first) });
      }
    }
    return found;
  });
  const all = phases.flat();
  return { cycles: all.reduce((sum, phase) => sum + phase.cycles, 0), ideal: all.length, phases };
}

/** The smallest padding and the smallest XOR swizzle without a conflict, of the accesses and of those that fill the tile. */
export function repair(catalog: Catalog, tile: Tile, found: Accesses): { pad: number | null; swizzle: Swizzle | null } {
  const write = tile.matrix.name === "D";
  const { wave } = tile.matrix.placement;
  const filling = fills(tile, WIDEST);
  const [own, other] = [ruleOf(catalog, tile.matrix, found.accessBytes, write), ruleOf(catalog, tile.matrix, filling.accessBytes, !write)];
  if (!own || !other) return { pad: null, swizzle: null };
  const quiet = (rule: BankRule, accesses: Accesses, pad: number, swizzle: Swizzle) => {
    const cost = costOf(rule, linear(accesses, tile, pad, swizzle), accesses.accessBytes, wave);
    return cost.cycles === cost.ideal;
  };
  const free = (pad: number, swizzle: Swizzle) => quiet(own, found, pad, swizzle) && quiet(other, filling, pad, swizzle);
  const least = Math.max(WIDEST, found.accessBytes);
  let pad: number | null = null;
  for (let tried = 0; tried < 256 && pad === null; tried += least) if (free(tried, NO_SWIZZLE)) pad = tried;
  return { pad, swizzle: swizzles(tile, found.accessBytes).find((swizzle) => !outside(tile, 0, swizzle) && free(0, swizzle)) ?? null };
}

function swizzles(tile: Tile, width: number): Swizzle[] {
  const lowest = 31 - Math.clz32(Math.max(width, WIDEST));
  const last = 32 - Math.clz32(tile.rows * tile.rowBytes - 1);
  const every: Swizzle[] = [[0, lowest, 1]];
  for (let bits = 1; bits <= 5; bits++) {
    for (let base = lowest; base <= 8; base++) {
      for (let shift = bits; shift <= Math.max(bits, last - base); shift++) every.push([bits, base, shift]);
    }
  }
  return every;
}

/** The accesses of a wave that fills the whole tile row by row. */
function fills(tile: Tile, most: number): Accesses {
  const width = Math.min(most, tile.rowBytes & -tile.rowBytes);
  const places: [number, number][] = [];
  for (let row = 0; row < tile.rows; row++) for (let byte = 0; byte < tile.rowBytes; byte += width) places.push([row, byte]);
  const { wave } = tile.matrix.placement;
  const addresses: ([number, number] | null)[][] = [];
  for (let first = 0; first < places.length; first += wave) {
    addresses.push(Array.from({ length: wave }, (_, lane) => places[first + lane] ?? null));
  }
  return { runBytes: width, accessBytes: width, addresses };
}
