/** A picture as shapes with positions: src/mmacalc/drawing/scene.py, with the zone that each shape scrolls with. */

/** Cells scroll both ways, `top` strips across, `left` strips down, `corner` never. */
export type Zone = "cells" | "top" | "left" | "corner";

export interface Box {
  kind: "box";
  x: number;
  y: number;
  width: number;
  height: number;
  fill: string;
  /** An outline of this width, or 0 for a filled rectangle. */
  stroke: number;
  zone: Zone;
}

export interface Line {
  kind: "line";
  x: number;
  y: number;
  toX: number;
  toY: number;
  colour: string;
  width: number;
  zone: Zone;
}

export type Anchor = "start" | "middle" | "end";
export type Face = "" | "bold" | "mono";

export interface Label {
  kind: "label";
  x: number;
  y: number;
  text: string;
  size: number;
  colour: string;
  anchor: Anchor;
  face: Face;
  zone: Zone;
}

export type Shape = Box | Line | Label;

export interface Scene {
  width: number;
  height: number;
  paper: string;
  title: string;
  description: string;
  layers: Shape[][];
}

const WIDTHS = { "": 0.64, bold: 0.7, mono: 0.61 };

/** How wide a text is at most. */
export const textWidth = (text: string, size: number, face: Face = ""): number => WIDTHS[face] * size * [...text].length;

/** The baseline of a text whose digits are centred at a height. */
export const baseline = (middle: number, size: number): number => middle + 0.35 * size;

/** The shapes of a picture by what covers what: fills, what lies on them, texts, marks, texts on marks. */
export class Layers {
  readonly all: [Shape[], Shape[], Shape[], Shape[], Shape[]] = [[], [], [], [], []];

  box(layer: number, zone: Zone, x: number, y: number, width: number, height: number, fill: string, stroke = 0): void {
    this.all[layer].push({ kind: "box", x, y, width, height, fill, stroke, zone });
  }

  line(layer: number, zone: Zone, x: number, y: number, toX: number, toY: number, colour: string, width: number): void {
    this.all[layer].push({ kind: "line", x, y, toX, toY, colour, width, zone });
  }

  label(
    layer: number, zone: Zone, x: number, y: number, text: string, size: number, colour: string,
    anchor: Anchor = "middle", face: Face = "",
  ): void {
    this.all[layer].push({ kind: "label", x, y, text, size, colour, anchor, face, zone });
  }
}

export const FILLS = 0;
export const OVER = 1;
export const TEXTS = 2;
export const MARKS = 3;
export const ON_MARKS = 4;
