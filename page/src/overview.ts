/** The registers of an operand at a glance: lanes across, registers and their bits down, colour only; or with names. */

import { h } from "./dom.ts";
import { fitted, write } from "./paint.ts";
import { fill, type Style } from "./palette.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import type { Element as Entry, Location } from "./placement.ts";
import { bitsText, heldText, registerText } from "./places.ts";

export interface OverviewEvents {
  hover(element: Entry | null): void;
  pick(element: Entry): void;
}

export interface OverviewLook {
  style: Style;
  colourOf: ColourOf;
  /** Whether each slot shows what it holds; the picture then scrolls. */
  names: boolean;
}

const HEAD = 16;
const NAME_ROW = 20;

export class Overview {
  readonly element: HTMLElement;
  private readonly base = h("canvas", { "aria-hidden": "true" });
  private readonly over = h("canvas", { class: "over", "aria-hidden": "true" });
  private readonly window = h("div", { class: "window" }, this.base, this.over);
  private readonly sizer = h("div", { class: "sizer" }, this.window);
  private matrix: Matrix | null = null;
  private look: OverviewLook | null = null;
  private cell = { width: 0, height: 0 };
  private margin = 0;
  private fills: (string | null)[] = [];
  private marks: Location[] = [];

  constructor(events: OverviewEvents) {
    this.element = h("div", { class: "overview", scroll: () => this.repaint(),
      pointermove: (event: PointerEvent) => events.hover(this.elementAt(event)),
      pointerleave: () => events.hover(null),
      click: (event: PointerEvent) => {
        const found = this.elementAt(event);
        if (found) events.pick(found);
      } }, this.sizer);
  }

  show(matrix: Matrix, look: OverviewLook): void {
    const same = this.matrix === matrix && this.look?.style === look.style && this.look.colourOf === look.colourOf;
    this.matrix = matrix;
    this.look = look;
    const { items } = matrix.placement;
    const slots = this.slots();
    const texts = slots.map((slot) => this.name(slot));
    this.margin = Math.max(34, ...texts.map((text) => Math.ceil(text.length * 6.2) + 8));
    if (!same) this.fills = this.colours();
    const width = this.element.clientWidth - this.margin - 2;
    if (look.names) {
      const longest = Math.max(...this.sample().map((text) => text.length), 2);
      this.cell = { width: Math.ceil(longest * 6.1) + 8, height: NAME_ROW };
    } else {
      this.cell = { width: Math.max(1, width / matrix.lanes), height: Math.min(24, Math.max(4, 320 / items)) };
    }
    const height = HEAD + this.cell.height * items + 2;
    this.sizer.style.width = `${look.names ? this.margin + this.cell.width * matrix.lanes : 0}px`;
    this.sizer.style.height = `${height}px`;
    this.element.style.height = `${Math.min(height, 420) + (look.names ? 14 : 0)}px`;
    this.repaint();
  }

  private slots(): Location[] {
    return Array.from({ length: this.matrix!.placement.items }, (_, item) => this.matrix!.placement.slot(0, item));
  }

  private name(slot: Location): string {
    const bits = bitsText(slot.lsb, slot.width);
    const register = registerText(this.matrix!.registers, slot.register, slot.width);
    return bits ? `${register} ${bits}` : register;
  }

  private sample(): string[] {
    const { lanes, placement } = this.matrix!;
    const found: string[] = [];
    for (let lane = 0; lane < lanes; lane += Math.max(1, Math.floor(lanes / 8))) {
      for (const item of [0, placement.items - 1]) found.push(heldText(this.matrix!, lane, item));
    }
    return [...found, heldText(this.matrix!, lanes - 1, placement.items - 1)];
  }

  private colours(): (string | null)[] {
    const { lanes, placement } = this.matrix!;
    return Array.from({ length: lanes * placement.items }, (_, at) => {
      const [found] = this.matrix!.elements(at % lanes, Math.floor(at / lanes));
      if (!found) return null;
      // Of a copied element, colour by lane is that of the lane that is looked at, not of the first copy.
      const lane = this.look!.colourOf.byLane;
      return fill(this.look!.style, lane ? this.matrix!.byLane[at % lanes] : this.look!.colourOf(...found));
    });
  }

  /** Show where an element is: its slots, and their lanes from top to bottom. */
  mark(places: Location[]): void {
    this.marks = places;
    this.repaintMarks();
  }

