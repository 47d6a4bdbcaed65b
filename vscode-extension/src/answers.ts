/**
 * Reads the server's answers to commands. The server may have another version: an answer without the expected form becomes
 * undefined.
 */

import type { MarketplaceStatus } from "./server/state";

/** A text to be shown, and the language for its colors. */
export interface TextAnswer {
  readonly text: string;
  readonly languageId: string;
}

/** A variable of a marketplace definition that needs a value. */
export interface Variable {
  readonly name: string;
  readonly description: string;
  /** The default value. */
  readonly value: string;
  readonly isRequired: boolean;
}

/** A definition in the marketplace. */
export interface Item {
  /** The reference that a job uses. */
  readonly reference: string;
  readonly name: string;
  readonly type: string;
  readonly summary: string;
  readonly variables: readonly Variable[];
}

/** A template for a new job. */
export interface Template {
  readonly name: string;
  readonly description: string;
  readonly text: string;
}

/** An expanded job, or the findings that prevent it. */
export type Expansion = { readonly text: string } | { readonly findings: readonly string[] };

export function textAnswer(answer: unknown): TextAnswer | undefined {
  const { text, languageId } = fields(answer);
  return typeof text === "string" ? { text, languageId: string(languageId) || "shellscript" } : undefined;
}

/** A graph in Graphviz' language. */
export function graph(answer: unknown): string | undefined {
  const { dot } = fields(answer);
  return typeof dot === "string" ? dot : undefined;
}

export function expansion(answer: unknown): Expansion | undefined {
  const { text, findings } = fields(answer);
  if (typeof text === "string") {
    return { text };
  }
  return Array.isArray(findings) ? { findings: findings.map(message).filter((line) => line !== "") } : undefined;
}

export function listing(answer: unknown): readonly Item[] | undefined {
  return Array.isArray(answer) ? answer.map(item).filter((one) => one !== undefined) : undefined;
}

export function marketplaceStatus(answer: unknown): MarketplaceStatus | undefined {
  const { state, note } = fields(answer);
  return typeof state === "string" ? { state, note: string(note) } : undefined;
}

export function templates(answer: unknown): readonly Template[] | undefined {
  if (!Array.isArray(answer)) {
    return undefined;
  }
  return answer.flatMap((one) => {
    const { name, description, text } = fields(one);
    return typeof name === "string" && typeof text === "string"
      ? [{ name, description: string(description), text }]
      : [];
  });
}

function item(answer: unknown): Item | undefined {
  const { reference, name, type, summary, variables } = fields(answer);
  if (typeof reference !== "string") {
    return undefined;
  }
  return {
    reference,
    name: string(name) || reference,
    type: string(type),
    summary: string(summary),
    variables: Array.isArray(variables) ? variables.map(variable).filter((one) => one !== undefined) : [],
  };
}

/** A variable is its bare name, or its name with what is known about it. */
function variable(answer: unknown): Variable | undefined {
  if (typeof answer === "string") {
    return { name: answer, description: "", value: "", isRequired: true };
  }
  const known = fields(answer);
  const value = known.default;
  const isWritten = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  if (typeof known.name !== "string") {
    return undefined;
  }
  return {
    name: known.name,
    description: string(known.description),
    value: isWritten ? String(value) : "",
    isRequired: !isWritten,
  };
}

function message(answer: unknown): string {
  return typeof answer === "string" ? answer : string(fields(answer).message);
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}
