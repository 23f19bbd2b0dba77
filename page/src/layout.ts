/**
 * A register layout: a pattern such as `i (g e) -> lane (g i), item (e)` with the sizes of its digits, read in both
 * directions. The notation is explained in src/mmacalc/layout/__init__.py; patterns come without unit digits.
 */

export class Layout {
  readonly text: string;
  /** The names of the coordinates: `block` where there are several, then two of i, j, k. */
  readonly axes: string[];
  /** The digits of each coordinate, most significant first. */
  readonly groups: string[][];
  /** The digits of each place (warp, lane, item), as written: a copy is `*r`. */
  readonly places: Map<string, string[]>;
  readonly sizes: Map<string, number>;
  readonly selectors: string[];
  readonly replicated: string[];
  readonly shared: string[];
  /** The place that counts waves (the waves of a tile, the warps of a warpgroup, two fused EUs), "" where there is one. */
  readonly outer: string;
  /** The digits of the places before the lane, of the lane and of the item: what counts through all lanes. */
  readonly joined: [string[], string[], string[]];
  /** Where an axis ends before its digits do. */
  readonly ends: Map<string, number>;

  constructor(text: string, sizes: number[], letters: string, ends: number[] = []) {
    const [left, right] = text.split(" -> ");
    this.text = text;
    this.groups = [...left.matchAll(/\(([^)]*)\)|(\S+)/g)].map((found) => words(found[1] ?? found[2]));
    this.places = new Map([...right.matchAll(/(\w+) \(([^)]*)\)/g)].map((found) => [found[1], words(found[2])]));
    this.axes = this.groups.length === 3 ? ["block", ...letters] : [...letters];
    this.outer = [...this.places.keys()].find((place) => place !== "lane" && place !== "item") ?? "";
    this.ends = new Map([...letters].map((axis, at): [string, number] => [axis, ends[at] ?? 0]).filter(([, end]) => end));
    const names = [...this.places.keys()];
    const before = names.slice(0, Math.max(0, names.indexOf("lane")));
    const digits = (place: string) => this.places.get(place) ?? [];
    this.joined = [before.flatMap(digits), digits("lane"), digits("item")];
    const given = this.groups.flat();
    const placed = [...this.places.values()].flat();
    const named = [...new Set([...given, ...placed.map(bare)])];
    this.sizes = new Map(named.map((name, at) => [name, sizes[at]]));
    this.shared = given.filter((name) => !placed.includes(name));
    this.replicated = placed.filter((name) => name[0] === "*").map(bare);
    this.selectors = placed.filter((name) => name[0] !== "*" && !given.includes(name));
  }

  size(name: string): number {
    return this.sizes.get(bare(name)) ?? 1;
  }

  /** The number of values of a group of digits. */
  span(names: string[]): number {
    return names.reduce((span, name) => span * this.size(name), 1);
  }

  /** The weight of each digit in a group: the product of the sizes to its right. */
  strides(names: string[]): Map<string, number> {
    const found = new Map<string, number>();
    let weight = 1;
    for (const name of [...names].reverse()) {
      found.set(name, weight);
      weight *= this.size(name);
    }
    return found;
  }

  /** For every value of the digits `source`, the sum of those digits at their weight in `target`. */
  table(source: string[], target: string[]): number[] {
    const strides = this.strides(target);
    let table = [0];
    for (const name of source) {
      const stride = strides.get(name) ?? 0;
      const values = Array.from({ length: this.size(name) }, (_, digit) => digit * stride);
      table = table.flatMap((base) => values.map((value) => base + value));
    }
    return table;
  }

  /** What selectors and copies add to the joined places, one row of offsets for each copy, ascending. */
  offsets(chosen: Map<string, number>): number[][] {
    let copies: Map<string, number>[] = [new Map(chosen)];
    for (const name of this.replicated) {
      const values = Array.from({ length: this.size(name) }, (_, value) => value);
      copies = copies.flatMap((digits) => values.map((value) => new Map([...digits, [`*${name}`, value]])));
    }
    const rows = copies.map((digits) =>
      this.joined.map((names) => {
        const strides = this.strides(names);
        return names.reduce((sum, name) => sum + (digits.get(name) ?? 0) * (strides.get(name) ?? 0), 0);
      }),
    );
    return rows.sort((a, b) => compare(a, b));
  }
}

const words = (text: string): string[] => text.split(" ").filter(Boolean);

export const bare = (name: string): string => (name[0] === "*" ? name.slice(1) : name);

/** The order of two rows of numbers, by the first that differs. */
export function compare(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return a[at] - b[at];
  return 0;
}
