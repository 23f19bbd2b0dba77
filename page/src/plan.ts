/** One operand laid out on paper: src/mmacalc/drawing/plan.py. */

import { blockTitle, strips, type Strip } from "./strips.ts";
import { placeText, ranges, signed } from "./places.ts";
import type { Matrix } from "./picture.ts";
import type { Element } from "./placement.ts";
import { textWidth } from "./scene.ts";
import { segments, track, type Runs, type Track } from "./tracks.ts";

const LARGEST_CELL = [44, 34];
const SMALLEST_TILE = 9;
export const SMALLEST_TEXT = 6.5;
export const STRIP_TEXT = 9.5;
export const LANE_TEXT = 12.5;
const BLOCK_TITLE = 17;
export const BLOCK_TEXT = 10;
const BLOCK_GAP = 14;

/** How many blocks stand beside and below one another, and where each one is. */
export interface Grid {
  across: number;
  down: number;
  places: [number, number][];
}

export type Size = [number, number];

export class Plan {
  constructor(
    readonly matrix: Matrix,
    readonly columns: Track,
    readonly rows: Track,
    readonly grid: Grid,
    readonly labels: boolean,
    readonly marks: Element[],
    /** The strips above and at the left, the nearest first, with the pixels that each takes. */
    readonly top: [Strip, number][],
    readonly left: [Strip, number][],
    readonly titleRoom: number,
  ) {}

  get marginLeft(): number {
    return Math.max(40, this.left.reduce((sum, [, size]) => sum + size, 0));
  }

  get marginTop(): number {
    return this.top.reduce((sum, [, size]) => sum + size, 0);
  }

  get stepAcross(): number {
    return this.columns.length + BLOCK_GAP;
  }

  get stepDown(): number {
    return this.rows.length + this.titleRoom + BLOCK_GAP / 2;
  }

  get width(): number {
    const cells = this.marginLeft + this.grid.across * this.stepAcross - BLOCK_GAP;
    return Math.max(cells, ...titles(this).map(([x, , text]) => x + textWidth(text, BLOCK_TEXT)));
  }

  get height(): number {
    return this.marginTop + this.grid.down * this.stepDown - BLOCK_GAP / 2;
  }

  /** The upper left corner of a block's cells. */
  origin(block: number): Size {
    const [across, down] = this.grid.places[block];
    return [this.marginLeft + across * this.stepAcross, this.rowOrigin(down)];
  }

  rowOrigin(down: number): number {
    return this.marginTop + this.titleRoom + down * this.stepDown;
  }

  /** The element at a pixel, or null beside the cells. */
  at(x: number, y: number): Element | null {
    for (const block of this.grid.places.keys()) {
      const [left, top] = this.origin(block);
      if (x < left || y < top || x >= left + this.columns.length || y >= top + this.rows.length) continue;
      const [row, column] = [this.rows.at(y - top), this.columns.at(x - left)];
      if (row !== null && column !== null) return [block, row, column];
    }
    return null;
  }
}

export const grid = (blocks: number, across: number): Grid => ({
  across,
  down: Math.ceil(blocks / across),
  places: Array.from({ length: blocks }, (_, block) => [block % across, Math.floor(block / across)]),
});

export interface PlanOptions {
  labels?: boolean;
  marks?: Element[];
  fold?: boolean;
  /** A digit whose values get a strip of their own. */
  digit?: string;
  /** Values that must be visible although an axis is folded, besides the marks. */
  shown?: Element[];
  /** The pixels of each column and row, instead of those that fill the space. */
  pitches?: Size;
}

/** Lay out one operand in a space, in pixels; a picture whose cells would be too small there takes more. */
export function plan(matrix: Matrix, space: Size, options: PlanOptions = {}): Plan {
  const blocks = matrix.blocks.extent;
  let best = grid(blocks, 1);
  for (let across = 2; across <= blocks; across++) {
    if (blocks % across) continue;
    const shape = grid(blocks, across);
    if (cellArea(matrix, shape, space) > cellArea(matrix, best, space)) best = shape;
  }
  const { labels = false, marks = [], fold = true, shown = [], digit = "" } = options;
  const whole = (): Runs[] => [matrix.columns, matrix.rows].map((axis) => [[0, axis.extent - 1]]);
  if (labels) return withPitches(matrix, best, labelPitches(matrix), whole(), true, marks, digit);
  const ofBlock = shared(best, space);
  const [width, height] = pitches(matrix, matrix.columns.extent, matrix.rows.extent, ofBlock);
  const narrowest = textWidth(String(matrix.lanes - 1), SMALLEST_TEXT, "bold") + 4;
  const every = [...marks, ...shown];
  const visible = [
    segments(matrix.columns, every.map(([, , column]) => column), fold && width * matrix.columns.run < narrowest),
    segments(matrix.rows, every.map(([, row]) => row), fold && height * matrix.rows.run < SMALLEST_TILE),
  ];
  const [columns, rows] = visible.map((runs) => runs.reduce((sum, [low, high]) => sum + high + 1 - low, 0));
  return withPitches(matrix, best, options.pitches ?? pitches(matrix, columns, rows, ofBlock), visible, false, marks, digit);
}

