/** The colours of pictures: src/mmacalc/drawing/scene.py. */

/** A colour before it is one: which ramp, and how far along it (0 to 1). */
export interface Colour {
  hue: number;
  shade: number;
}

export interface Style {
  name: string;
  ramps: [string, string][];
  paper: string;
  ink: string;
  text: string;
  quiet: string;
  strip: string;
  empty: string;
  mark: string;
  onMark: string;
  frame: string;
}

const GREYS = ["#ffffff", "#e0e0e0", "#c7c7c7", "#adadad"];

export const STYLES: Record<string, Style> = {
  light: {
    name: "light",
    ramps: [["#bcd1fd", "#6e93e2"], ["#f3c898", "#c58633"], ["#b8f9d8", "#57c394"], ["#fcdef0", "#d096bb"]],
    paper: "#ffffff", ink: "#14161a", text: "#14161a", quiet: "#565d68", strip: "#e8ebf0", empty: "#f1f2f5",
    mark: "#111418", onMark: "#ffffff", frame: "",
  },
  dark: {
    name: "dark",
    ramps: [["#1b3268", "#42629f"], ["#4a2e08", "#7c5f3b"], ["#04583d", "#2b7f5d"], ["#57485a", "#806a86"]],
    paper: "#15181c", ink: "#ffffff", text: "#f2f4f7", quiet: "#a9b1bd", strip: "#2b2f37", empty: "#1e2228",
    mark: "#ffffff", onMark: "#111418", frame: "",
  },
  print: {
    name: "print",
    ramps: GREYS.map((grey) => [grey, grey]),
    paper: "#ffffff", ink: "#000000", text: "#000000", quiet: "#333333", strip: "#f2f2f2", empty: "#ffffff",
    mark: "#000000", onMark: "#ffffff", frame: "#666666",
  },
};

const channels = (colour: string): number[] => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** The colour of a hue and shade: a straight line between the ends of its ramp, in sRGB; that of nothing if hue < 0. */
export function fill(style: Style, colour: Colour): string {
  if (colour.hue < 0) return style.empty;
  const [first, last] = style.ramps[colour.hue].map(channels);
  const mixed = first.map((low, at) => Math.floor(low + (last[at] - low) * colour.shade + 0.5));
  return "#" + mixed.map((value) => value.toString(16).padStart(2, "0")).join("");
}
