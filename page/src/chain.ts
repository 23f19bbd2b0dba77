/**
 * Whether, and how, the result of one instruction becomes an operand of the next: the classes, the relabelling of k and
 * the moves of src/mmacalc/chaining, from the two layouts alone. Compared with it for every pair of layouts.
 */

import type { Matrix } from "./picture.ts";
import type { Step } from "./placement.ts";

export type Use = "A" | "At" | "B" | "Bt";
export type Kind = "identical" | "renamed" | "repacked" | "k-relabel" | "kf-relabel" | "lane-moves";

export const USES: Use[] = ["A", "At", "B", "Bt"];

/** What each use makes of D[i][j]: the operand, which of D's axes is f (the index that survives), and Y's axis of f. */
const ROWS: Record<Use, { operand: "A" | "B"; f: "i" | "j"; k: "i" | "j"; axis: "i" | "j" }> = {
  A: { operand: "A", f: "i", k: "j", axis: "i" },
  At: { operand: "A", f: "j", k: "i", axis: "i" },
  B: { operand: "B", f: "j", k: "i", axis: "j" },
  Bt: { operand: "B", f: "i", k: "j", axis: "j" },
};

export const SPOKEN: Record<Kind, string> = {
  identical: "D\u2019s registers in order are the operand once they are converted",
  renamed: "nothing moves: the operand\u2019s registers are D\u2019s under other numbers",
  repacked: "nothing moves between lanes: pairs of 16 bits are put together anew",
  "k-relabel": "nothing moves if k is relabelled",
  "kf-relabel": "nothing moves if k and f are relabelled",
  "lane-moves": "elements move between lanes",
};

export const operandOf = (use: Use): "A" | "B" => ROWS[use].operand;
export const formula = (use: Use): string => {
  const { operand, f } = ROWS[use];
  return `${operand === "A" ? "A[f][k]" : "B[k][f]"} = ${f === "i" ? "D[f][k]" : "D[k][f]"}`;
};

/** (register, item) parts of one side, tiled to the common size. */
export interface Tiles {
  use: Use;
  source: Matrix;
  target: Matrix;
  f: number;
  k: number;
  xTiles: [number, number];
  yTiles: [number, number];
  sourceF: Step[];
  sourceK: Step[];
  targetF: Step[];
  targetK: Step[];
}

export interface Chain {
  tiles: Tiles;
  kind: Kind;
  /** For each k (f) of the result the k (f) of the operand where it lands; null if every one stays. */
  relabel: number[] | null;
  relabelF: number[] | null;
  /** The relabelling in digits, "" if it has none. */
  pattern: string;
  /** (item bit, lane bit) that are exchanged, and where lane bits go after that; with every k in its place. */
  exchanges: [number, number][];
  lanePermutation: [number, number][];
}

const gcd = (a: number, b: number): number => (b ? gcd(b, a % b) : a);
const lcm = (a: number, b: number): number => (a / gcd(a, b)) * b;

/** The slots of one instance, those in the unused part of its last register included. */
const slots = ({ placement }: Matrix): number => (placement.registers * 32) / placement.slotBits;

function stepsOf({ placement }: Matrix, axis: string): Step[] {
  return placement.steps[placement.axisNames.indexOf(axis)];
}

/** What each value of a tiled coordinate adds; an instance's items follow those of the one before. */
function along(matrix: Matrix, axis: string, count: number, step: number, blocks: boolean): Step[] {
  const each = slots(matrix);
  const one: Step[] = [];
  for (let tile = 0; tile < count; tile++) {
    for (const [lane, item] of stepsOf(matrix, axis)) one.push([lane, item + tile * step * each]);
  }
  if (!blocks) return one;
  return matrix.placement.steps[0].flatMap(([lane, item]) => one.map(([a, b]): Step => [lane + a, item + b]));
}

/** Integers, f64 and other floats do not feed one another. */
function family(matrix: Matrix, floats: Set<string>): string {
  const { format, bits } = matrix.placement;
  return !floats.has(format) ? "integer" : bits === 64 ? "f64" : "float";
}

