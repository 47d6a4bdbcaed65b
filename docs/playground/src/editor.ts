/** The editor of the job: CodeMirror with the findings of the checker. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Edit, Finding } from "./answers";

const SEVERITIES = { error: "error", warning: "warning", information: "info", hint: "hint" } as const;

/** The colors are variables of style.css, which knows light and dark. */
const COLORS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.typeName, tags.labelName, tags.meta], color: "var(--special)" },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.squareBracket, tags.brace], color: "var(--faint)" },
]);

const wavy = (color: string) => ({
  backgroundImage: "none",
  textDecoration: `underline wavy var(${color})`,
  textDecorationSkipInk: "none",
  textUnderlineOffset: "3px",
});

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "0.875rem", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--active)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "var(--selected)",
  },
  ".cm-lintRange-error": wavy("--error"),
  ".cm-lintRange-warning": wavy("--warning"),
  ".cm-lintRange-info": wavy("--information"),
  ".cm-lintRange-hint": wavy("--hint"),
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-diagnostic": { maxWidth: "36rem", padding: "0.4rem 0.6rem" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
    font: "inherit",
    padding: "0.1rem 0.5rem",
    margin: "0.3rem 0.5rem 0 0",
  },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", border: "none" },
});

export class Editor {
  private readonly view: EditorView;

  /** `host` gets a shadow root: there, CodeMirror's styles need no exception from the content security policy. */
  constructor(host: HTMLElement, changed: () => void) {
    const root = host.attachShadow({ mode: "open" });
    const frame = document.createElement("div");
    frame.part.add("frame");
    root.append(frame);
    this.view = new EditorView({
      root,
      parent: frame,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(COLORS),
          lintGutter(),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
          THEME,
          EditorView.contentAttributes.of({
            tabindex: "0",
            "aria-label": "Job file. Tab indents; press Escape, then Tab, to leave the editor.",
          }),
          EditorView.updateListener.of(({ docChanged }) => {
            if (docChanged) {
              changed();
            }
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replace the whole text; it can be undone. */
  set text(text: string) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
    });
  }

  /** Underline what was found in this text; `fix` applies the edits of a fix. */
  underline(findings: Finding[], fix: (edits: Edit[]) => void): void {
    const diagnostics = findings.map((one) => ({
      from: one.from,
      to: one.to,
      severity: SEVERITIES[one.severity],
      message: one.message,
      source: one.code,
      actions: one.fixes.map(({ title, edits }) => ({ name: title, apply: () => fix(edits) })),
    }));
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  apply(edits: Edit[]): void {
    this.view.dispatch({ changes: edits });
  }

  /** Select a place, scroll it into the middle, and let the user type there. */
  select(from: number, to = from): void {
    const end = this.view.state.doc.length;
    this.view.dispatch({
      selection: { anchor: Math.min(from, end), head: Math.min(to, end) },
      effects: EditorView.scrollIntoView(Math.min(from, end), { y: "center" }),
    });
    this.view.focus();
  }
}
