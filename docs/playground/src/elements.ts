/** Elements of the page, found and made. */

/** @throws Error when the page has no such element. */
export function typed<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(`the page has no '${id}', or it is something else`);
  }
  return found;
}

export const element = (id: string): HTMLElement => typed(id, HTMLElement);

export function made<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  content: string,
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Name] {
  const found = document.createElement(name);
  found.textContent = content;
  for (const [key, value] of Object.entries(attributes)) {
    found.setAttribute(key, value);
  }
  return found;
}
