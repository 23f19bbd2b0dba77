/**
 * One operand's layout with what turns its slots into registers and bits: where an element is, and what a lane holds.
 * The same as Operand of src/mmacalc/model/operand.py, and compared with it for every operand of the catalog.
 */

import { Layout, compare } from "./layout.ts";

/** A lane, a slot of it, the 32-bit register from the operand's first, its lowest bit there, its width in bits. */
export interface Location {
  lane: number;
  item: number;
  register: number;
  lsb: number;
  width: number;
}

/** block, row, column */
export type Element = [number, number, number];
/** What something adds to the lane and to the slot. */
export type Step = [number, number];

export class Placement {
  readonly lanes: number;
  readonly items: number;
  readonly registers: number;
  /** What each value of the block, the row and the column adds. */
  readonly steps: [Step[], Step[], Step[]];
  /** What each copy of an element adds; the first is the part of the selectors. */
  readonly copies: Step[];
  readonly axisNames: [string, string, string];
  private readonly backward: number[][][];
  private readonly sharedSteps: Element[];
  /** The number of values of each joined place. */
  private readonly spans: number[];
  /** The digits that selectors have in the joined places: the place, the weight, the size and the value chosen. */
  private readonly selected: [number, number, number, number][];

  constructor(
    readonly layout: Layout,
    readonly wave: number,
    readonly slotBits: number,
    readonly offset: number,
    readonly bits: number,
    readonly merge: number,
    readonly format: string,
    readonly chosen: Map<string, number>,
    /** The lane that is read instead of each lane (BLGP), or null. */
    readonly read: number[] | null,
    /** Of a tile the lanes of one wave (of a wgmma, of the warpgroup), else 0. */
    readonly ofWave = 0,
  ) {
    const [outer, , item] = layout.joined;
    const axis = (name: string) => layout.groups[layout.axes.indexOf(name)] ?? [];
    this.axisNames = ["block", layout.axes[layout.axes.length - 2], layout.axes[layout.axes.length - 1]];
    this.lanes = wave * layout.span(outer);
    this.items = layout.span(item) / merge;
    this.registers = Math.ceil((layout.span(item) * slotBits) / 32);
    this.steps = this.axisNames.map((name) => {
      const [warps, lanes, items] = layout.joined.map((digits) => layout.table(axis(name), digits));
      const steps = lanes.map((step, at): Step => [step + wave * warps[at], items[at]]);
      return steps.slice(0, layout.ends.get(name) ?? steps.length);
    }) as [Step[], Step[], Step[]];
    const offsets = layout.offsets(chosen).filter((_, at) => at % merge === 0);
    this.copies = offsets.map(([warp, lane, item]) => [lane + wave * warp, item]);
    this.backward = layout.joined.map((digits) => this.axisNames.map((name) => layout.table(digits, axis(name))));
    const shared = this.axisNames.map((name) => {
      const digits = axis(name);
      return layout.table(digits.filter((digit) => layout.shared.includes(digit)), digits);
    });
    this.sharedSteps = shared[0].flatMap((block) =>
      shared[1].flatMap((row) => shared[2].map((column) => [block, row, column] as Element)),
    );
    this.spans = layout.joined.map((digits) => layout.span(digits));
    const strides = layout.joined.map((digits) => layout.strides(digits));
    this.selected = layout.selectors.flatMap((selector) =>
      strides.flatMap((weights, at): [number, number, number, number][] => {
        const weight = weights.get(selector);
        return weight === undefined ? [] : [[at, weight, layout.size(selector), chosen.get(selector) ?? 0]];
      }),
    );
  }

  /** The number of blocks, rows and columns. */
  get shape(): Element {
    return [this.steps[0].length, this.steps[1].length, this.steps[2].length];
  }

  slot(lane: number, item: number): Location {
    const bit = item * this.merge * this.slotBits + this.offset;
    return { lane, item, register: Math.floor(bit / 32), lsb: bit % 32, width: this.bits * this.merge };
  }

  /** The lane and slot of an element before copies, selectors and BLGP. */
  step(block: number, row: number, column: number): Step {
    const [a, b, c] = [this.steps[0][block], this.steps[1][row], this.steps[2][column]];
    return [a[0] + b[0] + c[0], a[1] + b[1] + c[1]];
  }

  /** Every place of an element, by lane. */
  locate(block: number, row: number, column: number): Location[] {
    const [lane, slot] = this.step(block, row, column);
    if (this.copies.length === 1) return [this.slot(...this.readBy(lane, slot, this.copies[0]))];
    const places = this.copies.map((copy) => this.readBy(lane, slot, copy)).sort(compare);
    const distinct = places.filter((place, at) => at === 0 || compare(place, places[at - 1]) !== 0);
    return distinct.map(([found, item]) => this.slot(found, item));
  }

  /** The lane that reads a copy, and its item. */
  private readBy(lane: number, slot: number, [more, further]: Step): Step {
    const layoutLane = lane + more;
    return [this.read ? this.read[layoutLane] : layoutLane, Math.floor((slot + further) / this.merge)];
  }

  /** The lanes that hold an element, ascending. */
  lanesOf(block: number, row: number, column: number): number[] {
    return [...new Set(this.locate(block, row, column).map((place) => place.lane))];
  }

  /** Every element at one item of a lane, ascending. */
  elements(lane: number, item: number): Element[] {
    const sources = this.read ? [...this.read.keys()].filter((source) => this.read![source] === lane) : [lane];
    return sources.flatMap((source) => this.contents(source, item * this.merge)).sort(compare);
  }

  private contents(lane: number, item: number): Element[] {
    const place = [Math.floor(lane / this.wave), lane % this.wave, item];
    if (place.some((value, at) => value >= this.spans[at])) return [];
    for (const [at, weight, size, value] of this.selected) {
      if (Math.floor(place[at] / weight) % size !== value) return [];
    }
    const base = [0, 1, 2].map((axis) => place.reduce((sum, value, at) => sum + this.backward[at][axis][value], 0));
    if (base.some((value, axis) => value >= this.steps[axis].length)) return [];
    return this.sharedSteps.map((more) => [base[0] + more[0], base[1] + more[1], base[2] + more[2]]);
  }
}
