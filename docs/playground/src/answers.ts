/** What the checker answers: the same shapes as in browser_answers.py and cluster_answers.py. Offsets are JavaScript's. */

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

export interface Suggestion {
  label: string;
  kind: string;
  detail: string;
  /** In Markdown. */
  documentation: string;
  edit: Edit;
  /** What to fill in: the number of each place, by which they are visited, and where it is in the inserted text. */
  places: [number: number, from: number, to: number][];
  elsewhere: Edit[];
}

/** A request to the cluster that the page sends, before it asks again. */
export interface ClusterRequest {
  method: "GET" | "POST";
  url: string;
  range: string | null;
  body: string;
}

/** What the cluster answered, or why it did not. */
export type ClusterAnswer = { status: number; headers: Record<string, string>; body: string } | { failure: string };

/** Answers to questions about a cluster. `failure` is for people. */
type OfCluster<Answer> = { request: ClusterRequest } | { answer: Answer | { failure: string } };

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
  complete: Suggestion[];
  hover: { markdown: string; from: number; to: number } | null;
  rule: { markdown: string };
  /** The user, and the facts of the cluster: what `Question.cluster` takes as text. */
  profile: OfCluster<{ user: string; profile: unknown }>;
  /** Whether the job fits the cluster: the outcome, then the reasons; empty where that is not known. */
  fit: OfCluster<{ lines: string[] }>;
  /** What would be sent; without a text, the job cannot be expanded. */
  submission: OfCluster<{
    text: string | null;
    lines: string[];
    errors: number;
    fit: string[];
    /** Null where that is not known. */
    fits: boolean | null;
  }>;
  /** Read the definitions of the marketplace, for all later questions that name it. */
  definitions: OfCluster<Record<string, never>>;
  submit: OfCluster<{ name: string; page: string | null; note: string }>;
  /** A job of the cluster, and why it failed; `line`, from 1, is that of `text`. */
  submitted: OfCluster<{
    text: string;
    state: string;
    hasSecrets: boolean;
    why: string | null;
    line: number | null;
    cause?: string;
  }>;
}

export type Ask = keyof Answers;
export type Platform = "openpai" | "ltp";

export interface Question {
  text: string;
  platform: Platform;
  /** The profile of a cluster as JSON text. */
  cluster?: string;
  /** The address of the marketplace whose definitions are known. */
  marketplace?: string;
  /** Whether only the expanded job is sent, so that what expansion answers is no finding. */
  expands?: boolean;
  /** An offset in the text. */
  at?: number;
  /** The code of a rule. */
  code?: string;
  /** About a cluster: the addresses, the user of a job and its name, the name of this plugin, and the answers so far. */
  server?: string;
  portal?: string;
  user?: string;
  job?: string;
  plugin?: string;
  answers?: ClusterAnswer[];
}
