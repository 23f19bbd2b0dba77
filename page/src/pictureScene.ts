/** The picture of an operand as a scene, as `mmacalc draw` makes it: src/mmacalc/drawing/picture.py. */

import { drawMatrix } from "./matrixScene.ts";
import { STYLES } from "./palette.ts";
import type { Matrix } from "./picture.ts";
import type { Element } from "./placement.ts";
import { elementText, lanesText, operandTitle, placeText } from "./places.ts";
import { plan } from "./plan.ts";
import { Layers, TEXTS, textWidth, type Face, type Scene } from "./scene.ts";
import { notes } from "./strips.ts";
import { isTile, titleOf } from "./tile.ts";
import type { Track } from "./tracks.ts";

const PADDING = 14;
const SPACE: [number, number] = [900, 840];

export interface Look {
  style: string;
  colorBy: string;
  marks: Element[];
  labels: boolean;
  fold: boolean;
}

export function operandScene(matrix: Matrix, look: Look): Scene {
  const style = STYLES[look.style];
  const layers = new Layers();
  let width = 0;
  let bottom = 0;
  const line = (text: string, size: number, colour: string, height: number, face: Face): void => {
    bottom += height;
    const wide = text.replaceAll("  ", "\u00a0\u00a0");
    layers.label(TEXTS, "corner", PADDING, bottom, wide, size, colour, "start", face);
    width = Math.max(width, textWidth(text, size, face));
  };
  const title = heading(matrix);
  const pattern = patternText(matrix);
  line(title, 14, style.text, 24, "bold");
  line(pattern, 11, style.quiet, 19, "mono");
  bottom += 12;
  const made = plan(matrix, SPACE, { ...look, digit: look.colorBy });
  drawMatrix(layers, made, style, matrix.colourBy(look.colorBy), PADDING, bottom);
  width = Math.max(width, made.width);
  bottom += made.height;
  const below = [...look.marks.map((mark) => answer(matrix, mark)), ...folded(matrix, made.columns, made.rows), ...notes(matrix)];
  if (below.length) bottom += 8;
  for (const text of below) line(text, 11, style.quiet, 16, "");
  return {
    width: Math.ceil(width + 2 * PADDING),
    height: Math.ceil(bottom + PADDING),
    paper: style.paper,
    title,
    description: [pattern, ...below].join("; "),
    layers: layers.all,
  };
}

/** The title of an operand's picture: the operand, the instruction, the architecture, the modifiers. */
export function heading(matrix: Matrix): string {
  const { instruction, placement } = matrix;
  const { architecture } = instruction;
  const wave = architecture.waves.length > 1 ? [`wave${placement.wave}`] : [];
  const fields = Object.entries(matrix.fields).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  const tile = isTile(matrix.tile) ? [`tile of ${titleOf(instruction, matrix.tile)}`] : [];
  return [`${operandTitle(matrix.name)} of ${instruction.name}`, architecture.title, ...wave, ...fields, ...tile].join(", ");
}

/** The layout's pattern with the sizes of its digits. */
export function patternText({ placement: { layout } }: Matrix): string {
  return `${layout.text}   ${[...layout.sizes].map(([name, size]) => `${name}=${size}`).join(" ")}`;
}

/** Where an element is, in a sentence. */
export function answer(matrix: Matrix, element: Element): string {
  const place = placeText(matrix.registers, matrix.location(...element));
  return `${elementText(matrix, ...element)} is in ${lanesText(matrix, matrix.foundIn(...element))} ${place}`;
}

/** What an ellipsis stands for. */
export function folded({ place }: Matrix, ...tracks: Track[]): string[] {
  return tracks.filter((each) => each.breaks.length).map(({ axis }) => {
    const digit = axis.repeated;
    const size = new Map(axis.digits).get(digit)!;
    return `${digit} = 0 ... ${size - 1} repeats every ${axis.period} ${axis.name}, in further ${place}s`;
  });
}
