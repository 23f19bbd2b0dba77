/** The kernel around the instruction that is shown, in a dialog, to read and to copy. */

import type { Host } from "./host.ts";
import { fillWith, h, select } from "./dom.ts";
import { kernel, type Order } from "./kernel.ts";

export class KernelView {
  readonly element: HTMLElement;
  private readonly open = h("button", { type: "button", class: "small", click: () => this.show() });
  private readonly title = h("h2");
  private readonly settings = h("div", { class: "bar" });
  private readonly code = h("code");
  private readonly text = h("pre", { tabindex: 0, role: "group", "aria-label": "source of the kernel" }, this.code);
  private readonly dialog = h("dialog", { class: "kernel", "aria-label": "kernel" }, this.title, this.settings, this.text,
    h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")));
  private readonly orders: { A: Order; B: Order } = { A: "row", B: "col" };

  constructor(private readonly app: Host) {
    this.element = h("div", { class: "kernel" }, this.open, this.dialog);
  }

  render(): void {
    const { instruction } = this.app;
    this.element.hidden = instruction.has("move") || "generate" in instruction.architecture.refused;
    this.open.textContent = `Kernel in ${this.language} \u2026`;
  }

  private get language(): string {
    return this.app.instruction.architecture.registers.language;
  }

  private show(): void {
    this.fill();
    this.dialog.showModal();
  }

  private fill(): void {
    const { instruction, wave, state } = this.app;
    const { source, refused } = kernel(instruction, wave, state.fields, this.orders);
    const choose = (name: "A" | "B") => h("label", {}, `${name} in memory `,
      select(`order of ${name} in memory`, [["row", "row by row"], ["col", "column by column"]], this.orders[name],
        (order) => { this.orders[name] = order as Order; this.fill(); }));
    const copy: HTMLElement | "" = source && h("button", { type: "button", click: () => { // the dialog covers the usual message
      this.app.copy(source, "The kernel");
      (copy as HTMLElement).textContent = "Copied";
    } }, "Copy");
    this.title.textContent = `Kernel in ${this.language}`;
    fillWith(this.settings, choose("A"), choose("B"), copy);
    this.code.textContent = source || `There is no kernel: ${refused}.`;
  }
}
