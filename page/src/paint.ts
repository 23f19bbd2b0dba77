/** Scenes on a canvas: only what is visible is drawn, and strips stay at the edges while the cells scroll. */

import type { Shape, Zone } from "./scene.ts";

const FACES = 'system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", Arial, sans-serif';
const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", Consolas, "DejaVu Sans Mono", monospace';

export interface Window {
  /** The scroll position. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** The strips' width and height, which do not scroll along. */
  left: number;
  top: number;
}

/** A canvas as large as its box, in the device's own pixels; gives its drawing context, cleared. */
export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Draw the layers of a scene as seen through a window. */
export function paint(context: CanvasRenderingContext2D, layers: Shape[][], view: Window): void {
  const zones: [Zone, number, number, number, number, number, number][] = [
    ["cells", view.left, view.top, view.width, view.height, -view.x, -view.y],
    ["top", view.left, 0, view.width, view.top, -view.x, 0],
    ["left", 0, view.top, view.left, view.height, 0, -view.y],
    ["corner", 0, 0, view.left, view.top, 0, 0],
  ];
  for (const [zone, left, top, right, bottom, x, y] of zones) {
    context.save();
    context.beginPath();
    // Marks and numbers of the outermost cells may reach a pixel into the strips.
    context.rect(left - 1, top - 1, right - left + 1, bottom - top + 1);
    context.clip();
    context.translate(x, y);
    for (const layer of layers) {
      for (const shape of layer) {
        if (shape.zone === zone && visible(shape, left - x, top - y, right - x, bottom - y)) draw(context, shape);
      }
    }
    context.restore();
  }
}

function visible(shape: Shape, left: number, top: number, right: number, bottom: number): boolean {
  if (shape.kind === "box") {
    return shape.x < right && shape.x + shape.width > left && shape.y < bottom && shape.y + shape.height > top;
  }
  return shape.x < right + 200 && shape.x > left - 200 && shape.y < bottom + 20 && shape.y > top - 20;
}

function draw(context: CanvasRenderingContext2D, shape: Shape): void {
  if (shape.kind === "box") {
    if (shape.stroke) {
      context.strokeStyle = shape.fill;
      context.lineWidth = shape.stroke;
      context.strokeRect(shape.x, shape.y, shape.width, shape.height);
    } else {
      context.fillStyle = shape.fill;
      context.fillRect(shape.x, shape.y, shape.width, shape.height);
    }
  } else if (shape.kind === "line") {
    context.strokeStyle = shape.colour;
    context.lineWidth = shape.width;
    context.beginPath();
    context.moveTo(shape.x, shape.y);
    context.lineTo(shape.toX, shape.toY);
    context.stroke();
  } else {
    write(context, shape.text, shape.x, shape.y, shape.size, shape.colour, shape.anchor, shape.face);
  }
}

const ALIGN = { start: "left", middle: "center", end: "right" } as const;

/** A text by its baseline. */
export function write(
  context: CanvasRenderingContext2D, text: string, x: number, y: number, size: number, colour: string,
  anchor: keyof typeof ALIGN = "start", face = "",
): void {
  context.font = `${face === "bold" ? "600 " : ""}${size}px ${face === "mono" ? MONO : FACES}`;
  context.fillStyle = colour;
  context.textAlign = ALIGN[anchor];
  context.textBaseline = "alphabetic";
  context.fillText(text, x, y);
}