/** Why a result cannot become an operand, "" if it can. `resultOfY` is D of Y, whose format says what Y adds up. */
export function refusal(source: Matrix, target: Matrix, resultOfY: Matrix, floats: Set<string>): string {
  const [x, y] = [source.instruction, target.instruction];
  if (x.architecture !== y.architecture) {
    return `${x.name} is an instruction of ${x.architecture.title}, ${y.name} of ${y.architecture.title}; a chain runs on one architecture.`;
  }
  if (x.architecture.refused.chain) return `${x.architecture.refused.chain}.`;
  if (x.has("move") || y.has("move")) return "An instruction that moves a matrix multiplies nothing; a chain is of two products.";
  const fragment = [x, y].find((each) => each.name.startsWith("wmma."));
  if (fragment) return `${fragment.name} has fragments with copies that NVIDIA leaves unspecified; chain takes mma and wgmma.`;
  if (target.name === "A" && y.has("sparse")) return `A of ${y.name} is compressed 2:4, and a result is dense; it can be B or Bt.`;
  if (x.shape[3] !== y.shape[3]) return `${x.name} has ${counted(x.shape[3])} and ${y.name} ${counted(y.shape[3])}; both should have as many.`;
  const [given, wanted] = [family(source, floats), family(resultOfY, floats)];
  if (given !== wanted) {
    const why = given === "f64" || wanted === "f64" ? "f64 results chain with f64 operands only" : "integers convert to integers and floats to floats";
    return `D of ${x.name} is ${source.placement.format}, and ${y.name} multiplies ${target.placement.format}; ${why}.`;
  }
  const shared = target.placement.layout.shared.length > 0;
  if (target.read || shared) return `Under its modifiers ${target.name} of ${y.name} reads other lanes than its own.`;
  if (source.lanes !== target.lanes) {
    return `D of ${x.name} lies in ${source.lanes} lanes and ${target.name} of ${y.name} in ${target.lanes}; chain wgmma with wgmma, and mma with mma.`;
  }
  return "";
}

const counted = (blocks: number): string => `${blocks} block${blocks > 1 ? "s" : ""}`;

/** Both sides at their common size. */
export function tilesOf(source: Matrix, target: Matrix, use: Use): Tiles {
  const row = ROWS[use];
  const [ef, ek] = [stepsOf(source, row.f).length, stepsOf(source, row.k).length];
  const [wf, wk] = [stepsOf(target, row.axis).length, stepsOf(target, "k").length];
  const [f, k] = [lcm(ef, wf), lcm(ek, wk)];
  const xTiles: [number, number] = [f / ef, k / ek];
  const yTiles: [number, number] = [f / wf, k / wk];
  return {
    use, source, target, f, k, xTiles, yTiles,
    sourceF: along(source, row.f, xTiles[0], xTiles[1], true),
    sourceK: along(source, row.k, xTiles[1], 1, false),
    targetF: along(target, row.axis, yTiles[0], yTiles[1], true),
    targetK: along(target, "k", yTiles[1], 1, false),
  };
}

/** The answer for two operands that fit (see `refusal`). */
export function chain(source: Matrix, target: Matrix, use: Use, keepK: boolean): Chain {
  const tiles = tilesOf(source, target, use);
  const found = match(tiles, keepK);
  const movement = found ? null : keptMovement(tiles);
  const kind = found ? kindOf(tiles, found) : "lane-moves";
  return {
    tiles, kind,
    relabel: found?.k ?? null, relabelF: found?.f ?? null,
    pattern: found?.k ? relabelPattern(tiles, found.k) : "",
    exchanges: movement?.exchanges ?? [], lanePermutation: movement?.permutation ?? [],
  };
}

function kindOf(tiles: Tiles, found: Match): Kind {
  if (found.f) return "kf-relabel";
  if (found.k) return "k-relabel";
  if (alike(tiles.sourceF, tiles.targetF) && alike(tiles.sourceK, tiles.targetK)) return "identical";
  return repacked(tiles, found.sources) ? "repacked" : "renamed";
}

const alike = (one: Step[], other: Step[]): boolean =>
  one.length === other.length && one.every(([lane, item], at) => lane === other[at][0] && item === other[at][1]);

// --- what can stay in its lane: chains/matching.py ---

interface Match {
  f: number[] | null;
  k: number[] | null;
  /** For each item of the operand the item of the result that becomes it, -1 where it holds nothing. */
  sources: number[];
}

function match(tiles: Tiles, keepK: boolean): Match | null {
  if (tiles.target.placement.copies.length !== 1) return null;
  for (const f of pairings(tiles.sourceF, tiles.targetF, !keepK)) {
    for (const k of pairings(tiles.sourceK, tiles.targetK, !keepK)) {
      const sources = itemSources(tiles, f, k);
      if (sources) return { f: unlessIdentity(f), k: unlessIdentity(k), sources };
    }
  }
  return null;
}

const unlessIdentity = (pairing: number[]): number[] | null => (pairing.every((value, at) => value === at) ? null : pairing);

