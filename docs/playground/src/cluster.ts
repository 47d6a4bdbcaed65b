/** The cluster of the portal: the checker says what to ask it, and the plugin around this page asks. */

import type { Answers, Ask, ClusterAnswer, ClusterRequest, Question } from "./answers";
import type { Opening, Requested, Responded } from "./messages";
import type { Workbench } from "./workbench";

type OfCluster = Extract<Ask, "profile" | "fit" | "definitions" | "submission" | "submit" | "submitted">;
type Answer<Kind extends OfCluster> = Exclude<
  Extract<Answers[Kind], { answer: unknown }>["answer"],
  { failure: string }
>;

/** The cluster refuses or cannot be reached; `message` is for people. */
export class ClusterFailure extends Error {}

/** The cluster does not accept the user's token any more. */
export class LoggedOut extends Error {}

const UNAUTHORIZED = 401;

export class Cluster {
  private readonly waiting = new Map<number, (response: ClusterAnswer) => void>();
  private number = 0;

  constructor(
    private readonly bench: Workbench,
    private readonly addresses: NonNullable<Opening["cluster"]>,
    private readonly port: MessagePort,
  ) {
    port.onmessage = ({ data }: MessageEvent<Responded>) => {
      this.waiting.get(data.number)?.(data.response);
      this.waiting.delete(data.number);
    };
  }

  /**
   * The answer to a question, after all requests that it needs.
   *
   * @throws ClusterFailure, or LoggedOut before a job was sent.
   */
  async ask<Kind extends OfCluster>(ask: Kind, more: Partial<Question> = {}): Promise<Answer<Kind>> {
    const answers: ClusterAnswer[] = [];
    let isSent = false;
    for (;;) {
      const found = await this.bench.ask(ask, { ...more, ...this.addresses, answers });
      if (!("request" in found)) {
        const { answer } = found as { answer: Answer<Kind> | { failure: string } };
        if ("failure" in answer) {
          throw new ClusterFailure(answer.failure);
        }
        return answer;
      }
      const response = await this.send(found.request);
      // A log has a key of its own; everything else needs the token. What became of a job that was sent is said first.
      const isRefused = "status" in response && response.status === UNAUTHORIZED && found.request.range === null;
      if (isRefused && !isSent) {
        throw new LoggedOut();
      }
      isSent ||= found.request.method === "POST";
      answers.push(response);
    }
  }

  private send(request: ClusterRequest): Promise<ClusterAnswer> {
    const number = this.number++;
    return new Promise((resolve) => {
      this.waiting.set(number, resolve);
      this.port.postMessage({ number, request } satisfies Requested);
    });
  }
}
