/**
 * The catalog as src/mmacalc/page/data.py writes it: tables in which each distinct thing is listed once and
 * referred to by its number. This module reads them; it knows no architecture.
 */

import type { Architecture, Choice, Data, Fields, Modifier, RegisterWords, Registers } from "./data.ts";
import { Layout } from "./layout.ts";
import { Placement } from "./placement.ts";
import { Word } from "./word.ts";

/** What each combination of modifiers gives; null where the values do not go together. */
function chosen<T>(choice: Choice<T>, fields: Fields): T | null {
  if (!Array.isArray(choice)) return choice;
  const [names, values, found] = choice;
  let at = 0;
  for (const [axis, name] of names.entries()) {
    const place = values[axis].indexOf(fields[name] ?? values[axis][0]);
    if (place < 0) return null;
    at = at * values[axis].length + place;
  }
  return found[at];
}

const SIGNS = ["", "-", "|", "-|", "low", "high"];

export class OperandTable {
  constructor(
    private readonly catalog: Catalog,
    readonly name: string,
    private readonly choice: Choice<number>,
    private readonly signChoice: [string[], number[][], string[]] | null,
    readonly provenance: string,
    readonly wave: number,
  ) {}

  /** The modifiers that decide where its elements are. */
  get fields(): string[] {
    return Array.isArray(this.choice) ? this.choice[0] : [];
  }

  /** The modifiers that put signs on what is read. */
  get signFields(): string[] {
    return this.signChoice ? this.signChoice[0] : [];
  }

  /** Every combination of the modifiers that decide where its elements are. */
  combinations(): Fields[] {
    if (!Array.isArray(this.choice)) return [{}];
    let found: Record<string, number>[] = [{}];
    for (const [at, name] of this.choice[0].entries()) {
      const values = this.choice[1][at];
      found = found.flatMap((fields) => values.map((value) => ({ ...fields, [name]: value })));
    }
    return found;
  }

  /** Where its elements are under modifiers; null if their values do not go together. */
  placement(fields: Fields): Placement | null {
    const number = chosen(this.choice, fields);
    return number === null || number < 0 ? null : this.catalog.placement(number, this.wave);
  }

  /** The sign under which what lies at a bit of a register is read: "", "-", "|", "-|", "low" or "high". */
  sign(fields: Fields, lsb: number): string {
    const found = this.signChoice && chosen(this.signChoice as Choice<string>, fields);
    return found ? SIGNS[Number(found[lsb >= 16 ? 1 : 0])] : "";
  }
}

export class Instruction {
  readonly shape: [number, number, number, number];
  readonly formats: Record<string, string>;
  readonly words: string[];
  readonly notes: string[];
  readonly cyclesProvenance: string;
  private readonly sets: number[];
  private readonly modifierTables: number[];
  private readonly cycleChoice: Choice<number> | null;
  private readonly words_: number[];
  private readonly calls: number[];

  constructor(
    private readonly catalog: Catalog,
    readonly architecture: Architecture,
    readonly name: string,
    kind: number,
    readonly aliases: string[],
  ) {
    const [shape, contents, sets, modifiers, cycles, notes, provenance, words, calls] = catalog.data.kinds[kind];
    this.shape = shape as [number, number, number, number];
    const [operands, formats, texts] = catalog.data.contents[contents];
    this.formats = Object.fromEntries(formats.map((format, at) => [operands.split(" ")[at], catalog.data.formats[format]]));
    this.words = texts;
    this.sets = sets;
    this.modifierTables = modifiers;
    this.cycleChoice = cycles;
    this.words_ = words;
    this.calls = calls;
    this.notes = notes.map((note) => catalog.data.notes[note]);
    this.cyclesProvenance = catalog.data.provenances[provenance];
  }

  has(word: string): boolean {
    return this.words.includes(word);
  }

  /** The wave size meant: the default where there is no such one. */
  wave(given: number | undefined): number {
    return given !== undefined && this.architecture.waves.includes(given) ? given : this.architecture.waves[0];
  }

  private waveIndex(wave: number): number {
    return Math.max(0, this.architecture.waves.indexOf(wave));
  }

  /** Its operands whose elements have known places in registers. */
  operands(wave: number): OperandTable[] {
    const { data } = this.catalog;
    return data.sets[this.sets[this.waveIndex(wave)]][0].map((number) => {
      const [name, choice, signs, provenance] = data.operands[number];
      const table = signs < 0 ? null : data.signs[signs];
      return new OperandTable(this.catalog, name, data.choices[choice], table, data.provenances[provenance], wave);
    });
  }

  operand(name: string, wave: number): OperandTable | undefined {
    return this.operands(wave).find((operand) => operand.name === name);
  }

  /** Its operands that are in no register, each with the reason. */
  elsewhere(): [string, string][] {
    const { data } = this.catalog;
    return data.sets[this.sets[0]][1].map((number) => data.elsewhere[number]);
  }

  modifiers(wave: number): Modifier[] {
    return this.catalog.data.modifiers[this.modifierTables[this.waveIndex(wave)]].map(([field, values, names]) => ({
      field,
      names,
      values: (fields) => (Array.isArray(values[0]) ? ((values[fields.cbsz ?? 0] ?? [0]) as number[]) : (values as number[])),
    }));
  }

  cycles(fields: Fields): number | null {
    return this.cycleChoice === null ? null : chosen(this.cycleChoice, fields);
  }

