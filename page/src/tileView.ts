/** The settings of a tile: how many waves, how many instructions of each, and in which order they are counted. */

import { choice, fillWith, h } from "./dom.ts";
import type { Host } from "./host.ts";
import { COUNTS, counts, countsText, isTile, ONE, permutations, permutationsText, shapeOf, sizeText, type Counts } from "./tile.ts";

const TITLES: Record<Counts, string> = {
  waves: "waves along m, n and k, such as 2x2",
  repeat: "instructions of each wave along m, n and k, such as 2x4",
  adjacent: "how many of a wave's instructions are neighbours, such as 1x2",
};
/** CuTe counts along m first, Triton along n. */
const FIRST: [string, string][] = [["mnk", "m first"], ["nmk", "n first"]];

export class TileSettings {
  readonly element = h("section");

  constructor(private readonly app: Host) {}

  render(): void {
    const { state, instruction, wave } = this.app;
    const { tile } = state;
    if (instruction.inTensorMemory || instruction.has("move") || instruction.architecture.refused.tile) {
      return fillWith(this.element);
    }
    const rows = COUNTS.filter((name) => name !== "adjacent" || tile.repeat.some((count) => count > 1)).map((name) => this.row(name));
    const shown = isTile(tile);
    fillWith(this.element, h("h2", {}, "Tile"), ...rows,
      shown && h("p", { class: "quiet" }, `${shapeOf(instruction, tile).join("\u00d7")}: ${sizeText(instruction, wave, tile)}`),
      shown && this.orderRow("wave order", "waveOrder"), shown && this.orderRow("repeat order", "repeatOrder"),
      shown && this.permutationRow(),
      shown && h("button", { type: "button", class: "small", click: () => this.app.update({ tile: ONE }) }, "One instruction"));
  }

  private row(name: Counts): HTMLElement {
    const { tile } = this.app.state;
    const input = h("input", { class: "mono count", value: countsText(tile[name]), title: TITLES[name], spellcheck: "false", autocomplete: "off",
      "aria-label": `${name} of the tile`, input: () => input.setCustomValidity(""), change: () => {
        const found = counts(input.value);
        if (found) return this.app.update({ tile: { ...tile, [name]: found, ...(name === "repeat" && { adjacent: ONE.adjacent }) } });
        input.setCustomValidity(`${TITLES[name]}: whole numbers with x between`);
        input.reportValidity();
      } });
    return h("label", { class: "row" }, h("span", { class: "mono" }, name), input);
  }

  private permutationRow(): HTMLElement {
    const { tile } = this.app.state;
    const title = "CuTe's permutations of m, n or k, such as n=(8,2,2):(1,16,8); several with ; between";
    const input = h("input", { class: "mono count", value: permutationsText(tile.permutation), title, spellcheck: "false", autocomplete: "off",
      "aria-label": "permutation of the tile", input: () => input.setCustomValidity(""), change: () => {
        const found = permutations(input.value);
        if (found) return this.app.update({ tile: { ...tile, permutation: found } });
        input.setCustomValidity(title);
        input.reportValidity();
      } });
    return h("label", { class: "row" }, h("span", { class: "mono" }, "permutation"), input);
  }

  private orderRow(label: string, key: "waveOrder" | "repeatOrder"): HTMLElement {
    const { tile } = this.app.state;
    return h("div", { class: "row" }, h("span", { class: "mono" }, label),
      choice(label, FIRST, tile[key], (order) => this.app.update({ tile: { ...tile, [key]: order } })));
  }
}
