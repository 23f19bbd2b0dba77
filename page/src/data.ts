/** The tables of the catalog as src/mmacalc writes them (page_data and its neighbours), and what rows of them mean. */

/** Something that depends on modifiers: the fields, the values of each, and what each combination gives. */
export type Choice<T> = T | [string[], number[][], T[]];

export interface Data {
  version: string;
  statements: string[];
  architectures: [string, string, string, number[], string[], string][];
  texts: string[];
  layouts: [number, number[], string, number[] | 0][];
  /** of each architecture: what a register is called, how one is written and one of 64 bits, whether the elements of a
   * fragment are counted, why there is no instruction word, and the language of kernels */
  registers: RegisterWords[];
  /** of each architecture: the views that have no answer, with the sentence that says why */
  refused: Record<string, string>[];
  /** of Tensor Memory: the lanes of a CTA, how columns are written, the views that have no answer */
  tensor_memory: [number, RegisterWords, Record<string, string>];
  lanes: number[][];
  placements: [number, number, number, number, number, number, number[], number][];
  choices: Choice<number>[];
  signs: [string[], number[][], string[]][];
  operands: [string, number, number, number][];
  elsewhere: [string, string][];
  sets: [number[], number[]][];
  modifiers: [string, number[] | number[][], string[]][][];
  kinds: [number[], number, number[], number[], Choice<number> | null, number[], number, number[], number[]][];
  lines: string[];
  kernels: number[][];
  types: [string, string][];
  calls: [number, string, number[]][];
  /** for each language of kernels: of formats the C type, and how inline PTX takes registers of them, as a constraint
   * of a member of the union; "" stands for all formats that are not listed */
  carried: Record<string, Record<string, [string, string, string]>>;
  contents: [string, number[], string[]][];
  instructions: [string, number, string[], number, number][];
  members: number[][];
  encodings: [string, number, [string, string, string][]][];
  words: [number, string, number, number, Choice<number>][];
  slots: SlotRow[][];
  text: TextModifier[][];
  formats: string[];
  floats: string[];
  rules: BankRule[];
  banks: (Record<"read" | "write", number[]> | null)[];
  wait_rows: Record<"matrix" | "after" | "before", string[]>;
  waits: (Waits | null)[];
  wait_lists: number[][];
  wait_answers: WaitAnswer[];
  wait_sources: string[];
  names: Record<"lds" | "global", Record<"load" | "store", string[]>>[];
  accesses: number[];
  provenances: string[];
  notes: string[];
}

/** states, LLVM's, the ISA guide's (null: it has none), where they have the rules: of `wait_sources`; what stands for the nops or "" */
export type WaitAnswer = [number, number, number | null, number[], string];

/** The wait states of an architecture; see src/mmacalc/page/waits.py. */
export interface Waits {
  unit: string;
  kinds: (number | [number, number, number] | null)[];
  matrix: (number | [number, number])[][];
  after: number[];
  before: number[];
}

/** banks, the lanes of each phase, whether phases merge, ports, provenance, source */
export type BankRule = [number, number[][], number, number, string, string];
/** operand, first register, field, file, registers or [modifier, registers for each of its values] */
export type SlotRow = [string, number, string, string, number | [string, number[]]];
/** modifier, spelling, kind, field of the encoding, value that is not written, names, bits written */
export type TextModifier = [string, string, string, string, number | null, string[], number];

export type RegisterWords = [string, string, string, boolean, string, string];
export type Fields = Readonly<Record<string, number>>;

/** How registers are written: {0} stands for a number, {1} for the next one, {2} for half of it. */
export interface Registers {
  head: string;
  one: string;
  wide: string;
  /** Whether the elements of a lane's fragment have names: a0, a1 ... */
  counted: boolean;
  notEncoded: string;
  /** In which kernels are written around an instruction; "" for none. */
  language: string;
}

export interface Architecture {
  name: string;
  title: string;
  vendor: string;
  registers: Registers;
  refused: Record<string, string>;
  waves: number[];
  aliases: string[];
  unit: string;
}

export interface Modifier {
  field: string;
  /** The values that it takes under other modifiers (those of ABID depend on CBSZ). */
  values(fields: Fields): number[];
  names: string[];
}
