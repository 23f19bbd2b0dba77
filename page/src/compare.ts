/** Two operands side by side: which elements lie in the same place, in another register, in another lane. */

import type { Host } from "./host.ts";
import type { Instruction } from "./catalog.ts";
import { fillWith, h, select } from "./dom.ts";
import { MatrixView } from "./matrixView.ts";
import { STYLES, fill } from "./palette.ts";
import type { Colour } from "./palette.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import { patternText } from "./pictureScene.ts";
import type { Element as Entry } from "./placement.ts";
import { placeText, ranges, elementText } from "./places.ts";
import { Search } from "./search.ts";

export type Verdict = "same" | "register" | "lane" | "single";

export const COLOURS: Record<Verdict, Colour> = {
  same: { hue: 2, shade: 0.5 }, register: { hue: 0, shade: 0.5 }, lane: { hue: 1, shade: 0.5 }, single: { hue: -1, shade: 0 },
};
const WORDS: [Verdict, string][] = [
  ["same", "in the same place"], ["register", "in another register"], ["lane", "in another lane"], ["single", "only in one of them"],
];

/** What became of an element of one operand in another one. */
export function verdict(one: Matrix, other: Matrix, [block, row, column]: Entry): Verdict {
  if (block >= other.blocks.extent || row >= other.rows.extent || column >= other.columns.extent) return "single";
  const [here, there] = [one.foundIn(block, row, column), other.foundIn(block, row, column)];
  if (here.length !== there.length || here.some((lane, at) => lane !== there[at])) return "lane";
  const [a, b] = [one.location(block, row, column), other.location(block, row, column)];
  return a.register === b.register && a.lsb === b.lsb && a.width === b.width ? "same" : "register";
}

/** How many elements of the first have each verdict. */
export function count(one: Matrix, other: Matrix): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { same: 0, register: 0, lane: 0, single: 0 };
  const [blocks, rows, columns] = one.placement.shape;
  for (let block = 0; block < blocks; block++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) counts[verdict(one, other, [block, row, column])]++;
    }
  }
  return counts;
}

/** A choice of architecture, instruction and operand. */
export class Picker {
  readonly element = h("div", { class: "pick" });
  private readonly search: Search;

  constructor(private readonly app: Host, label: string, private readonly changed: (arch: string, name: string, operand: string) => void) {
    this.search = new Search(app.catalog, `${label} instruction`, (name) => this.changed(this.arch, name, this.operand));
    this.label = label;
  }

  private readonly label: string;
  private arch = "";
  private operand = "";

  show(instruction: Instruction, operand: string, operands: string[]): void {
    this.arch = instruction.architecture.name;
    this.operand = operand;
    const options = this.app.catalog.architectures.map((each): [string, string] => [each.name, each.title]);
    fillWith(this.element,
      select(`${this.label} architecture`, options, this.arch, (arch) => this.changed(arch, instruction.name, operand)),
      this.search.element,
      select(`${this.label} operand`, operands.map((name) => [name, name]), operand, (name) => this.changed(this.arch, instruction.name, name)));
    this.search.show(instruction.architecture, instruction.name);
  }
}

export class Compare {
  readonly element: HTMLElement;
  private readonly summary = h("div", { class: "summary" });
  private readonly answerLine = h("p", { class: "answer", id: "compared", "aria-live": "polite" });
  private readonly sides: { picker: Picker; pattern: HTMLElement; view: MatrixView }[];
  private matrices: (Matrix | null)[] = [null, null];

  constructor(private readonly app: Host) {
    this.sides = [0, 1].map((at) => ({
      picker: new Picker(app, at ? "second" : "first", (arch, name, operand) => this.pick(at, arch, name, operand)),
      pattern: h("p", { class: "mono pattern" }),
      view: new MatrixView(at ? "second matrix" : "first matrix", {
        hover: (element) => this.mark(element ?? app.state.at),
        pick: (element) => { app.update({ at: this.inFirst(element) ? element : null }, "marks"); this.mark(element); },
      }),
    }));
    this.element = h("main", { class: "compare" }, h("div", { class: "card" }, this.summary, this.answerLine),
      h("div", { class: "pair" }, ...this.sides.map(({ picker, pattern, view }) =>
        h("section", { "aria-label": view.element.getAttribute("aria-label")! }, picker.element, pattern, view.element))));
  }

