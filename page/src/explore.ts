/** One instruction: its operands, the matrix and the registers of one of them, modifiers, facts, and its word. */

import { answerOf, parsePlace, spoken, type Answer } from "./answer.ts";
import type { Host } from "./host.ts";
import { choice, fillWith, h, select } from "./dom.ts";
import { foot } from "./foot.ts";
import { KernelView } from "./kernelView.ts";
import { bare, compare } from "./layout.ts";
import { showLane } from "./laneView.ts";
import { MapView } from "./mapView.ts";
import { MatrixView } from "./matrixView.ts";
import { Overview } from "./overview.ts";
import type { ColourOf, Matrix } from "./picture.ts";
import type { Element as Entry } from "./placement.ts";
import { folded } from "./pictureScene.ts";
import { lanesText } from "./places.ts";
import { shapeText } from "./search.ts";
import { notes } from "./strips.ts";
import { TileSettings } from "./tileView.ts";
import { instructionsOf, isTile, shapeOf } from "./tile.ts";

export class Explore {
  readonly element: HTMLElement;
  private readonly map: MapView;
  private readonly matrixView: MatrixView;
  private readonly overview: Overview;
  private readonly tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "operands" });
  private readonly zoom = h("div");
  private readonly pattern = h("div", { class: "pattern mono" });
  private readonly answerLine = h("p", { class: "answer", id: "answer" });
  private readonly because = h("p", { class: "because", id: "because" });
  private readonly card = h("div", { class: "card" });
  private cardHeight = 0;
  private readonly live = h("div", { class: "hidden", "aria-live": "polite" });
  private readonly goTo = h("input", { class: "goto mono", placeholder: "go to A[3][9]", "aria-label": "go to an element, such as A[3][9], or a place, such as v0{35}", spellcheck: "false", autocomplete: "off" });
  private readonly below = h("p", { class: "quiet notes" });
  private readonly modifiers = h("section");
  private readonly tile: TileSettings;
  private readonly colours = h("section");
  private readonly facts = h("section");
  private readonly product = h("h2");
  private readonly caption = h("p", { class: "quiet" });
  private readonly overviewHead = h("h2");
  private readonly overviewZoom = h("div");
  private readonly laneHead = h("h2");
  private readonly lane = h("div", { class: "lanes" });
  private readonly foot = h("div");
  private readonly kernel: KernelView;
  private names = false;
  private matrices: Matrix[] = [];
  private matrix: Matrix | null = null;
  private hovered: { matrix: Matrix; element: Entry } | null = null;
  private hoveredDigit: string | null = null;
  private colourKey = "";
  private colourOf: ColourOf | null = null;

  constructor(private readonly app: Host) {
    const events = {
      hover: (element: Entry | null) => this.hover(this.matrix, element),
      pick: (element: Entry, mark = false) => (mark ? this.toggleMark(element) : this.pick(this.matrix!, element)),
    };
    this.tile = new TileSettings(app);
    this.map = new MapView((name) => app.update({ operand: name, at: null }));
    this.matrixView = new MatrixView("Matrix of the operand. Arrow keys move by one element, with Shift by four; Page Up and Page Down change the block; g goes to an element.", events);
    this.overview = new Overview(events);
    this.matrixView.element.addEventListener("keydown", (event) => this.key(event));
    this.matrixView.element.setAttribute("aria-describedby", "answer");
    this.matrixView.element.id = "matrix-panel";
    const form = h("form", { submit: (event: Event) => { event.preventDefault(); this.go(); } }, this.goTo);
    this.goTo.addEventListener("input", () => this.goTo.setCustomValidity(""));
    const left = h("aside", { class: "side left", "aria-label": "instruction", tabindex: 0 },
      h("section", {}, this.product, this.map.element, this.caption), this.modifiers, this.tile.element, this.colours, this.facts);
    this.card.append(h("div", {}, this.answerLine, this.because), form);
    const middle = h("section", { class: "middle", "aria-label": "matrix" },
      h("div", { class: "bar" }, this.tabs, this.zoom), this.pattern,
      this.card,
      this.matrixView.element, this.below, this.live);
    const right = h("aside", { class: "side right", "aria-label": "registers", tabindex: 0 },
      h("div", { class: "bar" }, this.overviewHead, this.overviewZoom), this.overview.element,
      this.laneHead, this.lane);
    this.kernel = new KernelView(app);
    this.element = h("main", { class: "explore" }, left, middle, right,
      h("div", { class: "footer" }, this.foot, this.kernel.element));
  }

  focus(): void {
    this.matrixView.element.focus();
  }

  focusGoTo(): void {
    this.goTo.focus();
    this.goTo.select();
  }

  /** The sentence that is shown, for the clipboard. */
  get sentence(): string {
    const shown = this.shown();
    return shown ? spoken(answerOf(shown.matrix, shown.element, this.matrices)) : "";
  }

  // --- rendering ---

  render(): void {
    const { state, instruction, wave } = this.app;
    this.hovered = null;
    this.matrices = this.app.matrices(state.tile);
    this.matrix = this.matrices.find((each) => each.name === state.operand) ?? null;
    this.renderTabs();
    fillWith(this.zoom, choice("labels", [["fit", "Overview"], ["read", "Every label"]], state.zoom,
      (zoom) => this.app.update({ zoom: zoom as "fit" | "read" })));
    this.renderSides();
    const { statement } = this.app;
    fillWith(this.foot, foot(instruction, wave, state.fields, this.app.matrices(), state.operand, statement, {
      choose: (operand) => this.app.update({ operand, at: null }),
      copy: (text) => this.app.copy(text, "The instruction"),
    }));
    this.kernel.render();
    this.renderMatrix();
  }

  private renderTabs(): void {
    const { state, instruction } = this.app;
    const same = this.sameCD();
    const tabs = this.matrices.filter((matrix) => !(same && matrix.name === "C")).map((matrix) => {
      const chosen = matrix.name === state.operand || (same && matrix.name === "D" && state.operand === "C");
      const name = same && matrix.name === "D" ? "C, D" : TAB_NAMES[matrix.name] ?? matrix.name;
      return h("button", { type: "button", role: "tab", "aria-selected": chosen ? "true" : "false", "aria-controls": "matrix-panel",
        id: `tab-${matrix.name}`, "data-operand": matrix.name, tabindex: chosen ? 0 : -1,
        click: () => this.app.update({ operand: matrix.name, at: null }),
        keydown: (event: KeyboardEvent) => this.tabKey(event) },
        h("b", {}, name), ` ${extents(matrix)} ${matrix.placement.format}`);
    });
    const elsewhere = instruction.elsewhere().map(([name, why]) =>
      h("button", { type: "button", role: "tab", "aria-selected": state.operand === name ? "true" : "false", "aria-controls": "matrix-panel",
        class: "elsewhere", title: why, tabindex: state.operand === name ? 0 : -1, "data-operand": name,
        click: () => this.app.update({ operand: name, at: null }) }, h("b", {}, name), this.app.instruction.inTensorMemory ? " in shared memory" : " not in registers"));
    fillWith(this.tabs, ...tabs, ...elsewhere);
  }

  private tabKey(event: KeyboardEvent): void {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    this.turn(event.key === "ArrowRight" ? 1 : -1);
    this.tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  /** Go to the next operand, or the one before. */
  turn(by: number): void {
    const names = [...this.tabs.children].map((tab) => (tab as HTMLElement).dataset.operand!);
    const at = [...this.tabs.children].findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    this.app.update({ operand: names[(at + by + names.length) % names.length], at: null });
  }

  /** Whether C lies where D does, without signs of its own, so that one tab shows both. */
  private sameCD(): boolean {
    const [c, d] = ["C", "D"].map((name) => this.matrices.find((matrix) => matrix.name === name));
    return Boolean(c && d && c.placement === d.placement && c.signs.every((sign) => !sign));
  }

  private renderSides(): void {
    const { state, instruction, style } = this.app;
    const [, , , blocks] = instruction.shape;
    const block = state.at?.[0] ?? 0;
    this.product.textContent = instruction.has("move") ? "A moved matrix" : `D = A\u00b7B${this.matrices.some((m) => m.name === "C") ? " + C" : " + D"}`;
    this.map.element.hidden = instruction.has("move") || !this.matrices.length;
    if (!this.map.element.hidden) this.map.show(this.matrices, (matrix) => this.colour(matrix), block, style, state.operand === "C" ? "D" : state.operand);
    const tile = isTile(state.tile) ? `${shapeOf(instruction, state.tile).join("\u00d7")}, of ` : "";
    this.caption.textContent = tile + shapeText(instruction) + (blocks > 1 ? ` at once; block ${block} is shown` : "") + (instruction.has("sparse") ? "; A is 2:4 sparse" : "");
    this.renderModifiers();
    this.tile.render();
    this.renderColours();
    this.renderFacts();
  }

  private renderModifiers(): void {
    const { state, instruction, wave } = this.app;
    const rows: HTMLElement[] = [];
    const { waves } = instruction.architecture;
    if (waves.length > 1) {
      const options = waves.map((size): [string, string] => [String(size), String(size)]);
      rows.push(h("label", { class: "row" }, h("span", { class: "mono" }, "wave"),
        select("wave size", options, String(wave), (value) => this.app.update({ wave: Number(value), at: null }))));
    }
    const table = this.matrix?.table;
    for (const modifier of instruction.modifiers(wave)) {
      const values = modifier.values(state.fields);
      const concerned = table?.fields.includes(modifier.field) || table?.signFields.includes(modifier.field);
      const options = values.map((value): [string, string] => [String(value), `${value}${modifier.names[value] ? " " + modifier.names[value] : ""}`]);
      const now = state.fields[modifier.field] ?? values[0];
      rows.push(h("label", { class: concerned ? "row" : "row pale", title: concerned ? "" : `${modifier.field} does not change where ${state.operand} lies` },
        h("span", { class: "mono" }, modifier.field),
        select(modifier.field, options, String(now), (value) => this.setField(modifier.field, Number(value)))));
    }
    fillWith(this.modifiers, h("h2", {}, "Modifiers"), ...(rows.length ? rows : [h("p", { class: "quiet" }, "It has none.")]));
  }

  private setField(field: string, value: number): void {
    const fields = { ...this.app.state.fields, [field]: value };
    if (field === "cbsz") delete fields.abid; // the values of ABID are those of another CBSZ
    this.app.update({ fields });
  }

  private renderColours(): void {
    const keys = this.matrix?.keys ?? [];
    const now = this.key_();
    const buttons = keys.map((key): [string, string] => [key, key]);
    fillWith(this.colours, h("h2", {}, "Colour shows"),
      choice("colour shows", buttons, now, (key) => this.app.update({ by: key === "lane" || key === this.matrix?.place ? key : `digit:${key}` })));
  }

  private key_(): string {
    const key = this.app.state.by.replace(/^digit:/, "");
    return this.matrix?.keys.includes(key) ? key : "lane";
  }

  private renderFacts(): void {
    const { state, instruction } = this.app;
    const rows: [string, Node | string][] = [["shape", shapeText(instruction)]];
    if (isTile(state.tile)) rows.push(["tile", shapeOf(instruction, state.tile).join("\u00d7")]);
    const operations = instruction.operations * instructionsOf(state.tile);
    if (operations) rows.push(["operations", operations.toLocaleString("en")]);
    const cycles = instruction.cycles(state.fields);
    if (cycles !== null) rows.push([isTile(state.tile) ? "cycles of each instruction" : "cycles", String(cycles)]);
    const same = this.sameCD();
    for (const matrix of this.matrices) {
      if (same && matrix.name === "C") continue;
      const { registers, format } = matrix.placement;
      const name = same && matrix.name === "D" ? "C, D" : TAB_NAMES[matrix.name] ?? matrix.name;
      rows.push([name, `${format}, ${registers} ${matrix.place}${registers > 1 ? "s" : ""}`]);
    }
    if (this.matrix) rows.push(["how sure", badge(this.matrix.table.provenance)]);
    if (cycles !== null && instruction.cyclesProvenance !== this.matrix?.table.provenance) rows.push(["cycles, how sure", badge(instruction.cyclesProvenance)]);
    fillWith(this.facts, h("h2", {}, "Facts"),
      h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      ...instruction.notes.map((note) => h("p", { class: "quiet" }, note)),
      instruction.aliases.length > 0 && h("p", { class: "quiet" }, `also spelt ${instruction.aliases.join(", ")}`));
  }

  private colour(matrix: Matrix): ColourOf {
    const key = this.hoveredDigit ?? this.app.state.by.replace(/^digit:/, "");
    return matrix.colourBy(matrix.keys.includes(key) ? key : "lane");
  }

  /** Lay out and paint the matrix and the registers. */
  renderMatrix(): void {
    const { state, instruction, style } = this.app;
    const matrix = this.matrix;
    this.element.classList.toggle("nothing", !matrix);
    if (!matrix) {
      const why = instruction.elsewhere().find(([name]) => name === state.operand)?.[1] ?? "has no known place with these modifiers";
      fillWith(this.pattern);
      fillWith(this.answerLine, `${state.operand} of ${instruction.name} ${why}.`);
      fillWith(this.because);
      fillWith(this.lane);
      this.below.textContent = "";
      return;
    }
    const key = `${this.hoveredDigit ?? this.key_()}`;
    if (this.colourKey !== key || this.colourOf === null) this.colourKey = key;
    this.colourOf = this.colour(matrix);
    this.renderPattern(matrix);
    this.matrixView.show(matrix, { style, colourOf: this.colourOf, labels: state.zoom === "read", shown: [...state.mark, ...(state.at ? [state.at] : [])], digit: this.key_() });
    const plan = this.matrixView.plan!;
    this.below.textContent = [...folded(matrix, plan.columns, plan.rows), ...notes(matrix)].join("; ");
    const { placement } = matrix;
    this.overviewHead.textContent = `${this.sameCD() && "CD".includes(matrix.name) ? "C, D" : matrix.name}: ${matrix.lanes} ${matrix.placement.ofWave ? "threads" : "lanes"} \u00d7 ${placement.registers} ${matrix.place}${placement.registers > 1 ? "s" : ""}`;
    fillWith(this.overviewZoom, choice("registers", [["fit", "Fit"], ["names", "Names"]], this.names ? "names" : "fit", (value) => {
      this.names = value === "names";
      this.renderMatrix();
    }));
    this.overview.show(matrix, { style, colourOf: this.colourOf, names: this.names });
    this.renderMarks();
    if (state.at) this.matrixView.reveal(state.at);
  }

  /** The pattern, each digit a button that colours by it. */
  private renderPattern(matrix: Matrix): void {
    const { layout } = matrix.placement;
    const [outer, lane, item] = layout.joined.map((names) => names.map(bare));
    const [lanes, items] = [new Set([...outer, ...lane]), new Set(item)];
    const digits = new Set(matrix.axes.flatMap((axis) => axis.digits.map(([name]) => name)));
    const now = this.key_();
    const pieces = layout.text.replace("->", "\u2192").split(/(\w+)/).map((word) => {
      if (!layout.sizes.has(word)) return word;
      const kind = lanes.has(word) ? "lane" : items.has(word) ? "item" : "shared";
      if (!digits.has(word)) return h("span", { class: `digit ${kind}` }, word);
      return h("button", { type: "button", class: `digit ${kind}`, "aria-pressed": word === now ? "true" : "false",
        title: `${word}: ${layout.size(word)} values; colour by it`,
        pointerenter: () => this.colourByDigit(word), pointerleave: () => this.colourByDigit(null),
        click: () => { this.hoveredDigit = null; this.app.update({ by: word === now ? "lane" : `digit:${word}` }); } }, word);
    });
    const sizes = [...layout.sizes].map(([name, size]) => `${name}=${size}`).join(" ");
    if (this.hoveredDigit === null) fillWith(this.pattern, ...pieces, h("span", { class: "sizes quiet" }, sizes));
  }

  private colourByDigit(digit: string | null): void {
    if (this.hoveredDigit === digit) return;
    this.hoveredDigit = digit;
    this.renderMatrix();
  }

  // --- marks and answers ---

  private shown(): { matrix: Matrix; element: Entry } | null {
    if (this.hovered) return this.hovered;
    return this.matrix && this.app.state.at ? { matrix: this.matrix, element: this.app.state.at } : null;
  }

  private hover(matrix: Matrix | null, element: Entry | null): void {
    const next = matrix && element ? { matrix, element } : null;
    const same = next && this.hovered && next.matrix === this.hovered.matrix && next.element.every((v, at) => v === this.hovered!.element[at]);
    if (same || (!next && !this.hovered)) return;
    this.hovered = next;
    this.renderMarks();
  }

  private pick(matrix: Matrix, element: Entry): void {
    this.hovered = null;
    if (matrix.name !== this.app.state.operand) this.app.update({ operand: matrix.name, at: element });
    else this.pin(element);
  }

  private toggleMark(element: Entry): void {
    const others = this.app.state.mark.filter((mark) => compare(mark, element) !== 0);
    const added = others.length === this.app.state.mark.length ? [element] : [];
    this.app.update({ mark: [...others, ...added] }, "marks");
    this.renderMarks();
  }

  /** Choose an element without laying out anew, unless it is folded away. */
  private pin(element: Entry, announce = false): void {
    const visible = this.matrixView.boxOf(element);
    this.app.update({ at: element }, visible ? "marks" : "all");
    if (!visible) return;
    this.matrixView.reveal(element);
    this.renderMarks();
    if (announce) this.live.textContent = this.sentence;
  }

  private renderMarks(): void {
    const matrix = this.matrix;
    if (!matrix) return;
    const shown = this.shown();
    const own = shown && (shown.matrix === matrix || ("CD".includes(shown.matrix.name) && "CD".includes(matrix.name)));
    const chosen = own ? [shown.element] : [];
    const marks = [...this.app.state.mark, ...chosen];
    this.matrixView.mark(marks, chosen);
    this.overview.mark(marks.flatMap((element) => matrix.placement.locate(...element)));
    this.map.mark(shown?.matrix.name ?? "", shown?.element ?? null);
    this.renderAnswer(shown ? answerOf(shown.matrix, shown.element, this.matrices) : null);
    const [place] = shown ? shown.matrix.placement.locate(...shown.element) : [];
    const lane = place?.lane ?? 0;
    const copies = shown ? shown.matrix.foundIn(...shown.element).slice(1) : [];
    const first = shown && !own ? shown.matrix : matrix;
    const head = lanesText(first, [lane]).replace(/^[a-z]/, (letter) => letter.toUpperCase());
    this.laneHead.textContent = `${head} holds${copies.length ? ` (${lanesText(first, copies)} too)` : ""}`;
    const ordered = [first, ...this.matrices.filter((each) => each !== first && !(each.name === "C" && this.sameCD()) && !(first.name === "C" && each.name === "D"))];
    showLane(this.lane, ordered, lane, place ? place.item : -1, this.app.style, {
      hover: (of, element) => this.hoverBox(of, element),
      pick: (of, element) => this.pick(of, element),
    });
  }

  /** A box of the lane is another element of the same lane, so that the boxes stay while the pointer is on them. */
  private hoverBox(matrix: Matrix, element: Entry | null): void {
    if (!element) return;
    this.hovered = null;
    this.matrixView.mark(matrix === this.matrix ? [element] : []);
    if (matrix === this.matrix) this.overview.mark(matrix.placement.locate(...element));
    this.map.mark(matrix.name, element);
    this.renderAnswer(answerOf(matrix, element, this.matrices));
  }

  private renderAnswer(answer: Answer | null): void {
    if (!answer) {
      fillWith(this.answerLine, h("span", { class: "quiet" }, "Point at an element, or move with the arrow keys."));
      fillWith(this.because);
      return;
    }
    fillWith(this.answerLine, h("b", { class: "mono" }, answer.element), " is in ",
      h("b", { class: "mono lane" }, answer.lane), " ", h("b", { class: "mono item" }, answer.register),
      answer.fragment && h("span", { class: "mono quiet" }, ` ${answer.fragment}`));
    fillWith(this.because, answer.because);
    // The card only grows: if it shrank, the matrix below would move away from under the pointer.
    if (this.card.offsetHeight > this.cardHeight) this.card.style.minHeight = `${(this.cardHeight = this.card.offsetHeight)}px`;
  }

  // --- keys ---

  private key(event: KeyboardEvent): void {
    const matrix = this.matrix;
    if (!matrix || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "m" && this.app.state.at) this.toggleMark(this.app.state.at);
    const [block, row, column] = this.app.state.at ?? [0, 0, 0];
    const { blocks, rows, columns } = matrix;
    const step = event.shiftKey ? 4 : 1;
    // One step is a whole place: the values that share it are one cell.
    const moved = (axis: { extent: number; merged: number }, value: number, by: number) => {
      const first = value - (value % axis.merged);
      return Math.max(0, Math.min(axis.extent - axis.merged, first + by * axis.merged));
    };
    const started = this.app.state.at !== null;
    const moves: Record<string, () => Entry> = {
      ArrowUp: () => [block, moved(rows, row, -step), column],
      ArrowDown: () => [block, moved(rows, row, started ? step : 0), column],
      ArrowLeft: () => [block, row, moved(columns, column, -step)],
      ArrowRight: () => [block, row, moved(columns, column, started ? step : 0)],
      PageDown: () => [Math.min(blocks.extent - 1, block + 1), row, column],
      PageUp: () => [Math.max(0, block - 1), row, column],
      Home: () => [block, event.shiftKey ? 0 : row, 0],
      End: () => [block, event.shiftKey ? rows.extent - rows.merged : row, columns.extent - columns.merged],
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    this.hovered = null;
    this.pin(moves[event.key](), true);
    this.live.textContent = this.sentence;
  }

  private go(): void {
    const [first] = this.matrix ? [this.matrix] : [];
    const ordered = [...(first ? [first] : []), ...this.matrices.filter((each) => each !== first)];
    const found = parsePlace(this.goTo.value, ordered);
    if (!found) {
      this.goTo.setCustomValidity("no such element: A[3][9], or a place such as v0{35}, v1[31:16]{7} or thread 77 value 5");
      this.goTo.reportValidity();
      return;
    }
    this.hovered = null;
    if (found.matrix.name !== this.app.state.operand) this.app.update({ operand: found.matrix.name, at: found.element });
    else this.pin(found.element, true);
    this.goTo.value = "";
    this.focus();
  }
}

const TAB_NAMES: Record<string, string> = { K: "index", SA: "scale A", SB: "scale B", P: "addresses" };

/** The shape of an operand; of scales, how many there are. */
function extents(matrix: Matrix): string {
  const blocks = matrix.blocks.extent > 1 ? `${matrix.blocks.extent} \u00d7 ` : "";
  const [rows, columns] = [matrix.rows, matrix.columns];
  if (matrix.merge === 1 && matrix.sharedBy > 1) {
    const axis = rows.merged > 1 ? rows : columns;
    return `${blocks}${rows.extent / rows.merged}\u00d7${columns.extent / columns.merged}, one per ${matrix.sharedBy} ${axis.name},`;
  }
  return `${blocks}${rows.extent}\u00d7${columns.extent}`;
}

const SURE: Record<string, string> = {
  "hardware-verified": "outputs of real hardware agree with it",
  "two sources agree": "two independent public sources agree on it",
  "one source": "one public source says it",
  unconfirmed: "no second public source confirms it",
  assumed: "by analogy with a documented instruction",
};

const badge = (provenance: string): HTMLElement =>
  h("span", { class: `badge ${provenance.replaceAll(" ", "-")}`, title: SURE[provenance] ?? "" }, provenance);