  /** How it is encoded, null where that is not known. */
  word(wave: number): Word | null {
    const { data } = this.catalog;
    const number = this.words_[this.waveIndex(wave)];
    if (number < 0) return null;
    const [encoding, code, slots, text, refusal] = data.words[number];
    const refused = (fields: Fields) => data.notes[chosen(refusal, fields) ?? -1] ?? "";
    return new Word(this.name, data.encodings[encoding], code, data.slots[slots], data.text[text], refused);
  }

  /** The template of a kernel around it, and texts for its marks; null where there is none. */
  kernel(wave: number): { template: string; builtin: string; [mark: string]: string } | null {
    const { data } = this.catalog;
    const number = this.calls[this.waveIndex(wave)];
    if (number < 0) return null;
    const [kernel, builtin, values] = data.calls[number];
    const types = values.map((type) => data.types[type]);
    const declared = new Set(types.map(([, declaration]) => declaration && `${declaration}\n`));
    return {
      template: data.kernels[kernel].map((line) => data.lines[line]).join("\n"), builtin,
      typedefs: [...declared].sort().join(""),
      ...Object.fromEntries(types.map(([type], at) => [`${"ABCD"[at]} value`, type])),
    };
  }

  /** How kernels carry elements of a format: the C type, the constraint of registers, the member of the union. */
  carried(format: string): [string, string, string] {
    const formats = this.catalog.data.carried[this.architecture.registers.language];
    return formats[format] ?? formats[""];
  }

  /** Whether its operands are in Tensor Memory, and its shape is a choice. */
  get inTensorMemory(): boolean {
    return this.has(TENSOR_MEMORY);
  }

  /** Operations of one instruction; 0 for one that only moves a matrix or whose M and N are chosen. */
  get operations(): number {
    const [m, n, k, blocks] = this.shape;
    return this.has("move") || this.inTensorMemory ? 0 : 2 * m * n * k * blocks;
  }
}

const TENSOR_MEMORY = "tensor memory";

const registers = ([head, one, wide, counted, notEncoded, language]: RegisterWords): Registers =>
  ({ head, one, wide, counted, notEncoded, language });

export class Catalog {
  readonly architectures: Architecture[];
  readonly floats: Set<string>;
  private readonly rows: { name: string; kind: number; aliases: string[]; members: number[] }[] = [];
  /** What follows the name of each instruction in PTX. */
  readonly statements = new Map<string, string>();
  private readonly layouts: (Layout | undefined)[] = [];
  private readonly placements = new Map<string, Placement>();
  private readonly listed = new Map<string, Instruction[]>();

  constructor(readonly data: Data) {
    this.architectures = data.architectures.map(([name, title, vendor, waves, aliases, unit], at) =>
      ({ name, title, vendor, waves, aliases, unit, registers: registers(data.registers[at]), refused: data.refused[at] }));
    this.floats = new Set(data.floats);
    for (const [name, kind, aliases, members, statement] of data.instructions) {
      this.statements.set(name, data.statements[statement]);
      this.rows.push({ name, kind, aliases, members: data.members[members] });
    }
  }

  /** An architecture by its name or an alias. */
  architecture(name: string): Architecture | undefined {
    const lower = name.toLowerCase();
    return this.architectures.find((one) => one.name === lower || one.aliases.includes(lower));
  }

  /** The instructions of an architecture. */
  instructions(architecture: Architecture): Instruction[] {
    let found = this.listed.get(architecture.name);
    if (!found) {
      const number = this.architectures.indexOf(architecture);
      found = this.rows
        .filter((row) => row.members.includes(number))
        .map((row) => new Instruction(this, this.placesOf(architecture, row.kind), row.name, row.kind, row.aliases));
      this.listed.set(architecture.name, found);
    }
    return found;
  }

  /** The architecture as an instruction of that kind sees it: in Tensor Memory, lanes are those of a CTA. */
  private placesOf(architecture: Architecture, kind: number): Architecture {
    const { kinds, contents, tensor_memory: [lanes, words, refused] } = this.data;
    if (!contents[kinds[kind][1]][2].includes(TENSOR_MEMORY)) return architecture;
    return { ...architecture, waves: [lanes], registers: registers(words), refused };
  }

  /** An instruction by its name or an alias. */
  instruction(architecture: Architecture, name: string): Instruction | undefined {
    const lower = name.toLowerCase();
    const every = this.instructions(architecture);
    return (
      every.find((one) => one.name === name) ??
      every.find((one) => one.name.toLowerCase() === lower || one.aliases.includes(lower))
    );
  }

  layout(number: number): Layout {
    const [text, sizes, letters, ends] = this.data.layouts[number];
    return (this.layouts[number] ??= new Layout(this.data.texts[text], sizes, letters, ends || []));
  }

  placement(number: number, wave: number): Placement {
    const key = `${number} ${wave}`;
    let found = this.placements.get(key);
    if (!found) {
      const [layoutNumber, slotBits, offset, bits, merge, format, values, lanes] = this.data.placements[number];
      const layout = this.layout(layoutNumber);
      const fields = new Map(layout.selectors.map((name, at) => [name, values[at]]));
      const read = lanes < 0 ? null : this.data.lanes[lanes];
      const { formats } = this.data;
      found = new Placement(layout, wave, slotBits, offset, bits, merge, formats[format], fields, read);
      this.placements.set(key, found);
    }
    return found;
  }
}
