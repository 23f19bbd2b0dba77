/** Elements of the document, made in one expression. */

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

/** An element with attributes (functions are listeners, by the event's name) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** Put other children in an element's place of its own. */
export function fillWith(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

/** A choice among a few, as a group of buttons of which one is pressed. */
export function choice(
  label: string, options: [string, string][], chosen: string, pick: (value: string) => void,
): HTMLElement {
  return h("div", { class: "choice", role: "group", "aria-label": label }, ...options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": value === chosen ? "true" : "false", "data-value": value,
      click: () => pick(value) }, text),
  ));
}

/** A drop-down list. */
export function select(
  label: string, options: [string, string][], chosen: string, pick: (value: string) => void, attributes: Attributes = {},
): HTMLSelectElement {
  const made = h("select", { "aria-label": label, ...attributes, change: () => pick(made.value) },
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  return made;
}
