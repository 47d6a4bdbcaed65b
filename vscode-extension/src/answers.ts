/**
 * Reads the server's answers to commands. The server may have another version: an answer without the expected form becomes
 * undefined.
 */

import type { MarketplaceStatus } from "./server/state";

/** A text to be shown, the language for its colors, and by the numbers of its lines the places that they come from. */
export interface TextAnswer {
  readonly text: string;
  readonly languageId: string;
  readonly places: Places;
}

/** The commands of a task role as a script. */
export interface RoleScript {
  readonly role: string;
  readonly text: string;
}

/** A graph in Graphviz' language, and by the identifiers of its nodes the places of their definitions. */
export interface GraphAnswer {
  readonly dot: string;
  readonly places: Places;
}

/** A place in a file, in the server's units. */
export interface Place {
  readonly uri: string;
  readonly range: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly character: number;
}

export type Places = ReadonlyMap<string, Place>;

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

/** A file in another format with the paths of what it does not have, or the reason why there is none. */
export type Conversion =
  | { readonly text: string; readonly languageId: string; readonly lost: readonly string[] }
  | { readonly message: string };

/** An expanded job, if it is possible, and the errors in it or that prevent it. */
export interface Expansion {
  readonly text: string | undefined;
  readonly errors: readonly string[];
}

/** A job on a cluster. */
export interface JobState {
  readonly name: string;
  readonly state: string;
  readonly retries: number;
  readonly virtualCluster: string;
}

/** Why a job on a cluster failed, and the line of its file, from 1, if one led to it. */
export interface JobFailure {
  readonly title: string;
  readonly detail: string;
  readonly line: number | undefined;
}

/** The value of `DiagnosticSeverity.Error`. */
const ERROR = 1;

/** How a job is checked. */
export interface JobStatus {
  readonly platform: string;
  /** The cluster that it is checked for; empty for none. */
  readonly cluster: string;
}

/** Why a task failed: lines of text, and the place in the job that led to it. */
export interface FailureAnswer {
  readonly text: string;
  readonly place: Place | undefined;
}

/** The answer of a registry about the image of a task role. */
export interface ImageAnswer {
  readonly role: string;
  readonly image: string;
  readonly answer: string;
  readonly explanation: string;
}

/** A profile of a cluster that the user has. */
export interface Cluster {
  readonly name: string;
  readonly description: string;
}

/** What a check of a folder has found. */
export interface CheckedFolder {
  readonly files: number;
  readonly errors: number;
  readonly warnings: number;
}

export function clusters(answer: unknown): readonly Cluster[] {
  return (Array.isArray(answer) ? answer : []).flatMap((one) => {
    const { name, description } = fields(one);
    return typeof name === "string" ? [{ name, description: string(description) }] : [];
  });
}

export function checkedFolder(answer: unknown): CheckedFolder | undefined {
  const { files, errors, warnings } = fields(answer);
  const isFound = typeof files === "number" && typeof errors === "number" && typeof warnings === "number";
  return isFound ? { files, errors, warnings } : undefined;
}

export function imageAnswers(answer: unknown): readonly ImageAnswer[] | undefined {
  if (!Array.isArray(answer)) {
    return undefined;
  }
  return answer.map((one) => {
    const { role, image, answer: word, explanation } = fields(one);
    return { role: string(role), image: string(image), answer: string(word), explanation: string(explanation) };
  });
}

/** The parts of a tool's answer for a language model. */
export function toolAnswer(answer: unknown): readonly string[] | undefined {
  return Array.isArray(answer) && answer.every((part) => typeof part === "string") ? answer : undefined;
}

export function jobStatus(answer: unknown): JobStatus | undefined {
  const { platform, cluster } = fields(answer);
  return typeof platform === "string" ? { platform, cluster: string(cluster) } : undefined;
}

export function failureAnswer(answer: unknown): FailureAnswer | undefined {
  const { text, place: named } = fields(answer);
  return typeof text === "string" ? { text, place: place(named) } : undefined;
}

/** A list of jobs as `pai-lsp jobs --format json` prints it. */
export function jobStates(answer: unknown): readonly JobState[] | undefined {
  return Array.isArray(answer) ? answer.map(jobState).filter((one) => one !== undefined) : undefined;
}

