/** The result of one instruction as an operand of the next, both drawn, with what stays in its lane and what moves. */

import type { Host } from "./host.ts";
import type { Instruction } from "./catalog.ts";
import { chain, formula, operandOf, refusal, SPOKEN, USES, type Chain, type Use } from "./chain.ts";
import { COLOURS, Picker, type Verdict } from "./compare.ts";
import { choice, fillWith, h, select } from "./dom.ts";
import { MatrixView } from "./matrixView.ts";
import { fill } from "./palette.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import { patternText } from "./pictureScene.ts";
import type { Element as Entry } from "./placement.ts";
import { elementText, placeText, ranges } from "./places.ts";

export class ChainView {
  readonly element: HTMLElement;
  private readonly summary = h("div", { class: "summary" });
  private readonly details = h("div", { class: "details" });
  private readonly answerLine = h("p", { class: "answer", id: "chained", "aria-live": "polite" });
  private readonly uses = h("span");
  private readonly settings = h("span", { class: "settings" });
  private readonly pickers: [Picker, Picker];
  private readonly patterns = [h("p", { class: "mono pattern" }), h("p", { class: "mono pattern" })];
  private readonly views: [MatrixView, MatrixView];
  private made: Chain | null = null;
  private shown: [number, number] = [0, 0];

  constructor(private readonly app: Host) {
    this.pickers = [
      new Picker(app, "first", (arch, name) => app.update({ arch, name, operand: "D", at: null })),
      new Picker(app, "second", (arch, name) => this.update({ other: name, arch })),
    ];
    this.views = [0, 1].map((side) => new MatrixView(side ? "operand of the second instruction" : "result of the first instruction", {
      hover: (element) => this.mark(side, element),
      pick: (element) => {
        if (side === 0) app.update({ at: element }, "marks");
        this.mark(side, element);
      },
    })) as [MatrixView, MatrixView];
    const sides = this.views.map((view, side) => h("section", { "aria-label": view.element.getAttribute("aria-label")! },
      this.pickers[side].element, this.patterns[side], view.element));
    this.element = h("main", { class: "compare" },
      h("div", { class: "card" }, h("div", { class: "summary" }, this.uses, this.settings), this.summary, this.details, this.answerLine),
      h("div", { class: "pair" }, ...sides));
  }

  private update(change: { other?: string; arch?: string; more?: Record<string, string> }): void {
    const { state, catalog } = this.app;
    const more = { ...state.more, ...change.more };
    if (change.other === undefined) return this.app.update({ more });
    // Both run on one architecture: another one for the second is another one for both.
    const architecture = catalog.architecture(change.arch!)!;
    const name = (catalog.instruction(architecture, change.other) ?? catalog.instructions(architecture)[0]).name;
    const first = catalog.instruction(architecture, state.name)?.name ?? name;
    this.app.update({ arch: architecture.name, name: first, operand: "D", other: { arch: architecture.name, name, operand: "" }, more: { ...more, x: "", y: "" } });
  }

  private second(): Instruction {
    const { state, catalog, instruction } = this.app;
    const named = state.other?.arch ? catalog.instruction(instruction.architecture, state.other.name) : undefined;
    return named ?? instruction;
  }

  private matrix(instruction: Instruction, operand: string): Matrix | null {
    const fields = instruction === this.app.instruction ? this.app.state.fields : {};
    return this.app.matrixOf(instruction, operand, this.app.wave, fields);
  }

  /** The answer for a use, or why there is none. */
  private ask(use: Use): Chain | string {
    const [x, y] = [this.app.instruction, this.second()];
    const [source, target, result] = [this.matrix(x, "D"), this.matrix(y, operandOf(use)), this.matrix(y, "D")];
    if (!source) return `D of ${x.name} is in no register.`;
    if (!target || !result) return `${operandOf(use)} of ${y.name} is in no register.`;
    return refusal(source, target, result, this.app.catalog.floats) || chain(source, target, use, this.app.state.more.keep === "1");
  }

