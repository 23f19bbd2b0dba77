/** A scene as SVG, to the byte what src/mmacalc/drawing/scene.py writes. */

import type { Scene, Shape } from "./scene.ts";

const FACES = "Inter,Segoe UI,Helvetica Neue,DejaVu Sans,Arial,sans-serif";
const MONO = "SF Mono,Cascadia Mono,Consolas,DejaVu Sans Mono,monospace";

/** A coordinate with at most two decimals, rounded half up. */
function number(value: number): string {
  const hundredths = Math.floor(value * 100 + 0.5);
  const whole = Math.abs(hundredths);
  const rest = String(whole % 100).padStart(2, "0").replace(/0+$/, "");
  return `${hundredths < 0 ? "-" : ""}${Math.floor(whole / 100)}${rest && "." + rest}`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text for XML, in ASCII. */
const escaped = (text: string): string =>
  [...text.replace(/[&<>"]/g, (found) => ENTITIES[found])]
    .map((character) => (character < "\u0080" ? character : `&#${character.codePointAt(0)};`))
    .join("");

export function svg(scene: Scene): string {
  const body = scene.layers.map(layer).join("");
  const mark = hash(scene.title + scene.description + body);
  const [width, height] = [number(scene.width), number(scene.height)];
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
    `style="max-width:100%;height:auto" role="img" aria-labelledby="t${mark} d${mark}" font-family="${FACES}">` +
    `<title id="t${mark}">${escaped(scene.title)}</title><desc id="d${mark}">${escaped(scene.description)}</desc>` +
    `<rect width="${width}" height="${height}" fill="${scene.paper}"/>${body}</svg>\n`
  );
}

/** FNV-1a, 32 bits. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  return (value >>> 0).toString(16).padStart(8, "0");
}

function layer(shapes: Shape[]): string {
  const groups = new Map<string, string[]>();
  for (const shape of shapes) {
    const [attributes, text] = written(shape);
    const group = groups.get(attributes);
    if (group) group.push(text);
    else groups.set(attributes, [text]);
  }
  return [...groups].map(([attributes, texts]) =>
    attributes[0] === "p" ? `<path ${attributes.slice(1)} d="${texts.join("")}"/>` : `<g ${attributes.slice(1)}>${texts.join("")}</g>`,
  ).join("");
}

const FACE = { "": "", bold: ' font-weight="600"', mono: ` font-family="${MONO}"` };

/** What a shape shares with others of its kind (after a letter for path or group), and its own part. */
function written(shape: Shape): [string, string] {
  if (shape.kind === "label") {
    const anchor = shape.anchor === "start" ? "" : ` text-anchor="${shape.anchor}"`;
    return [
      `gfill="${shape.colour}" font-size="${number(shape.size)}"${anchor}${FACE[shape.face]}`,
      `<text x="${number(shape.x)}" y="${number(shape.y)}">${escaped(shape.text)}</text>`,
    ];
  }
  if (shape.kind === "line") {
    const path = `M${number(shape.x)} ${number(shape.y)}L${number(shape.toX)} ${number(shape.toY)}`;
    return [`pstroke="${shape.colour}" stroke-width="${number(shape.width)}"`, path];
  }
  const [width, height] = [number(shape.width), number(shape.height)];
  const path = `M${number(shape.x)} ${number(shape.y)}h${width}v${height}h-${width}z`;
  if (shape.stroke) return [`pfill="none" stroke="${shape.fill}" stroke-width="${number(shape.stroke)}"`, path];
  return [`pfill="${shape.fill}"`, path];
}
