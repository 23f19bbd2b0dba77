/** What a view may ask of the page that holds it, so that no view imports the page. */

import type { Catalog, Instruction } from "./catalog.ts";
import type { Style } from "./palette.ts";
import type { Matrix } from "./picture.ts";
import type { State } from "./state.ts";
import type { Tile } from "./tile.ts";

export interface Host {
  readonly catalog: Catalog;
  readonly state: State;
  readonly style: Style;
  readonly instruction: Instruction;
  readonly wave: number;
  readonly statement: string;
  matrices(tile?: Tile): Matrix[];
  matrixOf(instruction: Instruction, operand: string, wave: number, fields: Record<string, number>, tile?: Tile): Matrix | null;
  update(change: Partial<State>, how?: "all" | "marks"): void;
  copy(text: string, what: string): void;
}
