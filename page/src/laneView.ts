/** What one lane holds of every operand, bit by bit: boxes with the names of the elements. */

import { fillWith, h } from "./dom.ts";
import { fill, type Style } from "./palette.ts";
import type { Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";
import { heldText, registerText } from "./places.ts";

interface Piece {
  high: number;
  low: number;
  item: number;
}

const NAME = 66; // pixels for a register's name
const MOST_CHOSEN = 24;
const MOST_OTHERS = 8;

export interface LaneEvents {
  hover(matrix: Matrix, element: Entry | null): void;
  pick(matrix: Matrix, element: Entry): void;
}

/** Show a lane; `item` is the one to mark in the first matrix, -1 for none. */
export function showLane(
  into: HTMLElement, matrices: Matrix[], lane: number, item: number, style: Style, events: LaneEvents,
): void {
  const bit = Math.max(160, into.clientWidth - NAME) / 32;
  const parts = matrices.map((matrix, at) => operandRows(matrix, lane, at ? -1 : item, at === 0, style, bit, events));
  fillWith(into, ...parts);
}

function operandRows(
  matrix: Matrix, lane: number, item: number, chosen: boolean, style: Style, bit: number, events: LaneEvents,
): HTMLElement {
  const { placement } = matrix;
  const wide = placement.slot(0, 0).width === 64;
  const step = wide ? 2 : 1;
  const count = placement.registers / step;
  const most = Math.min(count, chosen ? MOST_CHOSEN : MOST_OTHERS);
  const marked = item < 0 ? 0 : Math.floor(placement.slot(0, item).register / step);
  const first = Math.max(0, Math.min(marked - Math.floor(most / 2), count - most));
  const rows: HTMLElement[] = [];
  const pieces = lane < matrix.lanes ? byRegister(matrix, wide) : [];
  for (let row = first; row < first + most; row++) {
    const size = wide ? bit / 2 : bit;
    const boxes = (pieces[row] ?? []).map((piece) => box(matrix, lane, piece, piece.item === item, style, size, events));
    const name = registerText(matrix.registers, row * step, wide ? 64 : 32);
    rows.push(h("div", { class: "register" }, h("span", { class: "name" }, name), h("div", { class: "bits" }, ...boxes)));
  }
  const last = first + most - 1;
  const rest = most < count ? h("p", { class: "quiet" }, `${matrix.place}s ${first * step} to ${last * step} of ${count * step}`) : null;
  const scale = h("span", { class: "scale", "aria-hidden": "true" },
    ...(wide ? ["63", "32", "0"] : ["31", "24", "16", "8", "0"]).map((bit) => h("span", {}, bit)));
  const head = h("div", { class: "register head" }, h("span", { class: "name" }, h("b", {}, matrix.name)), scale);
  return h("section", { class: chosen ? "held chosen" : "held" }, head, ...rows, rest);
}

/** For each register (or pair) its items, from the highest bit down; one that straddles is in both. */
function byRegister(matrix: Matrix, wide: boolean): Piece[][] {
  const rows: Piece[][] = [];
  const bits = wide ? 64 : 32;
  for (let item = 0; item < matrix.placement.items; item++) {
    const slot = matrix.placement.slot(0, item);
    const start = 32 * slot.register + slot.lsb;
    const row = Math.floor(start / bits);
    const low = start % bits;
    const last = low + slot.width - 1;
    (rows[row] ??= []).push({ high: Math.min(last, bits - 1), low, item });
    if (last >= bits) (rows[row + 1] ??= []).push({ high: last - bits, low: 0, item });
  }
  return rows.map((row) => withGaps(row.sort((a, b) => b.low - a.low), bits));
}

/** The same with pieces of no item (-1) where no element lies. */
function withGaps(row: Piece[], bits: number): Piece[] {
  const filled: Piece[] = [];
  let above = bits - 1;
  for (const piece of row) {
    if (piece.high < above) filled.push({ high: above, low: piece.high + 1, item: -1 });
    filled.push(piece);
    above = piece.low - 1;
  }
  if (above >= 0) filled.push({ high: above, low: 0, item: -1 });
  return filled;
}

function box(
  matrix: Matrix, lane: number, piece: Piece, marked: boolean, style: Style, bit: number, events: LaneEvents,
): HTMLElement {
  const bits = piece.high - piece.low + 1;
  const text = piece.item < 0 ? "" : heldText(matrix, lane, piece.item);
  if (!text) return h("span", { class: "box empty", style: `flex-grow:${bits}` });
  const [element] = matrix.elements(lane, piece.item);
  const colour = marked ? "" : `;background:${fill(style, matrix.byLane[lane])}`;
  // A name that has no room is left out, not cut; it is in the tooltip.
  const room = text.length * 6.8 <= bits * bit;
  const tight = text.length * 5.4 <= bits * bit;
  return h("span", { class: `box${marked ? " marked" : ""}${room ? "" : " tight"}`, style: `flex-grow:${bits}${colour}`,
    title: `${matrix.name} ${text}`, pointerenter: () => events.hover(matrix, element),
    click: () => events.pick(matrix, element) }, tight ? text : "");
}
