/**
 * The source of a kernel around an instruction: Python's template (src/mmacalc/codegen/template.py) with the loads and
 * stores that follow from the layouts, as src/mmacalc/codegen/source.py writes them.
 */

import type { Instruction } from "./catalog.ts";
import type { Fields } from "./data.ts";
import { bare, compare } from "./layout.ts";
import type { Placement } from "./placement.ts";

export type Order = "row" | "col";

/** The source, or why there is none. */
export interface Kernel {
  source: string;
  refused: string;
}

/** A number for the block, the row and the column. */
type Triple = [number, number, number];

interface Digit {
  name: string;
  divisor: number;
  size: number;
  adds: Triple;
}

/** A slot of the lane's registers, and what it adds. */
type Item = [slot: number, ...adds: Triple];

/** An operand as generated code sees it; see src/mmacalc/codegen/fragments.py. */
class Fragment {
  readonly digits: Digit[];
  readonly items: Item[];
  readonly rows: number;
  readonly columns: number;
  private readonly letter: string;

  constructor(readonly name: string, readonly placement: Placement, sparse: boolean, private readonly order: Order) {
    const { layout, merge, chosen, wave } = placement;
    const shared = name === "A" && sparse ? layout.size("p") : 1;
    this.letter = name.toLowerCase();
    const weights = new Map<string, Triple>();
    for (const [at, axis] of placement.axisNames.entries()) {
      const group = layout.groups[layout.axes.indexOf(axis)] ?? [];
      for (const [digit, weight] of layout.strides(group)) {
        const adds: Triple = [0, 0, 0];
        adds[at] = group.includes("p") ? Math.floor((weight * merge) / shared) : weight;
        weights.set(digit, adds);
      }
    }
    if (shared > 1) {
      weights.delete("p");
      weights.set("s", [0, 0, 1]);
    }
    const divisors = layout.strides(layout.places.get("lane")!);
    const warps = layout.places.get("warp") ?? [];
    const lane = [...warps, ...layout.places.get("lane")!].filter((digit) => weights.has(digit));
    this.digits = lane.map((digit) => ({
      name: digit, divisor: warps.includes(digit) ? wave : divisors.get(digit)!, size: layout.size(digit), adds: weights.get(digit)!,
    }));
    this.items = [[0, 0, 0, 0]];
    const names = layout.places.get("item")!.map(bare);
    const slots = layout.strides(names);
    for (const digit of names) {
      const adds = weights.get(digit);
      const values = adds ? [...Array(layout.size(digit)).keys()] : [chosen.get(digit) ?? 0];
      const step = [slots.get(digit)!, ...(adds ?? [0, 0, 0])];
      this.items = this.items.flatMap((item) => values.map((value) => item.map((sum, at) => sum + value * step[at]) as Item));
    }
    this.items.sort(compare);
    [, this.rows, this.columns] = placement.shape;
    this.columns = Math.floor((this.columns * merge) / shared);
  }

  get heading(): string[] {
    const { layout } = this.placement;
    const sizes = [...layout.sizes].map(([digit, size]) => `${digit} = ${size}`).join(", ");
    return [`// ${this.name}: ${layout.text}    (${sizes})`, ...this.digits.map(({ name, divisor, size }) =>
      `const int ${this.letter}_${name} = lane${divisor > 1 ? ` / ${divisor}` : ""} % ${size};`)];
  }

  get slots(): number {
    return Math.floor((this.placement.registers * 32) / Math.max(this.placement.slotBits, 8));
  }

  /** Its registers as operands of inline assembly; `output` stands before the constraint. */
  constraints([, constraint, member]: string[], output: string): string[] {
    const count = member === "element" ? this.slots : this.placement.registers;
    return Array.from({ length: count }, (_, at) => `"${output}${constraint}"(${this.letter}.${member}[${at}])`);
  }

  /** How many items follow one another in memory as in the registers, in aligned runs of equal length. */
  private get run(): number {
    const { items } = this;
    const along = this.order === "row" ? 2 : 1;
    const step = [1, 0, 0, 0];
    step[along + 1] = 1;
    const follows = (item: Item, at: number) => compare(item, items[at - 1].map((sum, place) => sum + step[place])) === 0;
    let length = items.length;
    while (items.length % length || !items.every((item, at) => at % length === 0 || follows(item, at))) length--;
    while (length > 1 && (items.length % length || this.digits.some(({ adds }) => adds[along] % length))) length--;
    return length;
  }

  loads(instruction: string): string[] {
    const { letter, name, placement: { slotBits: bits } } = this;
    const run = this.run;
    const size = (run * bits) / 8;
    const lines: string[] = [];
    for (let first = 0; first < this.items.length; first += run) {
      const [slot] = this.items[first];
      const at = this.address(this.items[first]);
      if (run === 1 && bits >= 8) lines.push(`${letter}.element[${slot}] = ${name}[${at}];`);
      else if (size % 1) {
        throw new Error(`${name} of ${instruction} has elements of ${bits} bits that are not neighbours in memory under order '${this.order}': use order '${this.order === "row" ? "col" : "row"}'`);
      } else if (size % 4) {
        const kind = size === 1 ? "unsigned char" : "unsigned short";
        lines.push(`((${kind} *)&${letter})[${Math.floor((slot * bits) / 8 / size)}] = *(const ${kind} *)(${name} + ${at});`);
      } else {
        const width = Math.min(16, size & -size);
        const kind = width === 4 ? "unsigned int" : `u32x${width / 4}`;
        for (let more = 0; more < size; more += width) {
          const source = `${name} + ${at}${more ? ` + ${(more * 8) / Math.max(bits, 8)}` : ""}`;
          lines.push(`*(${kind} *)&${letter}.word[${(slot * bits) / 32 + more / 4}] = *(const ${kind} *)(${source});`);
        }
      }
    }
    return lines;
  }

