/** The picture of one operand's matrix: src/mmacalc/drawing/matrix_scene.py. */

import { fill, type Style } from "./palette.ts";
import type { ColourOf } from "./picture.ts";
import type { Element } from "./placement.ts";
import { bitsText, placeText, ranges, signed } from "./places.ts";
import { BLOCK_TEXT, LANE_TEXT, SMALLEST_TEXT, STRIP_TEXT, titles, type Plan } from "./plan.ts";
import {
  baseline, FILLS, Layers, MARKS, ON_MARKS, OVER, TEXTS, textWidth, type Anchor, type Face, type Zone,
} from "./scene.ts";
import type { Strip } from "./strips.ts";
import { CELL_GAP, spaced, type Cell, type Track } from "./tracks.ts";

const INDEX_TEXT = 10;

/** Add the picture of one operand, its upper left corner at (x, y). */
export function drawMatrix(layers: Layers, plan: Plan, style: Style, colourOf: ColourOf, x: number, y: number): void {
  new Painter(layers, plan, style, colourOf, x, y).paint();
}

/** Add the marks of a plan alone: the marked cells, and the tiles of their lanes. */
export function drawMarks(layers: Layers, plan: Plan, style: Style, colourOf: ColourOf, x: number, y: number): void {
  new Painter(layers, plan, style, colourOf, x, y).marksAlone();
}

/** x, y, width, height */
type Area = [number, number, number, number];

class Painter {
  private readonly laneText: number;
  private readonly allCopies: boolean;
  private readonly markedLanes: Set<number>;

  constructor(
    private readonly layers: Layers,
    private readonly plan: Plan,
    private readonly style: Style,
    private readonly colourOf: ColourOf,
    private readonly x: number,
    private readonly y: number,
  ) {
    [this.laneText, this.allCopies] = this.sizeOfNumbers();
    this.markedLanes = new Set(plan.marks.flatMap((mark) => plan.matrix.foundIn(...mark)));
  }

  paint(): void {
    const { places } = this.plan.grid;
    for (const [block, [across, down]] of places.entries()) {
      const [left, top] = this.plan.origin(block);
      this.block(block, this.x + left, this.y + top);
      if (down === Math.min(...places.filter(([a]) => a === across).map(([, d]) => d))) this.topStrips(this.x + left);
      if (across === Math.min(...places.filter(([, d]) => d === down).map(([a]) => a))) {
        this.leftStrips(this.y + this.plan.rowOrigin(down));
      }
    }
    this.heads();
    for (const [left, top, text] of titles(this.plan)) {
      this.text("cells", this.x + left, this.y + top, text, BLOCK_TEXT, this.style.quiet, "start");
    }
    this.ellipses();
  }

  marksAlone(): void {
    for (const block of this.plan.grid.places.keys()) {
      const [left, top] = this.plan.origin(block);
      for (const row of this.plan.rows.tiles) {
        for (const column of this.plan.columns.tiles) {
          if (this.plan.matrix.foundIn(block, row.first, column.first).some((lane) => this.markedLanes.has(lane))) {
            this.frame(block, row, column, this.x + left, this.y + top);
          }
        }
      }
    }
  }

  private text(
    zone: Zone, x: number, y: number, text: string, size: number, colour: string, anchor: Anchor, face: Face = "",
  ): void {
    this.layers.label(TEXTS, zone, x, y, text, size, colour, anchor, face);
  }

  private block(block: number, left: number, top: number): void {
    for (const row of this.plan.rows.cells) {
      for (const column of this.plan.columns.cells) {
        const [x, y] = [left + column.start, top + row.start];
        this.layers.box(FILLS, "cells", x, y, column.size, row.size, this.fill(block, row.first, column.first));
        if (this.plan.labels) {
          const box: Area = [x, y, column.size, row.size];
          this.cellLabel([block, row.first, column.first], box, TEXTS, this.style.ink);
        }
      }
    }
    for (const row of this.plan.rows.tiles) {
      for (const column of this.plan.columns.tiles) this.tile(block, row, column, left, top);
    }
  }

  private fill(block: number, row: number, column: number): string {
    return fill(this.style, this.colourOf(block, row, column));
  }