function jobState(answer: unknown): JobState | undefined {
  const { name, state, retries, virtualCluster } = fields(answer);
  return typeof name === "string" && name !== "" && typeof state === "string"
    ? { name, state, retries: typeof retries === "number" ? retries : 0, virtualCluster: string(virtualCluster) }
    : undefined;
}

/** The explanation that `pai-lsp why NAME --format json` prints. */
export function jobFailure(answer: unknown): JobFailure | undefined {
  const { cause, explanation, do: fix, line, evidence, job, state, waitsFor, notes } = fields(answer);
  if (typeof explanation !== "string") {
    const waits = Array.isArray(waitsFor) ? waitsFor.map(String).join("\n") : "";
    const title = `${string(job)} has not failed: ${string(state)}`;
    return typeof cause === "string" ? { title, detail: waits, line: undefined } : undefined;
  }
  const { line: number, text } = fields(evidence);
  const quoted = typeof text === "string" && typeof number === "number" ? [`Log line ${String(number)}: ${text}`] : [];
  const detail = [string(fix), ...quoted, ...(Array.isArray(notes) ? notes.map(String) : [])].join("\n\n");
  return { title: explanation, detail, line: typeof line === "number" ? line : undefined };
}

export function textAnswer(answer: unknown): TextAnswer | undefined {
  const { text, languageId, places: named } = fields(answer);
  return typeof text === "string"
    ? { text, languageId: string(languageId) || "shellscript", places: places(named) }
    : undefined;
}

export function roleScripts(answer: unknown): readonly RoleScript[] | undefined {
  return Array.isArray(answer) ? answer.map(roleScript).filter((one) => one !== undefined) : undefined;
}

function roleScript(answer: unknown): RoleScript | undefined {
  const { role, text } = fields(answer);
  return typeof role === "string" && typeof text === "string" ? { role, text } : undefined;
}

export function graph(answer: unknown): GraphAnswer | undefined {
  const { dot, places: named } = fields(answer);
  return typeof dot === "string" ? { dot, places: places(named) } : undefined;
}

function places(answer: unknown): Places {
  const found = Object.entries(fields(answer)).map(([name, one]) => [name, place(one)] as const);
  return new Map(found.filter((entry): entry is readonly [string, Place] => entry[1] !== undefined));
}

/** A location as the server sends it, or as a link in a page repeats it. */
export function place(answer: unknown): Place | undefined {
  const { uri, range } = fields(answer);
  const [start, end] = [position(fields(range).start), position(fields(range).end)];
  return typeof uri === "string" && start && end ? { uri, range: { start, end } } : undefined;
}

function position(answer: unknown): Position | undefined {
  const { line, character } = fields(answer);
  return typeof line === "number" && typeof character === "number" ? { line, character } : undefined;
}

export function expansion(answer: unknown): Expansion | undefined {
  const { text, findings } = fields(answer);
  const isText = typeof text === "string";
  if (!isText && !Array.isArray(findings)) {
    return undefined;
  }
  // Servers of earlier versions report errors only, without a severity.
  const found = (Array.isArray(findings) ? findings : []).filter((one) => (fields(one).severity ?? ERROR) === ERROR);
  return { text: isText ? text : undefined, errors: found.map(message).filter((line) => line !== "") };
}

export function conversion(answer: unknown): Conversion | undefined {
  const { text, languageId, lost, message: reason } = fields(answer);
  if (typeof text === "string") {
    const paths = Array.isArray(lost) ? lost.map((one) => string(fields(one).field)).filter((path) => path !== "") : [];
    return { text, languageId: string(languageId) || "yaml", lost: paths };
  }
  return typeof reason === "string" ? { message: reason } : undefined;
}

export function listing(answer: unknown): readonly Item[] | undefined {
  return Array.isArray(answer) ? answer.map(item).filter((one) => one !== undefined) : undefined;
}

/** The entries of a lock file, and its folder. */
export interface LockedDefinitions {
  readonly folder: string;
  readonly entries: readonly { readonly reference: string; readonly state: string }[];
}

export function lockedDefinitions(answer: unknown): LockedDefinitions | undefined {
  const { folder, entries } = fields(answer);
  if (typeof folder !== "string" || !Array.isArray(entries)) {
    return undefined;
  }
  const found = entries.flatMap((one) => {
    const { reference, state } = fields(one);
    return typeof reference === "string" ? [{ reference, state: string(state) }] : [];
  });
  return { folder, entries: found };
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
