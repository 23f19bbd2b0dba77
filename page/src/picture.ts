/** What a picture of an operand shows: src/mmacalc/drawing/matrix.py. */

import type { Instruction, OperandTable } from "./catalog.ts";
import type { Fields, Registers } from "./data.ts";
import { bare } from "./layout.ts";
import type { Colour } from "./palette.ts";
import type { Element, Location, Placement, Step } from "./placement.ts";
import { ONE, type Tile } from "./tile.ts";

const HUES = 4;

export interface Axis {
  name: string;
  /** The name and size of each digit, most significant first. */
  digits: [string, number][];
  steps: Step[];
  extent: number;
  /** How many neighbours lie in one lane: a tile's length. */
  run: number;
  /** How many neighbours share one place. */
  merged: number;
  /** After how many values nothing but the slot changes, where that happens 4 times or more; else 0. */
  period: number;
  /** The digit that counts these repetitions, "" without a period. Before it there may be digits of waves. */
  repeated: string;
  movesLane: boolean;
  movesSlot: boolean;
}

/** The value of one of the digits at a value of the coordinate. */
export function digit(axis: Axis, name: string, value: number): number {
  let weight = axis.digits.reduce((product, [, size]) => product * size, 1); // an axis may end before its digits do
  for (const [each, size] of axis.digits) {
    weight /= size;
    if (each === name) return Math.floor(value / weight) % size;
  }
  throw new Error(name);
}

/** The colour of an element; `byLane` where it is that of its lane. */
export interface ColourOf {
  (block: number, row: number, column: number): Colour;
  byLane?: boolean;
}

/** All that a picture of one operand shows. */
export class Matrix {
  readonly name: string;
  readonly blocks: Axis;
  readonly rows: Axis;
  readonly columns: Axis;
  readonly lanes: number;
  readonly merge: number;
  readonly read: number[] | null;
  /** What selectors add to every lane and slot. */
  readonly base: Step;
  private readonly laneDigits: string[];
  private lanesColours: Colour[] | null = null;
  private itemColours: Colour[] | null = null;
  private itemSigns: string[] | null = null;

  constructor(
    readonly instruction: Instruction,
    readonly table: OperandTable,
    readonly fields: Fields,
    readonly placement: Placement,
    /** Of which it is an operand. */
    readonly tile: Tile = ONE,
  ) {
    const [outer, lane] = placement.layout.joined;
    this.name = table.name;
    this.laneDigits = [...outer, ...lane];
    [this.blocks, this.rows, this.columns] = [0, 1, 2].map((at) => this.axis(at));
    this.lanes = placement.lanes;
    this.merge = placement.merge;
    this.read = placement.read;
    this.base = placement.copies[0];
  }

  private axis(at: number): Axis {
    const { layout, steps, axisNames } = this.placement;
    const names = layout.groups[layout.axes.indexOf(axisNames[at])] ?? [];
    const digits = names.map((name): [string, number] => [name, layout.size(name)]);
    const items = layout.places.get("item") ?? [];
    const trailing = (fits: (name: string) => boolean): number => {
      let length = 1;
      for (const [name, size] of [...digits].reverse()) {
        if (!fits(name)) break;
        length *= size;
      }
      return length;
    };
    const [repeated, period] = layout.ends.has(axisNames[at]) ? ["", 0] : this.repeated(digits);
    const extent = steps[at].length;
    return {
      name: axisNames[at],
      digits,
      steps: steps[at],
      extent,
      run: trailing((name) => !this.laneDigits.includes(name)),
      merged: trailing((name) => !this.laneDigits.includes(name) && !items.includes(name)),
      period,
      repeated,
      movesLane: steps[at].some(([lane]) => lane > 0),
      movesSlot: steps[at].some(([, slot]) => slot > 0),
    };
  }

  /** The first digit of 4 or more slots, if only digits of waves and slots come before it, and the period. */
  private repeated(digits: [string, number][]): [string, number] {
    const [waves, , items] = this.placement.layout.joined;
    let period = digits.reduce((product, [, size]) => product * size, 1);
    for (const [name, size] of digits) {
      period /= size;
      if (items.includes(name) && size >= HUES) return [name, period];
      if (!items.includes(name) && !waves.includes(name)) break;
    }
    return ["", 0];
  }

