/** The checker, which runs in a worker so that typing never waits. */

import type { Answers, Ask, Question } from "./answers";
import { startWorker } from "./workers";

/** What the worker posts: how much is loaded, that it is ready or will never be, and answers. */
export type Posted =
  | { kind: "progress"; loaded: number; total: number }
  | { kind: "ready" }
  | { kind: "broken"; reason: string }
  | { kind: "answer"; number: number; answer: string }
  | { kind: "failure"; number: number; reason: string };

export interface Asked {
  number: number;
  question: string;
}

/** The checker failed on one text; `message` is for people. */
export class CheckFailure extends Error {}

interface Waiting {
  resolve: (answer: string) => void;
  reject: (reason: Error) => void;
}

export class Checker {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, Waiting>();
  private number = 0;

  /** `show` gets what is loaded, that it is ready, or why it never will be. */
  constructor(private readonly show: (posted: Posted) => void) {
    this.worker = startWorker("checker.js");
    this.worker.addEventListener("message", ({ data }: MessageEvent<Posted>) => this.receive(data));
    this.worker.addEventListener("error", ({ message }) =>
      this.receive({ kind: "broken", reason: message || "a file of this page could not be loaded" }),
    );
  }

  /** @throws CheckFailure */
  async ask<Kind extends Ask>(ask: Kind, question: Question): Promise<Answers[Kind]> {
    const number = this.number++;
    const answer = await new Promise<string>((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, question: JSON.stringify({ ask, ...question }) } satisfies Asked);
    });
    return JSON.parse(answer) as Answers[Kind];
  }

  private receive(posted: Posted): void {
    if (posted.kind === "answer" || posted.kind === "failure") {
      const waiting = this.waiting.get(posted.number);
      this.waiting.delete(posted.number);
      if (posted.kind === "answer") {
        waiting?.resolve(posted.answer);
      } else {
        waiting?.reject(new CheckFailure(posted.reason));
      }
      return;
    }
    if (posted.kind === "broken") {
      for (const { reject } of this.waiting.values()) {
        reject(new CheckFailure(posted.reason));
      }
      this.waiting.clear();
    }
    this.show(posted);
  }
}
