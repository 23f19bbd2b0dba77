/** One axis laid out along a side of a picture: src/mmacalc/drawing/plan.py. */

import type { Axis } from "./picture.ts";

const TILE_GAP = 2;
export const CELL_GAP = 0.6;
export const ELLIPSIS = 18;
const SMALLEST_CELL = 4;

export type Runs = [number, number][];

/** Some neighbouring values of the axis, and the pixels that they take, without the gap after them. */
export interface Cell {
  first: number;
  last: number;
  start: number;
  size: number;
}

export class Track {
  constructor(
    readonly axis: Axis,
    readonly pitch: number,
    readonly cells: Cell[],
    readonly tiles: Cell[],
    readonly breaks: number[],
    readonly length: number,
  ) {}

  /** Where the visible values from `first` to `last` are: a stretch for each uninterrupted run of them. */
  span(first: number, last: number): Cell[] {
    const found: Cell[] = [];
    for (const cell of this.cells) {
      if (cell.last < first || cell.first > last) continue;
      let low = Math.max(first, cell.first);
      const high = Math.min(last, cell.last);
      let start = cell.start + (low - cell.first) * this.pitch;
      const end = cell.start + (high === cell.last ? cell.size : (high + 1 - cell.first) * this.pitch);
      if (found.length && found[found.length - 1].last === low - 1) {
        const before = found.pop()!;
        [low, start] = [before.first, before.start];
      }
      found.push({ first: low, last: high, start, size: end - start });
    }
    return found;
  }

  /** The value at a pixel, or null beside the axis and in an ellipsis. */
  at(pixel: number): number | null {
    let place = this.cells.length - 1;
    while (place >= 0 && this.cells[place].start > pixel) place--;
    if (place < 0) return null;
    const cell = this.cells[place];
    const value = cell.first + Math.floor((pixel - cell.start) / this.pitch);
    return value <= cell.last ? value : null;
  }
}

/** The values to show, as [first, last] of each uninterrupted run. */
export function segments(axis: Axis, shown: Iterable<number>, fold: boolean): Runs {
  if (!fold || !axis.period) return [[0, axis.extent - 1]];
  const count = new Map(axis.digits).get(axis.repeated)!;
  const all = Array.from({ length: axis.extent / axis.period }, (_, at) => at);
  const ends = all.filter((at) => at % count === 0 || at % count === count - 1);
  const kept = new Set([...ends, ...[...shown].map((value) => Math.floor(value / axis.period))]);
  const runs: Runs = [];
  for (const repetition of [...kept].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[1] === repetition - 1) last[1] = repetition;
    else runs.push([repetition, repetition]);
  }
  return runs.map(([first, last]) => [first * axis.period, (last + 1) * axis.period - 1]);
}

/** Lay out the visible values of an axis. */
export function track(axis: Axis, pitch: number, visible: Runs): Track {
  const unit = axis.merged * pitch >= SMALLEST_CELL ? axis.merged : axis.run;
  const tileGap = axis.run * pitch >= 4 * TILE_GAP ? TILE_GAP : CELL_GAP;
  const cells: Cell[] = [];
  const tiles: Cell[] = [];
  const breaks: number[] = [];
  let start = 0;
  for (const [number, [low, high]] of visible.entries()) {
    if (number) {
      breaks.push(start + ELLIPSIS / 2);
      start += ELLIPSIS;
    }
    for (let first = low; first <= high; first += unit) {
      const last = first + unit - 1;
      const gap = (last + 1) % axis.run === 0 ? tileGap : CELL_GAP;
      cells.push({ first, last, start: start + (first - low) * pitch, size: unit * pitch - gap });
    }
    for (let first = low; first <= high; first += axis.run) {
      const last = first + axis.run - 1;
      tiles.push({ first, last, start: start + (first - low) * pitch, size: axis.run * pitch - tileGap });
    }
    start += (high + 1 - low) * pitch;
  }
  return new Track(axis, pitch, cells, tiles, breaks, start);
}

/** Which labels of a strip fit, by number; true if it fits in its own stretch, else it takes the next ones too. */
export function spaced(parts: [Cell, number][], slack = 2): [number, boolean][] {
  const fitting = parts.map(([cell, need]) => need <= cell.size + slack);
  const even = new Set(parts.map(([cell]) => Math.round(cell.size * 1000))).size <= 2;
  if (fitting.every(Boolean) || !even) return [...fitting.entries()].filter(([, fits]) => fits);
  for (const every of [2, 4, 8, 16, 32, 64, 128]) {
    const chosen = [...parts.keys()].filter((number) => number % every === 0);
    if (chosen.every((number) => parts[number][1] <= room(parts, number, every) + slack)) {
      return chosen.map((number) => [number, false]);
    }
  }
  return [];
}

/** From the start of a stretch to that of the next one that has a label, or to the end. */
function room(parts: [Cell, number][], number: number, every: number): number {
  const { start } = parts[number][0];
  const last = parts[parts.length - 1][0];
  return number + every < parts.length ? parts[number + every][0].start - start : last.start + last.size - start;
}
