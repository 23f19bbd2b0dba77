/** The wait states that two instructions need between them, by how the second depends on the first. */

import type { Host } from "./host.ts";
import type { Instruction } from "./catalog.ts";
import { Picker } from "./compare.ts";
import { fillWith, h } from "./dom.ts";
import { nops, waitTable, type WaitRow } from "./waits.ts";

export class WaitsView {
  readonly element: HTMLElement;
  private readonly pickers: [Picker, Picker];
  private readonly summary = h("div", { class: "summary" });
  private readonly tables = h("div", { class: "tables" });

  constructor(private readonly app: Host) {
    this.pickers = [
      new Picker(app, "first", (arch, name) => app.update({ arch, name, at: null })),
      new Picker(app, "second", (arch, name) => this.choose(arch, name)),
    ];
    this.element = h("main", { class: "compare" },
      h("div", { class: "pickers" }, ...this.pickers.map((picker, at) => h("section", { "aria-label": at ? "second instruction" : "first instruction" }, picker.element))),
      h("div", { class: "card" }, this.summary, this.tables));
  }

  private choose(arch: string, wanted: string): void {
    const { catalog, state } = this.app;
    const architecture = catalog.architecture(arch)!;
    const name = (catalog.instruction(architecture, wanted) ?? catalog.instructions(architecture)[0]).name;
    const first = catalog.instruction(architecture, state.name)?.name ?? name;
    this.app.update({ arch: architecture.name, name: first, other: { arch: architecture.name, name, operand: "" } });
  }

  private second(): Instruction {
    const { state, catalog, instruction } = this.app;
    return (state.other?.arch && catalog.instruction(instruction.architecture, state.other.name)) || instruction;
  }

  render(): void {
    const { catalog, instruction, state } = this.app;
    const second = this.second();
    this.pickers[0].show(instruction, "D", ["D"]);
    this.pickers[1].show(second, "D", ["D"]);
    const fields: Record<string, number> = second.name === instruction.name ? state.fields : {};
    const found = waitTable(catalog, instruction, second, [state.fields, fields]);
    fillWith(this.tables);
    if (typeof found === "string") {
      fillWith(this.summary, found);
      return;
    }
    const meaning = found.unit === "v_nop" ? "Only VALU instructions and v_nop between the two count." : "Each independent instruction between the two counts as one; s_nop N counts as N + 1.";
    fillWith(this.summary, h("b", {}, "Wait states between two instructions"), h("span", {}, meaning));
    const same = second.name === instruction.name ? "the same instruction" : second.name;
    this.tables.append(
      this.table(`${instruction.name}, then ${same} that`, found.matrix, found.unit),
      this.table(`${instruction.name}, then`, found.after, found.unit),
      this.table(`Before ${second.name}`, found.before, found.unit));
  }

  private table(title: string, rows: WaitRow[], unit: string): HTMLElement {
    const head = ["dependency", "states", "instructions", "LLVM", "ISA guide", "source"];
    const cell = (column: number, content: HTMLElement | string, name = "") => h("td", { class: name, "data-column": head[column] }, content);
    const cells = ({ words, answer: [states, llvm, guide, places, instruction] }: WaitRow) => [
      h("th", { scope: "row" }, words), cell(1, h("b", {}, String(states))), cell(2, shortened(nops(states, unit, instruction)), "mono"),
      cell(3, String(llvm)), cell(4, guide === null ? "\u2013" : String(guide)), cell(5, places || "no rule", "places"),
    ];
    return h("div", { class: "scrolled", tabindex: 0, role: "group", "aria-label": title },
      h("table", { class: "waits" }, h("caption", {}, title), h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(row))))));
  }
}

/** `v_nop` four times is written once with its number. */
const shortened = (names: string[]): string => (names.length > 2 ? `${names.length} \u00d7 ${names[0]}` : names.join("; "));