function cellArea(matrix: Matrix, shape: Grid, space: Size): number {
  const [width, height] = pitches(matrix, matrix.columns.extent, matrix.rows.extent, shared(shape, space));
  return width * height;
}

/** The space of one block. */
function shared(shape: Grid, space: Size): Size {
  const title = shape.places.length > 1 ? BLOCK_TITLE + BLOCK_GAP / 2 : 0;
  return [space[0] / shape.across - BLOCK_GAP, space[1] / shape.down - title];
}

/** Lay out one operand whose cells have a size already. */
export function withPitches(
  matrix: Matrix, shape: Grid, [width, height]: Size, visible: Runs[], labels = false, marks: Element[] = [], digit = "",
): Plan {
  const columns = track(matrix.columns, width, visible[0]);
  const rows = track(matrix.rows, height, visible[1]);
  const top = strips(matrix, matrix.columns, digit).filter((strip) => legible(strip, columns, null));
  const left = strips(matrix, matrix.rows, digit).filter((strip) => legible(strip, rows, 0.9 * STRIP_TEXT));
  return new Plan(
    matrix, columns, rows, shape, labels, marks,
    top.map((strip) => [strip, strip.kind === "index" ? 16 : 17]),
    left.map((strip) => [strip, stripWidth(strip)]),
    shape.places.length > 1 ? BLOCK_TITLE : 0,
  );
}

/** Whether a strip of registers or bits has room for all its labels: every second one would say nothing. */
function legible(strip: Strip, along: Track, height: number | null): boolean {
  if (["index", "lane", "digit"].includes(strip.kind)) return true;
  return strip.parts.every((part) =>
    along.span(part.first, part.last).every((cell) => (height ?? textWidth(part.text, STRIP_TEXT)) <= cell.size),
  );
}

const longest = (texts: string[]): string => texts.reduce((most, text) => (text.length > most.length ? text : most));

function stripWidth(strip: Strip): number {
  const texts = strip.parts.map((part) => part.text);
  if (strip.kind === "index") return Math.max(26, Math.floor(textWidth(texts[texts.length - 1], 10) + 9));
  return Math.floor(textWidth(longest([...texts, strip.head]), STRIP_TEXT) + 9);
}

/** Pixels for each column and each row: not too long either way, and whole where cells are large. */
function pitches(matrix: Matrix, columns: number, rows: number, space: Size): Size {
  let width = Math.min(LARGEST_CELL[0], space[0] / columns);
  let height = Math.min(LARGEST_CELL[1], space[1] / rows);
  width = Math.min(width, 2.4 * height * Math.max(1, matrix.rows.run / matrix.columns.run));
  height = Math.min(height, Math.max(1.7 * width, Math.min(22, (matrix.columns.run * width) / 3)));
  return [rounded(width), rounded(height)];
}

const rounded = (pitch: number): number => (pitch >= 8 ? Math.floor(pitch) : Math.max(1, Math.floor(pitch * 4) / 4));

/** Room for `16  v0[15:0]` in every cell. */
function labelPitches(matrix: Matrix): Size {
  const { placement, signs } = matrix;
  const texts = signs.map((sign, item) => signed(placeText(matrix.registers, placement.slot(0, item)), sign));
  const [blocks, rows, columns] = placement.shape;
  const lanes: string[] = [];
  for (let block = 0; block < blocks; block++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) lanes.push(ranges(matrix.foundIn(block, row, column)));
    }
  }
  const width = textWidth(longest(lanes), 11, "bold") + textWidth(longest(texts), STRIP_TEXT, "mono") + 16;
  return [Math.ceil(width / matrix.columns.merged), Math.ceil(22 / matrix.rows.merged)];
}

/** The title of each block with its place, where there are several: in full, or the number alone if narrow. */
export function titles(of: Plan): [number, number, string][] {
  if (!of.titleRoom) return [];
  const blocks = [...of.grid.places.keys()];
  const forms = [
    blocks.map((block) => blockTitle(of.matrix, block)),
    blocks.map((block) => `block ${block}`),
    blocks.map(String),
  ];
  const room = of.grid.across > 1 ? of.stepAcross - 4 : Infinity;
  const fitting = forms.find((form) => form.every((text) => textWidth(text, BLOCK_TEXT) <= room)) ?? [];
  return fitting.map((text, block) => [of.origin(block)[0], of.origin(block)[1] - 5, text]);
}
