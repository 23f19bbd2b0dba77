/** The page: what it shows is the state, the state is in the link, and every part is drawn from it. */

import type { Catalog, Instruction } from "./catalog.ts";
import { Compare } from "./compare.ts";
import { ChainView } from "./chainView.ts";
import { choice, fillWith, h, select } from "./dom.ts";
import { Explore } from "./explore.ts";
import { help } from "./help.ts";
import type { Host } from "./host.ts";
import { STYLES, type Style } from "./palette.ts";
import { WaitsView } from "./waitsView.ts";
import { MemoryView } from "./memoryView.ts";
import { Matrix } from "./picture.ts";
import { operandScene } from "./pictureScene.ts";
import { Search } from "./search.ts";
import { complete, link, read, shapeOf, type State, type View } from "./state.ts";
import { svg } from "./svg.ts";
import { ONE, placementOf } from "./tile.ts";

const VIEWS: [View, string][] = [["explore", "Explore"], ["compare", "Compare"], ["chain", "Chain"], ["waits", "Wait states"], ["memory", "Memory"]];

interface Pane {
  element: HTMLElement;
  render(): void;
}

export class App implements Host {
  state: State;
  style: Style = STYLES.light;
  private readonly explore: Explore;
  private readonly panes: Partial<Record<View, Pane>>;
  private readonly search: Search;
  private readonly picker = h("span", { class: "picker" });
  private readonly views = h("span");
  private readonly problems = h("div", { class: "problems", role: "status" });
  private readonly toast = h("div", { class: "toast", role: "status" });
  private readonly body = h("div", { class: "body" });
  private readonly header: HTMLElement;
  private readonly dialog = help();
  private made = new Map<string, Matrix>();