  private view(): { x: number; y: number; width: number; height: number } {
    const { clientWidth: width, clientHeight: height, scrollLeft: x, scrollTop: y } = this.element;
    return { x, y, width, height };
  }

  private repaint(): void {
    if (!this.matrix || !this.look || !this.element.clientWidth) return;
    const { x, y, width, height } = this.view();
    this.window.style.width = `${width}px`;
    this.window.style.height = `${height}px`;
    const context = fitted(this.base, width, height);
    const { lanes, placement } = this.matrix;
    const gap = this.cell.width >= 5 ? 1 : 0;
    const firstLane = Math.max(0, Math.floor(x / this.cell.width));
    const lastLane = Math.min(lanes, Math.ceil((x + width) / this.cell.width));
    context.save();
    context.beginPath();
    context.rect(this.margin, HEAD, width, height);
    context.clip();
    for (let item = 0; item < placement.items; item++) {
      const top = HEAD + item * this.cell.height - y;
      if (top > height || top + this.cell.height < HEAD) continue;
      for (let lane = firstLane; lane < lastLane; lane++) {
        const left = this.margin + lane * this.cell.width - x;
        context.fillStyle = this.fills[item * lanes + lane] ?? this.look.style.empty;
        context.fillRect(left, top, this.cell.width - gap, this.cell.height - (this.cell.height > 6 ? 1 : 0));
        if (this.look.names) {
          const text = heldText(this.matrix, lane, item);
          write(context, text, left + this.cell.width / 2, top + 13, 9.5, this.look.style.ink, "middle");
        }
      }
    }
    context.restore();
    this.heads(context, x, y, width, height);
    this.repaintMarks();
  }

  private heads(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    const { quiet } = this.look!.style;
    const every = [1, 2, 4, 8, 16, 32, 64, 128].find((step) => step * this.cell.width >= 22) ?? 256;
    write(context, "lane", this.margin - 6, 11, 9.5, quiet, "end", "bold");
    for (let lane = 0; lane < this.matrix!.lanes; lane += every) {
      const left = this.margin + lane * this.cell.width - x;
      if (left < this.margin - 1 || left > width - 14) continue;
      const middle = this.look!.names ? left + this.cell.width / 2 : left;
      write(context, String(lane), middle, 11, 9.5, quiet, this.look!.names ? "middle" : "start");
    }
    const step = [1, 2, 4, 8, 16, 32].find((n) => n * this.cell.height >= 10) ?? 64;
    for (const [item, slot] of this.slots().entries()) {
      const top = HEAD + item * this.cell.height - y;
      if (item % step || top < HEAD - 1 || top > height) continue;
      const middle = top + Math.min(this.cell.height, step * this.cell.height) / 2 + 3.3;
      write(context, this.name(slot), this.margin - 6, middle, 9.5, quiet, "end", "mono");
    }
  }

  private repaintMarks(): void {
    if (!this.matrix || !this.look || !this.element.clientWidth) return;
    const { x, y, width, height } = this.view();
    const context = fitted(this.over, width, height);
    context.beginPath();
    context.rect(this.margin - 1, HEAD - 1, width, height);
    context.clip();
    for (const { lane, item } of this.marks) {
      const left = this.margin + lane * this.cell.width - x;
      const top = HEAD + item * this.cell.height - y;
      context.strokeStyle = this.look.style.mark;
      context.lineWidth = 1.25;
      const all = this.cell.height * this.matrix.placement.items;
      context.strokeRect(left - 0.5, HEAD - y, Math.max(3, this.cell.width), all - 0.5);
      context.fillStyle = this.look.style.mark;
      context.fillRect(left - 0.5, top, Math.max(3, this.cell.width), Math.max(3, this.cell.height - 1));
      if (this.look.names) {
        const text = heldText(this.matrix, lane, item);
        write(context, text, left + this.cell.width / 2, top + 13, 9.5, this.look.style.onMark, "middle", "bold");
      }
    }
  }

  private elementAt(event: PointerEvent): Entry | null {
    if (!this.matrix) return null;
    const box = this.element.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left - this.margin, event.clientY - box.top - HEAD];
    if (left < 0 || top < 0) return null;
    const lane = Math.floor((left + this.element.scrollLeft) / this.cell.width);
    const item = Math.floor((top + this.element.scrollTop) / this.cell.height);
    if (lane >= this.matrix.lanes || item >= this.matrix.placement.items) return null;
    return this.matrix.elements(lane, item)[0] ?? null;
  }
}
