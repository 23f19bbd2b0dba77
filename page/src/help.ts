/** The help: what is seen, and the keys. */

import { h } from "./dom.ts";

const KEYS: [string, string][] = [
  ["/", "search for an instruction: all words must fit, such as 32x32 f16"],
  ["arrow keys", "move from element to element; with Shift by four; Page Up and Down from block to block; Home and End"],
  ["g", "go to an element (A[3][9], A[1][2].B4) or to a place (v0{35}, v1[31:16]{7}, thread 77 value 5)"],
  ["[ and ]", "the operand before, the next one"],
  ["m, or a click with Shift", "mark the element, or take its mark away; marks stay in the link and in a saved picture"],
  ["c", "copy the answer"],
  ["l", "copy a link to what is shown"],
  ["?", "this help"],
];

export function help(): HTMLDialogElement {
  const dialog = h("dialog", { "aria-label": "help" },
    h("h2", {}, "How to read it"),
    h("p", {}, "A tile is a run of neighbours that lie in one lane; its number is the lane. The strips at the edges are the whole layout: the lane of an element is the lane part of its row plus that of its column, and so is its register. Colour shows the lane: the hue one digit of it, the shade the others."),
    h("p", {}, "Point at an element, a register or a bit box, and the same element is marked everywhere. A click keeps it. Everything that is shown is in the link."),
    h("p", {}, "A tile is the instruction repeated over waves and by each wave, as a kernel does. Lanes are then the threads of all waves."),
    h("h2", {}, "Keys"),
    h("dl", { class: "keys" }, ...KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("form", { method: "dialog" }, h("button", { type: "submit" }, "Close")));
  return dialog;
}