  render(): void {
    const { state, instruction } = this.app;
    const y = this.second();
    const answers = USES.map((use) => this.ask(use));
    // Without a choice, the use that costs least: the classes are in that order.
    const order = ["identical", "renamed", "repacked", "k-relabel", "kf-relabel", "lane-moves"];
    const cost = (answer: Chain | string) => (typeof answer === "string" ? 9 : order.indexOf(answer.kind));
    const cheapest = USES.reduce((best, use, at) => (cost(answers[at]) < cost(answers[USES.indexOf(best)]) ? use : best), USES[0]);
    const use = USES.includes(state.more.to as Use) ? (state.more.to as Use) : cheapest;
    const found = answers[USES.indexOf(use)];
    const label = (each: Use, at: number): [string, string] => [each, `${each}: ${typeof answers[at] === "string" ? "no" : (answers[at] as Chain).kind}`];
    fillWith(this.uses, choice("D becomes", USES.map(label), use, (to) => this.update({ more: { to, x: "", y: "" } })));
    this.pickers[0].show(instruction, "D", ["D"]);
    this.pickers[1].show(y, operandOf(use), [operandOf(use)]);
    this.made = typeof found === "string" ? null : found;
    for (const view of this.views) view.element.hidden = !this.made;
    if (typeof found === "string") {
      fillWith(this.summary, found);
      for (const part of [this.details, this.settings, ...this.patterns]) fillWith(part);
      this.answerLine.textContent = "";
      return;
    }
    this.renderChain(found, use, y);
  }

  private renderChain(found: Chain, use: Use, y: Instruction): void {
    const { state, style } = this.app;
    const { tiles } = found;
    const counts = [tiles.xTiles[0] * tiles.xTiles[1], tiles.yTiles[0] * tiles.yTiles[1]];
    this.shown = [Math.min(Number(state.more.x) || 0, counts[0] - 1), Math.min(Number(state.more.y) || 0, counts[1] - 1)];
    this.renderSettings(counts);
    this.patterns[0].textContent = patternText(tiles.source);
    this.patterns[1].textContent = patternText(tiles.target);
    const show = (pitches?: [number, number]) => [tiles.source, tiles.target].forEach((matrix, side) => {
      const colourOf: ColourOf = (...element) => COLOURS[this.verdict(side, element)];
      this.views[side].show(matrix, { style, colourOf, labels: false, shown: [], pitches });
    });
    show();
    this.renderSummary(found, use, y);
    this.mark(0, state.at);
  }

  private renderSettings(counts: number[]): void {
    const { state } = this.app;
    const tile = (side: 0 | 1, key: string, name: string) => counts[side] > 1 && h("label", {}, `${name} `,
      select(`which ${name}`, Array.from({ length: counts[side] }, (_, at) => [String(at), `${at} of ${counts[side]}`]), String(this.shown[side]),
        (value) => this.update({ more: { [key]: value } })));
    const box = h("input", { type: "checkbox", checked: state.more.keep === "1", change: () => this.update({ more: { keep: box.checked ? "1" : "" } }) });
    fillWith(this.settings, tile(0, "x", "first"), tile(1, "y", "second"), h("label", {}, box, " keep the order of k"));
  }

  // --- where an element goes ---

  /** The element of the operand that an element of D becomes, or of D that becomes one of the operand. */
  private partner(side: number, [block, row, column]: Entry): { tile: number; element: Entry } {
    const { tiles, relabel, relabelF } = this.made!;
    const rows = { A: true, Bt: true, At: false, B: false }[tiles.use]; // whether D's row is f
    const [ef, ek] = [tiles.f / tiles.xTiles[0], tiles.k / tiles.xTiles[1]];
    const [wf, wk] = [tiles.f / tiles.yTiles[0], tiles.k / tiles.yTiles[1]];
    const operandRows = operandOf(tiles.use) === "A"; // whether the operand's row is f
    if (side === 0) {
      const [tileF, tileK] = [Math.floor(this.shown[0] / tiles.xTiles[1]), this.shown[0] % tiles.xTiles[1]];
      const f = tileF * ef + (rows ? row : column);
      const k = tileK * ek + (rows ? column : row);
      const [toF, toK] = [relabelF ? relabelF[f] : f, relabel ? relabel[k] : k];
      const tile = Math.floor(toF / wf) * tiles.yTiles[1] + Math.floor(toK / wk);
      const place: Entry = operandRows ? [block, toF % wf, toK % wk] : [block, toK % wk, toF % wf];
      return { tile, element: place };
    }
    const [tileF, tileK] = [Math.floor(this.shown[1] / tiles.yTiles[1]), this.shown[1] % tiles.yTiles[1]];
    const toF = tileF * wf + (operandRows ? row : column);
    const toK = tileK * wk + (operandRows ? column : row);
    const [f, k] = [relabelF ? relabelF.indexOf(toF) : toF, relabel ? relabel.indexOf(toK) : toK];
    const tile = Math.floor(f / ef) * tiles.xTiles[1] + Math.floor(k / ek);
    return { tile, element: rows ? [block, f % ef, k % ek] : [block, k % ek, f % ef] };
  }

