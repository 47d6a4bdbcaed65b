/** Markdown of the checker as elements. Only elements that are made here appear; text of a job stays text. */

import { lexer, type Token, type Tokens } from "marked";
import { made } from "./elements";

/** The elements of a text in Markdown. */
export function markdown(text: string): Node[] {
  return lexer(text).map(element);
}

function element(token: Token): Node {
  const children = (): Node[] => ("tokens" in token ? (token.tokens ?? []).map(element) : []);
  const filled = (name: keyof HTMLElementTagNameMap): HTMLElement => {
    const found = made(name, "");
    found.append(...children());
    return found;
  };
  switch (token.type) {
    case "heading":
      return filled("h3");
    case "paragraph":
      return filled("p");
    case "strong":
    case "em":
      return filled(token.type);
    case "code": {
      const block = made("pre", "");
      block.append(made("code", (token as Tokens.Code).text));
      return block;
    }
    case "codespan":
      return made("code", (token as Tokens.Codespan).text);
    case "list": {
      const list = made((token as Tokens.List).ordered ? "ol" : "ul", "");
      list.append(...(token as Tokens.List).items.map(element));
      return list;
    }
    case "list_item":
      return filled("li");
    case "link": {
      const { href } = token as Tokens.Link;
      const link = filled("a");
      if (/^https?:\/\//.test(href)) {
        link.setAttribute("href", href);
        link.setAttribute("target", "_blank");
        link.setAttribute("rel", "noopener noreferrer");
      }
      return link;
    }
    case "hr":
    case "br":
      return made(token.type, "");
    case "text": {
      const found = children();
      const span = made("span", found.length > 0 ? "" : (token as Tokens.Text).text);
      span.append(...found);
      return span;
    }
    default:
      return document.createTextNode("text" in token && token.type !== "html" ? String(token.text) : token.raw);
  }
}
