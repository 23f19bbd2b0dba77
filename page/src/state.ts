/**
 * What the page shows, all of it in the link: `#cdna3/v_mfma_f32_4x4x4_16b_f16/A?cbsz=2&abid=1&at=1,2,1`. People read
 * links before they open them, so names stand as they are and defaults are left out.
 */

import type { Catalog, Instruction } from "./catalog.ts";
import type { Element } from "./placement.ts";
import {
  COUNTS, counts, countsText, isTile, ONE, order, ORDERS, permutations, permutationsText, placementOf, refusalOf, type Counts, type Tile,
} from "./tile.ts";

export type View = "explore" | "compare" | "chain" | "waits" | "memory";

export interface Other {
  arch: string;
  name: string;
  operand: string;
}

export interface State {
  view: View;
  arch: string;
  name: string;
  operand: string;
  /** 0 is the architecture's default. */
  wave: number;
  fields: Record<string, number>;
  /** What is shown: one instruction, or a tile of several. */
  tile: Tile;
  at: Element | null;
  /** Elements that stay marked. */
  mark: Element[];
  /** What colours show: lane, register, or digit:NAME. */
  by: string;
  zoom: "fit" | "read";
  /** The other instruction of compare, chain and waits. */
  other: Other | null;
  /** The view's own settings, such as a tile of a chain. */
  more: Record<string, string>;
  embed: boolean;
}

export const START: State = {
  view: "explore", arch: "cdna3", name: "v_mfma_f32_32x32x8_f16", operand: "D", wave: 0, fields: {}, tile: ONE, at: null, mark: [],
  by: "lane", zoom: "fit", other: null, more: {}, embed: false,
};

const VIEWS: View[] = ["compare", "chain", "waits", "memory"];
const OWN = ["waves", "repeat", "adjacent", "permutation", "at", "mark", "by", "w", "zoom", "embed", ...VIEWS];

/** The link of a state, without the part before #. */
export function link(state: State, catalog: Catalog): string {
  const query: string[] = [];
  const put = (name: string, value: string | number) => query.push(`${name}=${value}`);
  const instruction = find(catalog, state.arch, state.name);
  const waves = instruction?.architecture.waves ?? [];
  if (state.wave && state.wave !== waves[0]) put("w", state.wave);
  for (const [field, value] of Object.entries(state.fields)) if (value) put(field, value);
  for (const name of COUNTS) if (state.tile[name].some((count) => count > 1)) put(name, countsText(state.tile[name]));
  for (const [name, key] of Object.entries(ORDERS)) if (state.tile[key] !== ONE[key]) put(name, state.tile[key]);
  if (permutationsText(state.tile.permutation)) put("permutation", permutationsText(state.tile.permutation));
  const place = (element: Element) => (blocked(instruction) ? element : element.slice(1)).join(",");
  if (state.at) put("at", place(state.at));
  if (state.mark.length) put("mark", state.mark.map(place).join(";"));
  if (state.by !== "lane") put("by", state.by);
  if (state.zoom !== "fit") put("zoom", state.zoom);
  if (state.view !== "explore") {
    put(state.view, state.other ? [state.other.arch, state.other.name, state.other.operand].filter(Boolean).join("/") : "");
  }
  for (const [name, value] of Object.entries(state.more)) if (value) put(name, value);
  if (state.embed) put("embed", 1);
  return `${state.arch}/${state.name}/${state.operand}${query.length ? "?" + query.join("&") : ""}`;
}

const blocked = (instruction: Instruction | undefined): boolean => (instruction?.shape[3] ?? 1) > 1;

function find(catalog: Catalog, arch: string, name: string): Instruction | undefined {
  const architecture = catalog.architecture(arch);
  return architecture && catalog.instruction(architecture, name);
}