  constructor(readonly catalog: Catalog, start: string) {
    const hash = location.hash || `#${start}`;
    const opened = read(hash, catalog);
    this.state = opened.state;
    this.explore = new Explore(this);
    this.panes = { explore: this.explore, compare: new Compare(this), chain: new ChainView(this), waits: new WaitsView(this), memory: new MemoryView(this) };
    this.search = new Search(catalog, "instruction", (name) => this.update({ name, at: null }));
    const button = (text: string, title: string, act: () => void) => h("button", { type: "button", title, click: act }, text);
    this.header = h("header", {},
      h("h1", {}, h("b", {}, "mmacalc"), " layouts"),
      this.picker, this.views,
      h("span", { class: "buttons" },
        button("Copy link", "copy a link to what is shown (l)", () => this.copyLink()),
        button("Save SVG", "save the picture", () => this.saveSvg()),
        h("button", { type: "button", title: "light or dark", "aria-label": "light or dark", click: () => this.turnTheme() }, "\u25d0"),
        h("button", { type: "button", title: "help (?)", "aria-label": "help", click: () => this.dialog.showModal() }, "?")));
    document.body.prepend(this.header, this.problems, this.body, this.toast, this.dialog);
    this.setTheme(remembered() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    this.say(opened.problems);
    this.render();
    addEventListener("hashchange", () => this.open(location.hash));
    addEventListener("keydown", (event) => this.key(event));
    let later = 0;
    new ResizeObserver(() => {
      cancelAnimationFrame(later);
      later = requestAnimationFrame(() => this.drawn());
    }).observe(this.body);
  }

  // --- what is shown ---

  get instruction(): Instruction {
    return this.catalog.instruction(this.catalog.architecture(this.state.arch)!, this.state.name)!;
  }

  get wave(): number {
    return this.instruction.wave(this.state.wave || undefined);
  }

  get statement(): string {
    return this.catalog.statements.get(this.instruction.name)!;
  }

  /** The operands of the instruction, or of a tile of it, under its modifiers. */
  matrices(tile = ONE): Matrix[] {
    const { instruction, state } = this;
    return instruction.operands(this.wave).map((table) => this.matrixOf(instruction, table.name, this.wave, state.fields, tile)!).filter(Boolean);
  }

  /** One operand of an instruction; the same object for the same question, so that what was computed is kept. */
  matrixOf(instruction: Instruction, operand: string, wave: number, fields: Record<string, number>, tile = ONE): Matrix | null {
    const key = [instruction.architecture.name, instruction.name, operand, wave, JSON.stringify([fields, tile])].join(" ");
    const found = this.made.get(key);
    if (found) return found;
    const table = instruction.operand(operand, wave);
    const placement = table && placementOf(table, fields, tile);
    if (!table || !placement) return null;
    if (this.made.size > 200) this.made.clear();
    const matrix = new Matrix(instruction, table, fields, placement, tile);
    this.made.set(key, matrix);
    return matrix;
  }

  /** Show something else; `how` says how much has to be drawn anew. */
  update(change: Partial<State>, how: "all" | "marks" = "all"): void {
    const before = this.state;
    this.state = { ...before, ...change };
    const problems: string[] = [];
    if ((change.arch && change.arch !== before.arch) || (change.name && change.name !== before.name)) this.moved();
    const other = (["arch", "name", "operand", "wave"] as const).some((key) => key in change && change[key] !== before[key]);
    if (other && !change.mark) this.state.mark = [];
    if (change.fields || change.wave || change.tile) this.state.at = this.inside() ? this.state.at : null;
    complete(this.state, this.instruction, problems);
    history.replaceState(null, "", `#${link(this.state, this.catalog)}`);
    if (how === "marks") return;
    this.say(problems);
    this.render();
  }

  /** Another instruction was chosen: keep of the modifiers and the element what it has too. */
  private moved(): void {
    const architecture = this.catalog.architecture(this.state.arch)!;
    if (!this.catalog.instruction(architecture, this.state.name)) {
      const every = this.catalog.instructions(architecture);
      const wanted = this.state.name.split(/[._]/);
      const likeness = (name: string) => name.split(/[._]/).filter((word) => wanted.includes(word)).length;
      this.state.name = every.reduce((best, each) => (likeness(each.name) > likeness(best.name) ? each : best), every[0]).name;
    }
    this.state.fields = {};
    this.state.wave = 0;
    this.state.at = null;
    const names = this.instruction.operands(this.wave).map((operand) => operand.name);
    if (!names.includes(this.state.operand)) this.state.operand = names.includes("D") ? "D" : names[0] ?? this.instruction.elsewhere()[0][0];
  }

  private inside(): boolean {
    const shape = shapeOf(this.state, this.instruction);
    return Boolean(shape && this.state.at?.every((value, axis) => value < shape[axis]));
  }

  /** Show what a link says. */
  open(hash: string): void {
    if (hash.replace(/^#/, "") === link(this.state, this.catalog)) return;
    const { state, problems } = read(hash, this.catalog);
    this.state = state;
    this.say(problems);
    this.render();
  }

  private say(problems: string[]): void {
    fillWith(this.problems, ...problems.map((problem) => h("p", {}, problem)));
  }

  render(): void {
    const { state, instruction } = this;
    const { architecture } = instruction;
    document.body.classList.toggle("embed", state.embed);
    document.title = `${state.operand} of ${instruction.name}, ${architecture.title} \u2013 mmacalc`;
    const options = this.catalog.architectures.map((each): [string, string] => [each.name, each.title]);
    fillWith(this.picker, select("architecture", options, architecture.name, (arch) => this.update({ arch, at: null })), this.search.element);
    this.search.show(architecture, instruction.name);
    fillWith(this.views, choice("view", VIEWS, state.view, (view) => this.update({ view: view as View })));
    const pane = this.pane;
    if (this.body.firstChild !== pane.element) fillWith(this.body, pane.element);
    this.picker.hidden = state.view !== "explore";
    pane.render();
  }

  private get pane(): Pane {
    return this.panes[this.state.view] ?? this.explore;
  }

  /** Draw again in another size. */
  private drawn(): void {
    if (this.pane === this.explore) this.explore.renderMatrix();
    else this.pane.render();
  }

  // --- buttons and keys ---

  private key(event: KeyboardEvent): void {
    const typing = (event.target as HTMLElement).closest("input, select, textarea, dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      "/": () => this.search.input.focus(),
      g: () => this.explore.focusGoTo(),
      "[": () => this.explore.turn(-1),
      "]": () => this.explore.turn(1),
      c: () => this.copy(this.explore.sentence, "The answer"),
      l: () => this.copyLink(),
      "?": () => this.dialog.showModal(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  copyLink(): void {
    this.copy(`${location.href.split("#")[0]}#${link(this.state, this.catalog)}`, "The link");
  }

  copy(text: string, what: string): void {
    if (!text) return;
    const done = () => this.notify(`${what} is in the clipboard.`);
    navigator.clipboard?.writeText(text).then(done, () => this.copyByHand(text, done)) ?? this.copyByHand(text, done);
  }

  private copyByHand(text: string, done: () => void): void {
    const field = h("textarea", { class: "hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    if (document.execCommand("copy")) done();
    field.remove();
  }

  private notify(text: string): void {
    this.toast.textContent = text;
    this.toast.classList.add("shown");
    setTimeout(() => this.toast.classList.remove("shown"), 1800);
  }

  /** The picture as `mmacalc draw` makes it. */
  picture(): string {
    const { state, instruction } = this;
    const matrix = this.matrixOf(instruction, state.operand, this.wave, state.fields, state.view === "explore" ? state.tile : ONE);
    if (!matrix) return "";
    const key = state.by.replace(/^digit:/, "");
    return svg(operandScene(matrix, {
      style: this.style.name, colorBy: matrix.keys.includes(key) ? key : "lane", marks: [...state.mark, ...(state.at ? [state.at] : [])],
      labels: state.zoom === "read", fold: true,
    }));
  }

  private saveSvg(): void {
    const picture = this.picture();
    if (!picture) return;
    const { state } = this;
    const url = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
    const anchor = h("a", { href: url, download: `${state.arch}-${state.name.replace(/[^\w.]+/g, "_")}-${state.operand}.svg` });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  private turnTheme(): void {
    this.setTheme(this.style.name === "dark" ? "light" : "dark");
    try {
      localStorage.setItem("mmacalc-theme", this.style.name);
    } catch {
      // A page from disk may have no storage; the theme is then that of this visit.
    }
    this.render();
  }

  private setTheme(name: string): void {
    this.style = STYLES[name];
    document.documentElement.dataset.theme = name;
  }
}

function remembered(): string | null {
  try {
    const name = localStorage.getItem("mmacalc-theme");
    return name === "light" || name === "dark" ? name : null;
  } catch {
    return null;
  }
}
