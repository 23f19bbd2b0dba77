/** The instruction as it is written and encoded, with the parts that belong to the chosen operand. */

import type { Instruction } from "./catalog.ts";
import type { Fields } from "./data.ts";
import { h } from "./dom.ts";
import type { Matrix } from "./picture.ts";
import type { TextPart } from "./word.ts";

export interface FootEvents {
  choose(operand: string): void;
  copy(text: string): void;
}

export function foot(
  instruction: Instruction, wave: number, fields: Fields, matrices: Matrix[], chosen: string, statement: string,
  events: FootEvents,
): HTMLElement {
  const word = instruction.word(wave);
  const parts = word ? word.text(fields) : ptx(instruction.name, statement, fields, matrices);
  const text = parts.map((part) => part.text).join("");
  const shown = parts.map(({ text: part, operand }) => operand
    ? h("button", { type: "button", class: "operand", "aria-pressed": same(operand, chosen) ? "true" : "false",
      title: `show ${operand}`, click: () => events.choose(operand) }, part)
    : part);
  const copy = h("button", { type: "button", class: "small", click: () => events.copy(text) }, "Copy");
  const line = h("div", { class: "statement" }, h("code", {}, ...shown), copy);
  if (!word) {
    const why = instruction.architecture.registers.notEncoded;
    return h("footer", { class: "foot" }, line, h("p", { class: "quiet" }, why));
  }
  const refused = word.refused(fields);
  if (refused) {
    line.append(h("span", { class: "warning" }, `The assembler refuses this: ${refused}.`));
    return h("footer", { class: "foot" }, line);
  }
  const bytes = word.hex(fields).match(/../g)!.join(" ");
  line.append(h("span", { class: "quiet" }, `${word.encoding}, ${word.bytes} bytes: `, h("code", { class: "bytes" }, bytes)));
  const rows = word.rows(fields).reverse().map((row) => h("div", { class: "word" }, ...row.map(({ field, high, low, bits }) => {
    const kind = field.filledBy && same(field.filledBy, chosen) ? "chosen" : field.filledBy in fieldsOf(instruction, wave) ? "modifier" : "";
    return h("div", { class: `field ${kind}`, style: `flex-grow:${bits.length}`,
      title: `${field.name} [${field.bits}] = ${field.value}: ${field.meaning}` },
      h("b", {}, field.name), h("code", {}, bits),
      h("span", { class: "ends" }, h("span", {}, String(high)), high > low && h("span", {}, String(low))));
  })));
  const scroller = h("div", { class: "words", tabindex: 0, role: "group", "aria-label": "instruction word" }, ...rows);
  return h("footer", { class: "foot" }, line, scroller);
}

const same = (operand: string, chosen: string): boolean =>
  operand === chosen || (operand === "D" && chosen === "C") || (operand === "C" && chosen === "D");

const fieldsOf = (instruction: Instruction, wave: number): Record<string, true> =>
  Object.fromEntries(instruction.modifiers(wave).map(({ field }) => [field, true]));

const MOST_NAMED = 8;
/** What PTX calls the operands that are no matrix of the product. */
const PTX_NAMES: Record<string, string> = { K: "e", SA: "scale-a", SB: "scale-b", P: "p" };

/** A PTX statement: operands as lists of registers, constants as their values. */
function ptx(name: string, statement: string, fields: Fields, matrices: Matrix[]): TextPart[] {
  const parts: TextPart[] = [{ text: name, operand: "" }];
  for (const [at, piece] of statement.split(/<([^>]+)>/).entries()) {
    if (at % 2 === 0) parts.push({ text: piece, operand: "" });
    else if (piece[0] === "=") parts.push({ text: String(fields[piece.slice(1)] ?? 0), operand: "" });
    else {
      const matrix = matrices.find((each) => each.name === piece);
      const letter = PTX_NAMES[piece] ?? piece.toLowerCase();
      parts.push({ text: matrix ? list(letter, matrix) : letter, operand: matrix ? piece : "" });
    }
  }
  return parts;
}

function list(letter: string, { placement }: Matrix): string {
  const count = placement.slot(0, 0).width === 64 ? placement.registers / 2 : placement.registers;
  if (letter.length > 1 || "ep".includes(letter)) return `%${letter}`;
  const names = Array.from({ length: count }, (_, at) => `%${letter}${at}`);
  const shown = count > MOST_NAMED ? [names[0], "\u2026", names[count - 1]] : names;
  return `{${shown.join(", ")}}`;
}
