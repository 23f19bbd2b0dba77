/** The instruction word: the text and the bytes of an AMD instruction under its modifiers. */

import type { Fields, SlotRow, TextModifier } from "./data.ts";

export interface BitField {
  name: string;
  /** The manual's bit numbers, such as "14,60:59". */
  bits: string;
  meaning: string;
  value: number;
  width: number;
  /** The operand or the modifier that fills it, "" if neither does. */
  filledBy: string;
}

export interface TextPart {
  text: string;
  /** The operand that it names, "" for the rest. */
  operand: string;
}



export class Word {
  readonly bytes: number;
  readonly encoding: string;
  private readonly pieces: Map<string, [number, number][]>;

  constructor(
    private readonly mnemonic: string,
    private readonly format: [string, number, [string, string, string][]],
    private readonly code: string,
    private readonly slots: SlotRow[],
    private readonly modifiers: TextModifier[],
    /** Why the assembler refuses these values together, "" where it takes them. */
    readonly refused: (fields: Fields) => string,
  ) {
    [this.encoding, this.bytes] = format;
    this.pieces = new Map(format[2].map(([name, bits]) => [name, readBits(bits)]));
  }

  /** The instruction as text, operand by operand, then its modifiers as LLVM writes them. */
  text(fields: Fields): TextPart[] {
    const parts: TextPart[] = [{ text: this.mnemonic + " ", operand: "" }];
    for (const [at, [operand, first, , file, counts]] of this.slots.entries()) {
      if (at) parts.push({ text: ", ", operand: "" });
      const count = Array.isArray(counts) ? counts[1][fields[counts[0]] ?? 0] : counts;
      const text = count === 1 ? `${file}${first}` : `${file}[${first}:${first + count - 1}]`;
      parts.push({ text, operand });
    }
    const written = this.modifiers.map(([field, name, kind, , hidden, names, width]) => {
      const value = fields[field] ?? 0;
      if (value === hidden) return "";
      if (kind === "flag") return ` ${name}`;
      if (kind === "bits") return ` ${name}:[${Array.from({ length: width }, (_, bit) => (value >> bit) & 1).join(",")}]`;
      return ` ${name}:${names.length ? names[value] : value}`;
    });
    return [...parts, { text: written.join(""), operand: "" }];
  }

  /** The bytes as hexadecimal digits, the lowest first, as they lie in memory. */
  hex(fields: Fields): string {
    const bytes = this.code.match(/../g)!.map((digits) => parseInt(digits, 16));
    for (const [field, , , name] of this.modifiers) {
      let left = this.width(name);
      for (const [high, low] of this.pieces.get(name)!) {
        left -= high - low + 1;
        for (let bit = low; bit <= high; bit++) {
          const set = ((fields[field] ?? 0) >> (left + bit - low)) & 1;
          bytes[bit >> 3] = (bytes[bit >> 3] & ~(1 << (bit & 7))) | (set << (bit & 7));
        }
      }
    }
    return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  private width(name: string): number {
    return this.pieces.get(name)!.reduce((sum, [high, low]) => sum + high - low + 1, 0);
  }

  /** Every field with its value. */
  fields(fields: Fields): BitField[] {
    const bytes = this.hex(fields).match(/../g)!.map((digits) => parseInt(digits, 16));
    const filled = new Map<string, string>([
      ...this.slots.map(([operand, , field]): [string, string] => [field, operand]),
      ...this.modifiers.map(([field, , , name]): [string, string] => [name, field]),
    ]);
    return this.format[2].map(([name, bits, meaning]) => {
      let value = 0;
      for (const [high, low] of this.pieces.get(name)!) {
        for (let bit = high; bit >= low; bit--) value = value * 2 + ((bytes[bit >> 3] >> (bit & 7)) & 1);
      }
      return { name, bits, meaning, value, width: this.width(name), filledBy: filled.get(name) ?? "" };
    });
  }

  /** The fields as they lie in the word, from the highest bit down, a field in pieces once for each. */
  rows(fields: Fields): { field: BitField; high: number; low: number; bits: string }[][] {
    const rows: { field: BitField; high: number; low: number; bits: string }[][] = [];
    for (const field of this.fields(fields)) {
      const digits = field.value.toString(2).padStart(field.width, "0");
      let at = 0;
      for (const [high, low] of this.pieces.get(field.name)!) {
        const row = Math.floor(low / 64);
        (rows[row] ??= []).push({ field, high, low, bits: digits.slice(at, at + high - low + 1) });
        at += high - low + 1;
      }
    }
    return rows.map((row) => row.sort((a, b) => b.low - a.low));
  }
}

const readBits = (bits: string): [number, number][] =>
  bits.split(",").map((piece) => {
    const ends = piece.split(":").map(Number);
    return [ends[0], ends[ends.length - 1]];
  });
