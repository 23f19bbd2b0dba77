/** How an operand is loaded: the accesses, and for one of them which lanes meet in which bank, phase by phase. */

import type { Host } from "./host.ts";
import { Picker } from "./compare.ts";
import { fillWith, h, select } from "./dom.ts";
import {
  accessesOf, costOf, linear, misfit, NO_SWIZZLE, repair, ruleOf, shortest, tileOf, WIDTHS,
  type Accesses, type Cost, type Phase, type Swizzle, type Tile,
} from "./memory.ts";
import { fitted, write } from "./paint.ts";
import { fill } from "./palette.ts";
import type { Matrix } from "./picture.ts";

const MODES: [string, string][] = [["", "no swizzle"], ["1,4,3", "32B: 1,4,3"], ["2,4,3", "64B: 2,4,3"], ["3,4,3", "128B: 3,4,3"]];
const ROW = 18;
const HEAD = 20;
const LEFT = 64;

export class MemoryView {
  readonly element: HTMLElement;
  private readonly picker: Picker;
  private readonly settings = h("div", { class: "settings" });
  private readonly summary = h("div", { class: "summary" });
  private readonly details = h("div", { class: "details" });
  private readonly answerLine = h("p", { class: "answer", id: "banked", "aria-live": "polite" });
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly banks = h("div", { class: "banks", tabindex: 0, role: "group", "aria-label": "banks of LDS: phases down, banks across, a lane in each cell" }, this.canvas);
  private cells: { x: number; y: number; width: number; text: string }[] = [];

  constructor(private readonly app: Host) {
    this.picker = new Picker(app, "memory", (arch, name, operand) => app.update({ arch, name, operand, at: null, more: {} }));
    this.banks.addEventListener("pointermove", (event) => this.point(event));
    this.element = h("main", { class: "compare" }, this.picker.element,
      h("div", { class: "card" }, this.settings, this.summary, this.details, this.answerLine), this.banks);
  }

  render(): void {
    const { state, instruction, wave } = this.app;
    const names = instruction.operands(wave).map((operand) => operand.name).filter((name) => "ABCD".includes(name));
    const operand = names.includes(state.operand) ? state.operand : names[0] ?? "";
    this.picker.show(instruction, operand, names);
    const matrix = operand ? this.app.matrixOf(instruction, operand, wave, state.fields) : null;
    this.answerLine.textContent = "";
    const { refused } = instruction.architecture;
    if (refused.memory) return this.nothing(`${refused.memory}.`);
    if (!matrix) return this.nothing("No operand of this instruction is a matrix in registers.");
    const order = state.more.order === "col" ? "col" : "row";
    const ld = Number(state.more.ld) || shortest(matrix, order);
    const pad = Number(state.more.pad) || 0;
    const swizzle = parseSwizzle(state.more.swizzle);
    this.renderSettings(matrix, order, ld, pad);
    const tile = tileOf(matrix, order, ld);
    if (typeof tile === "string") return this.nothing(tile);
    const found = accessesOf(tile);
    if (typeof found === "string") return this.nothing(found);
    if (pad < 0 || pad % 4 || (tile.rowBytes + pad) % found.accessBytes) return this.nothing(`The padding should keep accesses of ${found.accessBytes} bytes aligned.`);
    if (!swizzle) return this.nothing("A swizzle is bits,base,shift with shift at least bits, such as 3,4,3.");
    const fault = misfit(found, tile, pad, swizzle);
    if (fault) return this.nothing(fault);
    this.renderAccesses(matrix, tile, found, pad, swizzle);
  }

  private nothing(why: string): void {
    fillWith(this.summary, why);
    fillWith(this.details);
    this.banks.hidden = true;
  }

  private set(name: string, value: string): void {
    this.app.update({ more: { ...this.app.state.more, [name]: value } });
  }

  private renderSettings(matrix: Matrix, order: "row" | "col", ld: number, pad: number): void {
    const { state } = this.app;
    const number = (name: string, label: string, value: number, step: number) => h("label", {}, `${label} `,
      h("input", { type: "number", min: 0, step, value, "aria-label": label, change: (event: Event) => this.set(name, (event.target as HTMLInputElement).value) }));
    const swizzle = state.more.swizzle ?? "";
    const known = MODES.some(([value]) => value === swizzle);
    fillWith(this.settings,
      h("label", {}, "in memory ", select("order in memory", [["", "row by row"], ["col", "column by column"]], order === "col" ? "col" : "", (value) => this.set("order", value))),
      number("ld", "elements from row to row", ld, shortest(matrix, order)),
      number("pad", "bytes of padding", pad, 4),
      h("label", {}, "swizzle ", select("swizzle", known ? MODES : [...MODES, [swizzle, swizzle]], swizzle, (value) => this.set("swizzle", value))),
    );
  }