/** For each value of a coordinate of the result, a value of the operand's in the same lane; the best first. */
function pairings(source: Step[], target: Step[], relabel: boolean): number[][] {
  const [from, to] = [source.map(([lane]) => lane), target.map(([lane]) => lane)];
  if (from.length === to.length && from.every((lane, at) => lane === to[at])) return [[...source.keys()]];
  const sorted = (lanes: number[]) => [...lanes].sort((a, b) => a - b).join();
  if (!relabel || sorted(from) !== sorted(to)) return [];
  const waiting = (skip: boolean): Map<number, number[]> => {
    const free = new Map<number, number[]>();
    for (const [value, lane] of to.entries()) {
      if (!skip || from[value] !== lane) free.set(lane, [...(free.get(lane) ?? []), value]);
    }
    return free;
  };
  const [rest, all] = [waiting(true), waiting(false)];
  const inPlace = from.map((lane, value) => (to[value] === lane ? value : rest.get(lane)!.shift()!));
  return [inPlace, from.map((lane) => all.get(lane)!.shift()!)];
}

/** For each item of the operand the item of the result that becomes it, or null if that differs between lanes. */
function itemSources(tiles: Tiles, f: number[], k: number[]): number[] | null {
  const start = tiles.source.placement.copies[0][1];
  const pairs = (pairing: number[], to: Step[], from: Step[]): [number, number][] => {
    const seen = new Map<string, [number, number]>();
    pairing.forEach((at, place) => seen.set(`${to[at][1]} ${from[place][1]}`, [to[at][1], from[place][1]]));
    return [...seen.values()];
  };
  const found = new Map<number, number>();
  for (const [base, first] of pairs(f, tiles.targetF, tiles.sourceF)) {
    for (const [more, second] of pairs(k, tiles.targetK, tiles.sourceK)) {
      const [item, from] = [base + more, start + first + second];
      if ((found.get(item) ?? from) !== from) return null;
      found.set(item, from);
    }
  }
  const count = tiles.yTiles[0] * tiles.yTiles[1] * slots(tiles.target);
  return Array.from({ length: count }, (_, item) => found.get(item) ?? -1);
}

/** Whether pairs of a 16-bit result have to be put together anew. */
function repacked({ source, target }: Tiles, sources: number[]): boolean {
  if (source.placement.slotBits !== 16) return false;
  const [each, own] = [slots(target), slots(source)];
  const width = target.placement.slotBits;
  const place = (item: number): [number, number, number] => {
    const bit = (item % own) * 16;
    return [Math.floor(item / own), Math.floor(bit / 32), bit % 32];
  };
  for (let y = 0; y < sources.length / each; y++) {
    for (let register = 0; register < target.placement.registers; register += Math.max(1, Math.floor(width / 32))) {
      const first = Math.floor((register * 32) / width);
      const last = Math.max(Math.ceil(((register + 1) * 32) / width), first + 1);
      const items = sources.slice(y * each + first, y * each + last);
      for (let at = 0; at < items.length; at += 2) {
        const pair = items.slice(at, at + 2).filter((item) => item >= 0).map(place);
        if (pair.length < 2) continue;
        const [[x0, r0, low], [x1, r1, high]] = pair;
        if (x0 !== x1 || r0 !== r1 || low !== 0 || high !== 16) return true;
      }
    }
  }
  return false;
}

// --- the relabelling as digits: chains/relabelling.py ---

function relabelPattern(tiles: Tiles, relabel: number[]): string {
  const digits: [number, number][] = [];
  let weight = 1;
  while (weight < relabel.length) {
    const step = relabel[weight];
    let size = 1;
    while (size * weight < relabel.length && relabel[size * weight] === size * step) size++;
    while (relabel.length % (size * weight)) size--;
    if (size === 1) return "";
    digits.push([size, step]);
    weight *= size;
  }
  const lands = (k: number): number => {
    let [rest, total] = [k, 0];
    for (const [size, step] of digits) {
      total += (rest % size) * step;
      rest = Math.floor(rest / size);
    }
    return total;
  };
  if (relabel.some((value, k) => lands(k) !== value)) return "";
  const names = digitNames(tiles, digits.map(([size]) => size));
  const left = [...names].reverse();
  const right = [...digits.keys()].sort((a, b) => digits[b][1] - digits[a][1]).map((at) => names[at]);
  return `(${left.join(" ")}) -> (${right.join(" ")})`;
}

/** A name for each digit, lowest first: that of D's digit that it is, or is a part of. */
function digitNames(tiles: Tiles, sizes: number[]): string[] {
  const { layout } = tiles.source.placement;
  const group = layout.groups[layout.axes.indexOf(ROWS[tiles.use].k)] ?? [];
  const own = [...group].reverse().map((name): [string, number] => [name, layout.size(name)]);
  if (tiles.xTiles[1] > 1) own.push(["x", tiles.xTiles[1]]);
  const starts: [number, string, number][] = [];
  let weight = 1;
  for (const [name, size] of own) {
    starts.push([weight, name, size]);
    weight *= size;
  }
  let at = 1;
  return sizes.map((size) => {
    const [start, name, whole] = [...starts].reverse().find(([first]) => first <= at)!;
    const part = 31 - Math.clz32(Math.floor(at / start));
    const text = start === at && size >= whole ? name : `${name}${part}`;
    at *= size;
    return text;
  });
}