  private inFirst(element: Entry): boolean {
    const shape = this.matrices[0]?.placement.shape;
    return Boolean(shape && element.every((value, axis) => value < shape[axis]));
  }

  /** The second operand: that of the link, or the same operand of a like instruction. */
  private second(): { instruction: Instruction; operand: string } {
    const { state, catalog, instruction } = this.app;
    const architecture = (state.other && catalog.architecture(state.other.arch)) || instruction.architecture;
    const named = state.other ? catalog.instruction(architecture, state.other.name) : undefined;
    const every = catalog.instructions(architecture);
    const next = every[(every.indexOf(instruction) + 1) % every.length];
    const chosen = named ?? next;
    const names = chosen.operands(chosen.wave(undefined)).map((operand) => operand.name);
    const wanted = state.other?.operand || state.operand;
    return { instruction: chosen, operand: names.includes(wanted) ? wanted : names[0] ?? "" };
  }

  private pick(at: number, arch: string, name: string, operand: string): void {
    if (at === 0) {
      this.app.update({ arch, name, operand, at: null });
      return;
    }
    const { catalog } = this.app;
    const architecture = catalog.architecture(arch)!;
    const named = catalog.instruction(architecture, name);
    const other = named ?? catalog.instructions(architecture)[0];
    this.app.update({ other: { arch, name: other.name, operand } });
  }

  render(): void {
    const { state, instruction, wave, style } = this.app;
    const second = this.second();
    const first = this.app.matrixOf(instruction, state.operand, wave, state.fields);
    const other = this.app.matrixOf(second.instruction, second.operand, second.instruction.wave(undefined), {});
    this.matrices = [first, other];
    const shown: [Instruction, string][] = [[instruction, state.operand], [second.instruction, second.operand]];
    for (const [at, [each, operand]] of shown.entries()) {
      const names = each.operands(each.wave(undefined)).map((one) => one.name);
      this.sides[at].picker.show(each, operand, names);
      const matrix = this.matrices[at];
      this.sides[at].pattern.textContent = matrix ? patternText(matrix) : `${operand} is in no register`;
      this.sides[at].view.element.hidden = !matrix;
    }
    if (!first || !other) {
      fillWith(this.summary, "One of the two is in no register, so there is nothing to compare.");
      return;
    }
    const pairs: [Matrix, Matrix][] = [[first, other], [other, first]];
    const show = (pitches?: [number, number]) => pairs.forEach(([one, against], at) => {
      const colourOf: ColourOf = (...element) => COLOURS[verdict(one, against, element)];
      this.sides[at].view.show(one, { style, colourOf, labels: false, shown: state.at ? [state.at] : [], pitches });
    });
    show();
    const plans = this.sides.map(({ view }) => view.plan!);
    const smallest = (track: "columns" | "rows") => Math.min(...plans.map((plan) => plan[track].pitch));
    show([smallest("columns"), smallest("rows")]);
    this.renderSummary(count(first, other));
    this.mark(state.at);
  }

  private renderSummary(counts: Record<Verdict, number>): void {
    const common = counts.same + counts.register + counts.lane;
    const moved = counts.register + counts.lane;
    const sentence = moved ? `${moved} of ${common} common elements lie elsewhere` : `All ${common} common elements lie in the same place`;
    const style = STYLES[this.app.style.name];
    fillWith(this.summary, h("b", {}, sentence), ...WORDS.map(([key, text]) => h("span", { class: "legend" },
      h("i", { style: `background:${fill(style, COLOURS[key])}`, "aria-hidden": "true" }), key === "single" ? text : `${counts[key]} ${text}`)));
  }

  /** The same element in both. */
  private mark(element: Entry | null): void {
    const lines: string[] = [];
    for (const [at, matrix] of this.matrices.entries()) {
      const inside = element && matrix && element.every((value, axis) => value < matrix.placement.shape[axis]);
      this.sides[at].view.mark(inside ? [element] : []);
      if (!inside) continue;
      const place = placeText(matrix.registers, matrix.location(...element));
      lines.push(`${elementText(matrix, ...element)} of ${matrix.instruction.architecture.title}: lane ${ranges(matrix.foundIn(...element))} ${place}`);
    }
    this.answerLine.textContent = lines.join(" \u00b7 ");
  }
}