  get axes(): [Axis, Axis, Axis] {
    return [this.blocks, this.rows, this.columns];
  }

  get registers(): Registers {
    return this.instruction.architecture.registers;
  }

  /** What the place of an item is called. */
  get place(): "register" | "column" {
    return this.instruction.inTensorMemory ? "column" : "register";
  }

  foundIn(block: number, row: number, column: number): number[] {
    const [lane] = this.placement.step(block, row, column);
    const lanes = this.placement.copies.map(([more]) => (this.read ? this.read[lane + more] : lane + more));
    return lanes.length === 1 ? lanes : [...new Set(lanes)].sort((a, b) => a - b);
  }

  /** The first place of an element. */
  location(block: number, row: number, column: number): Location {
    const [lane, slot] = this.placement.step(block, row, column);
    const found = lane + this.base[0];
    return this.placement.slot(this.read ? this.read[found] : found, Math.floor((slot + this.base[1]) / this.merge));
  }

  elements(lane: number, item: number): Element[] {
    return this.placement.elements(lane, item);
  }

  /** The sign under which each item is read. */
  get signs(): string[] {
    const items = Array.from({ length: this.placement.items }, (_, item) => item);
    return (this.itemSigns ??= items.map((item) => this.table.sign(this.fields, this.placement.slot(0, item).lsb)));
  }

  /** How many elements share a place within a block. */
  get sharedBy(): number {
    return this.rows.merged * this.columns.merged;
  }

  /** The colour of each lane. */
  get byLane(): Colour[] {
    return (this.lanesColours ??= this.laneColours());
  }

  private laneColours(): Colour[] {
    const { layout } = this.placement;
    const digits = this.laneDigits.map((name) => ({
      size: layout.size(name),
      chosen: name[0] !== "*" && layout.selectors.includes(bare(name)),
    }));
    let hue = -1;
    for (const [place, { size, chosen }] of digits.entries()) {
      if (!chosen && size > 1 && (hue < 0 || size < digits[hue].size)) hue = place;
    }
    return Array.from({ length: this.lanes }, (_, lane) => {
      let first = 0;
      let group = 1;
      let rest = 0;
      let rests = 1;
      let weight = digits.reduce((product, { size }) => product * size, 1);
      for (const [place, { size, chosen }] of digits.entries()) {
        weight /= size;
        const value = Math.floor(lane / weight) % size;
        if (place === hue) [first, group] = [value, Math.ceil(size / HUES)];
        else if (!chosen) [rest, rests] = [rest * size + value, rests * size];
      }
      return { hue: Math.floor(first / group), shade: share((first % group) * rests + rest, group * rests) };
    });
  }

  /** The colour of each item, where colour is to show the register. */
  get byItem(): Colour[] {
    const { items } = this.placement;
    return (this.itemColours ??= Array.from({ length: items }, (_, item) => inFour(item, items)));
  }

  /** What `colourBy` a digit gives the elements that have this value of it. */
  digitColour(name: string, value: number): Colour {
    return inFour(value, this.placement.layout.size(name));
  }

  /** What `colourBy` takes. */
  get keys(): string[] {
    return ["lane", this.place, ...this.axes.flatMap((axis) => axis.digits.map(([name]) => name))];
  }

  /** What colours an element: by lane, by register, or by a digit of the pattern. */
  colourBy(key: string): ColourOf {
    if (key === this.place) return (...element) => this.byItem[this.location(...element).item];
    for (const [place, axis] of this.axes.entries()) {
      const size = axis.digits.find(([name]) => name === key)?.[1];
      if (size) return (...element) => inFour(digit(axis, key, element[place]), size);
    }
    const found: ColourOf = (...element) => this.byLane[this.location(...element).lane];
    found.byLane = true;
    return found;
  }
}

const share = (place: number, count: number): number => (count > 1 ? place / (count - 1) : 0);

/** Up to four values have a hue each; more are split into four groups, and the shade counts within a group. */
function inFour(value: number, size: number): Colour {
  if (size <= HUES) return { hue: value, shade: 0.5 };
  const group = Math.ceil(size / HUES);
  return { hue: Math.floor(value / group), shade: share(value % group, group) };
}