  get stores(): string[] {
    return this.items.map((item) => `D[${this.address(item)}] = d.element[${item[0]}];`);
  }

  /** The index of an item's element; of the byte it begins in where elements are narrower. */
  private address([, block, ...place]: Item): string {
    const [across, along] = this.order === "row" ? [0, 1] : [1, 0];
    const extent = this.order === "row" ? this.rows : this.columns;
    const digit = (name: string) => `${this.letter}_${name}`;
    const major = this.digits.map(({ name, adds }): [number, string] => [adds[across + 1] + adds[0] * extent, digit(name)]);
    const minor = this.digits.map(({ name, adds }): [number, string] => [adds[along + 1], digit(name)]);
    const row = total(major, place[across] + block * extent);
    const column = total(minor, place[along]);
    const index = `${row.includes(" ") ? `(${row})` : row} * ld${this.letter}${column === "0" ? "" : ` + ${column}`}`;
    const bits = this.placement.slotBits;
    return bits >= 8 ? index : `(${index}) * ${bits} / 8`;
  }
}

/** A sum as C writes it: 4 * a_g + 1. */
function total(terms: [number, string][], constant: number): string {
  const parts = terms.filter(([weight]) => weight).map(([weight, name]) => (weight === 1 ? name : `${weight} * ${name}`));
  if (constant || !parts.length) parts.push(String(constant));
  return parts.join(" + ");
}

/** A list behind its head, broken into lines of at most so many columns, as src/mmacalc/codegen/lists.py does it. */
function listed(_: string, begin: string, head: string, most: string, indent: string, list: string): string {
  let [found, line] = ["", begin + head];
  for (const part of list.split(", ")) {
    if (line.length + part.length > begin.length + Number(most)) {
      found += `${line.trimEnd()}\n`;
      line = begin + " ".repeat(Number(indent));
    }
    line += `${part}, `;
  }
  return found + line.slice(0, -2);
}

/** The kernel of an instruction, as `mmacalc generate` writes it. */
export function kernel(instruction: Instruction, wave: number, fields: Fields, orders: { A: Order; B: Order }): Kernel {
  const found = instruction.kernel(wave);
  if (!found) return { source: "", refused: "the page makes no kernel of this instruction; ask mmacalc generate" };
  for (const [field, value] of Object.entries(fields)) {
    if (value && !new RegExp(`@\\{${field} (field|hex|bit)`).test(found.template)) {
      return { source: "", refused: `the kernel does not carry out ${field}: leave out ${field}` };
    }
  }
  const fragments = new Map<string, Fragment>();
  for (const name of ["A", "B", "C", "D"] as const) {
    const table = instruction.operand(name, wave) ?? instruction.operand("D", wave);
    const placement = table?.placement(fields);
    if (!placement) return { source: "", refused: "these modifiers do not go together" };
    if (placement.read) return { source: "", refused: `BLGP makes lanes read other lanes' ${name}: leave out blgp` };
    fragments.set(name, new Fragment(name, placement, instruction.has("sparse"), orders[name as "A" | "B"] ?? "row"));
  }
  const name = instruction.name.replace(/^v_/, "").replaceAll("::", "_").replaceAll(".", "_");
  const words: Record<string, unknown> = {
    ...found, name: instruction.name, title: instruction.architecture.title, wave, kernel: name,
    builtin: found.builtin.replace("@{kernel}", name),
  };
  let next = 0;
  const numbers = (count: number) => Array.from({ length: count }, () => `%${next++}`).join(", ");
  const filled = (mark: string): unknown => {
    if (mark in words) return words[mark];
    const [what, part, at] = mark.split(" ");
    const fragment = fragments.get(what)!;
    const carried = fragment && instruction.carried(fragment.placement.format);
    const lines = (each: string[]) => each.join("\n    ");
    switch (part) {
      case "digits": return lines(fragment.heading);
      case "loads": return lines(fragment.loads(instruction.name));
      case "stores": return lines(fragment.stores);
      case "slots": return fragment.slots;
      case "words": return fragment.placement.registers;
      case "type": return carried[0];
      case "outputs": return fragment.constraints(carried, "=").join(", ");
      case "inputs": return fragment.constraints(carried, "").join(", ");
      case "numbers": return `{${numbers(fragment.constraints(carried, "").length)}}`;
      case undefined: return numbers(1);
      case "order": return orders[what as "A" | "B"] === "row" ? "row by row" : "column by column";
      case "bit": return ((fields[what] ?? -1) >> Number(at)) & 1;
      case "hex": return `0x${(fields[what] ?? 0).toString(16)}`;
      default: return fields[what] ?? 0;
    }
  };
  try {
    const text = found.template.replace(/@\{(?!list |end)([^}]*)\}/g, (_, mark: string) => String(filled(mark)));
    return { source: text.replace(/^( *)(.*)@\{list (\d+) (\d+)\}(.*)@\{end\}/gm, listed), refused: "" };
  } catch (error) {
    return { source: "", refused: (error as Error).message };
  }
}