// --- what must move: chains/place_bits.py, with every k in its place ---

const ITEM = 64; // bits of the item are numbered from here, those of the lane from 0

function keptMovement(tiles: Tiles): { exchanges: [number, number][]; permutation: [number, number][] } | null {
  const tables = [tiles.sourceF, tiles.targetF, tiles.sourceK, tiles.targetK].map(placeBits);
  if (tables.some((table) => !table)) return null;
  const [sourceF, targetF, sourceK, targetK] = tables as number[][];
  const laneBits = 31 - Math.clz32(tiles.source.lanes);
  const moves = new Map<number, number>();
  sourceF.forEach((bit, at) => moves.set(bit, targetF[at]));
  sourceK.forEach((bit, at) => moves.set(bit, targetK[at]));
  const { runs, cycles } = runsOf(completed(moves, laneBits), laneBits);
  const exchanges = runs.map(([item, run]): [number, number] => [item, run[0]]).sort((a, b) => a[1] - b[1]);
  const closed = [...runs.map(([, run]) => run).filter((run) => run.length > 1), ...cycles];
  const permutation = closed.flatMap((run) => run.map((lane, at): [number, number] => [lane, run[(at + 1) % run.length]]));
  return { exchanges, permutation: permutation.sort((a, b) => a[0] - b[0]) };
}

/** The place bit of each bit of a coordinate, lowest first, or null if it has none. */
function placeBits(table: Step[]): number[] | null {
  const found: number[] = [];
  for (let at = 0; 1 << at < table.length; at++) {
    const [lane, item] = table[1 << at];
    const one = lane || item;
    if ((lane && item) || !one || (one & (one - 1)) !== 0) return null;
    found.push((lane ? 0 : ITEM) + 31 - Math.clz32(one));
  }
  if (table.length !== 1 << found.length) return null;
  for (const [value, [lane, item]] of table.entries()) {
    let [lanes, items] = [0, 0];
    found.forEach((_, at) => {
      if ((value >> at) & 1) [lanes, items] = [lanes + table[1 << at][0], items + table[1 << at][1]];
    });
    if (lanes !== lane || items !== item) return null;
  }
  return found;
}

/** The moves with those of the place bits that one side does not use. */
function completed(moves: Map<number, number>, laneBits: number): Map<number, number> {
  const whole = new Map(moves);
  const targets = new Set(moves.values());
  for (let lane = 0; lane < laneBits; lane++) {
    if (targets.has(lane)) continue;
    let bit = ITEM;
    while (whole.has(bit)) bit++;
    whole.set(bit, lane);
  }
  const items = Math.max(0, ...[...whole].flat().map((bit) => bit - ITEM + 1));
  const places = [...Array.from({ length: items }, (_, at) => ITEM + at), ...Array.from({ length: laneBits }, (_, at) => at)];
  const taken = new Set(whole.values());
  const unused = places.filter((bit) => !whole.has(bit));
  const free = places.filter((bit) => !taken.has(bit));
  const staying = unused.filter((bit) => free.includes(bit));
  staying.forEach((bit) => whole.set(bit, bit));
  const open = free.filter((bit) => !staying.includes(bit));
  unused.filter((bit) => !staying.includes(bit)).forEach((bit, at) => whole.set(bit, open[at]));
  return whole;
}

function runsOf(whole: Map<number, number>, laneBits: number): { runs: [number, number[]][]; cycles: number[][] } {
  const before = new Map([...whole].map(([bit, to]) => [to, bit]));
  const runs: [number, number[]][] = [];
  const cycles: number[][] = [];
  const seen = new Set<number>();
  for (let lane = 0; lane < laneBits; lane++) {
    if (before.get(lane)! < ITEM) continue;
    const run = [lane];
    while (whole.get(run[run.length - 1])! < ITEM) run.push(whole.get(run[run.length - 1])!);
    runs.push([whole.get(run[run.length - 1])! - ITEM, run]);
    run.forEach((each) => seen.add(each));
  }
  for (let lane = 0; lane < laneBits; lane++) {
    if (seen.has(lane) || whole.get(lane) === lane) continue;
    const cycle = [lane];
    while (whole.get(cycle[cycle.length - 1]) !== lane) cycle.push(whole.get(cycle[cycle.length - 1])!);
    cycles.push(cycle);
    cycle.forEach((each) => seen.add(each));
  }
  return { runs, cycles };
}