  private tile(block: number, row: Cell, column: Cell, left: number, top: number): void {
    const [x, y] = [left + column.start, top + row.start];
    if (this.style.frame) this.layers.box(OVER, "cells", x, y, column.size, row.size, this.style.frame, 0.7);
    const written = this.marked(block, row, column).map((mark) => this.mark(mark, left, top));
    if (this.laneText && !this.plan.labels && !written.some(Boolean)) {
      const text = this.lanes(block, row.first, column.first);
      const [middleX, middleY] = [x + column.size / 2, y + row.size / 2];
      this.ground(block, row, column, [left, top], [middleX, middleY], text);
      const at = baseline(middleY, this.laneText);
      this.text("cells", middleX, at, text, this.laneText, this.style.ink, "middle", "bold");
    }
    if (this.plan.matrix.foundIn(block, row.first, column.first).some((lane) => this.markedLanes.has(lane))) {
      this.layers.box(MARKS, "cells", x, y, column.size, row.size, this.style.mark, 1.25);
    }
  }

  /** Like `tile`, but the marks alone; a number that a mark replaces is painted over. */
  private frame(block: number, row: Cell, column: Cell, left: number, top: number): void {
    const written = this.marked(block, row, column).map((mark) => this.mark(mark, left, top));
    const [x, y] = [left + column.start, top + row.start];
    if (this.laneText && !this.plan.labels && written.some(Boolean)) {
      const text = this.lanes(block, row.first, column.first);
      this.ground(block, row, column, [left, top], [x + column.size / 2, y + row.size / 2], text, true);
    }
    this.layers.box(MARKS, "cells", x, y, column.size, row.size, this.style.mark, 1.25);
  }

  private marked(block: number, row: Cell, column: Cell): Element[] {
    return this.plan.marks.filter(
      ([b, i, j]) => b === block && row.first <= i && i <= row.last && column.first <= j && j <= column.last,
    );
  }

  /** A marked element: its cell in inverse video, with its lane if there is room; whether there was. */
  private mark([block, row, column]: Element, left: number, top: number): boolean {
    let written = false;
    const { rows, columns } = this.plan.matrix;
    const [firstRow, firstColumn] = [row - (row % rows.merged), column - (column % columns.merged)];
    for (const high of this.plan.rows.span(firstRow, firstRow + rows.merged - 1)) {
      for (const wide of this.plan.columns.span(firstColumn, firstColumn + columns.merged - 1)) {
        const [x, y] = [left + wide.start, top + high.start];
        this.layers.box(MARKS, "cells", x, y, wide.size, high.size, this.style.mark);
        if (this.plan.labels) {
          this.cellLabel([block, row, column], [x, y, wide.size, high.size], ON_MARKS, this.style.onMark);
          continue;
        }
        const text = this.lanes(block, row, column);
        const size = Math.min(LANE_TEXT, 0.72 * high.size, (wide.size - 2) / textWidth(text, 1, "bold"));
        if (size >= SMALLEST_TEXT) {
          const at = baseline(y + high.size / 2, size);
          const { onMark } = this.style;
          this.layers.label(ON_MARKS, "cells", x + wide.size / 2, at, text, size, onMark, "middle", "bold");
          written = true;
        }
      }
    }
    return written;
  }

  private lanes(block: number, row: number, column: number): string {
    const lanes = this.plan.matrix.foundIn(block, row, column);
    return lanes.length === 1 || this.allCopies || this.plan.labels ? ranges(lanes) : `${lanes[0]}+`;
  }

  /** The size of the numbers on the tiles, the same for all, 0 if they do not fit; and whether all copies do. */
  private sizeOfNumbers(): [number, boolean] {
    const { columns, rows, matrix } = this.plan;
    const width = Math.min(...columns.tiles.map((tile) => tile.size));
    const height = Math.min(...rows.tiles.map((tile) => tile.size));
    const copies = matrix.foundIn(0, 0, 0).length;
    const longest = String(matrix.lanes - 1).length;
    const forms: [number, boolean][] = [[copies * (longest + 2) - 2, true], [longest + 1, false]];
    for (const [characters, every] of forms) {
      const room = (width - 2) / textWidth("0".repeat(characters), 1, "bold");
      const size = Math.min(LANE_TEXT, 0.72 * height, room);
      if (height >= 8 && size >= SMALLEST_TEXT) return [Math.floor(size * 4) / 4, every];
    }
    return [0, false];
  }

