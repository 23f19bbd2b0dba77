/** Where an element is, in words: the sentence, and the digits and sums behind it. */

import { bare } from "./layout.ts";
import { digit, type Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";
import { elementText, lanesText, placeText } from "./places.ts";

export interface Answer {
  element: string;
  /** "lane 35", "lane 3, 19" */
  lane: string;
  register: string;
  /** NVIDIA's name of the element within the lane's fragment, "" for AMD. */
  fragment: string;
  because: string;
}

export function answerOf(matrix: Matrix, element: Entry, all: Matrix[]): Answer {
  const place = matrix.location(...element);
  return {
    element: elementText(matrix, ...element),
    lane: lanesText(matrix, matrix.foundIn(...element)),
    register: placeText(matrix.registers, place),
    fragment: fragment(matrix, place.item),
    because: matrix.name === "C" || matrix.name === "D" ? product(matrix, element, all) : sums(matrix, element),
  };
}

export const spoken = (answer: Answer): string =>
  `${answer.element} is in ${answer.lane} ${answer.register}${answer.fragment && ` (${answer.fragment})`}`;

/** The element of a lane's fragment as PTX counts it: a3, or a4-a5 where the stored values of a group share a place. */
function fragment(matrix: Matrix, item: number): string {
  if (!matrix.registers.counted || !"ABCD".includes(matrix.name)) return "";
  const letter = matrix.name.toLowerCase();
  const first = item * matrix.merge;
  return matrix.merge === 1 ? `${letter}${first}` : `${letter}${first}-${letter}${first + matrix.merge - 1}`;
}

/** The digits of the coordinates, and what they add up to. */
function sums(matrix: Matrix, element: Entry): string {
  const { layout } = matrix.placement;
  const parts: string[] = [];
  for (const [at, axis] of matrix.axes.entries()) {
    if (axis.digits.length < 2) continue;
    const digits = axis.digits.map(([name]) => `${name}=${digit(axis, name, element[at])}`);
    parts.push(`${axis.name} = ${element[at]}: ${digits.join(" ")}`);
  }
  for (const [place, names] of layout.places) {
    const strides = layout.strides(names);
    const terms = names.map((name) => {
      const weight = strides.get(name)!;
      const text = name[0] === "*" ? `any ${bare(name)}` : name;
      return weight === 1 ? text : `${weight}\u00b7${text}`;
    });
    if (terms.length) parts.push(`${place} = ${terms.join(" + ")}`);
  }
  return parts.join(" \u00b7 ");
}

/** What an element of D is the sum of, and which lanes its factors come from. */
function product(matrix: Matrix, [block, row, column]: Entry, all: Matrix[]): string {
  if (matrix.instruction.has("move")) return sums(matrix, [block, row, column]);
  const suffix = matrix.blocks.extent > 1 ? `.B${block}` : "";
  const sources: string[] = [];
  let k = matrix.instruction.shape[2];
  const { ofWave } = matrix.placement; // a wave multiplies what is in its own registers
  const waves = matrix.foundIn(block, row, column).map((lane) => Math.floor(lane / ofWave));
  for (const name of ["A", "B"]) {
    const factor = all.find((each) => each.name === name);
    if (!factor) continue;
    k = (name === "A" ? factor.columns : factor.rows).extent; // of a tile that of all its instructions
    const lanes = new Set<number>();
    for (let step = 0; step < k; step++) {
      const place: Entry = name === "A" ? [block, row, step] : [block, step, column];
      for (const lane of factor.foundIn(...place)) if (!ofWave || waves.includes(Math.floor(lane / ofWave))) lanes.add(lane);
    }
    sources.push(`${name} from ${lanesText(factor, [...lanes])}`);
  }
  const addend = all.some((each) => each.name === "C") ? "= C +" : "+=";
  const sum = `${elementText(matrix, block, row, column)} ${addend} \u03a3 over ${k} k of `;
  const parts = matrix.tile.waves[2] > 1 ? `; each of ${matrix.tile.waves[2]} waves has the sum over its own k` : "";
  const factors = `A[${row}][k]${suffix}\u00b7B[k][${column}]${suffix}`;
  return `${sum}${factors}${sources.length ? ` \u2014 ${sources.join(", ")}` : ""}${parts}`;
}

/** An element as people write it: `A[3][9]`, `A[1][2].B4`, `v0{35}`, `v1[31:16]{7}`, `lane 7 v1`, `thread 77 value 5`; null if it is
 * none. */
export function parsePlace(text: string, matrices: Matrix[]): { matrix: Matrix; element: Entry } | null {
  const element = /^\s*([A-Z]{1,2})\s*\[(\d+)\]\s*\[(\d+)\]\s*(?:\.\s*B?(\d+))?\s*$/i.exec(text);
  if (element) {
    const matrix = matrices.find((each) => each.name === element[1].toUpperCase());
    const found: Entry = [Number(element[4] ?? 0), Number(element[2]), Number(element[3])];
    const inside = matrix && found.every((value, axis) => value < matrix.axes[axis].extent);
    return inside ? { matrix, element: found } : null;
  }
  const [first] = matrices;
  const value = /^\s*(?:thread|lane)\s*(\d+)\s*,?\s*value\s*(\d+)\s*$/i.exec(text);
  if (value) return held(first, Number(value[1]), Number(value[2]));
  const place =
    /^\s*(?:v|%?rd?)\[?(\d+)(?::\d+\])?\s*(?:\[(\d+):(\d+)\])?\s*\{(\d+)\}(?:\s*\.?\[(\d+):(\d+)\])?\s*$/i.exec(text) ??
    swapped(/^\s*(?:lane|thread)\s*(\d+)\s*(?:v|%?rd?)\[?(\d+)(?::\d+\])?\s*(?:\[(\d+):(\d+)\])?\s*$/i.exec(text));
  if (!place) return null;
  const [, register, , low, lane, , after] = place;
  const lsb = Number(low ?? after ?? 0);
  const matrix = first;
  for (let item = 0; item < matrix.placement.items; item++) {
    const slot = matrix.placement.slot(0, item);
    const first = 32 * slot.register + slot.lsb;
    const bit = 32 * Number(register) + lsb;
    if (bit < first || bit >= first + slot.width) continue;
    const found = held(matrix, Number(lane), item);
    if (found) return found;
  }
  return null;
}

/** The first element that a lane has in an item; null if it has none. */
function held(matrix: Matrix, lane: number, item: number): { matrix: Matrix; element: Entry } | null {
  const [element] = lane < matrix.lanes && item < matrix.placement.items ? matrix.elements(lane, item) : [];
  return element ? { matrix, element } : null;
}

/** The groups of `lane 7 v1[31:16]` in the order of `v1[31:16]{7}`. */
const swapped = (found: RegExpExecArray | null): (string | undefined)[] | null =>
  found && [found[0], found[2], found[3], found[4], found[1]];