  private renderAccesses(matrix: Matrix, tile: Tile, found: Accesses, pad: number, swizzle: Swizzle): void {
    const { catalog, state } = this.app;
    const store = matrix.name === "D";
    const width = WIDTHS.indexOf(found.accessBytes);
    const names = catalog.data.names[catalog.data.accesses[catalog.architectures.indexOf(matrix.instruction.architecture)]];
    const kind = store ? "store" : "load";
    const count = found.addresses.length;
    const rule = ruleOf(catalog, matrix, found.accessBytes, store);
    const head = `${count} \u00d7 ${names.lds[kind][width]} (or ${names.global[kind][width]}), ${found.accessBytes} bytes a lane`;
    if (!rule) {
      fillWith(this.summary, h("b", {}, head), "Which lanes LDS serves together is not published for this architecture.");
      fillWith(this.details);
      this.banks.hidden = true;
      return;
    }
    const cost = costOf(rule, linear(found, tile, pad, swizzle), found.accessBytes, matrix.placement.wave);
    const conflicts = cost.cycles - cost.ideal;
    const access = Math.min(Number(state.more.access) || 0, count - 1);
    fillWith(this.summary, h("b", {}, conflicts ? `${conflicts} of ${cost.cycles} cycles are bank conflicts` : `No bank conflict: ${cost.cycles} cycles`), h("span", {}, head),
      h("span", {}, `${rule[0]} banks; `, h("span", { class: `badge ${rule[4].replaceAll(" ", "-")}`, title: rule[5] }, rule[4])));
    fillWith(this.details,
      count > 1 && h("label", {}, "access ", select("which access", Array.from({ length: count }, (_, at) => [String(at), `${at} of ${count}`]), String(access), (value) => this.set("access", value))),
      this.repairButton(tile, found));
    this.banks.hidden = false;
    this.draw(matrix, rule[0], cost, access);
  }

  private repairButton(tile: Tile, found: Accesses): HTMLElement {
    const result = h("span", { "aria-live": "polite" });
    const meaning = "for these accesses, and for those of 16 bytes a lane that fill the tile";
    const button = h("button", { type: "button", class: "small", title: meaning, click: () => {
      const { pad, swizzle } = repair(this.app.catalog, tile, found);
      const take = (name: string, value: string, text: string) => h("button", { type: "button", class: "small", click: () => this.app.update({ more: { ...this.app.state.more, pad: "", swizzle: "", [name]: value } }) }, text);
      fillWith(result, " ", pad === null ? "No padding does it. " : take("pad", String(pad), `${pad} bytes of padding`), " ",
        swizzle === null ? "No swizzle does it." : take("swizzle", swizzle[0] ? swizzle.join() : "", swizzle[0] ? `swizzle ${swizzle.join()}` : "no swizzle is needed"));
    } }, "Find padding and swizzle without conflicts");
    return h("span", {}, button, result);
  }

  /** Phases down, banks across: a cell for each dword, stacked where a bank has several to deliver. */
  private draw(matrix: Matrix, banks: number, cost: Cost, access: number): void {
    const { style } = this.app;
    const phases = cost.phases[access];
    const width = this.banks.clientWidth;
    const cell = Math.min(44, (width - LEFT - 4) / banks);
    const heights = phases.map((phase) => Math.max(...[...phase.banks.values()].map((dwords) => dwords.size)) * ROW + 6);
    const context = fitted(this.canvas, width, HEAD + heights.reduce((sum, height) => sum + height, 0));
    write(context, "bank", LEFT - 8, 13, 10, style.quiet, "end", "bold");
    const every = cell >= 20 ? 1 : cell >= 8 ? 4 : 16;
    for (let bank = 0; bank < banks; bank += every) write(context, String(bank), LEFT + bank * cell + cell / 2, 13, 10, style.quiet, "middle");
    this.cells = [];
    let top = HEAD;
    for (const [number, phase] of phases.entries()) {
      write(context, `phase ${number}`, LEFT - 8, top + 13, 10, style.quiet, "end");
      this.drawPhase(context, matrix, phase, banks, top, cell);
      top += heights[number];
    }
  }

  private drawPhase(context: CanvasRenderingContext2D, matrix: Matrix, phase: Phase, banks: number, top: number, cell: number): void {
    const { style } = this.app;
    for (let bank = 0; bank < banks; bank++) {
      if (phase.banks.has(bank)) continue;
      context.fillStyle = style.empty;
      context.fillRect(LEFT + bank * cell, top, cell - 1, ROW - 1);
    }
    for (const [bank, dwords] of phase.banks) {
      for (const [at, [dword, lanes]] of [...dwords].sort(([a], [b]) => a - b).entries()) {
        const [x, y] = [LEFT + bank * cell, top + at * ROW];
        context.fillStyle = fill(style, matrix.byLane[lanes[0] % matrix.lanes]);
        context.fillRect(x, y, cell - 1, ROW - 1);
        const text = lanes.length > 1 ? `${lanes[0]}+` : String(lanes[0]);
        if (4 * 6.6 <= cell - 1 || (lanes.length === 1 && 2 * 6.6 <= cell - 1)) write(context, text, x + cell / 2, y + 12.5, 10, style.ink, "middle");
        const all = lanes.length > 1 ? `lanes ${lanes.join(", ")}` : `lane ${lanes[0]}`;
        this.cells.push({ x, y, width: cell, text: `bank ${bank}: ${all}, bytes ${4 * dword} to ${4 * dword + 3}${dwords.size > 1 ? `; ${dwords.size} dwords in one bank take ${dwords.size} cycles` : ""}` });
      }
    }
  }

  private point(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const found = this.cells.find((cell) => x >= cell.x && x < cell.x + cell.width && y >= cell.y && y < cell.y + ROW);
    this.answerLine.textContent = found?.text ?? "";
  }
}

/** bits,base,shift; null if it is no permutation. */
function parseSwizzle(text: string | undefined): Swizzle | null {
  if (!text) return NO_SWIZZLE;
  const numbers = text.split(",").map(Number);
  const [bits, base, shift] = numbers;
  const whole = numbers.length === 3 && numbers.every((value) => Number.isInteger(value) && value >= 0);
  return whole && shift >= Math.max(bits, 1) && bits + base + shift <= 31 ? [bits, base, shift] : null;
}
