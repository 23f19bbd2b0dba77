/** Where an element is, in words: the sentence, and the digits and sums behind it. */

import { bare } from "./layout.ts";
import { digit, type Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";
import { elementText, placeText, ranges } from "./places.ts";

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

/** Lanes, of a pair of CTAs with the CTA. */
export function lanesText({ placement }: Matrix, found: number[]): string {
  if (placement.layout.outer !== "cta") return `lane ${ranges(found)}`;
  return found.map((lane) => `CTA ${Math.floor(lane / placement.wave)} lane ${lane % placement.wave}`).join("; ");
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
  const k = matrix.instruction.shape[2];
  if (matrix.instruction.has("move")) return sums(matrix, [block, row, column]);
  const suffix = matrix.blocks.extent > 1 ? `.B${block}` : "";
  const sources: string[] = [];
  for (const name of ["A", "B"]) {
    const factor = all.find((each) => each.name === name);
    if (!factor) continue;
    const lanes = new Set<number>();
    for (let step = 0; step < k; step++) {
      const place: Entry = name === "A" ? [block, row, step] : [block, step, column];
      for (const lane of factor.foundIn(...place)) lanes.add(lane);
    }
    sources.push(`${name} from ${lanesText(factor, [...lanes])}`);
  }
  const addend = all.some((each) => each.name === "C") ? "= C +" : "+=";
  const sum = `${elementText(matrix, block, row, column)} ${addend} \u03a3 over ${k} k of `;
  const factors = `A[${row}][k]${suffix}\u00b7B[k][${column}]${suffix}`;
  return `${sum}${factors}${sources.length ? ` \u2014 ${sources.join(", ")}` : ""}`;
}

/** An element as people write it: `A[3][9]`, `A[1][2].B4`, `v0{35}`, `v1[31:16]{7}`, `lane 7 v1`; null if it is none. */
export function parsePlace(text: string, matrices: Matrix[]): { matrix: Matrix; element: Entry } | null {
  const element = /^\s*([A-Z]{1,2})\s*\[(\d+)\]\s*\[(\d+)\]\s*(?:\.\s*B?(\d+))?\s*$/i.exec(text);
  if (element) {
    const matrix = matrices.find((each) => each.name === element[1].toUpperCase());
    const found: Entry = [Number(element[4] ?? 0), Number(element[2]), Number(element[3])];
    const inside = matrix && found.every((value, axis) => value < matrix.axes[axis].extent);
    return inside ? { matrix, element: found } : null;
  }
  const place =
    /^\s*(?:v|%?rd?)\[?(\d+)(?::\d+\])?\s*(?:\[(\d+):(\d+)\])?\s*\{(\d+)\}(?:\s*\.?\[(\d+):(\d+)\])?\s*$/i.exec(text) ??
    swapped(/^\s*lane\s*(\d+)\s*(?:v|%?rd?)\[?(\d+)(?::\d+\])?\s*(?:\[(\d+):(\d+)\])?\s*$/i.exec(text));
  if (!place) return null;
  const [, register, , low, lane, , after] = place;
  const lsb = Number(low ?? after ?? 0);
  const [matrix] = matrices;
  for (let item = 0; item < matrix.placement.items; item++) {
    const slot = matrix.placement.slot(0, item);
    const first = 32 * slot.register + slot.lsb;
    const bit = 32 * Number(register) + lsb;
    if (bit < first || bit >= first + slot.width) continue;
    const [found] = Number(lane) < matrix.lanes ? matrix.elements(Number(lane), item) : [];
    if (found) return { matrix, element: found };
  }
  return null;
}

/** The groups of `lane 7 v1[31:16]` in the order of `v1[31:16]{7}`. */
const swapped = (found: RegExpExecArray | null): (string | undefined)[] | null =>
  found && [found[0], found[2], found[3], found[4], found[1]];
