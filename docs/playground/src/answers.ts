/** What the checker answers: the same shapes as in browser_answers.py. Offsets are those of JavaScript. */

export type Severity = "error" | "warning" | "information" | "hint";

export interface Edit {
  from: number;
  to: number;
  insert: string;
}

export interface Finding {
  code: string;
  severity: Severity;
  message: string;
  /** From 1. */
  line: number;
  from: number;
  to: number;
  fixes: { title: string; edits: Edit[] }[];
}

export interface Answers {
  /** `fixable`: the number of findings with a safe fix. */
  check: { kind: "job" | "definitions" | "MPIJob"; fixable: number; findings: Finding[] };
  fix: { text: string; fixed: number };
  /** `lines`: the number of a line of `text`, from 0, and the offset in the job that it comes from. */
  runs: { text: string | null; lines: [number, number][] };
  /** Without a text, the findings are the reasons; without findings, either, it is not a job. */
  expand: { text: string | null; findings: Finding[] };
  inline: { text: string | null; findings: Finding[] };
  /** `places`: by the identifier of a node, the offset in the job. */
  graph: { dot: string | null; places: Record<string, number> };
}

export type Ask = keyof Answers;
export type Platform = "openpai" | "ltp";
