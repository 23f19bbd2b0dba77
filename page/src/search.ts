/** Search for an instruction: a combobox whose words must all fit name, shape, formats or properties. */

import type { Catalog, Instruction } from "./catalog.ts";
import type { Architecture } from "./data.ts";
import { fillWith, h } from "./dom.ts";

const MOST = 200;

/** Everything that a search may name, lower case: the name, its aliases, shape, formats, properties. */
function haystack(instruction: Instruction): string {
  const [m, n, k, blocks] = instruction.shape;
  const other: Record<string, string> = { e4m3: "fp8", e5m2: "bf8", e2m3: "fp6", e3m2: "bf6", e2m1: "fp4",
    e4m3fnuz: "fp8", e5m2fnuz: "bf8" };
  const formats = Object.values(instruction.formats).flatMap((format) => [format, other[format] ?? ""]);
  const shape = `${m}x${n}x${k} ${m}x${n} m${m}n${n}k${k}${blocks > 1 ? ` x${blocks} ${blocks}b` : ""}`;
  return [instruction.name, ...instruction.aliases, shape, ...formats, ...instruction.words].join(" ").toLowerCase();
}

export const shapeText = (instruction: Instruction): string => {
  const [m, n, k, blocks] = instruction.shape;
  if (instruction.inTensorMemory) return `M\u00d7N\u00d7${k}`;
  return `${m}\u00d7${n}\u00d7${k}${blocks > 1 ? ` \u00d7${blocks}` : ""}`;
};

/** The instructions of an architecture that all words of a query fit. */
export function matching(catalog: Catalog, architecture: Architecture, query: string): Instruction[] {
  const words = query.toLowerCase().replaceAll("\u00d7", "x").split(/\s+/).filter(Boolean);
  return catalog.instructions(architecture).filter((instruction) => {
    const text = haystack(instruction);
    return words.every((word) => text.includes(word));
  });
}

let count = 0;

export class Search {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly list: HTMLUListElement;
  private readonly status = h("span", { class: "hidden", role: "status" });
  private architecture: Architecture | null = null;
  private chosen = "";
  private found: Instruction[] = [];
  private active = -1;

  constructor(private readonly catalog: Catalog, label: string, private readonly pick: (name: string) => void) {
    const id = `search-${count++}`;
    this.list = h("ul", { id, role: "listbox", "aria-label": label, hidden: true });
    this.input = h("input", { type: "text", role: "combobox", "aria-label": label, "aria-expanded": "false",
      "aria-controls": id, "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false",
      focus: () => { this.input.select(); this.open(""); },
      blur: () => this.close(),
      input: () => this.open(this.input.value),
      keydown: (event: KeyboardEvent) => this.key(event) });
    this.element = h("div", { class: "search" }, this.input, this.list, this.status);
  }

  show(architecture: Architecture, name: string): void {
    this.architecture = architecture;
    this.chosen = name;
    if (document.activeElement !== this.input) this.input.value = name;
  }

  private open(query: string): void {
    if (!this.architecture) return;
    this.found = matching(this.catalog, this.architecture, query);
    const shown = this.found.slice(0, MOST);
    this.active = query ? (shown.length ? 0 : -1) : shown.findIndex((one) => one.name === this.chosen);
    const more = this.found.length - shown.length;
    fillWith(this.list, ...shown.map((one, at) =>
      h("li", { id: `${this.list.id}-${at}`, role: "option", "aria-selected": at === this.active ? "true" : "false",
        pointerdown: (event: Event) => { event.preventDefault(); this.take(at); } },
        h("span", { class: "mono" }, one.name), h("span", { class: "quiet" }, shapeText(one)))),
      more > 0 && h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "quiet" },
        `${more} more; type to narrow`),
      !shown.length && h("li", { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "quiet" },
        "none fits; try 32x32, f16, sparse, scaled"));
    this.status.textContent = `${this.found.length} instructions`;
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.activate(this.active);
  }

  private close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.input.value = this.chosen;
  }

  private activate(at: number): void {
    const options = [...this.list.children];
    options.forEach((option, place) => option.setAttribute("aria-selected", place === at ? "true" : "false"));
    this.active = at;
    if (at >= 0 && options[at]) {
      this.input.setAttribute("aria-activedescendant", options[at].id);
      options[at].scrollIntoView({ block: "nearest" });
    }
  }

  private key(event: KeyboardEvent): void {
    const last = Math.min(this.found.length, MOST) - 1;
    if (event.key === "ArrowDown") this.activate(Math.min(last, this.active + 1));
    else if (event.key === "ArrowUp") this.activate(Math.max(0, this.active - 1));
    else if (event.key === "Enter" && this.active >= 0) this.take(this.active);
    else if (event.key === "Escape") this.input.blur();
    else return;
    event.preventDefault();
  }

  private take(at: number): void {
    const found = this.found[at];
    if (!found) return;
    this.chosen = found.name;
    this.input.blur();
    this.pick(found.name);
  }
}
