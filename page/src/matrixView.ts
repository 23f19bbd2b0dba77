/**
 * The matrix of an operand on the page: a canvas as large as its window in a scroller, and another one above it for
 * marks, so that a hover paints little.
 */

import { h } from "./dom.ts";
import { drawMarks, drawMatrix } from "./matrixScene.ts";
import { fitted, paint, type Window } from "./paint.ts";
import type { Style } from "./palette.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";
import { plan, Plan, type Size } from "./plan.ts";
import { Layers } from "./scene.ts";

export interface MatrixEvents {
  /** The element under the pointer, null when it leaves. */
  hover(element: Entry | null): void;
  /** An element is chosen; with Shift, Control or Command it gets a mark, or loses it. */
  pick(element: Entry, mark: boolean): void;
}

export interface MatrixLook {
  style: Style;
  colourOf: ColourOf;
  labels: boolean;
  /** Elements that must be visible although repetitions are left out. */
  shown: Entry[];
  /** A digit whose values get a strip of their own. */
  digit?: string;
  /** A size for every cell, instead of one that fills the window. */
  space?: Size;
  /** The pixels of each column and row, instead of those that fill the space. */
  pitches?: Size;
}

const LEAST: Size = [160, 200];

export class MatrixView {
  readonly element: HTMLElement;
  plan: Plan | null = null;
  private readonly base = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas", { class: "over", "aria-hidden": "true" });
  private readonly sizer: HTMLElement;
  private readonly window: HTMLElement;
  private look: MatrixLook | null = null;
  private layers = new Layers();
  private marks: Entry[] = [];
  private bands: [number, number, number][] = [];

  constructor(label: string, events: MatrixEvents) {
    this.window = h("div", { class: "window" }, this.base, this.over);
    this.sizer = h("div", { class: "sizer" }, this.window);
    this.element = h("div", { class: "matrix", tabindex: 0, role: "application", "aria-label": label,
      "aria-roledescription": "matrix", scroll: () => this.repaint(),
      pointermove: (event: PointerEvent) => events.hover(this.elementAt(event)),
      pointerleave: () => events.hover(null),
      click: (event: PointerEvent) => {
        const found = this.elementAt(event);
        if (found) events.pick(found, event.shiftKey || event.ctrlKey || event.metaKey);
      } }, this.sizer);
  }

  /** Lay out and draw an operand. */
  show(matrix: Matrix, look: MatrixLook): void {
    this.look = look;
    [this.marks, this.bands] = [[], []]; // those of the operand before need not exist in this one
    this.plan = this.layOut(matrix, look);
    this.layers = new Layers();
    drawMatrix(this.layers, this.plan, look.style, look.colourOf, 0, 0);
    this.sizer.style.width = `${Math.ceil(this.plan.width)}px`;
    this.sizer.style.height = `${Math.ceil(this.plan.height)}px`;
    this.repaint();
  }

  /** The space decides the cells, and the cells decide which strips have room: a second try is exact, but for gaps. */
  private layOut(matrix: Matrix, look: MatrixLook): Plan {
    const room: Size = look.space ?? [this.element.clientWidth, this.element.clientHeight];
    const options = { labels: look.labels, shown: look.shown, pitches: look.pitches, digit: look.digit };
    let made = plan(matrix, [room[0] - 130, room[1] - 70], options);
    let gaps = 0; // the marks for what is left out of a folded axis take room too
    for (let again = 0; again < 8 && !look.labels; again++) {
      if (again >= 2 && made.width <= room[0]) break;
      if (again >= 2) gaps += made.width - room[0];
      const space: Size = [room[0] - made.marginLeft - gaps, room[1] - made.marginTop - 2];
      made = plan(matrix, [Math.max(LEAST[0], space[0]), Math.max(LEAST[1], space[1])], options);
    }
    return made;
  }

  /** Mark elements: inverse video, the tiles of their lanes, and the index of their row and column. */
  mark(marks: Entry[], bands: [number, number, number][] = marks): void {
    this.marks = marks;
    this.bands = bands;
    this.repaintMarks();
  }

  /** Scroll until an element is in view. */
  reveal(element: Entry): void {
    const box = this.boxOf(element);
    if (!this.plan || !box) return;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.element;
    const [left, top] = [box.x - this.plan.marginLeft, box.y - this.plan.marginTop];
    const right = box.x + box.width - clientWidth;
    const bottom = box.y + box.height - clientHeight;
    this.element.scrollLeft = Math.max(right, Math.min(scrollLeft, left));
    this.element.scrollTop = Math.max(bottom, Math.min(scrollTop, top));
  }

  /** The box of an element's cell in the picture; null if repetitions leave it out. */
  boxOf([block, row, column]: Entry): { x: number; y: number; width: number; height: number } | null {
    if (!this.plan?.grid.places[block]) return null;
    const [left, top] = this.plan.origin(block);
    const [wide] = this.plan.columns.span(column, column);
    const [high] = this.plan.rows.span(row, row);
    return wide && high ? { x: left + wide.start, y: top + high.start, width: wide.size, height: high.size } : null;
  }

  private elementAt(event: PointerEvent): Entry | null {
    if (!this.plan) return null;
    const box = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - this.element.clientLeft, event.clientY - box.top - this.element.clientTop];
    if (x < this.plan.marginLeft || y < this.plan.marginTop) return null;
    return this.plan.at(x + this.element.scrollLeft, y + this.element.scrollTop);
  }

  private view(): Window {
    const { clientWidth: width, clientHeight: height, scrollLeft: x, scrollTop: y } = this.element;
    return { x, y, width, height, left: this.plan!.marginLeft, top: this.plan!.marginTop };
  }

  private repaint(): void {
    if (!this.plan || !this.element.clientWidth) return;
    const view = this.view();
    this.window.style.width = `${view.width}px`;
    this.window.style.height = `${view.height}px`;
    paint(fitted(this.base, view.width, view.height), this.layers.all, view);
    this.repaintMarks();
  }

  private repaintMarks(): void {
    if (!this.plan || !this.look || !this.element.clientWidth) return;
    const view = this.view();
    const context = fitted(this.over, view.width, view.height);
    const { matrix, columns, rows, grid, top, left, titleRoom } = this.plan;
    const visible = this.marks.filter((mark) => this.boxOf(mark));
    const marked = new Plan(matrix, columns, rows, grid, this.plan.labels, visible, top, left, titleRoom);
    const layers = new Layers();
    for (const band of this.bands) this.markIndex(layers, band);
    if (visible.length) drawMarks(layers, marked, this.look.style, this.look.colourOf, 0, 0);
    paint(context, layers.all, view);
  }

  /** Shade the index of a row and of a column. */
  private markIndex(layers: Layers, [block, row, column]: Entry): void {
    const plan = this.plan!;
    const [left, top] = plan.origin(block);
    const shade = this.look!.style.name === "dark" ? "#ffffff33" : "#00000022";
    const group = (axis: { merged: number }, value: number): [number, number] => {
      const first = value - (value % axis.merged);
      return [first, first + axis.merged - 1];
    };
    for (const wide of plan.columns.span(...group(plan.matrix.columns, column))) {
      const high = plan.top[0][1];
      layers.box(0, "top", left + wide.start, plan.marginTop - high, Math.max(wide.size, 3), high, shade);
    }
    for (const high of plan.rows.span(...group(plan.matrix.rows, row))) {
      const wide = plan.left[0][1] - 4;
      layers.box(0, "left", plan.marginLeft - wide - 4, top + high.start, wide, Math.max(high.size, 3), shade);
    }
  }
}