  /** Paint over the lines between cells where the number stands, so that none strikes it through. */
  private ground(
    block: number, row: Cell, column: Cell, corner: [number, number], middle: [number, number], text: string,
    always = false,
  ): void {
    let halfWidth = textWidth(text, this.laneText, "bold") / 2;
    if (column.size < 3 * this.laneText) halfWidth = column.size / 2;
    let high = covered(this.plan.rows, row, middle[1] - corner[1], 0.45 * this.laneText);
    let wide = covered(this.plan.columns, column, middle[0] - corner[0], halfWidth);
    if (high.length * wide.length === 1 && !always) return;
    const fills = high.map((down) => wide.map((across) => this.fill(block, down.first, across.first)));
    if (new Set(fills.flat()).size === 1) [high, wide] = [[joined(high)], [joined(wide)]];
    for (const [at, down] of high.entries()) {
      for (const [beside, across] of wide.entries()) {
        const [x, y] = [corner[0] + across.start, corner[1] + down.start];
        this.layers.box(OVER, "cells", x, y, across.size, down.size, fills[at][beside]);
      }
    }
  }

  /** The lane at the left, the place at the right, and below a bar of the register's bits, 31 at the left. */
  private cellLabel(element: Element, [x, y, width, height]: Area, layer: number, ink: string): void {
    const { matrix } = this.plan;
    const location = matrix.location(...element);
    const place = signed(placeText(matrix.registers, location), matrix.signs[location.item]);
    const at = baseline(y + height / 2 - 2, 11);
    this.layers.label(layer, "cells", x + 4, at, this.lanes(...element), 11, ink, "start", "bold");
    this.layers.label(layer, "cells", x + width - 4, at, place, STRIP_TEXT, ink, "end", "mono");
    if (!bitsText(location.lsb, location.width)) return;
    const whole = width - 8;
    for (const [low, high] of bitRuns(location.lsb, location.width)) {
      const left = x + 4 + (whole * (31 - high)) / 32;
      const bars = layer === TEXTS ? OVER : layer;
      this.layers.box(bars, "cells", left, y + height - 4, (whole * (high - low + 1)) / 32, 2, ink);
    }
  }

  private topStrips(left: number): void {
    let bottom = this.y + this.plan.marginTop;
    for (const [strip, size] of this.plan.top) {
      bottom -= size;
      this.strip(strip, this.plan.columns, new Across(left, bottom, size - 1));
    }
  }

  private leftStrips(top: number): void {
    let right = this.x + this.plan.marginLeft;
    for (const [strip, size] of this.plan.left) {
      right -= size;
      this.strip(strip, this.plan.rows, new Down(right, top, size - 4));
    }
  }

  private strip(strip: Strip, track: Track, side: Across | Down): void {
    const stretches = strip.parts.flatMap((part) => track.span(part.first, part.last).map((cell) => ({ part, cell })));
    if (strip.kind !== "index") {
      for (const { part, cell } of stretches) side.box(this.layers, cell, this.stripFill(strip, part.value));
    }
    const size = strip.kind === "index" ? INDEX_TEXT : STRIP_TEXT;
    const coloured = strip.kind === "digit" || (strip.kind === "lane" && this.laneColours);
    const colour = coloured ? this.style.ink : this.style.quiet;
    for (const [number, room] of side.labelled(stretches.map(({ part, cell }) => [part.text, cell]), size)) {
      const { part, cell } = stretches[number];
      side.label(this.layers, part.text, cell, room, size, colour);
    }
  }

  /** Whether a lane's colour is that of the sum of its parts, so that the parts can have colours. */
  private get laneColours(): boolean {
    return Boolean(this.colourOf.byLane) && !this.plan.matrix.read;
  }

  private stripFill(strip: Strip, value: number): string {
    const { matrix } = this.plan;
    if (strip.kind === "digit") return fill(this.style, matrix.digitColour(strip.head, value));
    if (strip.kind !== "lane" || !this.laneColours) return this.style.strip;
    return fill(this.style, matrix.byLane[value + matrix.base[0]]);
  }

  private heads(): void {
    const { plan, style } = this;
    const left = this.x + plan.marginLeft;
    const top = this.y + plan.marginTop;
    let bottom = top;
    for (const [strip, size] of plan.top) {
      bottom -= size;
      if (strip.kind === "index") continue;
      const at = baseline(bottom + size / 2, STRIP_TEXT);
      this.text("corner", left - 6, at, strip.head, STRIP_TEXT, style.quiet, "end", "bold");
    }
    let right = left;
    for (const [strip, size] of plan.left) {
      right -= size;
      const at = baseline(top - plan.top[0][1] / 2, STRIP_TEXT);
      if (strip.kind === "index") continue;
      this.text("corner", right + (size - 4) / 2, at, strip.head, STRIP_TEXT, style.quiet, "middle", "bold");
    }
    this.corner(left, top);
  }

