/** The editor of the job: CodeMirror with the findings, suggestions and descriptions of the checker. */

import {
  acceptCompletion,
  autocompletion,
  clearSnippet,
  completionStatus,
  moveCompletionSelection,
  nextSnippetField,
  prevSnippetField,
  selectedCompletion,
  snippet,
  snippetKeymap,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  showTooltip,
  type Tooltip,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Answers, Edit, Finding, Suggestion } from "./answers";
import { made } from "./elements";
import { labels } from "./labels";
import { markdown } from "./markdown";

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
  ".cm-failed": { backgroundColor: "color-mix(in srgb, var(--error) 18%, transparent)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "28rem", maxHeight: "18rem", overflow: "auto" },
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-description": { maxWidth: "36rem", maxHeight: "18rem", overflow: "auto", padding: "0.4rem 0.6rem" },
  ".cm-description p, .cm-completionInfo p": { margin: "0 0 0.4rem" },
  ".cm-description pre, .cm-completionInfo pre": { margin: "0 0 0.4rem", whiteSpace: "pre-wrap" },
  ".cm-description code, .cm-completionInfo code": { fontFamily: "var(--mono)", fontSize: "0.8125rem" },
  ".cm-description a": { color: "var(--accent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", border: "none" },
});

/** Marks a line, by its number from 1; null marks none. */
const failedLine = StateEffect.define<number | null>();
const failed = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (shown, transaction) =>
    transaction.effects.reduce((found, effect) => {
      if (!effect.is(failedLine)) {
        return found;
      }
      const { doc } = transaction.state;
      return effect.value === null || effect.value > doc.lines
        ? Decoration.none
        : Decoration.set(Decoration.line({ class: "cm-failed" }).range(doc.line(effect.value).from));
    }, shown.map(transaction.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

/** Shows the description at the cursor, which takes a key; it goes when the cursor moves. */
const describedPlace = StateEffect.define<Tooltip>();
const description = StateField.define<Tooltip | null>({
  create: () => null,
  update: (shown, { docChanged, effects, selection }) => {
    const found = effects.find((effect) => effect.is(describedPlace));
    return found?.value ?? (docChanged || selection ? null : shown);
  },
  provide: (field) => showTooltip.from(field),
});

/** What the page answers the editor; a place is an offset in its text. */
export interface Answering {
  changed: () => void;
  complete: (at: number) => Promise<Answers["complete"] | undefined>;
  hover: (at: number) => Promise<Answers["hover"] | undefined>;
}

export class Editor {
  private readonly view: EditorView;
  private readonly name = new Compartment();

  /** `host` gets a shadow root: there, CodeMirror's styles need no exception from the content security policy. */
  constructor(host: HTMLElement, answering: Answering) {
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
          // A place of a suggestion that stands twice is typed once.
          EditorState.allowMultipleSelections.of(true),
          highlightActiveLine(),
          bracketMatching(),
          indentUnit.of("  "),
          yaml(),
          syntaxHighlighting(COLORS),
          lintGutter(),
          // Enter ends a line, and Tab takes a suggestion, as in other editors.
          autocompletion({
            selectOnOpen: false,
            interactionDelay: 0,
            icons: false,
            override: [(context) => completed(context, answering)],
          }),
          hoverTooltip((view, at) => hovered(view, at, answering)),
          // Tab takes a suggestion also where there is a further place to fill.
          snippetKeymap.of([
            { key: "Tab", run: (view) => takeSuggestion(view) || nextSnippetField(view), shift: prevSnippetField },
            { key: "Escape", run: clearSnippet },
          ]),
          keymap.of([
            { key: "Tab", run: takeSuggestion },
            { key: "Ctrl-Shift-Space", run: (view) => describe(view, answering), preventDefault: true },
            ...defaultKeymap,
            ...historyKeymap,
            ...searchKeymap,
            ...lintKeymap,
            indentWithTab,
          ]),
          failed,
          description,
          THEME,
          this.name.of(named()),
          EditorView.updateListener.of(({ docChanged }) => {
            if (docChanged) {
              answering.changed();
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

  /** Name the editor again, after another language is chosen. */
  rename(): void {
    this.view.dispatch({ effects: this.name.reconfigure(named()) });
  }

  /** Mark the line that failed, from 1; null takes the mark away. */
  markLine(line: number | null): void {
    this.view.dispatch({ effects: failedLine.of(line) });
  }

  /** Select a line, from 1. */
  selectLine(line: number): void {
    const { from, to } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.select(from, to);
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

function named() {
  return EditorView.contentAttributes.of({ tabindex: "0", "aria-label": labels.editor });
}

function takeSuggestion(view: EditorView): boolean {
  if (completionStatus(view.state) !== "active") {
    return false;
  }
  return (selectedCompletion(view.state) !== null || moveCompletionSelection(true)(view)) && acceptCompletion(view);
}

async function completed(context: CompletionContext, answering: Answering): Promise<CompletionResult | null> {
  const { pos, explicit } = context;
  if (!explicit && context.matchBefore(/[\w$./:{%-]/) === null) {
    return null;
  }
  const found = await answering.complete(pos);
  const from = Math.min(pos, ...(found ?? []).map(({ edit }) => edit.from));
  if (found === undefined || found.length === 0 || context.aborted) {
    return null;
  }
  return { from, options: found.map((one, order) => option(one, pos, order)), validFor: /^[\w$.-]*$/ };
}

/** A suggestion that was asked for at a place; more may have been typed there since. */
function option(suggestion: Suggestion, asked: number, order: number): Completion {
  const { label, detail, documentation, edit } = suggestion;
  return {
    label,
    detail,
    boost: -Math.min(order, 99),
    info: documentation === "" ? undefined : () => described(documentation),
    apply: (view, completion, _, to) => {
      const own = { ...edit, to: edit.to + to - asked };
      const indent = /^\s*/.exec(view.state.doc.lineAt(own.from).text)?.[0] ?? "";
      const template = templateOf(suggestion, indent);
      if (template === undefined) {
        insert(view, own, suggestion);
      } else {
        snippet(template)(view, completion, own.from, own.to);
      }
    },
  } as Completion;
}

/**
 * A text with places to fill as CodeMirror writes it; undefined for one that it would not insert as it is.
 *
 * It indents the lines after the first one like the line of the place, which the checker has done already.
 */
function templateOf({ edit, places, elsewhere }: Suggestion, indent: string): string | undefined {
  const text = edit.insert;
  const isIndented = text.split("\n").every((line, number) => number === 0 || line.startsWith(indent));
  if (places.length === 0 || elsewhere.length > 0 || !isIndented) {
    return undefined;
  }
  const plain = (from: number, to?: number) => text.slice(from, to).replace(/[{}]/g, "\\$&");
  let template = "";
  let end = 0;
  for (const [number, from, to] of places) {
    const words = text.slice(from, to);
    template += plain(end, from) + (/[{}]/.test(words) ? plain(from, to) : `\${${number}:${words}}`);
    end = to;
  }
  return (template + plain(end)).replaceAll(`\n${indent}`, "\n");
}

/** Insert a text as it is, with what comes with it elsewhere, and select its first place to fill or else its end. */
function insert(view: EditorView, own: Edit, { places, elsewhere }: Suggestion): void {
  const [, from, to] = places[0] ?? [0, own.insert.length, own.insert.length];
  const start = placed(own, elsewhere) - own.insert.length;
  view.dispatch({
    changes: [own, ...elsewhere],
    selection: { anchor: start + from, head: start + to },
    scrollIntoView: true,
    userEvent: "input.complete",
  });
}

/** Where an inserted text ends when edits in front of it are done, too. */
function placed(own: Edit, elsewhere: Edit[]): number {
  const before = elsewhere.filter(({ from }) => from < own.from);
  return before.reduce((at, one) => at + one.insert.length - (one.to - one.from), own.from + own.insert.length);
}

async function hovered(view: EditorView, at: number, answering: Answering): Promise<Tooltip | null> {
  const text = view.state.doc;
  const found = await answering.hover(at);
  if (!found || view.state.doc !== text) {
    return null;
  }
  return { pos: found.from, end: found.to, above: true, create: () => ({ dom: described(found.markdown) }) };
}

/** Show the description of what is at the cursor, and read it out. */
function describe(view: EditorView, answering: Answering): boolean {
  void hovered(view, view.state.selection.main.head, answering).then((found) => {
    if (found !== null) {
      const words = found.create(view).dom.textContent;
      view.dispatch({ effects: [describedPlace.of(found), EditorView.announce.of(words)] });
    }
  });
  return true;
}

function described(text: string): HTMLElement {
  const found = made("div", "", { class: "cm-description", lang: "en" });
  found.append(...markdown(text));
  return found;
}