/** Read a link; what it says wrong is said in `problems`, and something near it is shown instead. */
export function read(hash: string, catalog: Catalog): { state: State; problems: string[] } {
  const problems: string[] = [];
  const text = decoded(hash.replace(/^#/, ""));
  const [path, query = ""] = text.split("?");
  const [arch = "", name = "", operand = ""] = path.split("/");
  const state: State = { ...START, fields: {}, more: {} };
  if (!path) return { state, problems };
  const architecture = catalog.architecture(arch);
  if (!architecture) problems.push(`There is no architecture “${arch}”.`);
  else {
    state.arch = architecture.name;
    const instruction = catalog.instruction(architecture, name);
    if (!instruction && name) problems.push(`${architecture.title} has no instruction “${name}”.`);
    state.name = (instruction ?? nearest(catalog.instructions(architecture), name)).name;
    if (operand) state.operand = operand.toUpperCase();
  }
  const instruction = find(catalog, state.arch, state.name)!;
  for (const pair of query.split("&").filter(Boolean)) {
    const [key, ...values] = pair.split("=");
    const value = values.join("=");
    setting(state, key, value, instruction, problems);
  }
  complete(state, instruction, problems);
  return { state, problems };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function setting(state: State, key: string, value: string, instruction: Instruction, problems: string[]): void {
  if (key === "w") state.wave = Number(value) || 0;
  else if ((COUNTS as string[]).includes(key)) {
    const found = counts(value);
    if (found) state.tile = { ...state.tile, [key as Counts]: found };
    else problems.push(`“${key}=${value}” should be counts along m, n and perhaps k, such as 2x2.`);
  } else if (key in ORDERS) {
    const found = order(value);
    if (found) state.tile = { ...state.tile, [ORDERS[key as keyof typeof ORDERS]]: found };
    else problems.push(`“${key}=${value}” should be m, n and k, the fastest first, such as nm.`);
  } else if (key === "permutation") {
    const found = permutations(value);
    if (found) state.tile = { ...state.tile, permutation: found };
    else problems.push(`“permutation=${value}” should be CuTe's layout of m, n or k, such as n=(8,2,2):(1,16,8).`);
  } else if (key === "by") state.by = value;
  else if (key === "zoom") state.zoom = value === "read" ? "read" : "fit";
  else if (key === "embed") state.embed = value !== "0";
  else if (key === "at") {
    state.at = element(value);
    if (!state.at) problems.push(`“at=${value}” should be row,column or block,row,column.`);
  } else if (key === "mark") {
    const marked = value.split(";").map(element);
    state.mark = marked.filter((each) => each !== null);
    if (marked.includes(null)) problems.push(`“mark=${value}” should be row,column or block,row,column, several with ; between.`);
  } else if ((VIEWS as string[]).includes(key)) {
    state.view = key as View;
    const [arch = "", name = "", operand = ""] = value.split("/");
    state.other = arch ? { arch, name, operand: operand.toUpperCase() } : null;
  } else if (instruction.modifiers(instruction.wave(state.wave)).some((modifier) => modifier.field === key)) {
    state.fields[key] = Number(value) || 0;
  } else if (/^[a-z_]+$/.test(key) && !OWN.includes(key)) state.more[key] = value; // what a view has of its own
}

/** row,column or block,row,column; null if it is neither. */
function element(text: string): Element | null {
  const numbers = text.split(",").map((part) => (/^\d+$/.test(part) ? Number(part) : NaN));
  if (numbers.some(Number.isNaN) || numbers.length < 2 || numbers.length > 3) return null;
  return (numbers.length === 3 ? numbers : [0, ...numbers]) as Element;
}

/** Put right what does not go together. */
export function complete(state: State, instruction: Instruction, problems: string[]): void {
  const { architecture } = instruction;
  if (state.wave && !architecture.waves.includes(state.wave)) {
    problems.push(`${architecture.title} has no wave${state.wave}; wave${architecture.waves[0]} is shown.`);
    state.wave = 0;
  }
  const wave = instruction.wave(state.wave);
  const fields: Record<string, number> = {};
  for (const modifier of instruction.modifiers(wave)) {
    const values = modifier.values(state.fields);
    const value = state.fields[modifier.field] ?? values[0];
    if (!values.includes(value)) problems.push(`${modifier.field} of ${instruction.name} is ${spoken(values)}, not ${value}.`);
    else if (value !== values[0]) fields[modifier.field] = value;
  }
  state.fields = fields;
  const refusal = tileRefusal(state, instruction, wave, fields);
  if (refusal) {
    problems.push(refusal);
    state.tile = ONE;
  }
  const names = [...instruction.operands(wave).map((operand) => operand.name)];
  const all = [...names, ...instruction.elsewhere().map(([name]) => name)];
  if (!all.includes(state.operand)) {
    if (state.operand !== START.operand) problems.push(`${instruction.name} has no operand ${state.operand}.`);
    state.operand = names.includes("D") ? "D" : names[0] ?? all[0];
  }
  const shape = shapeOf(state, instruction);
  const missing = (element: Element) => !shape || element.some((value, axis) => value >= shape[axis]);
  for (const element of [...(state.at ? [state.at] : []), ...state.mark].filter(missing)) {
    problems.push(`${state.operand} has no element at ${element.slice(1).join(", ")}.`);
  }
  if (state.at && missing(state.at)) state.at = null;
  state.mark = state.mark.filter((element) => !missing(element));
}

function tileRefusal(state: State, instruction: Instruction, wave: number, fields: Record<string, number>): string {
  if (!isTile(state.tile) && COUNTS.every((name) => state.tile[name].every((count) => count === 1))) return "";
  if (state.view !== "explore") return "A tile is shown in Explore; this view is of one instruction.";
  return refusalOf(instruction, wave, fields, state.tile);
}

/** Blocks, rows and columns of the operand that is shown; null where it is in no register. */
export function shapeOf(state: State, instruction: Instruction): Element | null {
  const table = instruction.operand(state.operand, instruction.wave(state.wave));
  return (table && placementOf(table, state.fields, state.tile)?.shape) ?? null;
}

const spoken = (values: number[]): string =>
  values.length > 2 ? `${values[0]} to ${values[values.length - 1]}` : values.join(" or ");

/** The instruction whose name begins most like another. */
function nearest(instructions: Instruction[], name: string): Instruction {
  const shared = (other: string): number => {
    let length = 0;
    while (length < name.length && other[length] === name[length]) length++;
    return length;
  };
  return instructions.reduce((best, each) => (shared(each.name) > shared(best.name) ? each : best), instructions[0]);
}