  private verdict(side: number, element: Entry): Verdict {
    const { tiles } = this.made!;
    const { tile, element: other } = this.partner(side, element);
    if (tile !== this.shown[1 - side]) return "single";
    const [here, there] = side ? [tiles.target, tiles.source] : [tiles.source, tiles.target];
    return here.foundIn(...element).join() === there.foundIn(...other).join() ? "same" : "lane";
  }

  // --- words ---

  private renderSummary(found: Chain, use: Use, y: Instruction): void {
    const { tiles, kind } = found;
    const { style, instruction, state } = this.app;
    const total = tiles.f * tiles.k * tiles.source.blocks.extent;
    let stay = 0;
    for (const [f, [lane]] of tiles.sourceF.entries()) {
      for (const [k, [more]] of tiles.sourceK.entries()) {
        const to = (found.relabelF ? found.relabelF[f] : f);
        if (lane + more === tiles.targetF[to][0] + tiles.targetK[found.relabel ? found.relabel[k] : k][0]) stay++;
      }
    }
    const sentence = kind === "lane-moves"
      ? `${stay} of ${total} elements are in their lane already; ${total - stay} must change lane`
      : "No element changes its lane";
    const legend: [Verdict, string][] = [["same", "in the same lane"], ["lane", "must change lane"], ["single", "in another tile"]];
    fillWith(this.summary, h("b", {}, sentence), h("span", {}, `${formula(use)}, f ${tiles.f}, k ${tiles.k}: ${SPOKEN[kind]}`),
      ...legend.map(([key, text]) => h("span", { class: "legend" }, h("i", { style: `background:${fill(style, COLOURS[key])}`, "aria-hidden": "true" }), text)));
    const lines: string[] = [];
    if (found.relabel) {
      lines.push(`k is relabelled ${found.pattern || ""}: D\u2019s k in order are the operand\u2019s k ${sequence(found.relabel)}. ` +
        `Load the ${use === "B" || use === "At" ? "rows of X\u2019s A" : "columns of X\u2019s B"} in that order, or Y\u2019s ${operandOf(use) === "A" ? "B" : "A"} with its k in the inverse order.`);
    }
    if (found.exchanges.length || found.lanePermutation.length) {
      const swaps = found.exchanges.map(([item, lane]) => `item bit ${item} with lane bit ${lane}`);
      const turns = found.lanePermutation.map(([from, to]) => `${from} to ${to}`);
      lines.push([swaps.length && `exchange ${swaps.join(", ")}`, turns.length && `permute lane bits ${turns.join(", ")}`].filter(Boolean).join("; ").replace(/^./, (first) => first.toUpperCase()) + ".");
    }
    const wave = state.wave ? ` -w ${state.wave}` : "";
    const command = `mmacalc chain -a ${instruction.architecture.name} ${instruction.name} ${y.name} --use ${use}${state.more.keep === "1" || kind === "lane-moves" ? " --keep-k" : ""}${wave}`;
    fillWith(this.details, ...lines.map((line) => h("p", {}, line)),
      h("p", { class: "quiet" }, "Conversion, instructions and conditions: ", h("code", {}, command), " ",
        h("button", { type: "button", class: "small", click: () => this.app.copy(command, "The command") }, "Copy")));
  }

  /** Mark an element and its partner. */
  private mark(side: number, element: Entry | null): void {
    if (!this.made) return;
    const inside = element && element.every((value, axis) => value < (side ? this.made!.tiles.target : this.made!.tiles.source).placement.shape[axis]);
    if (!element || !inside) {
      this.views.forEach((view) => view.mark([]));
      this.answerLine.textContent = "";
      return;
    }
    const { tile, element: other } = this.partner(side, element);
    const { tiles } = this.made;
    const visible = tile === this.shown[1 - side];
    this.views[side].mark([element]);
    this.views[1 - side].mark(visible ? [other] : []);
    const [d, operand] = side ? [other, element] : [element, other];
    const place = (matrix: Matrix, at: Entry, number: number, count: number) =>
      `${elementText(matrix, ...at)}${count > 1 ? ` of number ${number}` : ""} in lane ${ranges(matrix.foundIn(...at))} ${placeText(matrix.registers, matrix.location(...at))}`;
    const [x, y] = side ? [tile, this.shown[1]] : [this.shown[0], tile];
    this.answerLine.textContent = `${place(tiles.source, d, x, tiles.xTiles[0] * tiles.xTiles[1])} becomes ${place(tiles.target, operand, y, tiles.yTiles[0] * tiles.yTiles[1])}`;
  }
}

/** Numbers in their order, runs as ranges. */
function sequence(numbers: number[]): string {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  const texts = runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  return texts.length > 24 ? `${texts.slice(0, 20).join(" ")} \u2026` : texts.join(" ");
}
