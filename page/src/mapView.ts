/** The product as a small map: A at the left of D, B above it, and which row and column go with an element. */

import { h } from "./dom.ts";
import { fitted, write } from "./paint.ts";
import { fill, type Style } from "./palette.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";

interface Area {
  matrix: Matrix;
  x: number;
  y: number;
  width: number;
  height: number;
}

const HEAD = 14;
const GAP = 8;

export class MapView {
  readonly element = h("div", { class: "map" });
  private readonly base = h("canvas", { role: "img" });
  private readonly over = h("canvas", { class: "over", "aria-hidden": "true" });
  private areas: Area[] = [];
  private size = { width: 0, height: 0 };
  private style: Style | null = null;

  constructor(pick: (name: string) => void) {
    this.element.append(this.base, this.over);
    this.element.addEventListener("click", (event) => {
      const box = this.element.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const inside = (a: Area) => x >= a.x && x < a.x + a.width && y >= a.y && y < a.y + a.height;
      const found = this.areas.find(inside);
      if (found) pick(found.matrix.name);
    });
  }

  show(matrices: Matrix[], colourOf: (matrix: Matrix) => ColourOf, block: number, style: Style, chosen: string): void {
    this.style = style;
    const [a, b, d] = ["A", "B", "D"].map((name) => matrices.find((matrix) => matrix.name === name));
    const m = d?.rows.extent ?? a?.rows.extent ?? 1;
    const n = d?.columns.extent ?? b?.columns.extent ?? 1;
    const k = a?.columns.extent ?? b?.rows.extent ?? 1;
    const width = this.element.clientWidth || 214;
    // The k axes may shrink: at most two thirds of the larger other side.
    const depth = Math.min(k, Math.max(4, (Math.max(m, n) * 2) / 3));
    const scale = Math.min((width - HEAD - GAP) / (depth + n), 200 / (depth + m));
    const side = (value: number) => Math.max(10, value * scale);
    const [left, top] = [HEAD + side(depth) + GAP, HEAD + side(depth) + GAP];
    this.areas = [];
    const add = (matrix: Matrix | undefined, x: number, y: number, wide: number, high: number) => {
      if (matrix) this.areas.push({ matrix, x, y, width: wide, height: high });
    };
    add(a, HEAD, top, side(depth), side(m));
    add(b, left, HEAD, side(n), side(depth));
    add(d, left, top, side(n), side(m));
    this.size = { width, height: top + side(m) + 2 };
    this.element.style.height = `${this.size.height}px`;
    this.base.setAttribute("aria-label", `Map of ${this.areas.map((area) => area.matrix.name).join(", ")}`);
    const context = fitted(this.base, this.size.width, this.size.height);
    for (const area of this.areas) this.area(context, area, colourOf(area.matrix), block, chosen);
    fitted(this.over, this.size.width, this.size.height);
  }

  private area(
    context: CanvasRenderingContext2D, area: Area, colourOf: ColourOf, block: number, chosen: string,
  ): void {
    const { matrix, x, y, width, height } = area;
    const [rows, columns] = [matrix.rows.extent, matrix.columns.extent];
    // One picture element for each pixel at most.
    const [downs, acrosses] = [Math.min(rows, Math.ceil(height)), Math.min(columns, Math.ceil(width))];
    for (let down = 0; down < downs; down++) {
      for (let across = 0; across < acrosses; across++) {
        const row = Math.floor((down * rows) / downs);
        const column = Math.floor((across * columns) / acrosses);
        context.fillStyle = fill(this.style!, colourOf(Math.min(block, matrix.blocks.extent - 1), row, column));
        const [left, top] = [x + (across * width) / acrosses, y + (down * height) / downs];
        context.fillRect(left, top, width / acrosses + 0.5, height / downs + 0.5);
      }
    }
    if (matrix.name === chosen) {
      context.strokeStyle = this.style!.mark;
      context.lineWidth = 1.5;
      context.strokeRect(x, y, width, height);
    }
    if (matrix.name === "A") write(context, "A", x - 4, y + height / 2 + 4, 11, this.style!.quiet, "end", "bold");
    if (matrix.name === "B") write(context, "B", x + width / 2, y - 4, 11, this.style!.quiet, "middle", "bold");
  }

  /** Mark an element of one operand, and the rows and columns of the others that go with it. */
  mark(of: string, element: Entry | null): void {
    const context = fitted(this.over, this.size.width, this.size.height);
    if (!element || !this.style) return;
    context.strokeStyle = this.style.mark;
    context.lineWidth = 1.25;
    context.fillStyle = this.style.mark;
    const [, row, column] = element;
    for (const { matrix, x, y, width, height } of this.areas) {
      const down = (value: number) => (value * height) / matrix.rows.extent;
      const across = (value: number) => (value * width) / matrix.columns.extent;
      const [high, wide] = [Math.max(2.5, down(1)), Math.max(2.5, across(1))];
      const name = matrix.name;
      if (name === of || (of === "C" && name === "D")) context.fillRect(x + across(column), y + down(row), wide, high);
      else if ((of === "A" && name === "D") || ("CD".includes(of) && name === "A")) {
        context.strokeRect(x, y + down(row), width, high);
      } else if ((of === "B" && name === "D") || ("CD".includes(of) && name === "B")) {
        context.strokeRect(x + across(column), y, wide, height);
      }
    }
  }
}