  /** A diagonal between the name of the columns, above it, and that of the rows, below. */
  private corner(left: number, top: number): void {
    const { plan, style } = this;
    const [width, height] = [plan.left[0][1] - 4, plan.top[0][1]];
    const [x, y] = [left - width - 4, top - height];
    this.layers.line(OVER, "corner", x + 4, y + 2, x + width - 4, y + height - 1, style.quiet, 0.6);
    this.text("corner", x + width - 1, y + 8, plan.matrix.columns.name, STRIP_TEXT, style.text, "end", "bold");
    this.text("corner", x + 2, y + height - 2, plan.matrix.rows.name, STRIP_TEXT, style.text, "start", "bold");
  }

  private ellipses(): void {
    const { plan, style } = this;
    for (const block of plan.grid.places.keys()) {
      const [left, top] = [plan.origin(block)[0] + this.x, plan.origin(block)[1] + this.y];
      for (const middle of plan.columns.breaks) {
        const at = baseline(top + plan.rows.length / 2, 12);
        this.text("cells", left + middle, at, "\u2026", 12, style.quiet, "middle", "bold");
      }
      for (const middle of plan.rows.breaks) {
        const at = baseline(top + middle, 12);
        this.text("cells", left + plan.columns.length / 2, at, "\u22ee", 12, style.quiet, "middle");
      }
    }
  }
}

/** A strip above the columns. */
class Across {
  constructor(private readonly left: number, private readonly top: number, private readonly size: number) {}

  box(layers: Layers, cell: Cell, colour: string): void {
    layers.box(FILLS, "top", this.left + cell.start, this.top, cell.size, this.size, colour);
  }

  label(layers: Layers, text: string, cell: Cell, room: boolean, size: number, colour: string): void {
    const at = baseline(this.top + this.size / 2, size);
    const x = this.left + cell.start + (room ? cell.size / 2 : 0);
    layers.label(TEXTS, "top", x, at, text, size, colour, room ? "middle" : "start");
  }

  labelled(parts: [string, Cell][], size: number): [number, boolean][] {
    return spaced(parts.map(([text, cell]) => [cell, textWidth(text, size) + 2]));
  }
}

/** A strip at the left of the rows. */
class Down {
  constructor(private readonly left: number, private readonly top: number, private readonly size: number) {}

  box(layers: Layers, cell: Cell, colour: string): void {
    layers.box(FILLS, "left", this.left, this.top + cell.start, this.size, cell.size, colour);
  }

  label(layers: Layers, text: string, cell: Cell, room: boolean, size: number, colour: string): void {
    const middle = room ? cell.start + cell.size / 2 : cell.start + size / 2;
    const at = baseline(this.top + middle, size);
    layers.label(TEXTS, "left", this.left + this.size / 2, at, text, size, colour);
  }

  labelled(parts: [string, Cell][], size: number): [number, boolean][] {
    return spaced(parts.map(([, cell]) => [cell, 0.9 * size]), 0.6);
  }
}

/** The parts of a tile's cells that a text around its middle covers, with the lines between them. */
function covered(track: Track, tile: Cell, middle: number, half: number): Cell[] {
  const found: Cell[] = [];
  for (const cell of track.cells) {
    if (cell.first < tile.first || cell.first > tile.last) continue;
    const low = Math.max(cell.start, middle - half);
    const high = Math.min(cell.start + cell.size + (cell.last === tile.last ? 0 : CELL_GAP), middle + half);
    if (low < high) found.push({ first: cell.first, last: cell.last, start: low, size: high - low });
  }
  return found;
}

function joined(cells: Cell[]): Cell {
  const [first, last] = [cells[0], cells[cells.length - 1]];
  return { first: first.first, last: last.last, start: first.start, size: last.start + last.size - first.start };
}

/** The bits as [low, high], two runs where they go on in the next register. */
function bitRuns(lsb: number, width: number): [number, number][] {
  const last = lsb + width - 1;
  return last > 31 ? [[lsb, 31], [0, last - 32]] : [[lsb, last]];
}
