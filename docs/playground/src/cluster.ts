/** The cluster of the portal: the checker says what to ask it, and the plugin around this page asks. */

import type { Answers, Ask, ClusterAnswer, ClusterRequest, Question } from "./answers";
import type { Opening, Requested, Responded } from "./messages";
import type { Workbench } from "./workbench";

type OfCluster = Extract<Ask, "profile" | "fit" | "submission" | "submit" | "submitted">;
type Answer<Kind extends OfCluster> = Exclude<
  Extract<Answers[Kind], { answer: unknown }>["answer"],
  { failure: string }
>;

/** The cluster refuses or cannot be reached; `message` is for people. */
export class ClusterFailure extends Error {}

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
   * @throws ClusterFailure
   */
  async ask<Kind extends OfCluster>(ask: Kind, more: Partial<Question> = {}): Promise<Answer<Kind>> {
    const answers: ClusterAnswer[] = [];
    for (;;) {
      const found = await this.bench.ask(ask, { ...more, ...this.addresses, answers });
      if (!("request" in found)) {
        const { answer } = found as { answer: Answer<Kind> | { failure: string } };
        if ("failure" in answer) {
          throw new ClusterFailure(answer.failure);
        }
        return answer;
      }
      answers.push(await this.send(found.request));
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
